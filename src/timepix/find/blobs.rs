//! [`Blobs`]: finds large clusters whose hits are all in one window, in pictures of one bit per pixel.
//!
//! Heavy ions and alpha particles leave hundreds of hits at nearly the same time, often in a disc. When such hits are
//! all in one window, with a pause longer than the window before and after them, they are linked exactly where their
//! pixels touch, and to no other hits. So their pixels are drawn into a picture, and a flood starts at one pixel and
//! runs through the rows, down, up, and down again. If the flood reaches all pixels, the hits are one cluster, found
//! without looking up a hit. If it does not, the table of pixels is used.

use crate::event::PixelHits;
use crate::simd::{Gang, Level};
use std::ops::Range;

/// Fewest hits of a blob.
const FEWEST: usize = 64;
/// Rows of a picture; a narrow and a wide picture differ in the number of columns.
const ROWS: usize = 256;
/// Fewest hits of a blob per row of its picture: the time of a flood depends on the rows.
const HITS_A_ROW: usize = 6;
/// Largest number of times that the flood runs over the rows.
const PASSES: usize = 4;
/// Number of hits that are tested together for the beginning of a blob.
const CHUNK: usize = 64;
/// Number of hits tested in vain, minus hits in blobs, after which the search rests; number of calls that a rest lasts.
const IN_VAIN: i64 = 1 << 15;
const REST: u32 = 63;

/// Finds blobs; holds the pictures.
pub(super) struct Blobs {
    level: Level,
    narrow: Box<Picture<u64>>,
    wide: Box<Picture<u128>>,
    /// Number of hits in blobs, at most [`IN_VAIN`], minus the number of hits tested in vain.
    gain: i64,
    /// Remaining calls of a rest.
    rest: u32,
}

/// Smallest and largest x and y.
type Sides = [[u16; 2]; 2];

struct Picture<R> {
    pixels: [R; ROWS],
    /// Pixels that the flood has reached.
    reached: [R; ROWS],
}

/// A row of pixels.
trait Row: Copy + Default + PartialEq {
    const WIDTH: usize;

    /// Returns the row with the pixel of this column added.
    fn with(self, column: u32) -> Self;

    /// Returns the row with only its first pixel.
    fn first(self) -> Self;

    /// Floods the row: returns the pixels of `reached`, the pixels that touch a pixel of `beside` (the previous row), and
    /// their neighbours in this row. Towards the first column a flood spreads by at most 15 pixels; the next pass continues.
    fn flood(self, reached: Self, beside: Self) -> Self;
}

macro_rules! row {
    ($($bits:ty),*) => {$(
        impl Row for $bits {
            const WIDTH: usize = <$bits>::BITS as usize;

            #[inline(always)]
            fn with(self, column: u32) -> Self {
                self | (1 as $bits).wrapping_shl(column)
            }

            #[inline(always)]
            fn first(self) -> Self {
                self & self.wrapping_neg()
            }

            #[inline(always)]
            fn flood(self, reached: Self, beside: Self) -> Self {
                let seeds = reached | (beside | beside << 1 | beside >> 1) & self;
                // The carry of the sum runs from a seed through all set bits above it, up to the first gap.
                let mut all = self & (seeds | self ^ self.wrapping_add(seeds));
                let mut free = self;
                for step in [1, 2, 4, 8] {
                    all |= free & all >> step;
                    free &= free >> step;
                }
                all
            }
        }
    )*};
}
row!(u64, u128);

impl Blobs {
    pub fn new(level: Level) -> Self {
        Self { level, narrow: Picture::new(), wide: Picture::new(), gain: 0, rest: 0 }
    }

    /// Returns the first blob whose first hit is in `range` and which ends before hit number `end`. Streams with crowded
    /// windows but few blobs are searched only now and then.
    pub fn first(
        &mut self,
        window: u32,
        hits: &PixelHits,
        range: Range<usize>,
        end: usize,
    ) -> Option<Range<usize>> {
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        let range = range.start..range.end.min(end);
        let window = i64::from(window);
        let together = |from: usize, to: usize| hits.time[to].saturating_sub(hits.time[from]) <= window;
        let mut from = range.start;
        loop {
            let level = self.level;
            from = crate::dispatch_isa!(level, g => crowded_room(g, window, &hits.time, from..range.end))?;
            let begin = hits.time[from];
            let is_in = |time: &i64| time.saturating_sub(begin) <= window;
            let mut blocks = hits.time[from..end].chunks(FEWEST);
            let len = match blocks.position(|block| block.last().is_none_or(|last| !is_in(last))) {
                Some(block) => {
                    let first = from + block * FEWEST;
                    first - from + hits.time[first..end].iter().take_while(|time| is_in(time)).count()
                }
                None => end - from,
            };
            let blob = from..from + len;
            let is_alone = (blob.start == 0 || !together(blob.start - 1, blob.start))
                && (blob.end == hits.len() || !together(blob.end - 1, blob.end));
            if is_alone && self.is_one(hits, blob.clone()) {
                self.gain = IN_VAIN.min(self.gain + len as i64);
                return Some(blob);
            }
            self.gain -= len as i64;
            if self.gain < -IN_VAIN {
                (self.gain, self.rest) = (0, REST);
                return None;
            }
            // No hit of this window follows a pause, so that none begins a blob.
            from = blob.end;
        }
    }

