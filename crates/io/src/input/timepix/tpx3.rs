//! `.tpx3`: little-endian words of 64 bits in chunks, as SERVAL and SPIDR write them.
//!
//! A chunk header holds `TPX3`, the chip and the size of the chunk in bytes. The hit's clock wraps every
//! 26.8 s; it is extended by the heartbeats, per chip, because two hits may well be further apart than that.

use super::{Decode, Output, extend, words};
use peloton::event::{Edge, PixelBlock, TICKS_PER_CLOCK};

/// `TPX3` as the low half of a header.
const MAGIC: u32 = 0x3358_5054;
/// Chips a header can name.
const CHIPS: usize = 256;
/// Hits that wait at most for the first heartbeat of their chip.
const MAX_WAITING: usize = 1 << 16;

/// What is known of one chip's clock.
#[derive(Clone, Copy, Default)]
struct Clock {
    /// Time that hits are extended around, clocks of 25 ns.
    near: i64,
    low: Option<u64>,
    has_heartbeat: bool,
    has_hits: bool,
}

/// A hit or trigger that waits for the first heartbeat.
#[derive(Clone, Copy)]
struct Waiting {
    chip: u8,
    word: u64,
}

pub(super) struct Tpx3 {
    clocks: Vec<Clock>,
    chip: usize,
    /// Words of the current chunk still to come.
    left: usize,
    /// What came before every chip with hits had a heartbeat; empty and unused from then on.
    waiting: Vec<Waiting>,
    is_waiting: bool,
    /// Words of integrated time over threshold, which are not read.
    integrated: u64,
}

impl Default for Tpx3 {
    fn default() -> Self {
        let clocks = vec![Clock::default(); CHIPS];
        Self { clocks, chip: 0, left: 0, waiting: Vec::new(), is_waiting: true, integrated: 0 }
    }
}

impl Decode for Tpx3 {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        for word in words(bytes) {
            if self.left > 0 {
                self.left -= 1;
                self.word(word, to);
            } else if word as u32 == MAGIC {
                self.chip = (word >> 32 & 0xFF) as usize;
                let size = (word >> 48) as usize;
                to.counts.control += 1;
                to.counts.malformed += u64::from(!size.is_multiple_of(8));
                self.left = size / 8;
            } else {
                to.counts.unknown += 1;
            }
        }
        bytes.len() / 8 * 8
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        to.counts.malformed += u64::from(!rest.is_empty() || self.left > 0);
        self.stop_waiting(to);
    }

    fn passed_over(&self) -> Option<String> {
        let kind = "words of integrated time over threshold (kind 0xA, of the frame-driven mode), which are not read";
        (self.integrated > 0).then(|| format!("{} {kind}", self.integrated))
    }
}

impl Tpx3 {
    #[inline(always)]
    fn word(&mut self, word: u64, to: &mut Output<'_>) {
        match word >> 56 {
            // Of the frame-driven mode: integrated time over threshold and a count of events, and no time.
            0xA0..=0xAF => {
                self.integrated += 1;
                to.counts.unknown += 1;
            }
            0xB0..=0xBF => {
                self.clocks[self.chip].has_hits = true;
                if self.is_waiting { self.wait(word, to) } else { self.hit(self.chip, word, to) }
            }
            0x6A | 0x6B | 0x6E | 0x6F => {
                if self.is_waiting {
                    self.wait(word, to);
                } else {
                    self.trigger(self.chip, word, to);
                }
            }
            0x44 => {
                self.clocks[self.chip].low = Some(word >> 16 & 0xFFFF_FFFF);
                to.counts.control += 1;
            }
            0x45 => {
                to.counts.control += 1;
                let clock = &mut self.clocks[self.chip];
                if let Some(low) = clock.low.take() {
                    clock.near = ((word >> 16 & 0xFFFF) << 32 | low) as i64;
                    clock.has_heartbeat = true;
                    if self.is_waiting && !self.clocks.iter().any(|c| c.has_hits && !c.has_heartbeat) {
                        self.stop_waiting(to);
                    }
                }
            }
            // Packet numbers, shutter markers, answers to commands.
            0x50 | 0x5C | 0x5F | 0x71 | 0x72 => to.counts.control += 1,
            _ => to.counts.unknown += 1,
        }
    }

    #[cold]
    fn wait(&mut self, word: u64, to: &mut Output<'_>) {
        self.waiting.push(Waiting { chip: self.chip as u8, word });
        if self.waiting.len() >= MAX_WAITING {
            self.stop_waiting(to);
        }
    }

    /// Decodes what waited, in the order in which it came. Chips without a heartbeat count from zero.
    #[cold]
    fn stop_waiting(&mut self, to: &mut Output<'_>) {
        self.is_waiting = false;
        for Waiting { chip, word } in std::mem::take(&mut self.waiting) {
            let chip = usize::from(chip);
            if word >> 61 == 0b101 { self.hit(chip, word, to) } else { self.trigger(chip, word, to) }
        }
    }

    #[inline(always)]
    fn hit(&mut self, chip: usize, word: u64, to: &mut Output<'_>) {
        let address = (word >> 44 & 0xFFFF) as u32;
        let pixel = address & 7;
        let x = ((address & 0xFE00) >> 8) + (pixel >> 2);
        let y = ((address & 0x1F8) >> 1) + (pixel & 3);
        let clock = &mut self.clocks[chip];
        let clocks = extend((word & 0xFFFF) << 14 | (word >> 30 & 0x3FFF), 30, clock.near);
        if !clock.has_heartbeat {
            clock.near = clocks;
        }
        let time = clocks * TICKS_PER_CLOCK - (word >> 16 & 0xF) as i64;
        to.hit(chip, x, y, time, (word >> 20 & 0x3FF) as u16);
    }

