//! [`Buckets`]: sorts words by buckets, and each bucket by ranks.
//!
//! One counting pass distributes words in any order to buckets of about 16 words each. In a bucket the position of a
//! word is the number of smaller words ([`rank`]): no branch depends on the order of words. A bucket with more words,
//! which large clusters cause, is split at pivots until its parts are small ([`Pivots`]); a bucket with very many words
//! is distributed to buckets again.

use super::pivots::{MANY, Pivots};
use super::ranks::{FEW, insert, rank};
use crate::event::{Column, PAD};
use crate::simd::Gang;
use std::ops::Range;

/// Largest average number of words of a bucket.
const FILL: usize = 16;
/// Number of parts of the words with separate counters: a single counter would wait for its own store, word after word.
const PARTS: usize = 4;
/// Number of calls that are skipped after one with far too many words in large buckets: successive blocks of a stream are
/// similar.
const SKIPPED: u32 = 15;
/// Largest number of bits that distinguish the words of a bucket, where they are compared in lanes.
pub(super) const KEY_BITS: u32 = u32::BITS;

// An array of words can be read from the beginning of any bucket.
const _: () = assert!(PAD >= FEW);

/// Sorts words by some of their bits; holds the memory for it.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// Words in the order of buckets.
    other: Column<u64>,
    sorted: Column<u64>,
    scratch: Scratch,
    /// Number of calls that are still to be skipped.
    skipped: u32,
}

#[derive(Debug, Default)]
struct Scratch {
    /// Number of words, then the position of the next word, per bucket and part. Buckets inside a bucket are after all others.
    counts: Column<[u32; PARTS]>,
    pivots: Box<Pivots>,
    /// Words in large buckets, if they were counted.
    crowded: usize,
}

/// Properties of words that are to be sorted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The lowest bit that words are sorted by.
    pub low: u32,
    /// Lower and upper limit of the words.
    pub least: u64,
    pub most: u64,
    /// Largest share of words in large buckets, per cent.
    pub most_crowded: u32,
}

/// Bits by which words are distributed to buckets, and sorted.
#[derive(Debug, Clone, Copy)]
pub(super) struct By {
    /// Value that is subtracted from words.
    base: u64,
    shift: u32,
    /// Number of buckets.
    buckets: usize,
    /// The lowest bit that words are sorted by.
    pub(super) low: u32,
}

/// Words, memory of the same size to which they are moved, and memory for the sorted words.
struct Words<'a> {
    from: &'a mut [u64],
    other: &'a mut [u64],
    to: &'a mut [u64],
    /// Most words in large buckets.
    crowded: usize,
}

impl Buckets {
    /// Sorts the words; equal words keep their order. Returns none and leaves the words unchanged if too many are in
    /// large buckets, or if far too many were in a recent call.
    pub fn sort<G: Gang>(&mut self, g: G, limits: Limits, words: &mut Column<u64>) -> Option<&[u64]> {
        let Self { other, sorted, scratch, skipped } = self;
        if *skipped > 0 {
            *skipped -= 1;
            return None;
        }
        let len = words.len();
        other.set_len(len);
        sorted.set_len(len);
        scratch.counts.clear();
        let by = By::new(limits.low, [limits.least >> limits.low << limits.low, limits.most], len);
        let crowded = (len as u64 * u64::from(limits.most_crowded) / 100) as usize;
        let words =
            Words { from: words.padded_mut(), other: other.padded_mut(), to: sorted.padded_mut(), crowded };
        if part_room(g, words, 0..len, by, scratch) {
            return Some(sorted);
        }
        if scratch.crowded > (crowded + len) / 2 {
            *skipped = SKIPPED;
        }
        None
    }
}

impl By {
    /// Creates the distribution for `len` words between two limits that are sorted by their bits from `low` on.
    fn new(low: u32, [base, most]: [u64; 2], len: usize) -> Self {
        let bits = u64::BITS - ((most - base) >> low).leading_zeros();
        let shift = low + bits.saturating_sub((len / FILL).max(1).ilog2() + 1);
        let shift = shift.min(u64::BITS - 1);
        Self { base, shift, buckets: ((most - base) >> shift) as usize + 1, low }
    }

    /// Returns the key that distinguishes the words of a bucket which spans at most [`KEY_BITS`]. It is relative to the
    /// base, since a bucket begins at any word.
    #[inline(always)]
    pub(super) fn key(&self, word: u64) -> u32 {
        (word.wrapping_sub(self.base) >> self.low) as u32
    }

