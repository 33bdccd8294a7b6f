//! [`take_room`]: checks and packs hits in one pass, so that each hit is read once.

use super::ordered::{Reached, SMALL_CHUNK};
use super::packed::{Extent, Packing};
use crate::event::{Column, PixelHits};
use crate::simd::{Gang, prefetch};
use std::ops::Range;

/// Number of hits that are prefetched ahead: hits come from distant memory, and each column is read page by page.
const AHEAD: usize = 512;

/// Appends the words of some hits and updates `reached`. Returns none when a hit is older than `disorder` before the time
/// reached so far, or older than the floor. Words of hits that do not fit are meaningless; the extent shows whether all fit.
#[inline(never)]
pub(super) fn take_room<G: Gang>(
    g: G,
    packing: Packing,
    hits: &PixelHits,
    part: Range<usize>,
    (reached, bounds): (&mut Reached, [i64; 2]),
    words: &mut Column<u64>,
) -> Option<Extent> {
    let start = words.len();
    words.set_len(start + part.len());
    let look = Look { packing, hits, part, bounds };
    g.vectorize(
        #[inline(always)]
        || look.run(reached, &mut words[start..]),
    )
}

/// Prefetches a chunk of a column from number `first` on.
#[inline(always)]
fn ask_for<T>(column: &[T], first: usize) {
    for i in (0..SMALL_CHUNK).step_by(64 / size_of::<T>()) {
        prefetch(column, (first + i) as u32);
    }
}

/// Hits to check.
struct Look<'a> {
    packing: Packing,
    hits: &'a PixelHits,
    part: Range<usize>,
    /// Largest age of a hit relative to the time reached, and earliest allowed time.
    bounds: [i64; 2],
}

impl Look<'_> {
    #[inline(always)]
    fn run(&self, reached: &mut Reached, words: &mut [u64]) -> Option<Extent> {
        let Self { packing, hits, part, bounds: [disorder, floor] } = self;
        let n = words.len();
        let (time, x) = (&hits.time[part.clone()][..n], &hits.x[part.clone()][..n]);
        let (y, tot) = (&hits.y[part.clone()][..n], &hits.tot[part.clone()][..n]);
        let mut extent = Extent::NOTHING;
        for start in (0..n).step_by(SMALL_CHUNK) {
            let end = n.min(start + SMALL_CHUNK);
            ask_for(&hits.time, part.start + start + AHEAD);
            for column in [&hits.x, &hits.y, &hits.tot] {
                ask_for(column, part.start + start + AHEAD);
            }
            let now = &time[start..end];
            // The hit before the first one may belong to another block.
            let mut latest = reached.time.max(reached.last.min(now[0]));
            let pairs = now[1..].iter().zip(now);
            pairs.for_each(|(now, before)| latest = latest.max(*now.min(before)));
            let (x, y, tot, words) =
                (&x[start..end], &y[start..end], &tot[start..end], &mut words[start..end]);
            let (mut least, mut most, mut all_x, mut all_y) = (i64::MAX, i64::MIN, 0, 0);
            for i in 0..words.len() {
                (least, most) = (least.min(now[i]), most.max(now[i]));
                (all_x, all_y) = (all_x | x[i], all_y | y[i]);
                words[i] = packing.word(now[i], x[i].into(), y[i].into(), tot[i].into());
            }
            if least < latest.saturating_sub(*disorder).max(*floor) {
                // Some hit may be late: check one by one.
                for &time in now {
                    if time < reached.time.saturating_sub(*disorder).max(*floor) {
                        return None;
                    }
                    reached.take(time);
                }
            }
            *reached = Reached { time: latest, last: now[now.len() - 1] };
            extent = extent.with(Extent { times: [least, most], x: all_x, y: all_y });
        }
        Some(extent)
    }
}
