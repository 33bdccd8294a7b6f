//! Rows of bits: hits mark them, windows of them are added.
//!
//! Words have 64 bits on every gang, and a window is as many words as it needs; nothing here knows of lanes. Loops over the four words of
//! a window are what the compiler makes one operation of, where a register holds four.

use super::plan::SHIFTS;
use crate::event::{Column, PAD};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, for_each, inlined};
use std::ops::Range;

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
    let to = to.padded_mut();
    for at in (0..len).step_by(G::LANES) {
        place(F32::load(g, &x[at..]), of, offset).store(&mut to[at..]);
    }
}

#[inline(always)]
fn place<G: Gang>(x: F32<G>, [scale, first, most]: [f32; 3], offset: usize) -> U32<G> {
    let value = inlined!(|value: f32| F32::splat(x.g, value));
    let place = x.mul_add(value(scale), value(first)).max(value(1.0)).min(value(most));
    place.to_i32().to_bits() + U32::splat(x.g, offset as u32)
}

/// The bits from which the hits of a row set some.
#[derive(Debug, Default)]
pub(super) struct Marks {
    first: Column<u32>,
    /// Of the hits whose bits are in two words, in which order they stand.
    crossing: Column<u32>,
    /// How many bits a hit sets.
    number: usize,
    /// Hits that are not in the outer part, where they set one bit more to both sides.
    inner: Range<usize>,
}

impl Marks {
    /// Of hits at `x * scale + first`, as in [`places`].
    #[inline(always)]
    pub(super) fn open<G: Gang>(
        &mut self,
        g: G,
        x: &[f32],
        inner: Range<usize>,
        of: [f32; 3],
        (number, offset): (usize, usize),
    ) {
        let len = x.len() - PAD;
        self.first.set_len(len);
        self.crossing.reserve_total(len);
        let (first, crossing) = (self.first.padded_mut(), self.crossing.padded_mut());
        let (last, within) = (U32::splat(g, u64::BITS - number as u32), U32::splat(g, u64::BITS - 1));
        let mut crossings = 0;
        for at in (0..len).step_by(G::LANES) {
            let place = place(F32::load(g, &x[at..]), of, offset);
            place.store(&mut first[at..]);
            let is_crossing = last.lt(place & within) & Mask::first(g, len - at);
            crossings += place.store_packed(&mut crossing[crossings..], is_crossing);
        }
        self.crossing.set_len(crossings);
        (self.number, self.inner) = (number, inner);
    }

    /// The hits that are left over where others are fewer, the bits in second words, and those of the outer part.
    #[inline(always)]
    fn rest(&self, rows: &mut [u64], done: usize) {
        let mask = u64::MAX >> (u64::BITS as usize - self.number);
        for &first in &self.first[done..] {
            begin(rows, mask, first);
        }
        for &first in &self.crossing[..] {
            end(rows, mask, first);
        }
        for &first in self.first[..self.inner.start].iter().chain(&self.first[self.inner.end..]) {
            let wide = mask << 2 | 3;
            begin(rows, wide, first - 1);
            end(rows, wide, first - 1);
        }
    }
}

/// Sets the bits of a number from a place on, as far as they are in its word.
#[inline(always)]
fn begin(rows: &mut [u64], bits: u64, first: u32) {
    if let Some(word) = rows.get_mut((first >> 6) as usize) {
        *word |= bits << (first & 63);
    }
}

/// Sets those that are in the next word.
#[inline(always)]
fn end(rows: &mut [u64], bits: u64, first: u32) {
    if let Some(word) = rows.get_mut((first >> 6) as usize + 1) {
        *word |= (bits >> 1) >> (63 - (first & 63));
    }
}

/// Marks rows in turn: a word is seldom read just after it was written.
#[inline(always)]
pub(super) fn draw<const N: usize>(rows: &mut [u64], marks: [&Marks; N]) {
    let mut shortest = usize::MAX;
    for_each!(row < N => shortest = shortest.min(marks[row].first.len()));
    let first: [&[u32]; N] = array_of!(row => &marks[row].first[..shortest]);
    let masks: [u64; N] = array_of!(row => u64::MAX >> (u64::BITS as usize - marks[row].number));
    for at in 0..shortest {
        for_each!(row < N => begin(rows, masks[row], first[row][at]));
    }
    for_each!(row < N => marks[row].rest(rows, shortest));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch;
    use crate::simd::Level;
    use proptest::prelude::*;

    fn bit(row: &[u64], at: usize) -> bool {
        row.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    proptest! {
        #[test]
        fn a_window_is_its_bits(row in prop::collection::vec(any::<u64>(), 5..9), first in 0u32..700) {
            let found = window::<WORDS, { WORDS + 1 }>(&row, first);
            let is_inside = first as usize / 64 + WORDS < row.len();
            for at in 0..SHIFTS {
                prop_assert_eq!(bit(&found, at), is_inside && bit(&row, first as usize + at));
            }
        }

        #[test]
        fn hits_mark_their_bits(
            hits in [prop::collection::vec(1u32..400, 0..9), prop::collection::vec(1u32..400, 0..9)],
            numbers in [1usize..=60, 1usize..=5],
            inner in (0usize..9, 0usize..9),
        ) {
            let level = Level::choose(None, None).unwrap();
            let mut row = vec![0; 8];
            let mut marks: [Marks; 2] = Default::default();
            for ((marks, hits), number) in marks.iter_mut().zip(&hits).zip(numbers) {
                let (from, to) = (inner.0.min(hits.len()), inner.1.min(hits.len()));
                let x: Vec<f32> = hits.iter().map(|hit| *hit as f32).chain([0.0; PAD]).collect();
                let inner = from..from.max(to);
                dispatch!(level, g => marks.open(g, &x, inner.clone(), [1.0, 0.0, 1e6], (number, 0)));
            }
            draw(&mut row, [&marks[0], &marks[1]]);
            for at in 0..512 {
                let has = marks.iter().zip(&hits).any(|(marks, hits)| {
                    hits.iter().enumerate().any(|(hit, first)| {
                        let more = usize::from(!marks.inner.contains(&hit));
                        (*first as usize - more..*first as usize + marks.number + more).contains(&at)
                    })
                });
                prop_assert_eq!(bit(&row, at), has, "{}", at);
            }
        }
    }

    #[test]
    fn sums_of_three_are_those_of_bits() {
        let [a, b, c] = [[0b1111_0000], [0b1100_1100], [0b1010_1010]];
        assert_eq!((two_of(&a, &b, &c), odd_of(&a, &b, &c)), ([0b1110_1000], [0b1001_0110]));
    }
}