    #[inline(always)]
    fn bucket(&self, word: u64) -> usize {
        (word.wrapping_sub(self.base) >> self.shift) as usize
    }
}

/// Sorts a range of words, unless too many are in large buckets. Returns whether it did. A function of its own, which
/// enters the feature context.
#[inline(never)]
fn part_room<G: Gang>(g: G, words: Words<'_>, range: Range<usize>, by: By, scratch: &mut Scratch) -> bool {
    g.vectorize(
        #[inline(always)]
        || part(g, words, range, by, scratch),
    )
}

#[inline(always)]
fn part<G: Gang>(g: G, words: Words<'_>, range: Range<usize>, by: By, scratch: &mut Scratch) -> bool {
    let Words { from, other, to, crowded } = words;
    let first = scratch.counts.len();
    scratch.counts.set_len(first + by.buckets);
    let counts = &mut scratch.counts[first..];
    count_room(g, &from[range.clone()], by, counts);
    if crowded < range.len() {
        scratch.crowded = in_large_buckets(counts);
        if scratch.crowded > crowded {
            scratch.counts.set_len(first);
            return false;
        }
    }
    scatter_room(g, &from[range.clone()], range.start, by, counts, other);
    let has_keys = by.shift - by.low <= KEY_BITS;
    let mut start = range.start;
    for bucket in first..first + by.buckets {
        let end = scratch.counts[bucket][PARTS - 1] as usize;
        let len = end - start;
        if len > FEW && len <= MANY && has_keys {
            scratch.pivots.sort(g, by, &other[start..end], &mut to[start..end]);
        } else if len > FEW {
            let words = Words { from: &mut *other, other: &mut *from, to: &mut *to, crowded: usize::MAX };
            part_again(g, words, start..end, by.low, scratch);
        } else if len > 0 {
            let words = other[start..].first_chunk::<FEW>().expect("padding follows the words");
            let to = to[start..].first_chunk_mut::<FEW>().expect("padding follows the words");
            let key = crate::simd::inlined!(|i: usize| by.key(words[i]));
            let put = crate::simd::inlined!(|i: usize, place: usize| to[place % FEW] = words[i]);
            if !has_keys || !rank(g, len, key, put) {
                to[..len].copy_from_slice(&words[..len]);
                insert(by.low, &mut to[..len]);
            }
        }
        start = end;
    }
    scratch.counts.set_len(first);
    true
}

/// Returns the number of words in buckets that are too large for ranks.
#[inline(always)]
fn in_large_buckets(counts: &[[u32; PARTS]]) -> usize {
    let words = counts.iter().map(|parts| parts.iter().sum::<u32>() as usize);
    words.filter(|words| *words > FEW).sum()
}

/// Sorts a bucket of very many words.
#[inline(never)]
fn part_again<G: Gang>(g: G, words: Words<'_>, range: Range<usize>, low: u32, scratch: &mut Scratch) {
    let of = &words.from[range.clone()];
    let (least, most) = of.iter().fold((u64::MAX, 0), |(a, b), word| (a.min(*word), b.max(*word)));
    if least >> low == most >> low {
        words.to[range.clone()].copy_from_slice(of);
        return;
    }
    let by = By::new(low, [least >> low << low, most], range.len());
    part_room(g, words, range, by, scratch);
}

/// Splits words into parts of equal length, and the few remaining words.
#[inline(always)]
fn parts_of(words: &[u64]) -> (impl Iterator<Item = [u64; PARTS]>, &[u64]) {
    let (first, rest) = words.split_at(words.len() / PARTS * PARTS);
    let (a, b) = first.split_at(first.len() / 2);
    let ((a, b), (c, d)) = (a.split_at(a.len() / 2), b.split_at(b.len() / 2));
    (a.iter().zip(b).zip(c.iter().zip(d)).map(|((a, b), (c, d))| [*a, *b, *c, *d]), rest)
}

/// Counts the words of each bucket, part by part; a function of its own, so that its few values stay in registers.
#[inline(never)]
fn count_room<G: Gang>(g: G, words: &[u64], by: By, counts: &mut [[u32; PARTS]]) {
    g.vectorize(
        #[inline(always)]
        || {
            counts.fill([0; PARTS]);
            let (parts, rest) = parts_of(words);
            for words in parts {
                for k in 0..PARTS {
                    counts[by.bucket(words[k])][k] += 1;
                }
            }
            for word in rest {
                counts[by.bucket(*word)][PARTS - 1] += 1;
            }
        },
    )
}

