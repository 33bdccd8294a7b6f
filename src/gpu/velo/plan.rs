//! The steps of the Velo sequence, their inputs and outputs, and the limits of their sizes.

use super::args::{BINS, ROW, VeloArgs, VeloHit, VeloRow, VeloTriplet};
use crate::event::VELO_MODULES;
use crate::gpu::arena::{Access, Plan};
use crate::velo::VeloConfig;
use crate::velo::geometry::PAIRS;

/// Capacity of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Largest number of events of a slice.
    pub events: usize,
    /// Largest number of hits of a slice.
    pub hits: usize,
    /// Largest number of candidates of both passes; each event gets a share in proportion to its hits.
    pub rows: usize,
    /// Largest size of the output columns, bytes.
    pub output: usize,
}

/// Average number of hits of an event for which memory is reserved; the mean of LHCb's events is 2,400.
const HITS: usize = 3000;
/// Bytes of output per hit for which memory is reserved; real events need 13.
const OUTPUT: usize = 24;

impl Capacity {
    /// Capacity for `events` real events of usual size, and at least for the largest event that the limits allow.
    pub fn new(events: usize, config: &VeloConfig) -> Self {
        let worst = config.limits.hits as usize;
        // Larger capacities are refused when the stream is opened.
        let hits = (HITS * events.min(1 << 25)).max(worst);
        // One candidate per two hits is twice the number in real events; no event makes more than one per hit and pass.
        let rows = (hits / 2).max(2 * worst);
        let output = OUTPUT * hits + 64 * worst + 16 * events.min(1 << 25) + 4096;
        Self { events, hits, rows, output }
    }
}

/// Lists buffers by name, with their bytes for a [`Capacity`].
macro_rules! buffers {
    ($capacity:ident: $($name:ident = $bytes:expr,)*) => {
        #[derive(Debug, Clone, Copy)]
        #[allow(clippy::upper_case_acronyms, non_camel_case_types)]
        enum Names { $($name,)* }
        $(pub(super) const $name: usize = Names::$name as usize;)*
        /// Bytes of each buffer.
        pub(super) fn bytes($capacity: &Capacity) -> Vec<usize> {
            vec![$($bytes,)*]
        }
    };
}

buffers! { c:
    X = 4 * c.hits,
    Y = 4 * c.hits,
    Z = 4 * c.hits,
    ID = 4 * c.hits,
    MODULE_START = 4 * (VELO_MODULES * c.events + 1),
    STATUS = 2 * c.events,
    STATE = 4 * c.events,
    UNSORTED = 4 * c.hits,
    SORTED = size_of::<VeloHit>() * c.hits,
    USED = c.hits,
    TAKEN = c.hits,
    CELLS = 4 * PAIRS * (BINS + 1) * c.events,
    CLAIM = 8 * c.hits,
    OTHER_CLAIM = 8 * c.hits,
    TRIPLETS = size_of::<VeloTriplet>() * c.hits,
    ROWS = size_of::<VeloRow>() * c.rows,
    ROW_HITS = 4 * ROW * c.rows,
    ACTIVE = 4 * c.rows,
    OTHER_ACTIVE = 4 * c.rows,
    ACCEPTED = 4 * c.rows,
    ORDER = 4 * c.rows,
    FIRST_HIT = 4 * c.rows,
    ROW_COUNT = 4 * c.events,
    FIRST_ROW = 4 * c.events,
    ACCEPTED_COUNT = 4 * c.events,
    CUT_SHORT = 4 * c.events,
    TRACK_COUNT = 4 * c.events,
    HIT_COUNT = 4 * c.events,
    SUMS = 4 * SUMMARY_VALUES * c.events.div_ceil(STRETCH),
    SUMMARY = 4 * SUMMARY_VALUES,
    ROW_OF_TRACK = 4 * c.rows,
    EVENT_OF_TRACK = 4 * c.rows,
    OUTPUT_COLUMNS = c.output,
}

