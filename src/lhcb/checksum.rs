//! Computes the checksums of several MDF records in parallel. Each byte needs the result of the previous byte, so each
//! lane works on another record, and takes the next record when it is done. The longest records come first, so that the
//! lanes finish at about the same time.
//!
//! ```text
//! lane 0 | record 4 ................. |
//! lane 1 | record 1 ........ | record 0 .... |
//! lane 2 | record 2 ...... | record 3 ...... |
//! ```
//! The checksum is defined by LHCb's MDF format: Jenkins' one-at-a-time hash of the bytes as signed numbers.

use crate::simd::varying::{F32, I32, U32};
use crate::simd::{Gang, Level, array_of, for_each, kernels};

/// Number of bytes that a lane takes at once.
const BLOCK: usize = 16;
/// Largest number of words: a gather reaches no further.
const MOST_WORDS: usize = 1 << 30;
/// Largest number of lanes of all gangs.
const MOST_LANES: usize = 16;

/// Returns the checksum of bytes, computed byte by byte. A record with a stored checksum of 0 has no checksum.
pub fn checksum(bytes: &[u8]) -> u32 {
    last_steps(bytes.iter().fold(0, |hash, byte| step(hash, *byte)))
}

fn step(hash: u32, byte: u8) -> u32 {
    let hash = hash.wrapping_add(byte as i8 as u32);
    let hash = hash.wrapping_add(hash << 10);
    hash ^ hash >> 6
}

fn last_steps(hash: u32) -> u32 {
    let hash = hash.wrapping_add(hash << 3);
    let hash = hash ^ hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// A range of bytes in a list of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Index of the first word, a multiple of 4 (no unit).
    pub first: u32,
    /// Number of bytes (no unit).
    pub bytes: u32,
}

/// Computes the checksums of spans in parallel.
#[derive(Debug, Default)]
pub struct Checksums {
    /// Checksum of each span.
    sums: Vec<u32>,
    /// Numbers of the spans, the longest first.
    order: Vec<u32>,
}

impl Checksums {
    /// Returns the [`checksum`] of each span of words, computed in lanes. The checksums do not depend on `level`.
    ///
    /// # Panics
    /// Panics if a span does not begin at a multiple of 4 words, or ends beyond `words` or the first 2^30 words.
    pub fn of(&mut self, level: Level, words: &[u32], spans: &[Span]) -> &[u32] {
        let fits = |span: &Span| {
            let end = span.first as usize + (span.bytes as usize).div_ceil(4);
            span.first.is_multiple_of(4) && end <= words.len().min(MOST_WORDS)
        };
        assert!(
            spans.iter().all(fits),
            "a span must begin at a multiple of 4 words, and end within the words and before word 2^30"
        );
        let Self { sums, order } = self;
        sums.clear();
        sums.resize(spans.len(), 0);
        order.clear();
        order.extend(0..spans.len() as u32);
        order.sort_unstable_by_key(|span| std::cmp::Reverse(spans[*span as usize].bytes));
        kernels!(dispatch_isa!(level, g => in_gangs(g, words, spans, order, sums)));
        sums
    }
}

/// Runs enough gangs side by side to hide the latency of the steps.
#[inline(always)]
fn in_gangs<G: Gang>(g: G, words: &[u32], spans: &[Span], order: &[u32], sums: &mut [u32]) {
    match G::LANES {
        MOST_LANES.. => run::<G, 1>(g, words, spans, order, sums),
        8.. => run::<G, 2>(g, words, spans, order, sums),
        _ => run::<G, 4>(g, words, spans, order, sums),
    }
}

/// State of the lanes.
struct Lanes {
    /// Span of each lane.
    span: [usize; MOST_LANES],
    /// Next block of the span.
    block: [u32; MOST_LANES],
    /// Number of whole blocks of the span that are left; [`IDLE`] for a lane without a span.
    left: [u32; MOST_LANES],
    hash: [u32; MOST_LANES],
}

/// A number of blocks above the number of any span.
const IDLE: u32 = u32::MAX;