    /// The counter of a trigger has steps of 3.125 ns and wraps every 107 s; a fine count of 1 to 12 divides
    /// a step.
    fn trigger(&mut self, chip: usize, word: u64, to: &mut Output<'_>) {
        let fine = (word >> 5 & 0xF) as u8;
        if !(1..=12).contains(&fine) {
            to.counts.malformed += 1;
            return;
        }
        let edge = match word >> 56 {
            0x6F => Edge::Rise1,
            0x6A => Edge::Fall1,
            0x6E => Edge::Rise2,
            _ => Edge::Fall2,
        };
        let steps = extend(word >> 9 & 0x7_FFFF_FFFF, 35, self.clocks[chip].near.wrapping_mul(8));
        // Two ticks a step; the fine count's twelfths of a step are sixths of a tick.
        let time = 2 * steps + i64::from((fine - 1) / 6);
        let PixelBlock { triggers, .. } = to.block;
        triggers.push(time, (fine - 1) % 6, (word >> 44 & 0xFFF) as u16, edge, chip as u8);
        to.counts.triggers += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::PixelCounts;
    use super::*;
    use peloton::event::Layout;

    fn header(chip: u64, words: u64) -> u64 {
        u64::from(MAGIC) | chip << 32 | (words * 8) << 48
    }

    fn hit(x: u64, y: u64, clocks: u64, fine: u64, tot: u64) -> u64 {
        let address = (x >> 1) << 9 | (y >> 2) << 3 | (x & 1) << 2 | y & 3;
        let (spidr, toa) = (clocks >> 14 & 0xFFFF, clocks & 0x3FFF);
        0xB << 60 | address << 44 | toa << 30 | tot << 20 | fine << 16 | spidr
    }

    fn heartbeat(clocks: u64) -> [u64; 2] {
        [0x44 << 56 | (clocks & 0xFFFF_FFFF) << 16, 0x45 << 56 | (clocks >> 32) << 16]
    }

    fn decode(words: &[u64], piece: usize) -> (PixelBlock, PixelCounts) {
        let layout = Layout::apart(4, 256, 256).unwrap();
        let (mut block, mut counts, mut decoder) = Default::default();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut to = Output { block: &mut block, counts: &mut counts, layout: &layout };
        let decoder: &mut Tpx3 = &mut decoder;
        let mut rest = Vec::new();
        for piece in bytes.chunks(piece) {
            rest.extend_from_slice(piece);
            let used = decoder.decode(&rest, &mut to);
            rest.drain(..used);
        }
        decoder.finish(&rest, &mut to);
        (block, counts)
    }

    #[test]
    fn hits_before_the_first_heartbeat_are_put_right() {
        const WRAP: u64 = 1 << 30;
        let [low, high] = heartbeat(3 * WRAP + 1000);
        let stream =
            [header(0, 4), hit(7, 9, 3 * WRAP + 20, 3, 55), low, high, hit(255, 254, 4 * WRAP + 1, 0, 1)];
        let expected =
            [((3 * WRAP + 20) as i64 * 16 - 3, 7, 9, 55), ((4 * WRAP + 1) as i64 * 16, 255, 254, 1)];
        // However the bytes are cut.
        for piece in [1, 7, 8, 13, 1000] {
            let (block, counts) = decode(&stream, piece);
            // The second hit is more than half a wrap from the heartbeat and would need a newer one.
            assert_eq!(block.hits.get(0), expected[0]);
            assert_eq!((block.hits.get(1).1, block.hits.get(1).2), (255, 254));
            assert_eq!((counts.hits, counts.control, counts.malformed), (2, 3, 0));
        }
        let [low2, high2] = heartbeat(4 * WRAP - 500);
        let stream = [header(0, 6), stream[1], low, high, low2, high2, stream[4]];
        assert_eq!(decode(&stream, 8).0.hits.get(1), expected[1]);
    }

    #[test]
    fn without_heartbeats_the_clock_is_followed_over_its_wraps() {
        let stream = [
            header(1, 3),
            hit(1, 1, (1 << 30) - 5, 0, 1),
            hit(1, 2, 3, 0, 1),
            hit(1, 3, (1 << 30) - 1, 0, 1),
        ];
        let (block, _) = decode(&stream, 8);
        let first = block.hits.time[0];
        assert_eq!(block.hits.time.iter().map(|t| t - first).collect::<Vec<_>>(), [0, 8 * 16, 4 * 16]);
        assert_eq!(block.hits.x[0], 258 + 1);
    }

    #[test]
    fn integrated_time_over_threshold_is_no_hit() {
        let word = hit(1, 1, 900, 0, 5) & !(0x1 << 60);
        let stream = [header(0, 3), word, hit(3, 3, 20, 0, 7), word];
        let (block, counts) = decode(&stream, 8);
        assert_eq!((block.hits.len(), counts.hits, counts.unknown), (1, 1, 2));
    }

    #[test]
    fn triggers_are_kept_and_everything_else_is_counted() {
        let tdc = 0x6F << 56 | 77 << 44 | 4000 << 9 | 8 << 5;
        let bad_tdc = 0x6F << 56 | 13 << 5;
        let stream =
            [header(0, 5), tdc, bad_tdc, 0x50 << 56, 0x13 << 56, hit(0, 0, 0, 0, 0), 42, header(9, 1)];
        let (block, counts) = decode(&stream, 8);
        assert_eq!((block.triggers.time[0], block.triggers.fine[0]), (8001, 1));
        assert_eq!((block.triggers.counter[0], block.triggers.edge[0]), (77, 0));
        let found =
            PixelCounts { hits: 1, triggers: 1, control: 3, unknown: 2, malformed: 2, ..Default::default() };
        assert_eq!(counts, found);
    }
}
