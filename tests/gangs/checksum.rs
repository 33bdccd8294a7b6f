//! Checksums in lanes against checksums of one byte after another, on every level.

use peloton::lhcb::checksum::{Checksums, Span, checksum};
use peloton::simd::Level;
use proptest::prelude::*;

/// Compares the sums of consecutive spans of these lengths, each at a multiple of 16 bytes.
fn compare(lengths: &[u32], fill: impl Fn(usize) -> u8) {
    let mut spans = Vec::new();
    let mut first = 0;
    for &bytes in lengths {
        spans.push(Span { first, bytes });
        first += bytes.div_ceil(16) * 4;
    }
    let bytes: Vec<u8> = (0..4 * first as usize).map(fill).collect();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|four| u32::from_ne_bytes(*four)).collect();
    let of = |span: &Span| checksum(&bytes[4 * span.first as usize..][..span.bytes as usize]);
    let expected: Vec<u32> = spans.iter().map(of).collect();
    let mut sums = Checksums::default();
    for level in Level::usual() {
        assert_eq!(sums.of(level, &words, &spans), expected, "{level}");
    }
}

#[test]
fn lanes_take_the_next_record_when_they_are_done() {
    let hash = |at: usize| ((at * at + 7 * at) % 251) as u8;
    for lengths in [&[][..], &[0], &[1, 2, 3], &[16], &[15, 17, 48], &[100_000, 0, 5]] {
        compare(lengths, hash);
    }
    // More records than any level has lanes, very short ones among them.
    compare(&(0..300).map(|at| at * 37 % 400).collect::<Vec<_>>(), hash);
    compare(&(0..70).map(|at| if at % 9 == 0 { 3 } else { 4000 + at }).collect::<Vec<_>>(), hash);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_records_have_the_sums_of_their_bytes(
        lengths in prop::collection::vec(0u32..200, 0..150),
        seed in any::<u64>(),
    ) {
        compare(&lengths, |at| (seed.wrapping_mul(at as u64 | 1) >> 56) as u8);
    }
}
