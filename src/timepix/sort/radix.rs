//! [`Radix`]: sorts words by digits from the lowest, one part of the words at a time.
//!
//! A stream is nearly in order: words among the first few thousand that are older than all later words can be sorted
//! without the rest. So the memory of a pass stays in a near cache for any length of the stream, and the times of a
//! part need fewer bits than all times.

use super::shape::SortShape;
use crate::event::Column;
use crate::simd::Gang;

/// Most passes: 64 bits in digits of at least six.
const MAX_PASSES: usize = 11;
/// Number of words per allowed move before words count as disordered (an unpredicted branch costs as much as a pass), and
/// number of moves that are allowed at first.
const WORDS_PER_MOVE: usize = 32;
const FIRST_MOVES: usize = 64;
/// Number of parts that may wait for later ones before all the rest is sorted at once: otherwise words in no order would be
/// split as often as there are parts.
const WAITING_PARTS: usize = 4;

/// Sorts words by some of their bits; holds the memory for it.
#[derive(Debug)]
pub(super) struct Radix {
    shape: SortShape,
    other: Column<u64>,
    /// Number of words, then the position of the next word, per pass and digit.
    places: Column<u32>,
    /// Smallest word of all later parts, per part.
    limits: Column<u64>,
}

impl Radix {
    pub fn new(shape: SortShape) -> Self {
        Self { shape, other: Column::default(), places: Column::default(), limits: Column::default() }
    }

    /// Returns the sizes of digits and parts of this sort.
    pub fn shape(&self) -> &SortShape {
        &self.shape
    }

    /// Sorts words by their bits from `low` on, and passes them to `visit` part by part; equal words keep their order.
    pub fn sort<G: Gang>(&mut self, g: G, low: u32, words: &mut Column<u64>, mut visit: impl FnMut(&[u64])) {
        self.other.set_len(words.len());
        let part = self.shape.part_hits;
        self.limits.clear();
        self.limits.push(u64::MAX);
        let mut least = u64::MAX;
        for part in words.chunks(part).skip(1).rev() {
            least = least_room(g, part).min(least);
            self.limits.push(least);
        }
        let (mut from, mut end) = (0, 0);
        for i in (0..self.limits.len()).rev() {
            end = words.len().min(end + part);
            if end - from > WAITING_PARTS * part {
                return visit(self.sort_part(g, low, from..words.len(), words));
            }
            let limit = self.limits[i] >> low << low;
            let leaving = if i == 0 { end } else { from + self.split(limit, &mut words[from..end]) };
            visit(self.sort_part(g, low, from..leaving, words));
            from = leaving;
        }
    }

    /// Moves words below `limit` to the front; all words keep their order. Returns the number of words below.
    fn split(&mut self, limit: u64, words: &mut [u64]) -> usize {
        let Some(first) = words.iter().position(|word| *word >= limit) else { return words.len() };
        let (mut front, mut back) = (first, 0);
        for i in first..words.len() {
            let word = words[i];
            (words[front], self.other[back]) = (word, word);
            front += usize::from(word < limit);
            back += usize::from(word >= limit);
        }
        words[front..].copy_from_slice(&self.other[..back]);
        front
    }

    fn sort_part<'a, G: Gang>(
        &'a mut self,
        g: G,
        low: u32,
        range: std::ops::Range<usize>,
        words: &'a mut [u64],
    ) -> &'a [u64] {
        let Self { shape, other, places, .. } = self;
        let part = &mut words[range.clone()];
        if part.len() < 2 {
            return part;
        }
        let (least, most) = extent_room(g, part);
        // Words differ only in their values above the smallest one.
        let base = least >> low << low;
        let bits = u64::BITS - ((most - base) >> low).leading_zeros();
        let (passes, digit) = shape.passes(bits, part.len());
        let table = 1usize << digit;
        places.set_len(table * passes as usize);
        places.fill(0);
        let by = Digits { base, low, digit };
        count_room(g, part, by, passes, places);
        let other = &mut other[range];
        for (pass, places) in places.chunks_exact_mut(table).enumerate() {
            let mut sum = 0;
            for place in &mut *places {
                (*place, sum) = (sum, sum + *place);
            }
            let by = Digits { low: low + pass as u32 * digit, ..by };
            if pass % 2 == 0 {
                scatter_room(g, part, by, other, places)
            } else {
                scatter_room(g, other, by, part, places)
            }
        }
        if passes % 2 == 1 { other } else { part }
    }
}

