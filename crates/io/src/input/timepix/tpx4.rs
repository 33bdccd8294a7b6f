//! `.tpx4`: Timepix4 words of 64 bits as ASI readouts write them; 448 x 512 pixels in two halves.

use super::{Decode, Output, extend, words};
use peloton::event::TICKS_PER_CLOCK;

const MAGIC: u32 = 0x3458_5054;
/// Largest end-of-column number that is a column.
const LAST_COLUMN: u32 = 223;
const HEARTBEAT: u32 = 0xE0;
/// Hits that wait at most for the first heartbeat of their half.
const MAX_WAITING: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Tpx4 {
    /// Last heartbeat of the bottom and the top half, clocks of 25 ns.
    heartbeat: [Option<i64>; 2],
    waiting: [Vec<u64>; 2],
}

impl Decode for Tpx4 {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        for word in words(bytes) {
            self.word(word, to);
        }
        bytes.len() / 8 * 8
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        to.counts.malformed += u64::from(!rest.is_empty());
        for half in 0..2 {
            self.stop_waiting(half, 0, to);
        }
    }
}

impl Tpx4 {
    fn word(&mut self, word: u64, to: &mut Output<'_>) {
        let half = (word >> 63) as usize;
        let column = (word >> 55 & 0xFF) as u32;
        if word as u32 == MAGIC {
            to.counts.control += 1;
        } else if column <= LAST_COLUMN {
            match self.heartbeat[half] {
                Some(near) => hit(word, near, to),
                None => {
                    self.waiting[half].push(word);
                    if self.waiting[half].len() >= MAX_WAITING {
                        self.heartbeat[half] = Some(0);
                        self.stop_waiting(half, 0, to);
                    }
                }
            }
        } else if column == HEARTBEAT {
            to.counts.control += 1;
            let near = (word & 0xFFFF_FFFF_FFFF) as i64;
            if self.heartbeat[half].replace(near).is_none() {
                self.stop_waiting(half, near, to);
            }
        } else {
            to.counts.unknown += 1;
        }
    }

    #[cold]
    fn stop_waiting(&mut self, half: usize, near: i64, to: &mut Output<'_>) {
        for word in std::mem::take(&mut self.waiting[half]) {
            hit(word, near, to);
        }
    }
}

/// The coarse time is Gray-coded and wraps every 1.6 ms; it is extended to the wrap nearest to the heartbeat.
fn hit(word: u64, near: i64, to: &mut Output<'_>) {
    let mut toa = word >> 30 & 0xFFFF;
    for shift in [8, 4, 2, 1] {
        toa ^= toa >> shift;
    }
    let time = extend(toa, 16, near) * TICKS_PER_CLOCK - (word >> 17 & 0x1F) as i64;
    let address = (word >> 46) as u32;
    let is_top = address >> 17 == 1;
    let (mut pixel, mut block, mut column) = (address & 31, address >> 5 & 15, address >> 9 & 0xFF);
    if is_top {
        (pixel, block, column) = (31 - pixel, 15 - block, LAST_COLUMN - column);
    }
    let x = 2 * column + pixel % 8 / 4;
    let y = pixel % 4 + 4 * (pixel / 8) + 16 * block + 256 * u32::from(is_top);
    to.hit(0, x, y, time, (word >> 1 & 0x7FF) as u16);
}

#[cfg(test)]
mod tests {
    use super::super::PixelCounts;
    use super::*;
    use peloton::event::{Layout, PixelBlock};

    #[test]
    fn words_become_hits_around_their_heartbeat() {
        let gray = |value: u64| value ^ value >> 1;
        let word = |top: u64, column: u64, block: u64, pixel: u64, toa: u64| {
            (top << 17 | column << 9 | block << 5 | pixel) << 46 | gray(toa) << 30 | 5 << 17 | 321 << 1
        };
        let heartbeat = |top: u64, clocks: u64| top << 63 | 0xE0 << 55 | clocks;
        let layout = Layout::single(448, 512).unwrap();
        let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
        let mut to = Output { block: &mut block, counts: &mut counts, layout: &layout };
        let stream = [
            word(0, 3, 2, 14, 0xFFF0),
            heartbeat(0, 7 << 16),
            word(1, 0, 0, 0, 9),
            heartbeat(1, 5 << 16),
            word(0, 223, 15, 31, 1),
            0xF1 << 55,
        ];
        let bytes: Vec<u8> = stream.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut decoder = Tpx4::default();
        assert_eq!(decoder.decode(&bytes, &mut to), bytes.len());
        decoder.finish(&[1], &mut to);
        assert_eq!(block.hits.get(0), (((7 << 16) - 16) * 16 - 5, 7, 2 + 4 + 32, 321));
        assert_eq!(block.hits.get(1), (((5 << 16) + 9) * 16 - 5, 447, 511, 321));
        assert_eq!(block.hits.get(2), (((7 << 16) + 1) * 16 - 5, 447, 255, 321));
        assert_eq!((counts.hits, counts.control, counts.unknown, counts.malformed), (3, 2, 1, 1));
    }
}
