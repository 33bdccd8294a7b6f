//! Decodes `.tpx3`: chunks of little-endian words of 64 bits, as SERVAL and SPIDR write them.
//!
//! A chunk header holds `TPX3`, the chip and the size of the chunk in bytes ([`chunks`]). The counter of hits wraps
//! every 26.8 s, the counter of triggers every 107.4 s. Both are extended around the running time of the stream, whose
//! turn comes from the heartbeats ([`Heartbeats`]).

use super::chunks::{self, Next};
use super::clock::{Action, Heartbeats, Payload, Sample, TURN, Waiting, hit_clocks};
use super::tpx3_blocks::{BLOCK, Columns, WholeChip, blocks_room, pixel};
use super::{Decode, Output, extend};
use peloton::event::{Edge, TICKS_PER_CLOCK};
use peloton::simd::{Isa, Level};

/// `TPX3` as bytes, and as the low half of a header.
const NAME: [u8; 4] = *b"TPX3";
const MAGIC: u32 = u32::from_le_bytes(NAME);
/// Bits of the hits' counter; `TRIGGER_BITS` are the bits of a trigger's counter.
pub(super) const HIT_BITS: u32 = 30;
const TRIGGER_BITS: u32 = 33;
/// Steps of a trigger's counter in a clock of 25 ns.
const STEPS_PER_CLOCK: i64 = 8;

pub(super) struct Tpx3 {
    level: Level,
    beats: Heartbeats,
    /// The low half of each chip's heartbeat, while its high half has not arrived.
    low: Vec<Option<u64>>,
    /// Time around which counters are extended, clocks of 25 ns: a recent running time.
    near: i64,
    /// Words of integrated time over threshold, which are not read.
    integrated: u64,
}

impl Default for Tpx3 {
    fn default() -> Self {
        // All levels give the same hits, so the best one is used, independent of the level chosen for clusters.
        let level = Level::choose(Some(Isa::best()), None).expect("the CPU has its best instruction set");
        Self { level, beats: Heartbeats::default(), low: vec![None; 256], near: 0, integrated: 0 }
    }
}

impl Decode for Tpx3 {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        self.chunks(bytes, false, to)
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        self.chunks(rest, true, to);
        while self.beats.waits() {
            let action = self.beats.give_up(&mut to.clock_and_sink());
            self.follow(action, to);
        }
    }

    fn passed_over(&self) -> Option<String> {
        let kind = "words of integrated time over threshold (kind 0xA, of the frame-driven mode), which are not supported";
        (self.integrated > 0).then(|| format!("{} {kind}", self.integrated))
    }
}

impl Tpx3 {
    fn chunks(&mut self, bytes: &[u8], end: bool, to: &mut Output<'_>) -> usize {
        let mut used = 0;
        loop {
            match chunks::next(&bytes[used..], NAME, end, to.counts) {
                Next::Chunk { chip, words, taken } => {
                    self.chunk(chip, words, to);
                    used += taken;
                }
                Next::Passed(passed) => used += passed,
                Next::More => return used,
            }
        }
    }

    fn chunk(&mut self, mut chip: u8, bytes: &[u8], to: &mut Output<'_>) {
        let words = bytes.as_chunks().0;
        let mut at = 0;
        while at < words.len() {
            self.near = to.clock.around() / TICKS_PER_CLOCK;
            if !self.beats.waits() {
                at += self.near_hits(chip, &words[at..], to);
            }
            let Some(word) = words.get(at) else { break };
            self.word(&mut chip, u64::from_le_bytes(*word), to);
            at += 1;
        }
    }

    /// Reads hits up to the first word that is not a hit or not near the running time. Returns their number.
    #[inline(always)]
    fn near_hits(&self, chip: u8, words: &[[u8; 8]], to: &mut Output<'_>) -> usize {
        let whole = WholeChip::of(to.layout, chip);
        let hits = &mut to.block.hits;
        let first = hits.len();
        hits.set_len(first + words.len());
        let mut near = *to.clock.near();
        let mut count = 0;
        loop {
            let rest = &words[count..];
            let from = first + count;
            if let Some(whole) = whole {
                let columns = Columns {
                    time: &mut hits.time[from..],
                    x: &mut hits.x[from..],
                    y: &mut hits.y[from..],
                    tot: &mut hits.tot[from..],
                };
                let around = self.near;
                let blocks = peloton::dispatch_isa!(self.level, g => blocks_room(g, rest, whole, around, &mut near, columns));
                count += blocks * BLOCK;
            }
            // Reads word by word: a block that contains other words, or the few words after the last block.
            let rest = &words[count..];
            let few = if whole.is_some() { rest.len().min(BLOCK) } else { rest.len() };
            let mut taken = 0;
            for word in &rest[..few] {
                let word = u64::from_le_bytes(*word);
                let ([column, row], ticks) = self.pixel_and_time(word);
                let Some((x, y)) = to.layout.place(usize::from(chip), column, row) else { break };
                if word >> 60 != 0xB || !near.takes(ticks) {
                    break;
                }
                let at = first + count + taken;
                (hits.time[at], hits.tot[at]) = (ticks + near.offset, (word >> 20 & 0x3FF) as u16);
                (hits.x[at], hits.y[at]) = (x, y);
                taken += 1;
            }
            count += taken;
            if taken < few || count == words.len() {
                break;
            }
        }
        hits.set_len(first + count);
        *to.clock.near() = near;
        to.counts.hits += count as u64;
        count
    }

