//! The output columns in one piece of memory, so that one copy transfers them to the host. The number of tracks is
//! known only after the search, so memory is reserved for one track per seed, with a hit on each layer.

use super::args::CylinderArgs;
use crate::Result;
use crate::event::{CYLINDER_LAYERS, CYLINDER_STATE, CylinderTracks, Outcome};
use crate::gpu::device::{append_starts, status_of};
use std::ops::Range;

/// Positions of the columns, bytes from the beginning of the piece.
pub(super) struct Layout {
    /// Tracks, hits, hits cut off in two parts; ends of the events' tracks; status; ends of the tracks' hits, seeds, chi2,
    /// status of the fits, states; hits.
    ranges: [Range<usize>; 9],
    /// Number of values from one column of states to the next.
    stride: usize,
}

impl Layout {
    /// The layout for these numbers of events and seeds.
    pub(super) fn new(events: usize, seeds: usize) -> Self {
        let stride = seeds.next_multiple_of(32);
        let (states, hits) = (4 * CYLINDER_STATE * stride, 4 * CYLINDER_LAYERS * seeds);
        let column = 4 * seeds;
        let sizes = [16, 4 * events, 2 * events, column, column, column, seeds, states, hits];
        let mut start = 0usize;
        let ranges = sizes.map(|size| {
            let range = start..start + size;
            start = range.end.next_multiple_of(64);
            range
        });
        Self { ranges, stride }
    }

    pub(super) fn bytes(&self) -> usize {
        self.ranges[8].end
    }

    /// Writes the addresses of the columns to the arguments of the kernels.
    pub(super) fn point_into(&self, base: u64, args: &mut CylinderArgs) {
        let at = |column: usize| base + self.ranges[column].start as u64;
        (args.out_summary, args.out_track_end, args.out_status) = (at(0), at(1), at(2));
        (args.out_hit_end, args.out_seed, args.out_chi2) = (at(3), at(4), at(5));
        (args.out_fit, args.out_state, args.out_hits) = (at(6), at(7), at(8));
        args.out_stride = self.stride as u32;
    }

    /// Appends the output of the kernels, and returns the number of hits beyond the limits of windows.
    pub(super) fn append(&self, bytes: &[u8], out: &mut Outcome<CylinderTracks>) -> Result<u64> {
        let Outcome { results: out, counters } = out;
        let words = |column: usize| bytemuck::cast_slice::<u8, u32>(&bytes[self.ranges[column].clone()]);
        let floats = |column: usize| bytemuck::cast_slice::<u8, f32>(&bytes[self.ranges[column].clone()]);
        let [tracks, hits] = [0, 1].map(|i| words(0)[i] as usize);
        let (tracks_before, hits_before) = (out.tracks() as u32, out.hits.len() as u32);
        append_starts(&mut out.track_start, words(1), tracks_before);
        for &code in bytemuck::cast_slice::<u8, u16>(&bytes[self.ranges[2].clone()]) {
            let status = status_of(code)?;
            out.status.push(status);
            counters.count_event(status);
        }
        append_starts(&mut out.hit_start, &words(3)[..tracks], hits_before);
        out.seed.extend_from_slice(&words(4)[..tracks]);
        out.chi2.extend_from_slice(&floats(5)[..tracks]);
        out.fit.extend_from_slice(&bytes[self.ranges[6].clone()][..tracks]);
        for (column, values) in out.state.iter_mut().zip(floats(7).chunks(self.stride.max(1))) {
            column.extend_from_slice(&values[..tracks]);
        }
        out.hits.extend_from_slice(&words(8)[..hits]);
        Ok(u64::from(words(0)[2]) | u64::from(words(0)[3]) << 32)
    }
}
