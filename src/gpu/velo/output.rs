//! The output columns, packed into one piece of memory, so that one copy transfers all columns to the host.

use super::args::VeloArgs;
use crate::Result;
use crate::event::{Outcome, VeloTracks};
use crate::gpu::device::{append_starts, status_of};
use std::ops::Range;

/// Positions of the columns, bytes from the beginning of the piece.
pub(super) struct Layout {
    tracks: usize,
    /// Ends of the events' tracks, ends of the tracks' hits, hits, status, direction, chi2, states.
    ranges: [Range<usize>; 8],
    /// Number of values from one column of states to the next.
    stride: usize,
}

impl Layout {
    /// The layout for these numbers of events, tracks, and hits on tracks.
    pub(super) fn new(events: usize, tracks: usize, hits: usize) -> Self {
        let stride = tracks.next_multiple_of(16);
        let states = 4 * 8 * stride;
        let sizes = [4 * events, 4 * tracks, 4 * hits, 2 * events, tracks, 4 * tracks, states, states];
        let mut start = 0usize;
        let ranges = sizes.map(|size| {
            let range = start..start + size;
            start = range.end.next_multiple_of(64);
            range
        });
        Self { tracks, ranges, stride }
    }

    pub(super) fn bytes(&self) -> usize {
        self.ranges[7].end
    }

    /// Writes the addresses of the columns to the arguments of the kernels.
    pub(super) fn point_into(&self, base: u64, args: &mut VeloArgs) {
        let at = |column: usize| base + self.ranges[column].start as u64;
        (args.out_track_end, args.out_hit_end, args.out_hits) = (at(0), at(1), at(2));
        (args.out_status, args.out_backward, args.out_chi2) = (at(3), at(4), at(5));
        (args.out_beam, args.out_end) = (at(6), at(7));
        args.out_stride = self.stride as u32;
    }

    /// Appends the output of the kernels.
    pub(super) fn append(&self, bytes: &[u8], out: &mut Outcome<VeloTracks>) -> Result<()> {
        let Outcome { results: out, counters } = out;
        let (tracks, hits) = (out.tracks() as u32, out.hits.len() as u32);
        let words = |column: usize| bytemuck::cast_slice::<u8, u32>(&bytes[self.ranges[column].clone()]);
        let floats = |column: usize| bytemuck::cast_slice::<u8, f32>(&bytes[self.ranges[column].clone()]);
        append_starts(&mut out.track_start, words(0), tracks);
        append_starts(&mut out.hit_start, words(1), hits);
        out.hits.extend_from_slice(words(2));
        for &code in bytemuck::cast_slice::<u8, u16>(&bytes[self.ranges[3].clone()]) {
            let status = status_of(code)?;
            out.status.push(status);
            counters.count_event(status);
        }
        out.backward.extend_from_slice(&bytes[self.ranges[4].clone()]);
        out.chi2.extend_from_slice(floats(5));
        for (states, column) in [(&mut out.beam, 6), (&mut out.end, 7)] {
            let values = floats(column).chunks(self.stride.max(1));
            for (column, values) in states.columns_mut().into_iter().zip(values) {
                column.extend_from_slice(&values[..self.tracks]);
            }
        }
        Ok(())
    }
}
