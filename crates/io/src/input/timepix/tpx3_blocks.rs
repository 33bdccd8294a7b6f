//! Decodes hits of `.tpx3` in blocks of words, because nearly all words of a stream are hits.

use super::clock::{Near, hit_clocks};
use peloton::event::{Layout, TICKS_PER_CLOCK};
use peloton::simd::Gang;

/// Words that are decoded at once.
pub(super) const BLOCK: usize = 32;
/// Clocks of 25 ns in a turn of the hits' counter.
const HIT_TURN: i64 = 1 << super::tpx3::HIT_BITS;
/// Pixels of a chip's side.
const SIDE: u32 = 256;

/// A chip whose pixels all exist in the layout: the position of its first pixel on the matrix, and 1 or -1 for rising
/// or falling coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeChip {
    start: [u16; 2],
    sign: u16,
}

impl WholeChip {
    pub fn of(layout: &Layout, chip: u8) -> Option<Self> {
        let place = |pixel| layout.place(chip.into(), pixel, pixel);
        let (x, y) = place(0)?;
        place(SIDE - 1)?;
        Some(Self { start: [x, y], sign: place(1)?.0.wrapping_sub(x) })
    }
}

/// Columns to which hits are written.
pub(super) struct Columns<'a> {
    pub time: &'a mut [i64],
    pub x: &'a mut [u16],
    pub y: &'a mut [u16],
    pub tot: &'a mut [u16],
}

/// Reads blocks of words up to the first block with words other than hits near the running time. Returns the number of blocks.
#[inline(never)]
pub(super) fn blocks_room<G: Gang>(
    g: G,
    words: &[[u8; 8]],
    WholeChip { start, sign }: WholeChip,
    around: i64,
    near: &mut Near,
    to: Columns<'_>,
) -> usize {
    let (times, tots) = (to.time.as_chunks_mut::<BLOCK>().0, to.tot.as_chunks_mut::<BLOCK>().0);
    let (xs, ys) = (to.x.as_chunks_mut::<BLOCK>().0, to.y.as_chunks_mut::<BLOCK>().0);
    let places = times.iter_mut().zip(tots).zip(xs.iter_mut().zip(ys));
    let blocks = words.as_chunks::<BLOCK>().0.iter().zip(places);
    let mut count = 0;
    g.vectorize(
        #[inline(always)]
        || {
            for (block, ((time, tot), (x, y))) in blocks {
                let (mut ticks, mut wrong) = ([0; BLOCK], 0);
                for (word, ticks) in block.iter().zip(&mut ticks) {
                    let word = u64::from_le_bytes(*word);
                    let difference = (hit_clocks(word) - around) & (HIT_TURN - 1);
                    let clocks = around + (difference ^ (HIT_TURN / 2)) - HIT_TURN / 2;
                    *ticks = clocks * TICKS_PER_CLOCK - (word >> 16 & 0xF) as i64;
                    wrong |= ((word >> 60) ^ 0xB) as i64 | (*ticks >> 63);
                }
                if wrong != 0 || !near.takes_all(&ticks) {
                    break;
                }
                for (i, word) in block.iter().enumerate() {
                    let word = u64::from_le_bytes(*word);
                    time[i] = ticks[i] + near.offset;
                    tot[i] = (word >> 20) as u16 & 0x3FF;
                    let [column, row] = pixel(word);
                    x[i] = start[0].wrapping_add(sign.wrapping_mul(column));
                    y[i] = start[1].wrapping_add(sign.wrapping_mul(row));
                }
                count += 1;
            }
        },
    );
    count
}

/// x and y on the chip.
#[inline(always)]
pub(super) fn pixel(word: u64) -> [u16; 2] {
    let address = (word >> 44) as u16;
    let pixel = address & 7;
    [((address & 0xFE00) >> 8) + (pixel >> 2), ((address & 0x1F8) >> 1) + (pixel & 3)]
}