/// Events whose tracks and hits a block sums.
pub(super) const STRETCH: usize = 1024;

/// Number of values for the host: tracks, their hits, events given up, hits cut off in two parts.
pub(super) const SUMMARY_VALUES: usize = 5;

/// Items that a launch distributes over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    Events,
    /// One block per [`STRETCH`] events.
    Stretches,
    Pairs,
    /// Tracks, with this number in each block.
    Tracks(usize),
}

/// A launch of a kernel.
pub(super) struct Launch {
    pub(super) kernel: &'static str,
    pub(super) blocks: Blocks,
    pub(super) threads: u32,
    /// Number of the pass, an argument of the kernel.
    pub(super) pass: u32,
}

const fn launch(kernel: &'static str, blocks: Blocks, threads: u32, pass: u32) -> Launch {
    Launch { kernel, blocks, threads, pass }
}

/// Launches until the sizes of the output are known.
pub(super) const FIRST_HALF: [Launch; 11] = [
    launch("velo_check", Blocks::Events, 128, 0),
    launch("velo_sort", Blocks::Pairs, 64, 0),
    launch("velo_find_first", Blocks::Events, 128, 0),
    launch("velo_accept", Blocks::Events, 128, 0),
    launch("velo_keep_free", Blocks::Pairs, 64, 1),
    launch("velo_find_second", Blocks::Events, 128, 1),
    launch("velo_accept", Blocks::Events, 128, 1),
    launch("velo_join", Blocks::Events, 128, 1),
    launch("velo_order", Blocks::Events, 128, 1),
    launch("velo_totals", Blocks::Stretches, 256, 1),
    launch("velo_offsets", Blocks::Stretches, 256, 1),
];

/// Launches that write the output.
pub(super) const SECOND_HALF: [Launch; 2] =
    [launch("velo_list", Blocks::Events, 128, 1), launch("velo_fit", Blocks::Tracks(64), 64, 1)];

/// Inputs and outputs of the search, which are the same in both passes.
const FIND: Access = Access {
    reads: &[MODULE_START, STATE, SORTED, USED, CELLS, CLAIM, OTHER_CLAIM, ROW_COUNT, CUT_SHORT],
    writes: &[
        STATE,
        USED,
        CLAIM,
        OTHER_CLAIM,
        TRIPLETS,
        ROWS,
        ROW_HITS,
        ACTIVE,
        OTHER_ACTIVE,
        ROW_COUNT,
        FIRST_ROW,
        CUT_SHORT,
    ],
};

const ACCEPT: Access = Access {
    reads: &[MODULE_START, STATE, SORTED, USED, CLAIM, ROWS, ROW_HITS, ROW_COUNT, FIRST_ROW, ACCEPTED_COUNT],
    writes: &[USED, CLAIM, ROWS, ROW_HITS, ACTIVE, ACCEPTED, ACCEPTED_COUNT],
};

