//! The buffers of the cylinder sequence, and the steps that use them.

use super::args::CylinderArgs;
use super::output::Layout;
use crate::cylinder::geometry::SEED_LAYERS;
use crate::event::CYLINDER_LAYERS;
use crate::gpu::arena::{Access, Plan};

/// Hits of a tile of the sort.
pub(super) const TILE: usize = 4096;
/// Digits of the sort.
pub(super) const DIGITS: usize = 256;
/// Counts of a stretch that a block sums.
pub(super) const STRETCH: usize = 1024;
/// Values of a state in the search: five parameters and their covariance.
const HELIX: usize = 20;

/// Capacity of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Largest number of events of a slice.
    pub events: usize,
    /// Largest number of hits of a slice.
    pub hits: usize,
    /// Largest number of seeds of a slice.
    pub seeds: usize,
}

/// Lists buffers by name, with their bytes for a [`Capacity`] and a number of cells per event.
macro_rules! buffers {
    ($capacity:ident, $cells:ident: $($name:ident = $bytes:expr,)*) => {
        #[allow(clippy::upper_case_acronyms, non_camel_case_types)]
        enum Names { $($name,)* }
        $(pub(super) const $name: usize = Names::$name as usize;)*
        /// Bytes of each buffer.
        pub(super) fn bytes($capacity: &Capacity, $cells: usize) -> Vec<usize> {
            vec![$($bytes,)*]
        }
    };
}

buffers! { c, cells:
    LAYER_START = 4 * (CYLINDER_LAYERS * c.events + 1),
    X = 4 * c.hits,
    Y = 4 * c.hits,
    Z = 4 * c.hits,
    VAR_RPHI = 4 * c.hits,
    VAR_Z = 4 * c.hits,
    STATUS = 2 * c.events,
    SEED_START = 4 * (c.events + 1),
    VERTEX = 4 * 6 * c.seeds,
    SEED_HITS = 4 * SEED_LAYERS * c.seeds,
    STATE = 4 * c.events,
    KEYS = 8 * c.hits,
    OTHER_KEYS = 8 * c.hits,
    VALUES = 4 * c.hits,
    OTHER_VALUES = 4 * c.hits,
    COUNTS = 4 * DIGITS * c.hits.div_ceil(TILE),
    SUMS = 4 * (DIGITS * c.hits.div_ceil(TILE)).div_ceil(STRETCH).max(2 * c.events.max(c.seeds).div_ceil(STRETCH)),
    POLAR = 16 * c.hits,
    POLAR_RADIUS = 4 * c.hits,
    RECORD = 16 * c.hits,
    RADIUS = 4 * c.hits,
    SOURCE = 4 * c.hits,
    PLACE = 4 * c.hits,
    TABLE = 4 * cells * c.events,
    HELIX_COLUMNS = 4 * HELIX * c.seeds,
    GOOD = c.seeds,
    PLACES = 4 * CYLINDER_LAYERS * c.seeds,
    HIT_COUNT = 4 * c.seeds,
    FIRST_HIT = 4 * c.seeds,
    FIRST_TRACK = 4 * c.events,
    LOST = 8,
    OUTPUT = Layout::new(c.events, c.seeds).bytes(),
}

