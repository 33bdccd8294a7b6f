//! [`SortShape`]: parameters of the sort for this CPU.

use crate::simd::is_amd;
use std::ops::RangeInclusive;

/// Sizes that affect only the speed of the sort by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortShape {
    /// Largest number of bits of a digit. A pass over a digit of `b` bits writes to 2^b positions in turn.
    pub digit_bits: u32,
    /// Number of hits that are sorted at once.
    pub part_hits: usize,
    /// Largest share of words, per cent, in large buckets of time, which large clusters cause; above this share, words
    /// are sorted digit by digit.
    pub most_crowded: u32,
}

/// Allowed numbers of bits of a digit, and of hits of a part.
pub const DIGIT_BITS: RangeInclusive<u32> = 6..=13;
pub const PART_HITS: RangeInclusive<usize> = 1 << 10..=1 << 24;

impl SortShape {
    /// Few passes with up to 8,192 open positions: fastest on CPUs (Zen) that write to their second-level cache nearly
    /// as fast as to their first-level cache. On them, digits sort large clusters faster than buckets and pivots.
    pub const FEW_PASSES: Self = Self { digit_bits: 13, part_hits: 1 << 16, most_crowded: 60 };
    /// More passes, whose 512 open lines of 64 bytes and 2 KiB of counters fit in a first-level cache of 48 KiB. Parts have
    /// 32 KiB: with their destination they touch 16 pages of 4 KiB, the size of the smallest first-level TLB for stores.
    pub const SMALL_DIGITS: Self = Self { digit_bits: 9, part_hits: 1 << 12, most_crowded: 100 };

    /// Returns the shape for this CPU.
    pub fn of_this_cpu() -> Self {
        if is_amd() { Self::FEW_PASSES } else { Self::SMALL_DIGITS }
    }

    /// Returns the number of passes that sort so many words by so many bits in the least time, and the bits of their digits.
    pub(super) fn passes(&self, bits: u32, words: usize) -> (u32, u32) {
        // One word takes about three times as long in a pass as one counter.
        let cost = |(passes, digit): &(u32, u32)| u64::from(*passes) * (3 * words as u64 + (1 << *digit));
        let least = bits.div_ceil(self.digit_bits);
        let choices =
            (least..=bits.div_ceil(*DIGIT_BITS.start())).map(|passes| (passes, bits.div_ceil(passes.max(1))));
        choices.min_by_key(cost).unwrap_or((0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_all_bits_with_digits_as_small_as_wanted() {
        for shape in [SortShape::FEW_PASSES, SortShape::SMALL_DIGITS] {
            for bits in 0..=64 {
                for words in [1, 100, 10_000, 1_000_000] {
                    let (passes, digit) = shape.passes(bits, words);
                    assert!(
                        passes * digit >= bits && digit <= shape.digit_bits && passes <= 11,
                        "{bits} {words}"
                    );
                }
            }
        }
        // A block of 3.3 ms on 256 x 256 pixels; a part of it.
        assert_eq!(SortShape::FEW_PASSES.passes(37, 1 << 15), (3, 13));
        assert_eq!(SortShape::SMALL_DIGITS.passes(35, 1 << 12), (4, 9));
        assert_eq!(SortShape::FEW_PASSES.passes(0, 5), (0, 0));
    }
}