#[inline(always)]
fn run<G: Gang, const K: usize>(g: G, words: &[u32], spans: &[Span], order: &[u32], sums: &mut [u32]) {
    let blocks: &[[f32; 4]] = bytemuck::cast_slice(&words[..words.len() / 4 * 4]);
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let count = (K * G::LANES).min(spans.len());
    let (mut waiting, mut busy) = (order.iter(), count);
    let mut lanes = Lanes {
        span: [0; MOST_LANES],
        block: [0; MOST_LANES],
        left: [IDLE; MOST_LANES],
        hash: [0; MOST_LANES],
    };
    (0..count).for_each(|lane| lanes.begin(lane, waiting.next(), spans));
    while busy > 0 {
        let steps = lanes.left[..count].iter().fold(IDLE, |least, left| least.min(*left));
        lanes.advance::<G, K>(g, blocks, steps);
        for lane in 0..count {
            if lanes.left[lane] != IDLE {
                lanes.left[lane] -= steps;
            }
            if lanes.left[lane] > 0 {
                continue;
            }
            let Span { first, bytes: length } = spans[lanes.span[lane]];
            let end = 4 * first as usize + length as usize;
            let rest = &bytes[end - length as usize % BLOCK..end];
            let hash = rest.iter().fold(lanes.hash[lane], |hash, byte| step(hash, *byte));
            sums[lanes.span[lane]] = last_steps(hash);
            lanes.begin(lane, waiting.next(), spans);
            busy -= usize::from(lanes.left[lane] == IDLE);
        }
    }
}

impl Lanes {
    /// Begins the next span, if there is one.
    #[inline(always)]
    fn begin(&mut self, lane: usize, span: Option<&u32>, spans: &[Span]) {
        self.left[lane] = IDLE;
        if let Some(&span) = span {
            let Span { first, bytes } = spans[span as usize];
            self.span[lane] = span as usize;
            (self.block[lane], self.left[lane], self.hash[lane]) = (first / 4, bytes / BLOCK as u32, 0);
        }
    }

    /// Processes `steps` blocks in every lane; lanes without a span process arbitrary blocks.
    #[inline(always)]
    fn advance<G: Gang, const K: usize>(&mut self, g: G, blocks: &[[f32; 4]], steps: u32) {
        let one = U32::splat(g, 1);
        let mut hash: [U32<G>; K] = array_of!(k => U32::load(g, &self.hash[k * G::LANES..]));
        let mut block: [U32<G>; K] = array_of!(k => U32::load(g, &self.block[k * G::LANES..]));
        for _ in 0..steps {
            let words: [[F32<G>; 4]; K] = array_of!(k => F32::gather_records(blocks, block[k]));
            for_each!(word < 4 => {
                let of: [I32<G>; K] = array_of!(k => words[k][word].to_bits().as_i32());
                for_each!(k < K => hash[k] = step_of(hash[k], of[k].shl::<24>()));
                for_each!(k < K => hash[k] = step_of(hash[k], of[k].shl::<16>()));
                for_each!(k < K => hash[k] = step_of(hash[k], of[k].shl::<8>()));
                for_each!(k < K => hash[k] = step_of(hash[k], of[k]));
            });
            for_each!(k < K => block[k] = block[k] + one);
        }
        for_each!(k < K => hash[k].store(&mut self.hash[k * G::LANES..]));
        for_each!(k < K => block[k].store(&mut self.block[k * G::LANES..]));
    }
}

/// Returns [`step`] for the highest byte of each lane.
#[inline(always)]
fn step_of<G: Gang>(hash: U32<G>, byte: I32<G>) -> U32<G> {
    let hash = hash + byte.shr::<24>().to_bits();
    let hash = hash + hash.shl::<10>();
    hash ^ hash.shr::<6>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Isa;

    #[test]
    fn the_checksum_takes_bytes_as_signed() {
        // Computed by hand from the definition.
        assert_eq!(checksum(&[]), 0);
        let one = |byte: u32| {
            let hash = byte.wrapping_add(byte << 10);
            let hash = hash ^ hash >> 6;
            let hash = hash.wrapping_add(hash << 3);
            let hash = hash ^ hash >> 11;
            hash.wrapping_add(hash << 15)
        };
        assert_eq!(checksum(&[1]), one(1));
        assert_eq!(checksum(&[0xFF]), one(0xFFFF_FFFF));
    }

    #[test]
    fn spans_that_do_not_lie_in_the_words_are_refused() {
        let sums_of = |first, bytes| {
            std::panic::catch_unwind(|| {
                let level = Level::new(Isa::Scalar, 1).unwrap();
                Checksums::default().of(level, &[7; 8], &[Span { first, bytes }]).len()
            })
        };
        assert!(sums_of(4, 16).is_ok());
        assert!(sums_of(4, 17).is_err() && sums_of(2, 4).is_err() && sums_of(u32::MAX - 3, 4).is_err());
    }
}
