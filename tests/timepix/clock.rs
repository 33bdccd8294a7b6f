//! Changes of real streams: a flipped bit, a lost piece, heartbeats that are missing or moved, another clock, two streams in one.
//! Hits without changes are found as before, and only changed hits may be lost.
//!
//! 1,000 changes; `PELOTON_CHANGES` sets their number, `PELOTON_SEED` the number of the first change.

use crate::common::data;
use peloton::event::PixelBlock;
use peloton::simd::Level;
use peloton::timepix::{Chain, TimepixConfig};
use peloton_io::input::timepix::{PixelCounts, PixelFormat, PixelOptions, PixelReader, ReadEnd};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Largest number of bytes of a stream in a test; of larger streams, a piece is tested.
const LONGEST: usize = 60_000;
/// Clocks of 25 ns in a second.
const SECOND: u64 = 40_000_000;
/// The two words of a heartbeat of Timepix3.
const LOW: u64 = 0x44;
const HIGH: u64 = 0x45;

/// A hit: time, x, y, time over threshold.
type Hit = (i64, u16, u16, u16);

/// A stream as chunks of words, or lines.
#[derive(Clone)]
struct Parts {
    name: String,
    format: PixelFormat,
    parts: Vec<Vec<u8>>,
}

/// Hits and clusters of a stream.
struct Found {
    clusters: Vec<Vec<Hit>>,
    counts: PixelCounts,
}

impl Parts {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let format = PixelFormat::detect(&bytes).unwrap();
        let mut parts = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = match format {
                PixelFormat::T3pa => {
                    rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1)
                }
                _ => 8 + usize::from(u16::from_le_bytes([rest[6], rest[7]])),
            };
            parts.push(rest[..length].to_vec());
            rest = &rest[length..];
        }
        Self { name: path.file_name().unwrap().to_str().unwrap().into(), format, parts }
    }

    /// A piece of the stream, from part `first` on.
    fn piece(&self, first: usize) -> Self {
        let mut length = 0;
        let parts = self.parts[first..].iter().take_while(|part| {
            length += part.len();
            length <= LONGEST
        });
        Self { parts: parts.cloned().collect(), ..self.clone() }
    }

    fn bytes(&self) -> Vec<u8> {
        self.parts.concat()
    }

    /// Starts of the parts, bytes.
    fn starts(&self) -> Vec<usize> {
        self.parts.iter().scan(0, |at, part| Some(std::mem::replace(at, *at + part.len()))).collect()
    }

    /// Replaces each word of each chunk by the result of `with`, or leaves it out; leaves out empty chunks, too.
    fn rewrite(&self, mut with: impl FnMut(u64) -> Option<u64>) -> Self {
        let parts = self.parts.iter().filter_map(|part| {
            let words = part[8..].as_chunks().0.iter().filter_map(|word| with(u64::from_le_bytes(*word)));
            let words: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            let mut head = part[..8].to_vec();
            head[6..].copy_from_slice(&(words.len() as u16).to_le_bytes());
            (!words.is_empty()).then(|| [head, words].concat())
        });
        Self { parts: parts.collect(), ..self.clone() }
    }

    /// The parts of a range and, for Timepix4, the parts up to the next heartbeats of both halves: these date the hits before.
    fn up_to_heartbeats(&self, parts: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let mut seen = [self.format != PixelFormat::Tpx4; 2];
        let beats = self.parts[parts.end..].iter().position(|part| {
            if part.len() > 8 && is_heartbeat(self.format, word_of(part)) {
                seen[(word_of(part) >> 63) as usize] = true;
            }
            seen == [true; 2]
        });
        parts.start..beats.map_or(self.parts.len(), |beats| parts.end + beats)
    }

    /// Whether a byte belongs to a header of text: a file with unknown columns is refused as a whole.
    fn is_header(&self, byte: usize) -> bool {
        self.format == PixelFormat::T3pa && self.parts[0].starts_with(b"I") && byte < self.parts[0].len()
    }

    fn has_heartbeats(&self) -> bool {
        let words = self.parts.iter().flat_map(|part| part.get(8..).unwrap_or_default().as_chunks().0);
        self.format != PixelFormat::T3pa
            && words.into_iter().any(|word| is_heartbeat(self.format, u64::from_le_bytes(*word)))
    }

    /// The stream with the device's clock moved by `by` clocks of 25 ns.
    fn moved(&self, by: u64) -> Self {
        let mut low = 0;
        self.rewrite(|word| {
            Some(match (self.format, word >> 56) {
                (PixelFormat::Tpx4, _) if is_heartbeat(self.format, word) => {
                    word & !0xFFFF_FFFF_FFFF | ((word & 0xFFFF_FFFF_FFFF) + by)
                }
                (PixelFormat::Tpx4, _) if word >> 55 & 0xFF <= 223 => {
                    let mut toa = word >> 30 & 0xFFFF;
                    [8, 4, 2, 1].iter().for_each(|shift| toa ^= toa >> shift);
                    let toa = (toa + by) & 0xFFFF;
                    word & !(0xFFFF << 30) | (toa ^ toa >> 1) << 30
                }
                (_, 0xA0..=0xBF) => {
                    let clocks = ((word & 0xFFFF) << 14 | word >> 30 & 0x3FFF) + by;
                    word & !(0xFFFF | 0x3FFF << 30) | clocks >> 14 & 0xFFFF | (clocks & 0x3FFF) << 30
                }
                (_, 0x6A | 0x6B | 0x6E | 0x6F) => {
                    let steps = ((word >> 9 & 0x7_FFFF_FFFF) + 8 * by) & 0x7_FFFF_FFFF;
                    word & !(0x7_FFFF_FFFF << 9) | steps << 9
                }
                // The high word of this stream's heartbeats follows its low word.
                (PixelFormat::Tpx3, LOW) => {
                    low = (word >> 16 & 0xFFFF_FFFF) + by;
                    word & !(0xFFFF_FFFF << 16) | (low & 0xFFFF_FFFF) << 16
                }
                (PixelFormat::Tpx3, HIGH) => word + (low >> 32 << 16),
                _ => word,
            })
        })
    }
}