    /// Returns whether hits of one window are one cluster; false also when the answer would take too long.
    fn is_one(&mut self, hits: &PixelHits, blob: Range<usize>) -> bool {
        let (x, y) = (&hits.x[blob.clone()], &hits.y[blob]);
        let level = self.level;
        let sides = crate::dispatch_isa!(level, g => sides_room(g, x, y));
        let [width, height] = sides.map(|[least, most]| usize::from(most - least) + 1);
        if height > (x.len() / HITS_A_ROW).min(ROWS) {
            false
        } else if width <= u64::WIDTH {
            self.narrow.is_one(x, y, sides)
        } else {
            width <= u128::WIDTH && self.wide.is_one(x, y, sides)
        }
    }
}

impl<R: Row> Picture<R> {
    fn new() -> Box<Self> {
        Box::new(Self { pixels: [R::default(); ROWS], reached: [R::default(); ROWS] })
    }

    #[inline(never)]
    fn is_one(&mut self, x: &[u16], y: &[u16], [[left, _], [low, high]]: Sides) -> bool {
        let height = usize::from(high - low) + 1;
        let pixels = &mut self.pixels[..height];
        let reached = &mut self.reached[..height];
        pixels.fill(R::default());
        reached.fill(R::default());
        for (x, y) in x.iter().zip(y) {
            let row = &mut pixels[usize::from(y - low)];
            *row = row.with(u32::from(x - left));
        }
        reached[0] = pixels[0].first();
        for pass in 0..PASSES {
            let (mut beside, mut is_all, mut is_same) = (R::default(), true, true);
            for i in 0..height {
                let i = if pass % 2 == 0 { i } else { height - 1 - i };
                beside = pixels[i].flood(reached[i], beside);
                is_same &= beside == reached[i];
                is_all &= beside == pixels[i];
                reached[i] = beside;
            }
            if is_all || is_same {
                return is_all;
            }
        }
        false
    }
}

/// Returns the first hit in `range` whose window, which begins with it, has at least [`FEWEST`] hits.
#[inline(never)]
fn crowded_room<G: Gang>(g: G, window: i64, time: &[i64], range: Range<usize>) -> Option<usize> {
    g.vectorize(
        #[inline(always)]
        || {
            let end = range.end.min((time.len() + 1).saturating_sub(FEWEST));
            let last = time.get(FEWEST - 1..).unwrap_or_default();
            let is_crowded = |i: usize| last[i].wrapping_sub(time[i]) as u64 <= window as u64;
            for start in range.clone().step_by(CHUNK).take_while(|start| *start < end) {
                let chunk = start..end.min(start + CHUNK);
                let times = time[chunk.clone()].iter().zip(&last[chunk.clone()]);
                let some = times.fold(false, |some, (first, last)| {
                    some | (last.wrapping_sub(*first) as u64 <= window as u64)
                });
                if some {
                    return chunk.into_iter().find(|i| is_crowded(*i));
                }
            }
            None
        },
    )
}

