//! Rows of bits: hits mark them, windows of them are added.
//!
//! Words have 64 bits on every gang, and a window is as many words as it needs; nothing here knows of lanes. Loops over the four words of
//! a window are what the compiler makes one operation of, where a register holds four.

use super::plan::SHIFTS;
use crate::event::Column;
use crate::simd::varying::{F32, U32};
use crate::simd::{Gang, array_of, for_each};

/// Words of a window of shifts.
pub(super) const WORDS: usize = SHIFTS / 64;

/// A window of a row.
pub(super) type Window = [u64; WORDS];

/// Word by word.
#[inline(always)]
pub(super) fn each<const N: usize>(of: impl Fn(usize) -> u64) -> [u64; N] {
    array_of!(word => of(word))
}

/// The window that begins at a bit; 0 behind the last word.
#[inline(always)]
pub(super) fn window<const N: usize, const M: usize>(row: &[u64], bit: u32) -> [u64; N] {
    const { assert!(M == N + 1) };
    let (word, bit) = ((bit >> 6) as usize, bit & 63);
    let Some(words) = row.get(word..word + M).and_then(|words| words.as_array::<M>()) else { return [0; N] };
    // The second shift is of up to 64 bits, by two.
    each(
        #[inline(always)]
        |at| words[at] >> bit | (words[at + 1] << 1) << (63 - bit),
    )
}

/// Bits that at least two of three have.
#[inline(always)]
pub(super) fn two_of<const N: usize>(a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    each(
        #[inline(always)]
        |at| a[at] & b[at] | c[at] & (a[at] | b[at]),
    )
}

/// Bits that one or three of three have.
#[inline(always)]
pub(super) fn odd_of<const N: usize>(a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    each(
        #[inline(always)]
        |at| a[at] ^ b[at] ^ c[at],
    )
}

/// A row to be marked: the first bits of its hits, how many each sets, and which of the hits are not in the outer part, where they set
/// one more to both sides.
pub(super) struct Marks<'a> {
    pub(super) bits: &'a [u32],
    pub(super) number: usize,
    pub(super) inner: std::ops::Range<usize>,
}

/// Writes `x * scale + first` as whole numbers from 1 to `most`, plus an offset.
#[inline(always)]
pub(super) fn places<G: Gang>(
    g: G,
    x: &[f32],
    len: usize,
    of: [f32; 3],
    offset: usize,
    to: &mut Column<u32>,
) {
    to.set_len(len);
    let [scale, first, most] = of.map(|value| F32::splat(g, value));
    let (one, offset) = (F32::splat(g, 1.0), U32::splat(g, offset as u32));
    for at in (0..len).step_by(G::LANES) {
        let place = F32::load(g, &x[at..]).mul_add(scale, first).max(one).min(most);
        (place.to_i32().to_bits() + offset).store(&mut to.padded_mut()[at..]);
    }
}

/// Sets the bits of a number from a place on.
#[inline(always)]
fn mark(rows: &mut [u64], bits: u64, first: u32) {
    let (word, bit) = ((first >> 6) as usize, first & 63);
    if let Some(word) = rows.get_mut(word) {
        *word |= bits << bit;
    }
    // Seldom, and a branch: written together with the first word, the pair would be read before what was written to it last has arrived.
    let behind = (bits >> 1) >> (63 - bit);
    if behind != 0
        && let Some(word) = rows.get_mut(word + 1)
    {
        *word |= behind;
    }
}

/// Marks rows in turn: a word is seldom read just after it was written.
#[inline(always)]
pub(super) fn draw<const N: usize>(rows: &mut [u64], marks: [Marks<'_>; N]) {
    let mut shortest = usize::MAX;
    for_each!(row < N => shortest = shortest.min(marks[row].bits.len()));
    let bits: [&[u32]; N] = array_of!(row => &marks[row].bits[..shortest]);
    let masks: [u64; N] = array_of!(row => (1 << marks[row].number) - 1);
    for at in 0..shortest {
        for_each!(row < N => mark(rows, masks[row], bits[row][at]));
    }
    for Marks { bits, number, inner } in marks {
        let (mask, wide) = ((1 << number) - 1, (4 << number) - 1);
        for &first in &bits[shortest..] {
            mark(rows, mask, first);
        }
        for &first in &bits[..inner.start] {
            mark(rows, wide, first - 1);
        }
        for &first in &bits[inner.end..] {
            mark(rows, wide, first - 1);
        }
    }
}