fn word_of(part: &[u8]) -> u64 {
    u64::from_le_bytes(part[8..16].try_into().unwrap())
}

fn is_heartbeat(format: PixelFormat, word: u64) -> bool {
    match format {
        PixelFormat::Tpx4 => word >> 55 & 0xFF == 0xE0,
        _ => matches!(word >> 56, LOW | HIGH),
    }
}

/// Clusters of a stream.
fn find(bytes: &[u8], format: PixelFormat) -> Found {
    let options = PixelOptions { format, ..PixelOptions::default() };
    let mut reader = PixelReader::from_stream("test", std::io::Cursor::new(bytes.to_vec()), options).unwrap();
    let config = TimepixConfig { disorder_us: Some(format.usual_disorder_us()), ..TimepixConfig::default() };
    let mut chain = Chain::new(&config, Level::choose(None, None).unwrap(), reader.layout()).unwrap();
    let (mut block, mut clusters) = (PixelBlock::default(), Vec::new());
    loop {
        block.clear();
        let end = reader.read(10_000, &mut block).unwrap() == ReadEnd::EndOfSource;
        let found = chain.push(&block.hits, end);
        for cluster in 0..found.len() {
            clusters.push(found.of_cluster(cluster).map(|i| found.hits.get(i)).collect());
        }
        if end {
            assert_eq!(chain.counts().late, 0, "late hits");
            return Found { clusters, counts: *reader.counts() };
        }
    }
}

/// The number of times that each hit occurs.
fn count<'a>(hits: impl Iterator<Item = &'a Hit>) -> HashMap<Hit, i64> {
    let mut counts = HashMap::new();
    hits.for_each(|hit| *counts.entry(*hit).or_insert(0) += 1);
    counts
}

/// The hits of some of the parts of a stream, at any time: pixels and times over threshold.
fn touched(stream: &Parts, parts: std::ops::Range<usize>, whole: &Found) -> HashSet<Hit> {
    let mut without = stream.clone();
    for part in parts {
        // Heartbeats of these parts stay, so that the clock does not change.
        let head = without.parts[part][..8.min(without.parts[part].len())].to_vec();
        let beats = without.parts[part].get(8..).unwrap_or_default().chunks_exact(8);
        let beats =
            beats.filter(|word| is_heartbeat(stream.format, u64::from_le_bytes((*word).try_into().unwrap())));
        let words: Vec<u8> = beats.flatten().copied().collect();
        without.parts[part] = if stream.format == PixelFormat::T3pa || words.is_empty() {
            Vec::new()
        } else {
            [&head[..6], &(words.len() as u16).to_le_bytes(), &words[..]].concat()
        };
    }
    let rest = find(&without.bytes(), stream.format);
    let mut all = count(whole.clusters.iter().flatten());
    rest.clusters.iter().flatten().for_each(|hit| *all.entry(*hit).or_insert(0) -= 1);
    all.into_iter().filter(|(_, count)| *count > 0).map(|(hit, _)| hit).collect()
}

