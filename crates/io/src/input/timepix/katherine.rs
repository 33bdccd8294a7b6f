//! Decodes raw words of the Katherine readout: 6 bytes each, little-endian, with the kind of the word in bits 44 to 47.

use super::{Decode, Output, is_time};
use peloton::event::TICKS_PER_CLOCK;

const WORD: usize = 6;

/// Options of a Katherine readout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KatherineOptions {
    /// Unit of the timestamp offset, clocks of 25 ns: 16384 in libkatherine, 4096 in clusterer_lite.
    pub offset_unit: i64,
}

impl Default for KatherineOptions {
    fn default() -> Self {
        Self { offset_unit: 1 << 14 }
    }
}

pub(super) struct Katherine {
    options: KatherineOptions,
    /// Timestamp offset from which times of hits count, clocks of 25 ns after the start of the frame.
    offset: i64,
    /// Number of the last timestamp offset, which alone determines the times of its hits.
    group: u32,
    /// Start of the frame, clocks; `is_new_frame`: no hit of the frame has arrived yet.
    start: i64,
    is_new_frame: bool,
}

impl Katherine {
    pub fn new(options: KatherineOptions) -> Self {
        Self { options, offset: 0, group: 1, start: 0, is_new_frame: false }
    }

    fn next_group(&mut self) {
        self.group = self.group.wrapping_add(1).max(1);
    }

    fn hit(&mut self, word: u64, to: &mut Output<'_>) {
        let clocks = self.offset.wrapping_add(self.start).wrapping_add((word >> 14 & 0x3FFF) as i64);
        let ticks = clocks.checked_mul(TICKS_PER_CLOCK).map(|ticks| ticks - (word & 0xF) as i64);
        let Some(time) = ticks.filter(|ticks| is_time(*ticks)) else {
            to.counts.malformed += 1;
            return;
        };
        if std::mem::take(&mut self.is_new_frame) {
            // Frames whose words contain no start begin at zero.
            if time < to.clock.newest() - to.clock.disorder() {
                to.restart();
            } else {
                to.begin(time);
            }
        }
        let (x, y) = ((word >> 28 & 0xFF) as u32, (word >> 36 & 0xFF) as u32);
        to.hit_of_group(self.group, [x, y], time, (word >> 4 & 0x3FF) as u16);
    }
}

impl Decode for Katherine {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        for [a, b, c, d, e, f] in bytes.as_chunks::<WORD>().0 {
            let word = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, 0, 0]);
            match word >> 44 {
                0x4 => self.hit(word, to),
                0x5 => {
                    self.offset = ((word & 0xFFFF_FFFF) as i64).wrapping_mul(self.options.offset_unit);
                    self.next_group();
                    to.counts.control += 1;
                }
                0x7 => {
                    (self.start, self.offset, self.is_new_frame) = (0, 0, true);
                    self.next_group();
                    to.counts.control += 1;
                }
                // The lower and upper bits of the start of a frame; not checked with a device.
                0x8 => {
                    self.start = self.start & !0xFFFF_FFFF | (word & 0xFFFF_FFFF) as i64;
                    to.counts.control += 1;
                }
                0x9 => {
                    self.start = self.start & 0xFFFF_FFFF | ((word & 0xFFFF) as i64) << 32;
                    to.counts.control += 1;
                }
                0xD => {
                    let lost = &mut to.counts.lost_by_device;
                    *lost = lost.saturating_add(word & 0xFFF_FFFF_FFFF);
                    to.counts.control += 1;
                }
                0xA..=0xC | 0xE => to.counts.control += 1,
                _ => to.counts.unknown += 1,
            }
        }
        bytes.len() / WORD * WORD
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        to.counts.malformed += u64::from(!rest.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PixelFormat, PixelOptions, decoded};
    use super::*;
    use peloton::event::Layout;

    fn decode(
        words: &[u64],
        options: KatherineOptions,
    ) -> (Vec<(i64, u16, u16, u16)>, super::super::PixelCounts) {
        let layout = Layout::single(256, 256).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()[..6].to_vec()).collect();
        let clock = PixelFormat::Katherine.clock(&PixelOptions::default());
        let (block, counts) = decoded(&mut Katherine::new(options), clock, &layout, &bytes, 7);
        ((0..block.hits.len()).map(|i| block.hits.get(i)).collect(), counts)
    }

    #[test]
    fn the_offset_moves_the_hits_that_follow() {
        let hit: u64 = 4 << 44 | 17 << 36 | 9 << 28 | 100 << 14 | 33 << 4 | 2;
        for unit in [4096, 16384] {
            let words = [hit, 5 << 44 | 3, hit, 0xD << 44 | 12, 0x1 << 44];
            let (hits, counts) = decode(&words, KatherineOptions { offset_unit: unit });
            assert_eq!(hits, [(1598, 9, 17, 33), (1598 + 3 * unit * 16, 9, 17, 33)]);
            assert_eq!((counts.hits, counts.control, counts.unknown, counts.lost_by_device), (2, 2, 1, 12));
        }
    }

    #[test]
    fn frames_begin_at_their_start_or_behind_the_one_before() {
        let hit = |toa: u64| 4 << 44 | toa << 14;
        let frame = |start: u64| [7 << 44, 8 << 44 | start & 0xFFFF_FFFF, 9 << 44 | start >> 32];
        let times = |starts: [u64; 2]| {
            let offset = 5 << 44 | 1000;
            let words = [&frame(starts[0])[..], &[offset, hit(5)], &frame(starts[1]), &[hit(7)]].concat();
            let (hits, counts) = decode(&words, KatherineOptions::default());
            (hits.iter().map(|hit| hit.0 / 16).collect::<Vec<_>>(), counts.restarts)
        };
        let first = (1000 << 14) + 5;
        assert_eq!(times([100, 5 << 32]), (vec![first + 100, (5 << 32) + 7], 0));
        assert_eq!(times([0, 0]), (vec![first, first + 40_000_000 + 7], 1));
    }

    #[test]
    fn the_hits_of_one_wrong_offset_are_set_aside() {
        let group = |offset: u64| [5 << 44 | offset, 4 << 44, 4 << 44 | 1 << 28];
        let words = [group(1), group(2), group(1 << 30), group(3), group(4)].concat();
        let (hits, counts) = decode(&words, KatherineOptions::default());
        let clocks: Vec<_> = hits.iter().step_by(2).map(|hit| hit.0 >> 18).collect();
        assert_eq!((clocks, counts.hits, counts.implausible, counts.restarts), (vec![1, 2, 3, 4], 8, 2, 0));
    }
}
