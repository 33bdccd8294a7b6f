//! Decodes banks of version 5 with SIMD, one quarter of a layer at a time. Each word is one cluster, but two successive
//! words of one link that are both flagged as large are the edges of one wide cluster:
//!
//! ```text
//!   words     a  B  C  d  E  F  G  h         large ones in capitals
//!   pairable     1  0     1  1  0            large, and so is the next one of the same link
//!   first        1        1                  every other one of each run of pairable ones
//!   hits      a  BC    d  EF    G  h
//! ```
//! The carries of one addition select every other word of a run of pairable words, without a loop.

use super::{CHANNEL, CHANNEL_SHIFT, MAX_HITS, PART, SciFiScratch, USUAL, WIDTH_SHIFT, code, words_of};
use crate::Status;
use crate::event::{Column, RawBank, RawEvent};
use crate::scifi::geometry::{Boards, LINKS, QUARTERS, SciFiGeometry};
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};

/// Words widened at once; most banks have fewer.
const CHUNK: usize = 32;
/// Number of bits of a word below its link number.
const LINK_SHIFT: u32 = 9;
/// Topmost bit of a stream entry, the sum of a word and its board's first channel. Neighbouring boards differ in this
/// bit, so that they have no link in common.
const BOARD_PARITY: u32 = 1 << 31;
/// Largest distance between the edges of a wide cluster that is one hit.
const ONE_HIT: u32 = 4;
const EVEN: u64 = 0x5555_5555_5555_5555;

/// Converts the words of all banks to codes, by zone.
#[inline(always)]
pub(super) fn by_quarter<G: Gang>(
    g: G,
    geometry: &SciFiGeometry,
    quarters: &[u8],
    event: &RawEvent<'_>,
    banks: &[RawBank],
    scratch: &mut SciFiScratch,
) -> Status {
    let SciFiScratch { stream, quarter, codes, zones, .. } = scratch;
    let Boards::Consecutive(first) = &geometry.boards else { return Status::BadBank };
    // Banks are sorted by source, and so by quarter.
    let mut starts = [0; QUARTERS + 1];
    for bank in banks {
        starts[usize::from(quarters[usize::from(bank.source)]) + 1] += 1;
    }
    for quarter in 0..QUARTERS {
        starts[quarter + 1] += starts[quarter];
    }
    codes.clear();
    let (mut good, mut highest) = (true, [0; CHUNK]);
    for (at, part) in geometry.parts.iter().enumerate() {
        if at % 2 == 0 {
            zones[at / 2] = codes.len() as u32;
        }
        stream.clear();
        for bank in &banks[starts[part.quarter]..starts[part.quarter + 1]] {
            append(first[usize::from(bank.source)], event, bank, stream, &mut highest);
        }
        quarter.clear();
        good &= expand(g, stream, &mut quarter.codes);
        quarter.append_to(g, part, codes);
    }
    good &= highest.iter().all(|word| usize::from(word >> LINK_SHIFT) < LINKS);
    zones[zones.len() - 1] = codes.len() as u32;
    match good {
        true if codes.len() > MAX_HITS => Status::OversizedBank,
        true => Status::Ok,
        false => Status::BadBank,
    }
}

/// Appends the words of a bank to the stream. Copies whole chunks: words beyond the end of the bank are overwritten by the
/// next bank. `highest` collects the largest word at each place of a chunk, from which the caller sees, without a branch
/// here, whether a link does not exist.
#[inline(always)]
fn append(
    first: u32,
    event: &RawEvent<'_>,
    bank: &RawBank,
    stream: &mut Column<u32>,
    highest: &mut [u16; CHUNK],
) {
    let (len, end) = (words_of(event, bank).len(), stream.len());
    stream.set_len(end + len);
    let base = first << 2 | u32::from(bank.source & 1) << 31;
    // The words follow the header.
    let words: &[u16] = bytemuck::cast_slice(&event.words_from(bank)[1..]);
    let to = stream.padded_mut()[end..].chunks_exact_mut(CHUNK);
    for (to, at) in to.zip((0..len).step_by(CHUNK)) {
        let words = &words[at..at + CHUNK];
        for i in 0..CHUNK {
            to[i] = base + u32::from(words[i]);
            let word = if i < len - at { words[i] } else { 0 };
            highest[i] = highest[i].max(word);
        }
    }
}

