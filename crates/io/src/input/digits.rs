//! Parses decimal digits, eight at a time, in a 64-bit word; the first digit is the lowest byte.

/// Bytes of a word; most numbers are shorter.
pub(super) const WORD: usize = 8;

/// A word with 1 in each byte; `LOW_BITS` has all bits of each byte except the highest.
const ONES: u64 = u64::MAX / 0xFF;
const LOW_BITS: u64 = ONES * 0x7F;

/// The value of the digit in each byte; more than 9 for a byte that is not a digit.
#[inline(always)]
pub(super) fn values(word: u64) -> u64 {
    word ^ (ONES * b'0' as u64)
}

/// Sets the high bit of each byte whose value is more than 9.
#[inline(always)]
pub(super) fn others(values: u64) -> u64 {
    (((values & LOW_BITS) + ONES * (0x80 - 10)) | values) & !LOW_BITS
}

/// Sets the high bit of each byte that equals `byte`.
#[inline(always)]
pub(super) fn bytes_equal(word: u64, byte: u8) -> u64 {
    let from = word ^ (ONES * u64::from(byte));
    !(((from & LOW_BITS) + LOW_BITS) | from) & !LOW_BITS
}

/// The number with `count` digits, at least one, whose values are in the low bytes.
#[inline(always)]
pub(super) fn number_of(values: u64, count: usize) -> u32 {
    // Puts zeros before the first digit, and removes the bytes after the last one.
    let values = values << (8 * (WORD - count));
    let pairs = (values & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(10 << 8 | 1) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(100 << 16 | 1) >> 16;
    ((fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(10_000 << 32 | 1) >> 32) as u32
}

/// Powers of ten: factor of a number before this many further digits.
const POWERS: [u64; WORD] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The number given by the first `count` digits, 1 to 15.
#[inline(always)]
pub(super) fn whole_number(text: &[u8; 2 * WORD], count: usize) -> u64 {
    let [first, second] = [&text[..WORD], &text[WORD..]]
        .map(|word| values(u64::from_le_bytes(*word.first_chunk().expect("each half has 8 bytes"))));
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
