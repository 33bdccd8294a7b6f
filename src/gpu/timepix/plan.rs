//! The buffers of the pixel sequence, and the steps that use them.

use super::args::PixelArgs;
use crate::gpu::arena::{Access, Plan};

/// Hits of a tile of the sort.
pub(super) const TILE: usize = 4096;
/// Hits of a chunk of the search.
pub(super) const CHUNK: usize = 1024;
/// Digits of the sort.
pub(super) const DIGITS: usize = 256;

/// Counts of a stretch that a block sums.
pub(super) const STRETCH: usize = 1024;

const TIME: usize = 0;
const X: usize = 1;
const Y: usize = 2;
const TOT: usize = 3;
/// The input columns.
pub(super) const INPUTS: [usize; 4] = [TIME, X, Y, TOT];
const KEYS: usize = 4;
const OTHER_KEYS: usize = 5;
const VALUES: usize = 6;
const OTHER_VALUES: usize = 7;
const COUNTS: usize = 8;
const SORTED_TIME: usize = 9;
const SORTED_X: usize = 10;
const SORTED_Y: usize = 11;
const SORTED_TOT: usize = 12;
const LABELS: usize = 13;
const NUMBERS: usize = 14;
pub(super) const SUMMARY: usize = 15;
pub(super) const OUTPUT: usize = 16;
pub(super) const CALIBRATION: usize = 17;
const SUMS: usize = 18;

/// Bytes of each buffer, for these numbers of hits and of pixels with a calibration.
pub(super) fn bytes(hits: usize, pixels: usize) -> Vec<usize> {
    let tiles = hits.div_ceil(TILE);
    let (long, word, short) = (8 * hits, 4 * hits, 2 * hits);
    let counts = DIGITS * tiles.max(1);
    let sorted = [long, short, short, short];
    let output = super::output::Layout::new(hits).bytes();
    let found = [word, word, 16, output, 16 * pixels, 4 * counts.div_ceil(STRETCH)];
    [&[long, short, short, short, long, long, word, word, 4 * counts][..], &sorted, &found].concat()
}

/// Copy-in, sort by time, gather, link, join, roots, numbers, sort by cluster, write, features, copy-out.
const STEPS: [Access; 11] = [
    // The calibration was copied before, and is kept for the next stretch.
    Access { reads: &[], writes: &[TIME, X, Y, TOT, CALIBRATION] },
    Access { reads: &[TIME, X, Y], writes: &[KEYS, OTHER_KEYS, VALUES, OTHER_VALUES, COUNTS, SUMS] },
    Access {
        reads: &[TIME, X, Y, TOT, VALUES, OTHER_VALUES],
        writes: &[SORTED_TIME, SORTED_X, SORTED_Y, SORTED_TOT],
    },
    Access { reads: &[SORTED_TIME, SORTED_X, SORTED_Y], writes: &[LABELS] },
    Access { reads: &[SORTED_TIME, SORTED_X, SORTED_Y, LABELS], writes: &[LABELS] },
    Access { reads: &[LABELS], writes: &[LABELS, COUNTS, SUMS, SUMMARY] },
    Access { reads: &[LABELS, COUNTS], writes: &[NUMBERS, SUMMARY] },
    Access { reads: &[LABELS, NUMBERS], writes: &[KEYS, OTHER_KEYS, VALUES, OTHER_VALUES, COUNTS, SUMS] },
    // After a sort the result may be in either of two buffers.
    Access {
        reads: &[KEYS, OTHER_KEYS, VALUES, OTHER_VALUES, SORTED_TIME, SORTED_X, SORTED_Y, SORTED_TOT],
        writes: &[OUTPUT],
    },
    Access { reads: &[OUTPUT, CALIBRATION, SUMMARY], writes: &[OUTPUT, SUMMARY] },
    Access { reads: &[OUTPUT, CALIBRATION, SUMMARY], writes: &[] },
];

/// The arena for these numbers of hits and of pixels with a calibration.
pub(super) fn plan(hits: usize, pixels: usize) -> Plan {
    Plan::new(&bytes(hits, pixels), &STEPS)
}

impl PixelArgs {
    /// Arguments for an arena at `base`; the caller fills in sizes.
    pub(super) fn new(base: u64, plan: &Plan) -> Self {
        let at = |buffer: usize| base + plan.start(buffer) as u64;
        let out = at(OUTPUT);
        let mut args = Self {
            keys: at(KEYS),
            other_keys: at(OTHER_KEYS),
            values: at(VALUES),
            other_values: at(OTHER_VALUES),
            counts: at(COUNTS),
            sums: at(SUMS),
            sorted_time: at(SORTED_TIME),
            sorted_x: at(SORTED_X),
            sorted_y: at(SORTED_Y),
            sorted_tot: at(SORTED_TOT),
            labels: at(LABELS),
            numbers: at(NUMBERS),
            summary: at(SUMMARY),
            out_time: out,
            out_x: out,
            out_y: out,
            out_tot: out,
            out_end: out,
            out_first: out,
            out_duration: out,
            out_sum: out,
            out_height: out,
            out_bounds: out,
            out_floats: out,
            out_energy: out,
            calibration: at(CALIBRATION),
            ..bytemuck::Zeroable::zeroed()
        };
        args.point_to_input(base, plan, 0);
        args
    }

    /// Makes hit `first` of the input columns the first hit of the stretch.
    pub(super) fn point_to_input(&mut self, base: u64, plan: &Plan, first: usize) {
        let at = |buffer: usize, size: usize| base + (plan.start(buffer) + size * first) as u64;
        (self.time, self.x, self.y, self.tot) = (at(TIME, 8), at(X, 2), at(Y, 2), at(TOT, 2));
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
    fn every_step_reads_what_is_written() {
        assert_eq!(read_before_written(&STEPS), None);
        assert!(plan(10_000, 0).bytes() < bytes(10_000, 0).iter().sum());
    }
}