/// Fails unless hits that are not touched are found as before, `moved` ticks later.
fn compare(before: &Found, after: &Found, touched: &HashSet<Hit>, moved: i64, what: &str) {
    let now = |hit: &Hit| (hit.0 + moved, hit.1, hit.2, hit.3);
    let mut there = count(after.clusters.iter().flatten());
    for hit in before.clusters.iter().flatten().filter(|hit| !touched.contains(hit)) {
        let count = there.entry(now(hit)).or_insert(0);
        *count -= 1;
        assert!(*count >= 0, "{what}: {hit:?} is lost or has another time");
    }
    let clusters: HashSet<Vec<Hit>> = after.clusters.iter().cloned().collect();
    // New hits may join clusters, but not tear them apart.
    let mut of = HashMap::new();
    for (i, hits) in after.clusters.iter().enumerate() {
        of.extend(hits.iter().map(|hit| (*hit, i)));
    }
    for cluster in before.clusters.iter().filter(|hits| !hits.iter().any(|hit| touched.contains(hit))) {
        let cluster: Vec<_> = cluster.iter().map(now).collect();
        let is_one = cluster.iter().all(|hit| of[hit] == of[&cluster[0]]);
        assert!(clusters.contains(&cluster) || is_one, "{what}: {cluster:?} is torn apart");
    }
    assert!(after.clusters.iter().flatten().all(|hit| hit.0 >= 0), "{what}: a negative time");
}

struct Changes {
    random: Xoshiro256PlusPlus,
    streams: Vec<Parts>,
}