/// Copy-in, check, polar, sort, gather, table, seed, build, totals, offsets, fit, copy-out.
const STEPS: [Access; 12] = [
    Access {
        reads: &[],
        writes: &[LAYER_START, X, Y, Z, VAR_RPHI, VAR_Z, STATUS, SEED_START, VERTEX, SEED_HITS],
    },
    Access { reads: &[STATUS], writes: &[STATE, LOST] },
    Access {
        reads: &[LAYER_START, X, Y, Z, VAR_RPHI, VAR_Z, STATE],
        writes: &[STATE, POLAR, POLAR_RADIUS, KEYS, VALUES],
    },
    Access { reads: &[KEYS, VALUES], writes: &[KEYS, VALUES, OTHER_KEYS, OTHER_VALUES, COUNTS, SUMS] },
    // After a sort the result may be in either of two buffers.
    Access { reads: &[VALUES, OTHER_VALUES, POLAR, POLAR_RADIUS], writes: &[RECORD, RADIUS, SOURCE, PLACE] },
    Access { reads: &[LAYER_START, KEYS, OTHER_KEYS], writes: &[TABLE] },
    Access {
        reads: &[LAYER_START, SEED_START, STATE, VERTEX, SEED_HITS, POLAR, POLAR_RADIUS, PLACE],
        writes: &[HELIX_COLUMNS, GOOD, PLACES, HIT_COUNT],
    },
    Access {
        reads: &[SEED_START, STATE, TABLE, RECORD, HELIX_COLUMNS, GOOD, PLACES, HIT_COUNT, LOST],
        writes: &[PLACES, HIT_COUNT, LOST],
    },
    Access { reads: &[SEED_START, STATE, HIT_COUNT], writes: &[FIRST_TRACK, FIRST_HIT, SUMS] },
    Access {
        reads: &[SEED_START, STATE, FIRST_TRACK, FIRST_HIT, SUMS, LOST],
        writes: &[FIRST_TRACK, FIRST_HIT, OUTPUT],
    },
    Access {
        reads: &[
            LAYER_START,
            SEED_START,
            STATE,
            FIRST_TRACK,
            FIRST_HIT,
            HIT_COUNT,
            PLACES,
            RECORD,
            RADIUS,
            SOURCE,
            OUTPUT,
        ],
        writes: &[OUTPUT],
    },
    Access { reads: &[OUTPUT], writes: &[] },
];

/// Plans the arena for a capacity.
pub(super) fn plan(capacity: &Capacity, cells: usize) -> Plan {
    Plan::new(&bytes(capacity, cells), &STEPS)
}

impl CylinderArgs {
    /// Fills in the addresses of the buffers in an arena at `base`.
    pub(super) fn point_into(&mut self, base: u64, plan: &Plan) {
        let at = |buffer: usize| base + plan.start(buffer) as u64;
        (self.layer_start, self.x, self.y, self.z) = (at(LAYER_START), at(X), at(Y), at(Z));
        (self.var_rphi, self.var_z, self.status) = (at(VAR_RPHI), at(VAR_Z), at(STATUS));
        (self.seed_start, self.vertex, self.seed_hits) = (at(SEED_START), at(VERTEX), at(SEED_HITS));
        (self.state, self.counts, self.sums) = (at(STATE), at(COUNTS), at(SUMS));
        (self.polar, self.polar_radius) = (at(POLAR), at(POLAR_RADIUS));
        (self.record, self.radius, self.source, self.index) = (at(RECORD), at(RADIUS), at(SOURCE), at(PLACE));
        (self.table, self.helix, self.good) = (at(TABLE), at(HELIX_COLUMNS), at(GOOD));
        (self.indices, self.hit_count, self.first_hit) = (at(PLACES), at(HIT_COUNT), at(FIRST_HIT));
        (self.first_track, self.lost) = (at(FIRST_TRACK), at(LOST));
        self.start_sort(base, plan);
    }

    /// Fills in the addresses of the buffers from which a sort starts.
    pub(super) fn start_sort(&mut self, base: u64, plan: &Plan) {
        let at = |buffer: usize| base + plan.start(buffer) as u64;
        (self.keys, self.other_keys) = (at(KEYS), at(OTHER_KEYS));
        (self.values, self.other_values) = (at(VALUES), at(OTHER_VALUES));
    }

    /// Swaps input and output of a sort pass: the next pass reads the output of the last one.
    pub(super) fn swap(&mut self) {
        std::mem::swap(&mut self.keys, &mut self.other_keys);
        std::mem::swap(&mut self.values, &mut self.other_values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::arena::read_before_written;

    #[test]
    fn every_step_reads_what_is_written_and_memory_is_shared() {
        assert_eq!(read_before_written(&STEPS), None);
        let capacity = Capacity { events: 3, hits: 300_000, seeds: 30_000 };
        let (plan, sum) = (plan(&capacity, 400_000), bytes(&capacity, 400_000).iter().sum::<usize>());
        assert!(plan.bytes() < sum * 9 / 10, "{} of {sum} bytes", plan.bytes());
    }
}