/// Sorts words of which few are out of order, by moving these. Returns false when many are out of order; then all words are
/// still there, and equal ones in their order.
pub(super) fn insert_few(low: u32, words: &mut [u64]) -> bool {
    let mut moves = 0;
    for i in 1..words.len() {
        let word = words[i];
        let is_later = |other: u64| other >> low > word >> low;
        if !is_later(words[i - 1]) {
            continue;
        }
        let allowed = FIRST_MOVES + i / WORDS_PER_MOVE;
        let mut place = i;
        while place > 0 && is_later(words[place - 1]) && moves < allowed {
            words[place] = words[place - 1];
            place -= 1;
            moves += 1;
        }
        words[place] = word;
        if moves >= allowed {
            return false;
        }
    }
    true
}

/// Bits by which a pass sorts.
#[derive(Debug, Clone, Copy)]
struct Digits {
    /// Value that is subtracted from words.
    base: u64,
    low: u32,
    digit: u32,
}

#[inline(never)]
fn least_room<G: Gang>(g: G, words: &[u64]) -> u64 {
    extent_room(g, words).0
}

#[inline(never)]
fn extent_room<G: Gang>(g: G, words: &[u64]) -> (u64, u64) {
    g.vectorize(
        #[inline(always)]
        || words.iter().fold((u64::MAX, 0), |(a, b), word| (a.min(*word), b.max(*word))),
    )
}

#[inline(never)]
fn count_room<G: Gang>(g: G, words: &[u64], by: Digits, passes: u32, places: &mut [u32]) {
    g.vectorize(
        #[inline(always)]
        || match passes {
            0 => {}
            1 => count::<1>(words, by, places),
            2 => count::<2>(words, by, places),
            3 => count::<3>(words, by, places),
            4 => count::<4>(words, by, places),
            5 => count::<5>(words, by, places),
            6 => count::<6>(words, by, places),
            _ => count::<MAX_PASSES>(words, by, places),
        },
    );
}

/// Counts the digits of all passes at once.
#[inline(always)]
fn count<const PASSES: usize>(words: &[u64], by: Digits, places: &mut [u32]) {
    let table = 1usize << by.digit;
    let mut tables = places.chunks_exact_mut(table);
    let mut tables: [&mut [u32]; PASSES] = std::array::from_fn(|_| tables.next().unwrap_or_default());
    for &word in words {
        let mut rest = word.wrapping_sub(by.base) >> by.low;
        for places in &mut tables {
            if let Some(place) = places.get_mut(rest as usize & (table - 1)) {
                *place += 1;
            }
            rest >>= by.digit;
        }
    }
}

#[inline(never)]
fn scatter_room<G: Gang>(g: G, from: &[u64], by: Digits, to: &mut [u64], places: &mut [u32]) {
    g.vectorize(
        #[inline(always)]
        || scatter(from, by, to, places),
    );
}