/// Moves words to their buckets, whose counts are known and of which the first begins at `start`; the words of a bucket
/// keep their order.
#[inline(never)]
fn scatter_room<G: Gang>(
    g: G,
    words: &[u64],
    start: usize,
    by: By,
    counts: &mut [[u32; PARTS]],
    to: &mut [u64],
) {
    g.vectorize(
        #[inline(always)]
        || {
            let (parts, rest) = parts_of(words);
            let mut sum = start as u32;
            for place in counts.as_flattened_mut() {
                (*place, sum) = (sum, sum + *place);
            }
            for words in parts {
                for k in 0..PARTS {
                    let place = &mut counts[by.bucket(words[k])][k];
                    to[*place as usize] = words[k];
                    *place += 1;
                }
            }
            for &word in rest {
                let place = &mut counts[by.bucket(word)][PARTS - 1];
                to[*place as usize] = word;
                *place += 1;
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use proptest::prelude::*;

    const LOW: u32 = 16;

    /// Checks words with these keys; the low bits number them, which shows whether equal words keep their order.
    fn check(keys: impl Iterator<Item = u64>) {
        let words: Vec<u64> = keys.zip(0..).map(|(key, i)| key << LOW | i).collect();
        let most = words.iter().copied().max().unwrap_or(0);
        let mut expected = words.clone();
        expected.sort_by_key(|word| word >> LOW);
        for level in Level::supported() {
            let mut buckets = Buckets::default();
            // Repeatedly: data of the first time must not appear, and bounds may be wider than necessary.
            let least = words.iter().copied().min().unwrap_or(0);
            for (least, most) in [(0, most), (least, most), (0, most.max(1 << 50))] {
                let mut words: Column<u64> = words.iter().copied().collect();
                let limits = Limits { low: LOW, least, most, most_crowded: 100 };
                let sorted = crate::dispatch_isa!(level, g => buckets.sort(g, limits, &mut words));
                assert_eq!(sorted, Some(&expected[..]), "{level}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_order_and_any_bits(
            keys in prop::collection::vec(any::<u64>(), 0..3000),
            bits in 0u32..=48,
            step in 0u64..40,
        ) {
            let mask = (1u64 << bits) - 1;
            check(keys.iter().map(|key| key & mask));
            check(keys.iter().zip(0u64..).map(|(key, i)| i * step + (key & mask & 0xfff)));
            // Bursts.
            check(keys.iter().zip(0u64..).map(|(key, i)| ((i / 700) << 30) + (key & mask & 0x3ff)));
        }
    }

    #[test]
    fn words_in_large_buckets_are_left_as_they_are() {
        // 1,000 words in one bucket, 4,000 far apart.
        let words: Column<u64> = (0..5000u64).map(|i| if i % 5 == 0 { i } else { i << 30 } << LOW).collect();
        for level in Level::supported() {
            for (most_crowded, is_sorted) in [(0, false), (19, false), (21, true), (100, true)] {
                let (mut buckets, mut given) = (Buckets::default(), words.iter().copied().collect());
                let limits = Limits { low: LOW, least: 0, most: 5000 << 30 << LOW, most_crowded };
                let sorted = crate::dispatch_isa!(level, g => buckets.sort(g, limits, &mut given).is_some());
                assert_eq!((sorted, is_sorted || given[..] == words[..]), (is_sorted, true), "{level}");
            }
        }
    }

    #[test]
    fn in_order_reversed_equal_and_in_bursts() {
        for len in [0u64, 1, 2, 16, 17, 48, 49, 63, 64, 65, 500, 1024, 1025, 20_000] {
            check(0..len);
            check((0..len).rev());
            check((0..len).map(|_| 77));
            check((0..len).map(|i| i % 2));
            check((0..len).map(|i| u64::from(i % 100 == 0) << 47));
            // A bucket that begins at any word and spans all bits of keys.
            check((0..len).map(|i| (1 << 31) + ((i % 2) << 44) + (i * 7919 % 1009) * ((1 << 32) / 1009)));
            // Few enough words in one bucket for pivots, in no order; some keys have all bits set.
            check((0..len).map(|i| u64::from(u32::MAX) - i * 7919 % 1009 % 500));
            check((0..len).map(|i| (i * 7919 % 1009) << 37));
        }
    }
}