    fn word(&mut self, chip: &mut u8, word: u64, to: &mut Output<'_>) {
        match word >> 56 {
            0xB0..=0xBF => {
                if self.beats.waits() {
                    self.wait(*chip, word, Some(hit_clocks(word)), to);
                } else {
                    self.hit(*chip, word, to);
                }
            }
            0x6A | 0x6B | 0x6E | 0x6F => {
                if self.beats.waits() {
                    self.wait(*chip, word, None, to);
                } else {
                    self.trigger(*chip, word, to);
                }
            }
            0x44 => {
                self.low[usize::from(*chip)] = Some(word >> 16 & 0xFFFF_FFFF);
                to.counts.control += 1;
            }
            0x45 => {
                to.counts.control += 1;
                if let Some(low) = self.low[usize::from(*chip)].take() {
                    let beat = ((word >> 16 & 0xFFFF) << 32 | low) as i64;
                    let action = self.beats.beat(*chip, beat, &mut to.clock_and_sink());
                    self.follow(action, to);
                }
            }
            // Packet numbers, shutter markers, answers to commands, ends of sequences and of readouts.
            0x21 | 0x50 | 0x51 | 0x5A | 0x5C | 0x5F | 0x71 | 0x72 => to.counts.control += 1,
            // Words of the frame-driven mode: integrated time over threshold and a count of events, without a time.
            0xA0..=0xAF => {
                self.integrated += 1;
                to.counts.unknown += 1;
            }
            _ if word as u32 == MAGIC => {
                // The size of the chunk extends over the next chunks.
                *chip = (word >> 32) as u8;
                to.counts.control += 1;
                to.counts.malformed += 1;
            }
            _ => to.counts.unknown += 1,
        }
    }

    #[cold]
    fn wait(&mut self, chip: u8, word: u64, clocks: Option<i64>, to: &mut Output<'_>) {
        let action = self.beats.wait(chip, word, clocks, &mut to.clock_and_sink());
        self.follow(action, to);
    }

    /// Reads the words that waited. Some may have to wait for a further heartbeat, but never for the same one again.
    #[cold]
    fn follow(&mut self, mut action: Action, to: &mut Output<'_>) {
        while action == Action::Replay {
            action = Action::GoOn;
            self.near = to.clock.around() / TICKS_PER_CLOCK;
            let mut waiting = self.beats.take_waiting().into_iter();
            for waited in waiting.by_ref() {
                let Waiting { word, chip, is_beat } = waited;
                let is_hit = word >> 60 == 0xB;
                let out = &mut to.clock_and_sink();
                action = if is_beat {
                    self.beats.beat(chip, word as i64, out)
                } else if self.beats.waits() {
                    self.beats.wait(chip, word, is_hit.then(|| hit_clocks(word)), out)
                } else {
                    if is_hit {
                        self.hit(chip, word, to)
                    } else {
                        self.trigger(chip, word, to)
                    }
                    Action::GoOn
                };
                if action == Action::Replay {
                    break;
                }
            }
            self.beats.wait_again(waiting);
        }
    }

    fn hit(&mut self, chip: u8, word: u64, to: &mut Output<'_>) {
        let ([x, y], time) = self.pixel_and_time(word);
        to.hit(usize::from(chip), x, y, time, (word >> 20 & 0x3FF) as u16);
    }

    /// x and y on the chip, and the time in ticks near to the running time.
    #[inline(always)]
    fn pixel_and_time(&self, word: u64) -> ([u32; 2], i64) {
        let mut clocks = extend(hit_clocks(word) as u64, HIT_BITS, self.near);
        let fine = (word >> 16 & 0xF) as i64;
        // No time is before the clock's zero.
        if clocks * TICKS_PER_CLOCK < fine {
            clocks += TURN;
        }
        (pixel(word).map(u32::from), clocks * TICKS_PER_CLOCK - fine)
    }