/// Runs one stable pass.
#[inline(always)]
fn scatter(from: &[u64], by: Digits, to: &mut [u64], places: &mut [u32]) {
    let mask = places.len() - 1;
    for &word in from {
        let place = &mut places[(word.wrapping_sub(by.base) >> by.low) as usize & mask];
        to[*place as usize] = word;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use proptest::prelude::*;

    const LOW: u32 = 8;

    /// Returns words with keys in some order; the low bits number them, which shows whether equal words keep their order.
    fn words(keys: impl Iterator<Item = u64>) -> Vec<u64> {
        keys.enumerate().map(|(i, key)| (key << LOW) | (i as u64 % 256)).collect()
    }

    fn sorted(shape: SortShape, level: Level, words: &[u64]) -> Vec<u64> {
        let (mut radix, mut sorted) = (Radix::new(shape), Vec::new());
        let mut words: Column<u64> = words.iter().copied().collect();
        crate::dispatch_isa!(level, g => radix.sort(g, LOW, &mut words, |part| sorted.extend_from_slice(part)));
        sorted
    }

    fn check(words: &[u64]) {
        let mut expected = words.to_vec();
        expected.sort_by_key(|word| word >> LOW);
        for level in Level::supported() {
            for shape in [
                SortShape::FEW_PASSES,
                SortShape::SMALL_DIGITS,
                SortShape { digit_bits: 6, part_hits: 64, ..SortShape::SMALL_DIGITS },
                SortShape { digit_bits: 8, part_hits: 7, ..SortShape::SMALL_DIGITS },
            ] {
                assert_eq!(sorted(shape, level, words), expected, "{level}, {shape:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_order_and_any_bits(
            keys in prop::collection::vec(any::<u64>(), 0..900),
            bits in 0u32..=56,
            step in 0u64..40,
        ) {
            let mask = (1u64 << bits) - 1;
            check(&words(keys.iter().map(|key| key & mask)));
            // Nearly in order: a stream in which keys grow by `step` and are off by a few bits.
            check(&words(keys.iter().zip(0u64..).map(|(key, i)| i * step + (key & mask & 0xfff))));
        }

        #[test]
        fn a_few_out_of_place(
            len in 2usize..900,
            moved in prop::collection::vec((0usize..900, 0usize..900), 0..6),
        ) {
            let mut keys: Vec<u64> = (0..len as u64).map(|i| i / 3 * 5).collect();
            moved.iter().for_each(|(a, b)| keys.swap(a % len, b % len));
            check(&words(keys.into_iter()));
        }
    }

    #[test]
    fn in_order_reversed_equal_and_in_blocks() {
        for len in [0u64, 1, 2, 63, 64, 65, 500, 20_000] {
            check(&words(0..len));
            check(&words((0..len).rev()));
            check(&words((0..len).map(|_| 77)));
            check(&words((0..len).map(|i| i % 2)));
            // The earliest word comes last, so that nothing can be sorted without the rest.
            check(&words((1..len).chain([0])));
            check(&words((0..len).map(|i| (i ^ 0x1ff) << 20)));
            check(&words((0..len).map(|i| (1 << 55) + (i * 7919 % 1009))));
        }
    }

    #[test]
    fn what_is_in_no_order_is_not_looked_at_again_and_again() {
        let shape = SortShape { digit_bits: 9, part_hits: 64, ..SortShape::SMALL_DIGITS };
        let parts = |keys: &mut dyn Iterator<Item = u64>| {
            let (mut radix, mut parts) = (Radix::new(shape), 0);
            let mut words: Column<u64> = words(keys).into_iter().collect();
            let level = Level::choose(None, None).unwrap();
            crate::dispatch_isa!(level, g => radix.sort(g, LOW, &mut words, |_| parts += 1));
            parts
        };
        assert!(parts(&mut (0..64_000).rev()) <= WAITING_PARTS + 1);
        // A stream in blocks whose hits are reversed is sorted part by part.
        assert_eq!(parts(&mut (0..64_000).map(|i| i ^ 31)), 1000);
    }

    #[test]
    fn disorder_is_given_up_on_before_it_costs_much() {
        let mut reversed = words((0..100_000).rev());
        assert!(!insert_few(LOW, &mut reversed));
        // Words after the point where it gave up are unchanged.
        let touched = reversed.iter().zip(words((0..100_000).rev())).rposition(|(a, b)| *a != b).unwrap();
        assert!(touched < 64, "{touched}");
        let mut ordered = words(0..1000);
        ordered.swap(3, 20);
        assert!(insert_few(LOW, &mut ordered) && ordered.is_sorted());
    }
}
