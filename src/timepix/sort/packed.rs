//! Whole hits in one word each: time, x, y, time over threshold, from the highest bit to the lowest.
//!
//! A block of hits spans so little time that time, pixel and time over threshold fit 64 bits. Sorted by all bits
//! except the time over threshold, such words are hits in their final order, including ties, and no index is needed
//! afterwards. The sort is by digits from the lowest; the number of passes depends on the number of bits alone, never
//! on the order of the hits.

use crate::event::{Column, PixelHits};
use crate::simd::Gang;

/// Bits of the time over threshold, which the sort leaves alone.
pub(super) const TOT_BITS: u32 = u16::BITS;

/// Where the parts of a hit are in its word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    /// Time that words count from.
    first: i64,
    /// Most ticks from there on.
    most_time: u64,
    x_bits: u32,
    y_bits: u32,
}

/// What decides how hits are packed.
struct Extent {
    first: i64,
    last: i64,
    /// All bits that any x or y has.
    x: u16,
    y: u16,
}

impl Packing {
    /// The packing of these hits; none when they do not fit. There is at least one hit.
    pub fn of<G: Gang>(g: G, hits: &PixelHits) -> Option<Self> {
        let Extent { first, last, x, y } = extent_room(g, hits);
        let bits = |value: u64| u64::BITS - value.leading_zeros();
        let (x_bits, y_bits) = (bits(x.into()), bits(y.into()));
        let most_time = last.abs_diff(first);
        let fits = bits(most_time) + x_bits + y_bits + TOT_BITS <= u64::BITS;
        fits.then_some(Self { first, most_time, x_bits, y_bits })
    }

    /// Upper limit of the words.
    pub fn most(&self) -> u64 {
        let rest_bits = self.x_bits + self.y_bits + TOT_BITS;
        (self.most_time << (rest_bits / 2) << (rest_bits - rest_bits / 2)) | ((1 << rest_bits) - 1)
    }
}

#[inline(never)]
fn extent_room<G: Gang>(g: G, hits: &PixelHits) -> Extent {
    g.vectorize(
        #[inline(always)]
        || extent(hits),
    )
}

#[inline(always)]
fn extent(hits: &PixelHits) -> Extent {
    let or = |column: &[u16]| column.iter().fold(0, |all, value| all | value);
    let (x, y) = (or(&hits.x), or(&hits.y));
    let (first, last) = hits.time.iter().fold((i64::MAX, i64::MIN), |(a, b), &t| (a.min(t), b.max(t)));
    Extent { first, last, x, y }
}

/// Packs hits; a function of its own, which enters the feature context.
#[inline(never)]
pub(super) fn pack_room<G: Gang>(g: G, packing: Packing, hits: &PixelHits, words: &mut Column<u64>) {
    words.set_len(hits.len());
    g.vectorize(
        #[inline(always)]
        || pack(packing, hits, words),
    );
}

#[inline(always)]
fn pack(packing: Packing, hits: &PixelHits, words: &mut [u64]) {
    let Packing { first, x_bits, y_bits, .. } = packing;
    let n = words.len();
    let (time, x, y, tot) = (&hits.time[..n], &hits.x[..n], &hits.y[..n], &hits.tot[..n]);
    for i in 0..n {
        let high = (time[i].wrapping_sub(first) as u64) << x_bits | u64::from(x[i]);
        words[i] = (high << y_bits | u64::from(y[i])) << TOT_BITS | u64::from(tot[i]);
    }
}

/// Appends the hits of words; a function of its own, which enters the feature context.
#[inline(never)]
pub(super) fn unpack_room<G: Gang>(g: G, packing: Packing, words: &[u64], to: &mut PixelHits) {
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
        // Two shifts: together they may be those of a whole word.
        time[i] = first.wrapping_add((pixel >> y_bits >> x_bits) as i64);
    }
}