    /// Reads a trigger. Its steps are 3.125 ns; a fine count of 1 to 12 divides a step.
    fn trigger(&mut self, chip: u8, word: u64, to: &mut Output<'_>) {
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
        let mut steps = extend(word >> 9, TRIGGER_BITS, self.near.wrapping_mul(STEPS_PER_CLOCK));
        if steps < 0 {
            steps += STEPS_PER_CLOCK * TURN;
        }
        // Two ticks a step; the fine count's twelfths of a step are sixths of a tick.
        let time = 2 * steps + i64::from((fine - 1) / 6);
        let counter = (word >> 44 & 0xFFF) as u16;
        to.sample(Sample {
            time,
            group: 0,
            payload: Payload::Trigger { fine: (fine - 1) % 6, counter, edge, chip },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PixelCounts, PixelFormat, PixelOptions, decoded};
    use super::*;
    use peloton::event::{Layout, PixelBlock};

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
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let clock = PixelFormat::Tpx3.clock(&PixelOptions::default());
        decoded(&mut Tpx3::default(), clock, &layout, &bytes, piece)
    }

    #[test]
    fn hits_before_the_first_heartbeat_are_put_right() {
        const WRAP: u64 = 1 << 30;
        let [low, high] = heartbeat(3 * WRAP + 1000);
        let stream =
            [header(0, 4), hit(7, 9, 3 * WRAP + 20, 3, 55), low, high, hit(255, 254, 4 * WRAP + 1, 0, 1)];
        let expected =
            [((3 * WRAP + 20) as i64 * 16 - 3, 7, 9, 55), ((4 * WRAP + 1) as i64 * 16, 255, 254, 1)];
        // The result does not depend on how the bytes are cut.
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
    fn a_heartbeat_that_is_seconds_late_changes_nothing() {
        const SECOND: u64 = 40_000_000;
        let late = |second: u64| if second == 5 { 3 * SECOND } else { 0 };
        let of_second = |second: u64| {
            let beat = heartbeat(second * SECOND + late(second));
            let hits = (0..50).map(move |i| hit(i, 7, second * SECOND + i * SECOND / 50, 0, 1));
            std::iter::once(header(0, 52)).chain(beat).chain(hits)
        };
        let stream: Vec<_> = (1..12).flat_map(of_second).collect();
        let (block, counts) = decode(&stream, 64);
        let clocks: Vec<_> = block.hits.time.iter().map(|time| *time as u64 / 16).collect();
        let expected: Vec<_> = (50..600).map(|i| i * SECOND / 50).collect();
        assert_eq!((clocks, counts.restarts), (expected, 0));
    }

    #[test]
    fn endless_restarts_end() {
        // The clock reaches its end and starts again, many times.
        let around = [(1 << 48) - 100, (1 << 48) - 99, 0, 1].map(heartbeat).concat();
        let hits = [1, 2, 3, 4].map(|i| hit(i, 9, 500 + i, 0, 1));
        let cycle = [&[header(0, 12)], &around[..], &hits].concat();
        let (block, counts) = decode(&cycle.repeat(3000), 4096);
        assert_eq!(counts.hits, block.hits.len() as u64);
        assert!(block.hits.time.iter().all(|time| (0..1 << 62).contains(time)));
    }

    #[test]
    fn hits_are_read_alike_in_blocks_and_word_by_word() {
        const CHIP: u64 = 2;
        let [low, high] = heartbeat(1_000_000);
        let (mut words, mut expected) = (vec![low, high], Vec::new());
        for i in 0..2000u64 {
            let (x, y) = (i * 7919 % 256, i * 31 % 256);
            let (clocks, fine, tot) = (1_000_000 + i * 40 + i * 7907 % 900, i % 16, i % 1024);
            words.push(hit(x, y, clocks, fine, tot));
            expected.push(((clocks * 16 - fine) as i64, x as u16, (258 + y) as u16, tot as u16));
            // Sometimes another word ends a block; later there are long stretches of only hits.
            if i < 600 && i % 37 == 5 {
                words.push(0x50 << 56);
            }
        }
        let stream: Vec<u64> = words
            .chunks(1000)
            .flat_map(|words| [&[header(CHIP, words.len() as u64)], words].concat())
            .collect();
        let (block, counts) = decode(&stream, 5000);
        let found: Vec<_> = (0..block.hits.len()).map(|i| block.hits.get(i)).collect();
        assert_eq!(found, expected);
        assert_eq!((counts.hits, counts.unknown, counts.malformed), (2000, 0, 0));
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