#[inline(never)]
fn sides_room<G: Gang>(g: G, x: &[u16], y: &[u16]) -> Sides {
    g.vectorize(
        #[inline(always)]
        || {
            // Separate folds: a common one would not be vectorised.
            [x, y].map(
                #[inline(always)]
                |column| {
                    let least = column.iter().fold(u16::MAX, |least, &at| least.min(at));
                    [least, column.iter().fold(0, |most, &at| most.max(at))]
                },
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use proptest::prelude::*;

    /// Returns whether pixels are connected, by comparing them one by one.
    fn is_connected(pixels: &[[u16; 2]]) -> bool {
        let mut left = pixels.to_vec();
        let mut found: Vec<[u16; 2]> = left.pop().into_iter().collect();
        while let Some(pixel) = found.pop() {
            let touches = |other: &[u16; 2]| (0..2).all(|i| pixel[i].abs_diff(other[i]) <= 1);
            let (near, far) = left.into_iter().partition(touches);
            left = far;
            found.extend::<Vec<_>>(near);
        }
        left.is_empty()
    }

    fn hits_of(pixels: &[[u16; 2]]) -> PixelHits {
        let mut hits = PixelHits::default();
        pixels.iter().zip(0..).for_each(|(&[x, y], i)| hits.push(1000 + i % 7, x, y, 1));
        hits.time.sort_unstable();
        hits
    }

    /// Generates pixels along a walk with turns; there may be a second walk next to it.
    fn walks() -> impl Strategy<Value = Vec<[u16; 2]>> {
        let steps = prop::collection::vec((0u16..9, 1u16..4), 20..400);
        (steps, any::<bool>(), 0u16..100).prop_map(|(steps, is_cut, start)| {
            let (mut x, mut y) = (start + 100, start + 60);
            let mut pixels = vec![];
            for (i, (turn, len)) in steps.iter().enumerate() {
                if is_cut && i == steps.len() / 2 {
                    x += 2;
                }
                for _ in 0..*len {
                    x = (x + turn % 3).saturating_sub(1).clamp(1, 254);
                    y = (y + turn / 3).saturating_sub(1).clamp(1, 254);
                    pixels.push([x, y]);
                }
            }
            pixels
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_found_is_one_cluster(pixels in walks()) {
            let hits = hits_of(&pixels);
            for level in Level::supported() {
                let found = Blobs::new(level).first(10, &hits, 0..hits.len(), hits.len());
                if let Some(blob) = found {
                    prop_assert_eq!(blob, 0..hits.len());
                    prop_assert!(is_connected(&pixels));
                }
            }
        }
    }

    /// Returns the pixels of a disc with a hole.
    fn ring([x, y]: [i32; 2], [inner, outer]: [i32; 2]) -> Vec<[u16; 2]> {
        let all = (0..256).flat_map(|x| (0..256).map(move |y| [x, y]));
        let distance = move |[a, b]: [i32; 2]| (a - x).pow(2) + (b - y).pow(2);
        let ring = all.filter(|at| (inner.pow(2)..outer.pow(2)).contains(&distance(*at)));
        ring.map(|at| at.map(|i| i as u16)).collect()
    }

    #[test]
    fn discs_and_rings_are_found_and_two_of_them_are_not_one() {
        let first = |pixels: &[[u16; 2]]| {
            let hits = hits_of(pixels);
            Blobs::new(Level::choose(None, None).unwrap()).first(10, &hits, 0..hits.len(), hits.len())
        };
        for radii in [[0, 5], [0, 30], [20, 30], [0, 33], [40, 60], [0, 63]] {
            let pixels = ring([100, 90], radii);
            assert_eq!(first(&pixels), Some(0..pixels.len()), "{radii:?}");
            let far = [pixels.clone(), vec![[100 + radii[1] as u16 + 1, 90]]].concat();
            assert_eq!(first(&far), None, "{radii:?}");
        }
        assert_eq!(first(&ring([128, 128], [0, 70])), None, "wider than a picture");
        assert_eq!(first(&ring([100, 90], [0, 4])), None, "fewer hits than a blob has");
    }

    #[test]
    fn blobs_lie_between_pauses_and_in_one_window() {
        let disc = ring([50, 50], [0, 8]);
        let hits = |pauses: [i64; 3]| {
            let mut hits = PixelHits::default();
            let mut time = 0;
            for pause in pauses {
                time += pause;
                disc.iter().for_each(|&[x, y]| hits.push(time, x, y, 1));
            }
            hits
        };
        let n = disc.len();
        let first = |pauses, from: usize, end: usize| {
            let hits = hits(pauses);
            Blobs::new(Level::choose(None, None).unwrap()).first(10, &hits, from..hits.len(), end)
        };
        assert_eq!(first([0, 11, 11], 0, 3 * n), Some(0..n));
        assert_eq!(first([0, 11, 11], 1, 3 * n), Some(n..2 * n));
        assert_eq!(first([0, 11, 11], 2 * n, 3 * n), Some(2 * n..3 * n));
        assert_eq!(first([0, 10, 11], 0, 3 * n), Some(0..2 * n));
        assert_eq!(first([0, 10, 10], 0, 3 * n), None, "longer than a window");
        assert_eq!(first([0, 11, 11], 0, n - 1), None, "the hits that may be looked at end inside");
        assert_eq!(first([0, 11, 11], 3 * n, 3 * n), None);
    }
}
