//! Decodes banks of any version, one word after another, and then sorts the channel codes by zone.

use super::{CHANNEL_SHIFT, MAX_HITS, PART, SciFiScratch, USUAL, code, find_board, words_of};
use crate::Status;
use crate::event::{Column, RawBank, RawEvent, SCIFI_ZONES};
use crate::scifi::geometry::{Boards, LAYER_SHIFT, LINKS, SciFiGeometry};

/// Number of the first layer in channel numbers, which count stations from 1.
const FIRST_LAYER: u32 = 4;
/// Bit of a channel number that is set in the upper half of its layer.
const UPPER_SHIFT: u32 = 15;

/// One word of a bank.
#[derive(Clone, Copy)]
struct Word {
    link: usize,
    cell: u32,
    half: u32,
    large: bool,
}

impl From<u16> for Word {
    #[inline(always)]
    fn from(word: u16) -> Self {
        let word = u32::from(word);
        Self { link: (word >> 9) as usize, cell: word >> 2 & 0x7F, half: word >> 1 & 1, large: word & 1 == 1 }
    }
}

/// Converts the words of all banks to codes, by zone.
#[inline(always)]
pub(super) fn one_by_one(
    geometry: &SciFiGeometry,
    event: &RawEvent<'_>,
    banks: &[RawBank],
    scratch: &mut SciFiScratch,
) -> Status {
    let SciFiScratch { stream, codes, zones, .. } = scratch;
    stream.clear();
    for bank in banks {
        let words = words_of(event, bank);
        let mut first = [0; LINKS];
        match &geometry.boards {
            Boards::Consecutive(channel) => {
                let channel = channel[usize::from(bank.source)];
                first.iter_mut().zip(0..).for_each(|(first, link)| *first = channel + 128 * link);
            }
            Boards::Mapped(boards) => {
                let sipms = find_board(boards, bank.source).expect("the geometry has this board");
                first.iter_mut().zip(sipms).for_each(|(first, &sipm)| *first = sipm.wrapping_mul(128));
            }
        }
        let good = match bank.version {
            4 => version_4(words, &first, stream),
            5 => version_5(words, &first, stream),
            version => version_6(words, &first, u32::from(version != 7), stream),
        };
        if !good {
            return Status::BadBank;
        }
    }
    if stream.len() > MAX_HITS {
        Status::OversizedBank
    } else if by_zone(stream, codes, zones) {
        Status::Ok
    } else {
        Status::BadBank
    }
}

/// Decodes version 4: each word is a hit.
fn version_4(words: &[u16], first: &[u32; LINKS], out: &mut Column<u32>) -> bool {
    for word in words.iter().map(|&word| Word::from(word)) {
        let Some(first) = first.get(word.link) else { return false };
        out.push(code(first + word.cell, if word.large { PART } else { USUAL }, word.half));
    }
    true
}

/// Decodes version 5: two successive large words of one link are the edges of one cluster; see `edges`.
fn version_5(words: &[u16], first: &[u32; LINKS], out: &mut Column<u32>) -> bool {
    let mut rest = words;
    while let Some((&word, after)) = rest.split_first() {
        let (word, next) = (Word::from(word), after.first().map(|&next| Word::from(next)));
        let Some(first) = first.get(word.link) else { return false };
        let channel = first.wrapping_add(word.cell);
        rest = after;
        match next {
            Some(next) if word.large && next.large && next.link == word.link => {
                rest = &after[1..];
                let Some(distance @ 1..) = next.cell.checked_sub(word.cell) else { return false };
                if distance > 4 {
                    for step in (4..distance).step_by(4) {
                        out.push(code(channel + step, PART, word.half));
                    }
                    out.push(code(channel + distance, PART, next.half));
                } else {
                    let width = 2 * distance - 1 + next.half;
                    out.push(one_hit(channel, width, width));
                }
            }
            _ => out.push(code(channel, USUAL, word.half)),
        }
    }
    true
}

/// Decodes version 6: a large word whose half is `start` begins a cluster, any other large word ends one. An edge is
/// a hit on its own when the other edge is missing on its link.
fn version_6(words: &[u16], first: &[u32; LINKS], start: u32, out: &mut Column<u32>) -> bool {
    let mut rest = words;
    while let Some((&word, after)) = rest.split_first() {
        let (word, next) = (Word::from(word), after.first().map(|&next| Word::from(next)));
        let Some(first) = first.get(word.link) else { return false };
        let channel = first.wrapping_add(word.cell);
        rest = after;
        if !word.large {
            out.push(code(channel, USUAL, word.half));
            continue;
        }
        let end = next
            .filter(|next| word.half == start && next.large && next.half != start && next.link == word.link);
        let Some(end) = end else {
            out.push(code(channel, PART, word.half));
            continue;
        };
        rest = &after[1..];
        let Some(distance) = end.cell.checked_sub(word.cell) else { return false };
        let width = distance + 2;
        let mut step = 0;
        if width > 8 {
            while step < width - 4 {
                out.push(code(channel + step, PART, 1));
                step += 4;
            }
            let rest = width - step - 1;
            out.push(code(channel.wrapping_add(step + rest / 2).wrapping_sub(1), PART, (width - 1) % 2));
        } else {
            out.push(one_hit(channel, width, width));
        }
    }
    true
}

/// Returns the code in the middle of a cluster of `width` that begins at `channel`.
fn one_hit(channel: u32, width: u32, told: u32) -> u32 {
    code(channel.wrapping_add((width - 1) / 2).wrapping_sub(1), told, (width - 1) % 2)
}

/// Sorts codes by zone. Returns false when a code is in no zone.
fn by_zone(stream: &Column<u32>, codes: &mut Column<u32>, zones: &mut [u32; SCIFI_ZONES + 1]) -> bool {
    let zone_of = |code: u32| {
        let channel = code >> CHANNEL_SHIFT;
        let layer = (channel >> LAYER_SHIFT).wrapping_sub(FIRST_LAYER);
        (2 * layer as usize).wrapping_add((channel >> UPPER_SHIFT & 1) as usize)
    };
    let mut next = [0u32; SCIFI_ZONES];
    for &code in &stream[..] {
        let Some(count) = next.get_mut(zone_of(code)) else { return false };
        *count += 1;
    }
    let mut sum = 0;
    for (zone, next) in zones.iter_mut().zip(&mut next) {
        *zone = sum;
        (*next, sum) = (sum, sum + *next);
    }
    zones[SCIFI_ZONES] = sum;
    codes.set_len(stream.len());
    for &code in &stream[..] {
        let place = &mut next[zone_of(code)];
        codes[*place as usize] = code;
        *place += 1;
    }
    true
}