impl Changes {
    fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound as u64) as usize
    }

    /// A stream, or a piece of it.
    fn stream(&mut self) -> Parts {
        let stream = self.below(self.streams.len());
        let last = self.streams[stream].parts.len();
        let is_small = self.streams[stream].bytes().len() <= LONGEST;
        let first = if is_small { 0 } else { self.below(last) };
        self.streams[stream].piece(first)
    }

    /// Changes a stream at random and compares.
    fn one(&mut self, number: u64) {
        let stream = self.stream();
        let what = format!("change {number} of {}", stream.name);
        let is_text = stream.format == PixelFormat::T3pa;
        let before = find(&stream.bytes(), stream.format);
        match self.below(if is_text { 2 } else { 7 }) {
            0 => self.flip(&stream, &before, &what),
            1 | 2 => self.cut(&stream, &before, &what),
            3 => self.thin(&stream, &before, &what),
            4 => self.move_heartbeat(&stream, &before, &what),
            5 if stream.has_heartbeats() => {
                let by = self.below(1_000_000) as u64 * SECOND + self.below(SECOND as usize) as u64;
                let after = find(&stream.moved(by).bytes(), stream.format);
                compare(
                    &before,
                    &after,
                    &HashSet::new(),
                    16 * by as i64,
                    &format!("{what}: moved by {by} clocks"),
                );
            }
            _ => self.two(&stream, &before, &what),
        }
    }

    /// One bit of one word.
    fn flip(&mut self, stream: &Parts, before: &Found, what: &str) {
        let mut bytes = stream.bytes();
        let bit = self.below(8 * bytes.len());
        if stream.is_header(bit / 8) {
            return;
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
        let part = stream.starts().partition_point(|start| *start <= bit / 8) - 1;
        let place = bit / 8 - stream.starts()[part];
        let is_text = stream.format == PixelFormat::T3pa;
        let neighbours = if is_text || place < 8 { 1 } else { 0 };
        let parts = part.saturating_sub(neighbours)..(part + 1 + neighbours).min(stream.parts.len());
        let touched = touched(stream, stream.up_to_heartbeats(parts), before);
        let after = find(&bytes, stream.format);
        compare(before, &after, &touched, 0, &format!("{what}: bit {bit} of part {part} flipped"));
    }

    /// Cuts out a piece, between words or anywhere.
    fn cut(&mut self, stream: &Parts, before: &Found, what: &str) {
        let mut bytes = stream.bytes();
        let unit = if self.below(2) == 0 { 1 } else { 8 };
        let start = self.below(bytes.len()) / unit * unit;
        if stream.is_header(start) {
            return;
        }
        let longest = (bytes.len() - start).min(1 << self.below(12));
        let end = start + self.below(longest + 1) / unit * unit;
        bytes.drain(start..end);
        let starts = stream.starts();
        let part = |byte: usize| starts.partition_point(|start| *start <= byte);
        let parts = part(start).saturating_sub(2)..(part(end) + 1).min(stream.parts.len());
        let touched = touched(stream, stream.up_to_heartbeats(parts), before);
        let after = find(&bytes, stream.format);
        compare(before, &after, &touched, 0, &format!("{what}: bytes {start} to {end} lost"));
    }

    /// Leaves one heartbeat of a thousand. Without heartbeats, the turn of 1.6 ms of a hit of a Timepix4 is unknown.
    fn thin(&mut self, stream: &Parts, before: &Found, what: &str) {
        if stream.format == PixelFormat::Tpx4 {
            return;
        }
        let (mut beat, kept) = (0, self.below(1000));
        let after = stream.rewrite(|word| {
            beat += usize::from(word >> 56 == LOW);
            (!is_heartbeat(stream.format, word) || beat % 1000 == kept).then_some(word)
        });
        let after = find(&after.bytes(), stream.format);
        let moved = match (before.clusters.first(), after.clusters.first()) {
            (Some(before), Some(after)) => after[0].0 - before[0].0,
            _ => 0,
        };
        // Without any heartbeat, times count from the first turn.
        assert!(moved % (1 << 34) == 0, "{what}: {moved} is no turn");
        compare(before, &after, &HashSet::new(), moved, &format!("{what}: heartbeats thinned, {kept}"));
    }

    /// Moves a heartbeat to a later position.
    fn move_heartbeat(&mut self, stream: &Parts, before: &Found, what: &str) {
        if stream.format == PixelFormat::Tpx4 {
            return;
        }
        let mut changed = stream.clone();
        let from = self.below(changed.parts.len());
        let to = (from + self.below(200)).min(changed.parts.len() - 1);
        if changed.parts[from].len() > 16 && changed.parts[from].len() != 24
            || !is_heartbeat(stream.format, word_of(&changed.parts[from]))
        {
            return;
        }
        let part = changed.parts.remove(from);
        changed.parts.insert(to, part);
        let after = find(&changed.bytes(), stream.format);
        compare(before, &after, &HashSet::new(), 0, &format!("{what}: part {from} moved to {to}"));
    }

    /// Two streams one after the other, whose clocks differ by more than the disorder.
    fn two(&mut self, first: &Parts, before: &Found, what: &str) {
        let mut second = self.stream();
        // One file was made to test wrapping counters: its times go back and forth, which is accepted only where no heartbeat
        // contradicts.
        let is_wild = second.has_heartbeats() != first.has_heartbeats();
        if second.format != first.format || is_wild {
            return;
        }
        let what = format!("{what}: {} behind it", second.name);
        if second.has_heartbeats() && self.below(2) == 0 {
            second = second.moved(self.below(1_000_000_000) as u64 * 1000);
        }
        let alone = find(&second.bytes(), second.format);
        let end = |found: &Found| found.clusters.iter().flatten().map(|hit| hit.0).max();
        let begin = |found: &Found| found.clusters.iter().flatten().map(|hit| hit.0).min();
        let (Some(last), Some(next)) = (end(before), begin(&alone)) else { return };
        let turn = if first.format == PixelFormat::Tpx3 { 1 << 34 } else { i64::MAX };
        let step = (next - last).rem_euclid(turn);
        // Closer than twice the disorder, two streams cannot be distinguished from one.
        let disorder = 2 * (first.format.usual_disorder_us() * 640.0) as i64;
        if step.min(turn - step) <= disorder {
            return;
        }
        let both = find(&[first.bytes(), second.bytes()].concat(), first.format);
        assert_eq!(both.counts.hits, before.counts.hits + alone.counts.hits, "{what}: {:?}", both.counts);
        let sizes = |found: &[&Found]| {
            let mut sizes: Vec<_> =
                found.iter().flat_map(|found| found.clusters.iter().map(Vec::len)).collect();
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(sizes(&[&both]), sizes(&[before, &alone]), "{what}");
        assert!(both.clusters.iter().flatten().all(|hit| hit.0 >= 0), "{what}: a negative time");
    }
}

#[test]
fn what_a_change_does_not_touch_is_found_as_before() {
    let Some(data) = data() else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (changes, seed) = (number("PELOTON_CHANGES").unwrap_or(1000), number("PELOTON_SEED").unwrap_or(1));
    println!("{changes} changes from seed {seed}");
    let mut streams = Vec::new();
    for folder in ["nsls2_tpx3", "ornl_tpx3", "asi_tpx4", "jcmartin76_t3pa"] {
        let files =
            std::fs::read_dir(data.join("timepix").join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|ending| ending != "md")).collect();
        files.sort();
        streams.extend(files.iter().map(|path| Parts::read(path)));
    }
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let streams = streams.clone();
            scope.spawn(move || {
                for change in (thread..changes).step_by(threads as usize) {
                    let random = Xoshiro256PlusPlus::seed_from_u64(seed + change);
                    Changes { random, streams: streams.clone() }.one(seed + change);
                }
            });
        }
    });
}
