//! Decimal digits, eight at a time: bytes of a word, the first one lowest.

/// Bytes of a word, in which most numbers end.
pub(super) const WORD: usize = 8;

/// One in each byte, and all bits of each but the highest.
const ONES: u64 = u64::MAX / 0xFF;
const LOW_BITS: u64 = ONES * 0x7F;

/// What digits are worth, for each byte; for any other byte more than 9.
#[inline(always)]
pub(super) fn values(word: u64) -> u64 {
    word ^ (ONES * b'0' as u64)
}

/// The high bit of each byte that is worth more than 9.
#[inline(always)]
pub(super) fn others(values: u64) -> u64 {
    (((values & LOW_BITS) + ONES * (0x80 - 10)) | values) & !LOW_BITS
}

/// The high bit of each byte that is `byte`.
#[inline(always)]
pub(super) fn bytes_equal(word: u64, byte: u8) -> u64 {
    let from = word ^ (ONES * u64::from(byte));
    !(((from & LOW_BITS) + LOW_BITS) | from) & !LOW_BITS
}

/// The number whose `count` digits, one at least, are worth the low bytes.
#[inline(always)]
pub(super) fn number_of(values: u64, count: usize) -> u32 {
    // Zeros come before the first digit, and what stands behind the last one goes.
    let values = values << (8 * (WORD - count));
    let pairs = (values & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(10 << 8 | 1) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(100 << 16 | 1) >> 16;
    ((fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(10_000 << 32 | 1) >> 32) as u32
}

/// Powers of ten that the number before so many more digits is multiplied with.
const POWERS: [u64; WORD] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The number of the first `count` digits, 1 to 15.
#[inline(always)]
pub(super) fn whole_number(text: &[u8; 2 * WORD], count: usize) -> u64 {
    let [first, second] = [&text[..WORD], &text[WORD..]]
        .map(|word| values(u64::from_le_bytes(*word.first_chunk().expect("half of the bytes"))));
    match count.checked_sub(WORD) {
        None | Some(0) => number_of(first, count).into(),
        Some(more) => u64::from(number_of(first, WORD)) * POWERS[more] + u64::from(number_of(second, more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whole_numbers_are_those_of_the_standard_library(digits in "[0-9]{1,15}", behind in "[ -~]{16}") {
            let text = format!("{digits}{behind}");
            let bytes = text.as_bytes().first_chunk().unwrap();
            prop_assert_eq!(whole_number(bytes, digits.len()), digits.parse::<u64>().unwrap());
        }

        #[test]
        fn bytes_are_told_apart(word: u64, byte: u8) {
            let bits = |is: &dyn Fn(u8) -> bool| {
                word.to_le_bytes().iter().enumerate().fold(0, |bits, (i, b)| bits | (u64::from(is(*b)) << (8 * i + 7)))
            };
            prop_assert_eq!(others(word), bits(&|value| value > 9));
            prop_assert_eq!(bytes_equal(word, byte), bits(&|value| value == byte));
            prop_assert_eq!(bytes_equal(word, word as u8) & 0x80, 0x80);
        }
    }
}