/// Inputs and outputs of each step, in order: copy-in, the first half, the summary to the host, the second
/// half, copy-out.
pub(super) const STEPS: [Access; 16] = [
    Access { reads: &[], writes: &[X, Y, Z, ID, MODULE_START, STATUS] },
    Access {
        reads: &[X, Y, Z, MODULE_START, STATUS],
        writes: &[STATE, USED, TAKEN, CLAIM, OTHER_CLAIM, ACCEPTED_COUNT, ROW_COUNT, CUT_SHORT],
    },
    Access { reads: &[X, Y, Z, MODULE_START, STATE], writes: &[UNSORTED, SORTED, CELLS] },
    FIND,
    ACCEPT,
    Access { reads: &[MODULE_START, STATE, SORTED, USED, CELLS], writes: &[SORTED, USED, CELLS] },
    FIND,
    ACCEPT,
    Access {
        reads: &[X, Y, Z, MODULE_START, STATE, ACCEPTED, ACCEPTED_COUNT, ROWS, ROW_HITS],
        writes: &[ACTIVE, OTHER_ACTIVE, ORDER, FIRST_HIT, ROWS, ROW_HITS, ACCEPTED, ACCEPTED_COUNT],
    },
    Access {
        reads: &[MODULE_START, STATE, ACCEPTED, ACCEPTED_COUNT, ROWS, ROW_HITS, TAKEN, CLAIM],
        writes: &[ORDER, FIRST_HIT, ACTIVE, TAKEN, CLAIM, TRACK_COUNT, HIT_COUNT],
    },
    Access { reads: &[STATE, STATUS, CUT_SHORT, TRACK_COUNT, HIT_COUNT], writes: &[SUMS] },
    Access { reads: &[TRACK_COUNT, HIT_COUNT, SUMS], writes: &[TRACK_COUNT, HIT_COUNT, SUMMARY] },
    Access { reads: &[SUMMARY], writes: &[] },
    Access {
        reads: &[MODULE_START, STATE, ID, TRACK_COUNT, HIT_COUNT, SUMMARY, ORDER, FIRST_HIT, ROWS, ROW_HITS],
        writes: &[OUTPUT_COLUMNS, ROW_OF_TRACK, EVENT_OF_TRACK],
    },
    Access {
        reads: &[X, Y, Z, MODULE_START, SUMMARY, ROW_OF_TRACK, EVENT_OF_TRACK, ROWS, ROW_HITS],
        writes: &[OUTPUT_COLUMNS],
    },
    Access { reads: &[OUTPUT_COLUMNS], writes: &[] },
];

/// Plans the arena for a capacity.
pub(super) fn plan(capacity: &Capacity) -> Plan {
    Plan::new(&bytes(capacity), &STEPS)
}

impl VeloArgs {
    /// Fills in the addresses of the buffers in an arena at `base`.
    pub(super) fn point_into(&mut self, base: u64, plan: &Plan) {
        let at = |buffer: usize| base + plan.start(buffer) as u64;
        (self.x, self.y, self.z, self.id) = (at(X), at(Y), at(Z), at(ID));
        (self.module_start, self.status, self.state) = (at(MODULE_START), at(STATUS), at(STATE));
        (self.unsorted, self.sorted, self.cells) = (at(UNSORTED), at(SORTED), at(CELLS));
        (self.used, self.taken, self.triplets) = (at(USED), at(TAKEN), at(TRIPLETS));
        (self.claim, self.other_claim) = (at(CLAIM), at(OTHER_CLAIM));
        (self.row, self.row_hits) = (at(ROWS), at(ROW_HITS));
        (self.active, self.other_active) = (at(ACTIVE), at(OTHER_ACTIVE));
        (self.accepted, self.order, self.first_hit) = (at(ACCEPTED), at(ORDER), at(FIRST_HIT));
        (self.row_count, self.first_row_of_pass) = (at(ROW_COUNT), at(FIRST_ROW));
        (self.accepted_count, self.cut_short) = (at(ACCEPTED_COUNT), at(CUT_SHORT));
        (self.track_count, self.hit_count) = (at(TRACK_COUNT), at(HIT_COUNT));
        (self.row_of_track, self.event_of_track) = (at(ROW_OF_TRACK), at(EVENT_OF_TRACK));
        (self.sums, self.summary) = (at(SUMS), at(SUMMARY));
        // Valid addresses until the layout of the output is known.
        let out = at(OUTPUT_COLUMNS);
        (self.out_track_end, self.out_hit_end, self.out_hits, self.out_status) = (out, out, out, out);
        (self.out_backward, self.out_chi2, self.out_beam, self.out_end) = (out, out, out, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::arena::read_before_written;

    #[test]
    fn every_step_reads_what_is_written_and_memory_is_shared() {
        assert_eq!(read_before_written(&STEPS), None);
        let capacity = Capacity::new(100, &VeloConfig::default());
        let (plan, sum) = (plan(&capacity), bytes(&capacity).iter().sum::<usize>());
        assert!(plan.bytes() < sum * 95 / 100, "{} of {sum} bytes", plan.bytes());
    }
}
