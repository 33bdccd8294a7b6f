//! Converts the raw banks of an event, of version 3 or 4, to one word per hit.

use super::{BOARD_SHIFT, FLIPS, LANE_SHIFT, MAX_HITS};
use crate::Status;
use crate::event::{Column, Counters, RawBank, RawEvent, Truncation};
use crate::ut::geometry::{LANES, STRIPS, UtGeometry};

/// Number of words that are widened at once.
const CHUNK: usize = 8;
/// Version 3: mask of quarter of a strip, strip and lane in a hit.
const PLACE: u32 = (1 << BOARD_SHIFT) - 1;
/// Version 4: count of a lane that marks its bank as bad.
const BAD_LANE: u32 = 255;
/// Version 4: mask of the charge of a hit, below the bits of its strip; a strip without charge is no hit.
const ADC: u32 = 0x1F;

/// Gathers the hits of all banks.
#[inline(always)]
pub(super) fn gather(
    geometry: &UtGeometry,
    event: &RawEvent<'_>,
    banks: &[RawBank],
    out: &mut Column<u32>,
    counters: &mut Counters,
) -> Result<(), Status> {
    out.clear();
    for bank in banks {
        match bank.version {
            3 => {
                if usize::from(bank.source) >= geometry.boards {
                    return Err(Status::BadBank);
                }
                version_3(event, bank, out)?;
            }
            4 => {
                let board = board_of(bank.source).filter(|board| *board < geometry.boards);
                version_4(event, bank, board.ok_or(Status::BadBank)?, out, counters)?;
            }
            _ => return Err(Status::BadBank),
        }
    }
    Ok(())
}

/// Reads a count of hits, then 16 bits for each, which are widened with the board above them.
#[inline(always)]
fn version_3(event: &RawEvent<'_>, bank: &RawBank, out: &mut Column<u32>) -> Result<(), Status> {
    // The bank and the words behind it, up to the padding of the batch: chunks may be read beyond the end of the bank.
    let words = event.words_from(bank);
    let count = (words[0] & 0xFFFF) as usize;
    if usize::from(bank.bytes) < 4 + 2 * count {
        return Err(Status::TruncatedBank);
    }
    let end = out.len();
    if end + count > MAX_HITS {
        return Err(Status::OversizedBank);
    }
    out.reserve_total(end + count + CHUNK);
    let board = u32::from(bank.source) << BOARD_SHIFT;
    let (from, _) = bytemuck::cast_slice::<u32, u16>(&words[1..]).as_chunks::<CHUNK>();
    let (to, _) = out.padded_mut()[end..].as_chunks_mut::<CHUNK>();
    for (to, from) in to.iter_mut().zip(from).take(count.div_ceil(CHUNK)) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = board | u32::from(from) & PLACE;
        }
    }
    out.set_len(end + count);
    Ok(())
}

/// Returns the board of a source; in the new readout a source contains the side and the stave of the board.
fn board_of(source: u16) -> Option<usize> {
    if source >> 11 == 0 {
        return Some(source.into());
    }
    let pair = usize::from(source & 0xFF).checked_sub(1)?;
    Some(2 * pair + usize::from(source >> 10 & 1))
}

/// Reads six counts of a byte each, then rows of sixteen halfwords: two hits of each lane, the last lane first.
fn version_4(
    event: &RawEvent<'_>,
    bank: &RawBank,
    board: usize,
    out: &mut Column<u32>,
    counters: &mut Counters,
) -> Result<(), Status> {
    let words = event.words(bank);
    // The last word may be incomplete.
    let (&[high, low, ..], 8..) = (words, bank.bytes) else { return Err(Status::TruncatedBank) };
    let byte = |word: u32, at: u32| word >> (8 * at) & 0xFF;
    let lanes = [byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(high, 0), byte(high, 1)];
    if lanes.contains(&BAD_LANE) {
        counters.count_truncated(Truncation::BanksMarkedBad, 1);
        return Ok(());
    }
    let data = &bytemuck::cast_slice::<u32, u16>(words)[..usize::from(bank.bytes) / 2];
    let data = data.get(4..).ok_or(Status::TruncatedBank)?;
    for (lane, count) in (0..LANES).zip(lanes) {
        for hit in 0..count as usize {
            let at = 16 * (hit / 2) + 2 * (LANES - 1 - lane) + hit % 2;
            let word = u32::from(*data.get(at).ok_or(Status::TruncatedBank)?);
            let strip = word >> 5;
            if strip >= STRIPS {
                return Err(Status::BadBank);
            }
            if word & ADC == 0 {
                continue;
            }
            if out.len() == MAX_HITS {
                return Err(Status::OversizedBank);
            }
            out.push(FLIPS | (board as u32) << BOARD_SHIFT | (lane as u32) << LANE_SHIFT | strip << 2);
        }
    }
    Ok(())
}
