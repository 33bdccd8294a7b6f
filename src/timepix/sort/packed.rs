//! Whole hits in one word each: time, x, y, time over threshold, from the highest bit to the lowest.
//!
//! A block of hits spans so little time that time, pixel and time over threshold fit 64 bits. Sorted by all bits except
//! the time over threshold, such words are hits in their final order, including ties, and no index is needed
//! afterwards. Words are sorted into buckets and then by rank within each bucket, or digit by digit (radix sort).

use crate::event::{Column, PixelHits};
use crate::simd::Gang;
use std::ops::Range;

/// Number of bits of the time over threshold, by which words are not sorted.
pub(super) const TOT_BITS: u32 = u16::BITS;

/// Inverse share of the range of time that is reserved before the first hit: later hits may be earlier.
const BEFORE: u64 = 4;

/// Positions of the parts of a hit in its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Packing {
    /// Base of the times in words.
    first: i64,
    x_bits: u32,
    y_bits: u32,
}

/// Properties of hits that determine their packing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// First and last time.
    pub times: [i64; 2],
    /// Bitwise or of all x, and of all y.
    pub x: u16,
    pub y: u16,
}

impl Extent {
    /// Extent of no hits.
    pub const NOTHING: Self = Self { times: [i64::MAX, i64::MIN], x: 0, y: 0 };

    /// Returns the extent of the hits of `self` and of `other`.
    pub fn with(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.times, other.times);
        Self { times: [a.min(c), b.max(d)], x: self.x | other.x, y: self.y | other.y }
    }
}

impl Packing {
    /// Returns a packing for these hits; none when they do not fit.
    pub fn of(extent: Extent) -> Option<Self> {
        let bits = |value: u16| u16::BITS - value.leading_zeros();
        let packing = Self { first: extent.times[0], x_bits: bits(extent.x), y_bits: bits(extent.y) };
        packing.holds(extent).then_some(packing)
    }

    /// Returns a packing for these hits and for hits that arrive later, with earlier or later times.
    pub fn around(extent: Extent) -> Option<Self> {
        let packing = Self::of(extent)?;
        let room = (1u64 << (u64::BITS - packing.rest_bits() - 1)) / (BEFORE / 2);
        let first = packing.first.saturating_sub(i64::try_from(room).unwrap_or(i64::MAX));
        let packing = Self { first, ..packing };
        packing.holds(extent).then_some(packing)
    }

    /// Returns whether hits of this extent fit.
    pub fn holds(&self, extent: Extent) -> bool {
        let [first, last] = extent.times;
        let times =
            first >= self.first && last.abs_diff(self.first) >> (u64::BITS - self.rest_bits() - 1) < 2;
        times && u32::from(extent.x) < 1 << self.x_bits && u32::from(extent.y) < 1 << self.y_bits
    }

    /// Returns the number of bits that do not belong to the time.
    fn rest_bits(&self) -> u32 {
        self.x_bits + self.y_bits + TOT_BITS
    }

    /// Returns the limit of words for `time`: words of earlier hits are less, other words are not.
    pub fn limit(&self, time: i64) -> u64 {
        let ticks = if time > self.first { time.abs_diff(self.first) } else { 0 };
        ticks.saturating_mul(1 << self.rest_bits())
    }

    /// Returns the time of the hit in a word.
    pub fn time(&self, word: u64) -> i64 {
        self.first.wrapping_add((word >> self.rest_bits()) as i64)
    }

    /// Repacks words of the packing `from`; their hits must fit.
    pub fn take_over(&self, from: &Self, words: &mut [u64]) {
        for word in words {
            let pixel = *word >> TOT_BITS;
            let (x, y) = (pixel >> from.y_bits & ((1 << from.x_bits) - 1), pixel & ((1 << from.y_bits) - 1));
            *word = self.word(from.time(*word), x, y, *word & u64::from(u16::MAX));
        }
    }

    /// Returns the word of a hit that fits.
    #[inline(always)]
    pub fn word(&self, time: i64, x: u64, y: u64, tot: u64) -> u64 {
        let high = (time.wrapping_sub(self.first) as u64) << self.x_bits | x;
        (high << self.y_bits | y) << TOT_BITS | tot
    }
}

/// Returns the extent of some hits.
#[inline(never)]
pub(crate) fn extent_room<G: Gang>(g: G, hits: &PixelHits, part: Range<usize>) -> Extent {
    g.vectorize(
        #[inline(always)]
        || {
            let or = |column: &[u16]| column.iter().fold(0, |all, value| all | value);
            let (x, y) = (or(&hits.x[part.clone()]), or(&hits.y[part.clone()]));
            let times = hits.time[part].iter();
            Extent { times: times.fold([i64::MAX, i64::MIN], |[a, b], &t| [a.min(t), b.max(t)]), x, y }
        },
    )
}

/// Appends the words of some hits; a function of its own, which enters the feature context.
#[inline(never)]
pub(in super::super) fn pack_room<G: Gang>(
    g: G,
    packing: Packing,
    hits: &PixelHits,
    part: Range<usize>,
    words: &mut Column<u64>,
) {
    let start = words.len();
    words.set_len(start + part.len());
    g.vectorize(
        #[inline(always)]
        || pack(packing, hits, part, &mut words[start..]),
    );
}

#[inline(always)]
fn pack(packing: Packing, hits: &PixelHits, part: Range<usize>, words: &mut [u64]) {
    let n = words.len();
    let (time, x) = (&hits.time[part.clone()][..n], &hits.x[part.clone()][..n]);
    let (y, tot) = (&hits.y[part.clone()][..n], &hits.tot[part][..n]);
    for i in 0..n {
        words[i] = packing.word(time[i], x[i].into(), y[i].into(), tot[i].into());
    }
}

/// Appends the hits of words; a function of its own, which enters the feature context.
#[inline(never)]
pub(in super::super) fn unpack_room<G: Gang>(g: G, packing: Packing, words: &[u64], to: &mut PixelHits) {
    let start = to.len();
    to.set_len(start + words.len());
    g.vectorize(
        #[inline(always)]
        || unpack(packing, words, to, start),
    );
}

#[inline(always)]
fn unpack(packing: Packing, words: &[u64], to: &mut PixelHits, start: usize) {
    let Packing { first, x_bits, y_bits, .. } = packing;
    let n = words.len();
    let PixelHits { time, x, y, tot } = to;
    let (time, x) = (&mut time[start..][..n], &mut x[start..][..n]);
    let (y, tot) = (&mut y[start..][..n], &mut tot[start..][..n]);
    let (x_mask, y_mask) = ((1u64 << x_bits) - 1, (1u64 << y_bits) - 1);
    for i in 0..n {
        let pixel = words[i] >> TOT_BITS;
        tot[i] = words[i] as u16;
        y[i] = (pixel & y_mask) as u16;
        x[i] = (pixel >> y_bits & x_mask) as u16;
        // Two shifts, since a single one could be by all bits of a word.
        time[i] = first.wrapping_add((pixel >> y_bits >> x_bits) as i64);
    }
}
