//! Decodes `.tpx4`: chunks of 64-bit words from ASI readouts of a Timepix4, which has 448 x 512 pixels in two halves.

use super::chunks::{self, Next};
use super::clock::{Action, Pulses};
use super::{Decode, Output, extend, words};
use peloton::event::TICKS_PER_CLOCK;

const NAME: [u8; 4] = *b"TPX4";
/// Largest end-of-column number of a column of pixels.
const LAST_COLUMN: u32 = 223;
const HEARTBEAT: u32 = 0xE0;
/// Bits of the hits' counter; `TURN` is its period in clocks of 25 ns.
const HIT_BITS: u32 = 16;
const TURN: i64 = 1 << HIT_BITS;

#[derive(Default)]
pub(super) struct Tpx4 {
    pulses: Pulses,
}

impl Decode for Tpx4 {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        self.chunks(bytes, false, to)
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        self.chunks(rest, true, to);
        while self.pulses.waits(0) || self.pulses.waits(1) {
            self.pulses.give_up(&mut to.clock_and_sink());
            self.replay(to);
        }
    }
}

impl Tpx4 {
    fn chunks(&mut self, bytes: &[u8], end: bool, to: &mut Output<'_>) -> usize {
        let mut used = 0;
        loop {
            match chunks::next(&bytes[used..], NAME, end, to.counts) {
                Next::Chunk { words: bytes, taken, .. } => {
                    words(bytes).for_each(|word| self.word(word, to));
                    used += taken;
                }
                Next::Passed(passed) => used += passed,
                Next::More => return used,
            }
        }
    }

    fn word(&mut self, word: u64, to: &mut Output<'_>) {
        if self.takes(word, to) == Action::Replay {
            self.replay(to);
        }
    }

    /// Processes a word.
    fn takes(&mut self, word: u64, to: &mut Output<'_>) -> Action {
        let half = (word >> 63) as usize;
        let column = (word >> 55 & 0xFF) as u32;
        if column <= LAST_COLUMN {
            if self.pulses.waits(half) {
                return self.pulses.wait(half, word, &mut to.clock_and_sink());
            }
            let clocks = hit(word, self.pulses.near(half), to);
            self.pulses.hit(half, clocks);
        } else if let Some(beat) = heartbeat(word) {
            to.counts.control += 1;
            return self.pulses.beat(half, [beat, word as i64], &mut to.clock_and_sink());
        } else {
            to.counts.unknown += 1;
        }
        Action::GoOn
    }

    /// Reads the words that waited. Some may have to wait for a further heartbeat, but never for the same one again.
    #[cold]
    fn replay(&mut self, to: &mut Output<'_>) {
        let mut half = 0;
        let mut idle = 0;
        while idle < 2 {
            // Words that wait again and can be read meanwhile come before the remaining words.
            let mut rests = vec![self.pulses.take_waiting(half).into_iter()];
            idle = if rests[0].len() == 0 { idle + 1 } else { 0 };
            while let Some(rest) = rests.last_mut() {
                let Some(word) = rest.next() else {
                    rests.pop();
                    continue;
                };
                // The heartbeat was counted when it arrived.
                to.counts.control -= u64::from(heartbeat(word).is_some());
                if self.takes(word, to) == Action::Replay {
                    rests.push(self.pulses.take_waiting(half).into_iter());
                }
            }
            half = 1 - half;
        }
    }
}

/// The clocks of 25 ns that a heartbeat gives; none for other words.
pub(super) fn heartbeat(word: u64) -> Option<i64> {
    ((word >> 55 & 0xFF) as u32 == HEARTBEAT).then_some((word & 0xFFFF_FFFF_FFFF) as i64)
}

/// Reads a hit and returns its coarse time, clocks. The coarse time is Gray-coded, wraps every 1.6 ms, and is extended
/// to the value nearest to `near`.
fn hit(word: u64, [near, offset]: [i64; 2], to: &mut Output<'_>) -> i64 {
    let mut toa = word >> 30 & 0xFFFF;
    for shift in [8, 4, 2, 1] {
        toa ^= toa >> shift;
    }
    let fine = (word >> 17 & 0x1F) as i64;
    let mut clocks = extend(toa, HIT_BITS, near);
    // No time is before the clock's zero.
    if clocks * TICKS_PER_CLOCK < fine {
        clocks += TURN;
    }
    let time = (clocks + offset) * TICKS_PER_CLOCK - fine;
    let address = (word >> 46) as u32;
    let is_top = address >> 17 == 1;
    let (mut pixel, mut block, mut column) = (address & 31, address >> 5 & 15, address >> 9 & 0xFF);
    if is_top {
        (pixel, block, column) = (31 - pixel, 15 - block, LAST_COLUMN - column);
    }
    let x = 2 * column + pixel % 8 / 4;
    let y = pixel % 4 + 4 * (pixel / 8) + 16 * block + 256 * u32::from(is_top);
    to.hit(0, x, y, time, (word >> 1 & 0x7FF) as u16);
    clocks
}

#[cfg(test)]
mod tests {
    use super::super::{PixelFormat, PixelOptions, decoded};
    use super::*;
    use peloton::event::Layout;

    #[test]
    fn words_become_hits_around_their_heartbeat() {
        let gray = |value: u64| value ^ value >> 1;
        let word = |top: u64, column: u64, block: u64, pixel: u64, toa: u64| {
            (top << 17 | column << 9 | block << 5 | pixel) << 46 | gray(toa) << 30 | 5 << 17 | 321 << 1
        };
        let heartbeat = |top: u64, clocks: u64| top << 63 | 0xE0 << 55 | clocks;
        let layout = Layout::single(448, 512).unwrap();
        let stream = [
            word(0, 3, 2, 14, 0xFFF0),
            heartbeat(0, 7 << 16),
            word(1, 0, 0, 0, 9),
            heartbeat(1, 7 << 16),
            word(0, 223, 15, 31, 1),
            0xF1 << 55,
        ];
        let chunk = |word: &u64| [u64::from(u32::from_le_bytes(NAME)) | 8 << 48, *word].map(u64::to_le_bytes);
        let bytes: Vec<u8> = stream.iter().flat_map(chunk).flatten().chain([1]).collect();
        let clock = PixelFormat::Tpx4.clock(&PixelOptions::default());
        let (block, counts) = decoded(&mut Tpx4::default(), clock, &layout, &bytes, 13);
        assert_eq!(block.hits.get(0), (((7 << 16) - 16) * 16 - 5, 7, 2 + 4 + 32, 321));
        assert_eq!(block.hits.get(1), (((7 << 16) + 1) * 16 - 5, 447, 255, 321));
        assert_eq!(block.hits.get(2), (((7 << 16) + 9) * 16 - 5, 447, 511, 321));
        assert_eq!((counts.hits, counts.control, counts.unknown, counts.malformed), (3, 8, 1, 1));
    }
}
