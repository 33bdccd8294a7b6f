//! Rows of bits: each hit sets bits in its layer's row; for each bit of a window, rows with the bit are counted.
//!
//! Words have 64 bits on every gang, so operations on words do not use lanes. The compiler vectorises loops over the
//! four words of a window if a register holds four words.

use super::plan::SHIFTS;
use crate::event::{Column, PAD};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, for_each, inlined};
use std::ops::Range;

/// Words of a window of shifts.
pub(super) const WORDS: usize = SHIFTS / 64;

/// A window of a row.
pub(super) type Window = [u64; WORDS];

/// Computes an array word by word.
#[inline(always)]
pub(super) fn each<const N: usize>(of: impl Fn(usize) -> u64) -> [u64; N] {
    array_of!(word => of(word))
}

/// Returns the window that begins at a bit; bits after the last word are 0.
#[inline(always)]
pub(super) fn window<const N: usize, const M: usize>(row: &[u64], bit: u32) -> [u64; N] {
    const { assert!(M == N + 1) };
    let (word, bit) = ((bit >> 6) as usize, bit & 63);
    let Some(words) = row.get(word..word + M).and_then(|words| words.as_array::<M>()) else { return [0; N] };
    // The second shift is of up to 64 bits, and so is split in two.
    each(
        #[inline(always)]
        |at| words[at] >> bit | (words[at + 1] << 1) << (63 - bit),
    )
}

/// Returns the bits that are set in at least two of three windows.
#[inline(always)]
pub(super) fn two_of<const N: usize>(a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    each(
        #[inline(always)]
        |at| a[at] & b[at] | c[at] & (a[at] | b[at]),
    )
}

/// Returns the bits that are set in one or all of three windows.
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

/// Places at which the hits of a row set bits.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// First bit of each hit. Hits of the outer part set one more bit at both ends, so that their first bit is one lower.
    first: Column<u32>,
    /// First bits of the hits whose bits are in two words, with [`WIDE`] in the outer part.
    crossing: Column<u32>,
    /// Number of bits that a hit sets.
    number: usize,
    /// Range of the hits that are not in the outer part.
    inner: Range<usize>,
}

/// Flag of hits in the outer part; no place is so large.
const WIDE: u32 = 1 << 31;

impl Marks {
    /// Computes the marks of hits at `x * scale + first`, as in [`places`].
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
        let value = inlined!(|value: u32| U32::splat(g, value));
        let last = u64::BITS - number as u32;
        let mut crossings = 0;
        for at in (0..len).step_by(G::LANES) {
            let hit = value(at as u32) + U32::iota(g);
            let is_inner = hit.lt(value(inner.end as u32)).and_not(hit.lt(value(inner.start as u32)));
            let place = place(F32::load(g, &x[at..]), of, offset);
            let place = is_inner.select_u(place, place - value(1));
            place.store(&mut first[at..]);
            let last = is_inner.select_u(value(last), value(last - 2));
            let is_crossing = last.lt(place & value(u64::BITS - 1)) & Mask::first(g, len - at);
            let place = is_inner.select_u(place, place | value(WIDE));
            crossings += place.store_packed(&mut crossing[crossings..], is_crossing);
        }
        self.crossing.set_len(crossings);
        (self.number, self.inner) = (number, inner);
    }

    /// Returns the bits of hits in the outer part, and of other hits.
    #[inline(always)]
    fn masks(&self) -> [u64; 2] {
        [2, 0].map(|more| u64::MAX >> (u64::BITS as usize - self.number - more))
    }

    /// Sets the bits of the remaining hits of the inner part, of the hits of the outer part, and all bits in second words.
    #[inline(always)]
    fn rest(&self, rows: &mut [u64], done: usize) {
        let [wide, mask] = self.masks();
        for &first in &self.first[self.inner.start + done..self.inner.end] {
            begin(rows, mask, first);
        }
        for &first in &self.first[..self.inner.start] {
            begin(rows, wide, first);
        }
        for &first in &self.first[self.inner.end..] {
            begin(rows, wide, first);
        }
        for &first in &self.crossing[..] {
            end(rows, if first & WIDE == 0 { mask } else { wide }, first & !WIDE);
        }
    }
}

/// Sets bits from a place on, as far as they are in the word of this place.
#[inline(always)]
fn begin(rows: &mut [u64], bits: u64, first: u32) {
    if let Some(word) = rows.get_mut((first >> 6) as usize) {
        *word |= bits << (first & 63);
    }
}

/// Sets the remaining bits in the next word.
#[inline(always)]
fn end(rows: &mut [u64], bits: u64, first: u32) {
    if let Some(word) = rows.get_mut((first >> 6) as usize + 1) {
        *word |= (bits >> 1) >> (63 - (first & 63));
    }
}

/// Marks rows in turn, so that a word is seldom read just after it was written.
#[inline(always)]
pub(super) fn draw<const N: usize>(rows: &mut [u64], marks: [&Marks; N]) {
    let mut shortest = usize::MAX;
    for_each!(row < N => shortest = shortest.min(marks[row].inner.len()));
    let first: [&[u32]; N] = array_of!(row => &marks[row].first[marks[row].inner.start..][..shortest]);
    let masks: [u64; N] = array_of!(row => marks[row].masks()[1]);
    let mut at = 0;
    while at < shortest {
        for_each!(row < N => begin(rows, masks[row], first[row][at]));
        at += 1;
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