/// Turns the words of a stream into codes. Returns false when the edges of a cluster are in the wrong order.
#[inline(always)]
fn expand<G: Gang>(g: G, stream: &mut Column<u32>, codes: &mut Column<u32>) -> bool {
    let len = stream.len();
    stream.reserve_total(len + 1);
    // The entry after the last word must not be an edge.
    stream.padded_mut()[len] = 0;
    let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
    let mut bad = Mask::first(g, 0);
    let mut consumed = 0;
    for at in (0..len).step_by(G::LANES) {
        let (word, next) = (U32::load(g, &stream.padded()[at..]), U32::load(g, &stream.padded()[at + 1..]));
        let here = Mask::first(g, len - at);
        let channel = word.shr::<2>() & U32::splat(g, CHANNEL);
        let half = word.shr::<1>() & one;
        let single = channel.shl::<CHANNEL_SHIFT>() | U32::splat(g, USUAL << WIDTH_SHIFT) | half;
        let same_link = (word ^ next).shr::<LINK_SHIFT>().eq(zero);
        let pairable = here.and_not((word & next & one).eq(zero)) & same_link;
        codes.reserve_total(codes.len() + G::LANES);
        if consumed == 0 && !pairable.any() {
            let end = codes.len();
            single.store(&mut codes.padded_mut()[end..]);
            codes.set_len(end + G::LANES.min(len - at));
            continue;
        }
        let firsts = every_other(pairable.bits() & !consumed);
        let kept = here.bits() & !(firsts << 1 | consumed);
        consumed = firsts >> (G::LANES - 1) & 1;

        let is_first = Mask::from_bits(g, firsts);
        let distance = next.shr::<2>() - word.shr::<2>();
        bad = bad | is_first.and_not((distance - one).lt(U32::splat(g, 127)));
        let next_half = next.shr::<1>() & one;
        let width = distance.shl::<1>() - one + next_half;
        let middle = channel + (width - one).shr::<1>() - one;
        let middle = (middle & U32::splat(g, CHANNEL)).shl::<CHANNEL_SHIFT>() | width.shl::<WIDTH_SHIFT>();
        let middle = middle | ((width - one) & one);
        let far_end = ((channel + distance) & U32::splat(g, CHANNEL)).shl::<CHANNEL_SHIFT>() | next_half;
        let far = is_first & U32::splat(g, ONE_HIT).lt(distance);
        let hit = is_first.select_u(far.select_u(far_end, middle), single);
        if far.any() {
            push_far(g, &stream.padded()[at..], hit, Chosen { kept, far: far.bits() }, codes);
        } else {
            let end = codes.len();
            let count = hit.store_packed(&mut codes.padded_mut()[end..], Mask::from_bits(g, kept));
            codes.set_len(end + count);
        }
    }
    !bad.any()
}

/// Returns every other bit of each run of ones, including the first bit of the run.
#[inline(always)]
fn every_other(runs: u64) -> u64 {
    let starts = runs & !(runs << 1);
    // Adding the lowest bit of a run clears the run and carries into the zero above it.
    let from_even = runs & !runs.wrapping_add(starts & EVEN);
    from_even & EVEN | runs & !from_even & !EVEN
}

/// Hits of a gang, one bit per lane.
struct Chosen {
    /// Hits that are kept.
    kept: u64,
    /// Kept hits that are the far ends of such wide clusters that they are several hits.
    far: u64,
}

/// Appends the hits of a gang in which some clusters are so wide that they are several hits each.
#[inline(always)]
fn push_far<G: Gang>(
    g: G,
    words: &[u32],
    hit: U32<G>,
    Chosen { mut kept, mut far }: Chosen,
    codes: &mut Column<u32>,
) {
    loop {
        // The hits before the next wide cluster.
        let before = kept & (far & far.wrapping_neg()).wrapping_sub(1);
        let end = codes.len();
        codes.reserve_total(end + G::LANES);
        let count = hit.store_packed(&mut codes.padded_mut()[end..], Mask::from_bits(g, before));
        codes.set_len(end + count);
        kept &= !before;
        if far == 0 {
            return;
        }
        let lane = far.trailing_zeros() as usize;
        far &= far - 1;
        let (word, next) = (words[lane], words[lane + 1]);
        let distance = (next >> 2).wrapping_sub(word >> 2).min(127);
        for step in (ONE_HIT..distance).step_by(ONE_HIT as usize) {
            codes.push(code((word >> 2 & CHANNEL) + step, PART, word >> 1 & 1));
        }
    }
}

const _: () = assert!(BOARD_PARITY > CHANNEL << 2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_halved() {
        for runs in (0..1u64 << 14).chain([u64::MAX, 1 << 63, 3 << 62, u64::MAX >> 1]) {
            let (mut expected, mut at) = (0, 0);
            while at < 64 {
                if runs >> at & 1 == 1 {
                    expected |= 1 << at;
                    at += 1;
                }
                at += 1;
            }
            assert_eq!(every_other(runs), expected, "{runs:b}");
        }
    }
}
