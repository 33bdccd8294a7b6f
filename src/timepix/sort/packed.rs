//! Whole hits in one word each: time, x, y, time over threshold, from the highest bit to the lowest.
//!
//! A block of hits spans so little time that its time, the pixel and the time over threshold fit 64 bits. Sorted by
//! all bits but those of the time over threshold, such words are hits in their final order, ties included, and
//! nothing has to be fetched through an index afterwards. The sort is by digits from the lowest; how many
//! passes there are depends on the number of bits alone, never on how the hits lie.

use crate::event::{Column, PixelHits};
use crate::simd::Gang;

/// Bits of the time over threshold, which the sort leaves alone.
const TOT_BITS: u32 = u16::BITS;
/// Most bits of a digit: the counters of a pass share the fastest cache with little else.
const MAX_DIGIT: u32 = 13;
/// Least bits of a digit, and how much fewer there are than in the number of hits: counters cost time, too.
const MIN_DIGIT: u32 = 6;
/// Most passes: 64 bits in digits of at least six.
const MAX_PASSES: usize = 11;

/// Where the parts of a hit are in its word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    /// Time that words count from.
    first: i64,
    /// Bits of the time.
    time_bits: u32,
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
    /// How these hits can be packed; none when they do not fit. There is at least one hit.
    pub fn of<G: Gang>(g: G, hits: &PixelHits) -> Option<Self> {
        let Extent { first, last, x, y } = extent_room(g, hits);
        let bits = |value: u64| u64::BITS - value.leading_zeros();
        let (x_bits, y_bits) = (bits(x.into()), bits(y.into()));
        let time_bits = bits(last.abs_diff(first));
        (time_bits + x_bits + y_bits + TOT_BITS <= u64::BITS).then_some(Self {
            first,
            time_bits,
            x_bits,
            y_bits,
        })
    }

    /// Words below this one are hits before `time`.
    pub fn limit(&self, time: i64) -> u64 {
        let shift = self.x_bits + self.y_bits + TOT_BITS;
        let ticks = if time > self.first { time.abs_diff(self.first) } else { 0 };
        ticks.checked_shl(shift).filter(|word| word >> shift == ticks).unwrap_or(u64::MAX)
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

/// Scratch of [`Radix::sort`].
#[derive(Debug, Default)]
pub(super) struct Radix {
    other: Column<u64>,
    /// Per pass and digit: how many words, then where the next one goes.
    indices: Column<u32>,
}

impl Radix {
    /// Sorts whole hits; equal ones but for the time over threshold keep their order.
    pub fn sort_hits(&mut self, packing: Packing, words: &mut Column<u64>) {
        self.sort(TOT_BITS, packing.time_bits + packing.x_bits + packing.y_bits, words);
    }

    /// Sorts words by `bits` bits from `low` on; equal ones keep their order.
    pub fn sort(&mut self, low: u32, bits: u32, words: &mut Column<u64>) {
        let wanted = words.len().max(1).ilog2().saturating_sub(2).clamp(MIN_DIGIT, MAX_DIGIT);
        let passes = bits.div_ceil(wanted);
        let digit = bits.div_ceil(passes.max(1));
        let table = 1usize << digit;
        self.indices.set_len(table * passes as usize);
        self.indices.fill(0);
        self.other.set_len(words.len());
        match passes {
            0 => {}
            1 => count::<1>(words, low, digit, &mut self.indices),
            2 => count::<2>(words, low, digit, &mut self.indices),
            3 => count::<3>(words, low, digit, &mut self.indices),
            4 => count::<4>(words, low, digit, &mut self.indices),
            5 => count::<5>(words, low, digit, &mut self.indices),
            6 => count::<6>(words, low, digit, &mut self.indices),
            _ => count::<MAX_PASSES>(words, low, digit, &mut self.indices),
        }
        for (pass, indices) in self.indices.chunks_exact_mut(table).enumerate() {
            let mut sum = 0;
            for index in &mut *indices {
                (*index, sum) = (sum, sum + *index);
            }
            scatter(words, &mut self.other, low + pass as u32 * digit, indices);
            std::mem::swap(words, &mut self.other);
        }
    }
}

/// Counts the digits of all passes at once.
#[inline(never)]
fn count<const PASSES: usize>(words: &[u64], low: u32, digit: u32, indices: &mut [u32]) {
    let table = 1usize << digit;
    let mut tables = indices.chunks_exact_mut(table);
    let mut tables: [&mut [u32]; PASSES] = std::array::from_fn(|_| tables.next().unwrap_or_default());
    for &word in words {
        let mut rest = word >> low;
        for indices in &mut tables {
            if let Some(index) = indices.get_mut(rest as usize & (table - 1)) {
                *index += 1;
            }
            rest >>= digit;
        }
    }
}

/// One stable pass over the digit at `shift`.
#[inline(never)]
fn scatter(from: &[u64], to: &mut [u64], shift: u32, indices: &mut [u32]) {
    let mask = indices.len() - 1;
    for &word in from {
        let index = &mut indices[(word >> shift) as usize & mask];
        to[*index as usize] = word;
        *index += 1;
    }
}
