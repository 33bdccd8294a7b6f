//! Reads hits of Timepix detectors from files, pipes and sockets, block by block and in bounded memory.
//!
//! Input may be corrupt or malicious: a word or line that is not a hit is counted in [`PixelCounts`] and skipped. Every
//! hit of the input is either in the output or counted as dropped.

mod chunks;
mod clock;
mod datagrams;
mod feed;
mod hit_columns;
mod katherine;
mod listen;
mod matrices;
mod npy;
mod npy_header;
mod opening;
mod parquet;
mod pieces;
mod reader;
mod runs;
mod t3pa;
mod text;
mod tpx3;
mod tpx3_blocks;
mod tpx4;
mod usual_lines;
mod write;
mod write_parquet;

use super::ByteCount;
use clock::{Payload, Sample, Sink, Timeline};
use peloton::event::{Layout, PixelBlock, TICKS_PER_CLOCK};
use peloton::{Error, Result};
use std::{fmt, str::FromStr};

pub use datagrams::{Datagrams, dropped_datagrams};
pub use feed::{Fed, Feed, PixelStream, PixelTroubles, WhenFull};
pub use hit_columns::TimeUnit;
pub use katherine::KatherineOptions;
pub use listen::listen;
pub use pieces::{PixelColumns, PixelDecoder};
pub use reader::{PixelReader, ReadEnd};
pub use runs::follows;
pub use write::{write_hits, write_tpx3};
pub use write_parquet::ParquetHits;

/// Format of a stream of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PixelFormat {
    /// The format of each input is recognised from its content.
    #[default]
    Auto,
    /// Text files of the ADVACAM Pixet programs.
    T3pa,
    /// Text files of IEAP, one hit per line: `pixel ToA fToA ToT`.
    Burda,
    /// Text files of frames, one hit per line: `frame x y value`. The format is never recognised from the content. The
    /// time of a hit is its frame's number, in ticks.
    Frames,
    /// Text files of Pixet programs, one matrix per frame. Never recognised from the content. Times are as in `Frames`.
    Pmf,
    /// Raw words of SERVAL and SPIDR for Timepix3.
    Tpx3,
    /// Raw words of ASI readouts for Timepix4.
    Tpx4,
    /// Raw 6-byte words of the Katherine readout. Never recognised from the content.
    Katherine,
    /// Records of 16 bytes: time in ticks of 1.5625 ns (i64), x, y, ToT (u16), 2 unused bytes. Never recognised.
    Hits16,
    /// NumPy file of a structured array with the fields t (or time, toa), x, y, tot and, for several chips, chip.
    Npy,
    /// Parquet file with the columns t (or time, toa), x, y, tot and, for several chips, chip.
    Parquet,
}

impl PixelFormat {
    /// All formats with their names.
    pub const NAMES: [(&'static str, PixelFormat); 11] = [
        ("auto", PixelFormat::Auto),
        ("t3pa", PixelFormat::T3pa),
        ("burda", PixelFormat::Burda),
        ("frames", PixelFormat::Frames),
        ("pmf", PixelFormat::Pmf),
        ("tpx3", PixelFormat::Tpx3),
        ("tpx4", PixelFormat::Tpx4),
        ("katherine", PixelFormat::Katherine),
        ("hits16", PixelFormat::Hits16),
        ("npy", PixelFormat::Npy),
        ("parquet", PixelFormat::Parquet),
    ];

    /// The format of a stream that begins with `head`; none if it is not recognised.
    pub fn detect(head: &[u8]) -> Option<Self> {
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let first = *text.first()?;
        Some(match head {
            [b'T', b'P', b'X', b'3', ..] => Self::Tpx3,
            [b'T', b'P', b'X', b'4', ..] => Self::Tpx4,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Self::Npy,
            _ if t3pa::begins_header(text) => Self::T3pa,
            _ if first.is_ascii_digit() || first == b'#' => Self::Burda,
            _ => return None,
        })
    }

    /// Usual disorder of this format: the largest time by which a hit may come after a later hit, us. Hits of a quad's
    /// chips or of a Timepix4's halves are interleaved, and some files are far from sorted.
    pub fn usual_disorder_us(self) -> f64 {
        match self {
            Self::Tpx4 => 200_000.0,
            Self::T3pa => 1e7,
            Self::Frames | Self::Pmf => 0.0,
            _ => 2000.0,
        }
    }

    /// The clock of a stream.
    fn clock(self, options: &PixelOptions) -> Timeline {
        let disorder_us = options.disorder_us.unwrap_or(self.usual_disorder_us());
        let disorder = (disorder_us * 1e3 / peloton::event::NS_PER_TICK) as i64;
        match (self, options.toa_bits) {
            _ if self.is_of_frames() => Timeline::unchecked(),
            (Self::Tpx3, _) => Timeline::wrapping(disorder, clock::TURN * TICKS_PER_CLOCK),
            (Self::T3pa, Some(bits)) if bits < 58 => Timeline::wrapping(disorder, TICKS_PER_CLOCK << bits),
            (Self::T3pa, None) => Timeline::finding(disorder, &T3PA_TURNS),
            _ => Timeline::new(disorder),
        }
    }

    /// Whether a hit has the number of its frame instead of a time. Clusters are then the connected pixels of a frame.
    pub fn is_of_frames(self) -> bool {
        matches!(self, Self::Frames | Self::Pmf)
    }

    /// The default sensor of this format: one chip, or four chips between which no clusters are joined.
    pub fn default_layout(self) -> Result<Layout> {
        match self {
            Self::Tpx4 => Layout::single(448, 512),
            Self::Tpx3 | Self::T3pa => Layout::apart(4, 256, 256),
            _ => Layout::single(256, 256),
        }
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES.iter().find(|(_, format)| format == self).map_or("?", |(name, _)| name))
    }
}

impl FromStr for PixelFormat {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] that lists the formats.
    fn from_str(text: &str) -> Result<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, format)| *format).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            Error::Config(format!("unknown format `{text}` of pixel hits: choose one of {names}"))
        })
    }
}

/// Counts of a stream: hits and triggers in the output, dropped hits, and other words or lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PixelCounts {
    /// Hits in the output.
    pub hits: u64,
    /// Dropped hits on chips or pixels that the layout does not have.
    pub outside: u64,
    /// Chips whose hits were dropped because the layout does not contain the chip.
    pub outside_chips: Chips,
    /// Trigger edges in the output.
    pub triggers: u64,
    /// Words or lines that are not hits: headers, heartbeats, markers.
    pub control: u64,
    /// Words of unknown kinds, and words outside all chunks.
    pub unknown: u64,
    /// Lines, words or chunks that contradict their format, or are truncated.
    pub malformed: u64,
    /// Hits that the device reports as lost.
    pub lost_by_device: u64,
    /// Dropped hits, triggers and heartbeats whose times contradict the times of their neighbours.
    pub implausible: u64,
    /// Dropped words of damaged chunks, in which no word can be trusted.
    pub damaged: u64,
    /// Number of runs; each run has its own clock.
    pub runs: u64,
    /// Number of restarts of the clock. Time continues after a restart, and no hit is dropped.
    pub restarts: u64,
}

impl PixelCounts {
    /// Adds the counts of another stream.
    pub fn merge(&mut self, other: &Self) {
        self.hits += other.hits;
        self.outside += other.outside;
        self.outside_chips.merge(&other.outside_chips);
        self.triggers += other.triggers;
        self.control += other.control;
        self.unknown += other.unknown;
        self.malformed += other.malformed;
        self.lost_by_device += other.lost_by_device;
        self.implausible += other.implausible;
        self.damaged += other.damaged;
        self.restarts += other.restarts;
        self.runs += other.runs;
    }
}

/// Ticks after which the counters of devices that write t3pa files wrap: counters of AdvaPIX have 28 or 30 bits, others 64.
const T3PA_TURNS: [i64; 2] = [TICKS_PER_CLOCK << 28, TICKS_PER_CLOCK << 30];
/// A set of chips, by their numbers from 0 to 255.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chips([u64; 4]);

impl Chips {
    /// Adds a chip; numbers beyond 255 count as 255.
    pub fn insert(&mut self, chip: usize) {
        let chip = chip.min(255);
        self.0[chip / 64] |= 1 << (chip % 64);
    }

    /// Adds the chips of another set.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(chips, other)| *chips |= other);
    }

    /// Numbers of the chips in rising order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..256).filter(|chip| self.0[chip / 64] >> (chip % 64) & 1 == 1)
    }
}

/// Options for reading hits.
#[derive(Debug, Clone, Default)]
pub struct PixelOptions {
    /// Format of every source.
    pub format: PixelFormat,
    /// Layout of the sensor; the format's default layout if none.
    pub layout: Option<Layout>,
    /// Options of the Katherine readout.
    pub katherine: KatherineOptions,
    /// Largest time by which a hit may come after a later hit of the stream, us; the format's default if none.
    pub disorder_us: Option<f64>,
    /// Number of bits of the ToA counter in t3pa files; found from the data if none.
    pub toa_bits: Option<u32>,
    /// Unit of times in NumPy and Parquet files that do not give the unit.
    pub time_unit: Option<TimeUnit>,
    /// Counts the bytes read, except in Parquet files.
    pub bytes: ByteCount,
}

/// Decodes the bytes of one stream into hits, as they arrive.
trait Decode: Send {
    /// Decodes complete units at the beginning of `bytes`, and returns their number of bytes. The next call
    /// continues after them.
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize;
    /// Ends the stream; `rest` are the bytes that were not decoded.
    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>);
    /// The first item that contradicts the format, and its position if known.
    fn first_fault(&self) -> Option<String> {
        None
    }
    /// Describes hits of known kinds that were skipped, because they cannot be read.
    fn passed_over(&self) -> Option<String> {
        None
    }
}

/// The output of a decoder.
struct Output<'a> {
    block: &'a mut PixelBlock,
    counts: &'a mut PixelCounts,
    layout: &'a Layout,
    clock: &'a mut Timeline,
}

impl Output<'_> {
    /// The clock, and the sink for the samples that it believes.
    fn clock_and_sink(&mut self) -> (&mut Timeline, Sink<'_>) {
        (self.clock, Sink { block: self.block, counts: self.counts })
    }

    /// Passes a hit of a chip, given as time, x, y, time over threshold, to the clock, or counts it as malformed or outside.
    fn row(&mut self, chip: i64, [time, x, y, tot]: [i64; 4]) {
        let chip = usize::try_from(chip).unwrap_or(usize::MAX);
        let pixel = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
        let tot = tot.clamp(0, i64::from(u16::MAX)) as u16;
        if is_time(time) {
            self.hit(chip, pixel(x), pixel(y), time, tot);
        } else {
            self.counts.malformed += 1;
        }
    }

    /// Passes a hit to the clock, or counts it as outside. `time` is in ticks of the device's clock.
    #[inline(always)]
    fn hit(&mut self, chip: usize, x: u32, y: u32, time: i64, tot: u16) {
        match self.layout.place(chip, x, y) {
            Some((x, y)) => self.sample(Sample { time, group: 0, payload: Payload::Hit([x, y, tot]) }),
            None => self.outside(chip),
        }
    }

    /// Counts a hit on a chip or pixel that the layout does not have.
    #[cold]
    fn outside(&mut self, chip: usize) {
        self.counts.outside += 1;
        if chip >= self.layout.chips() {
            self.counts.outside_chips.insert(chip);
        }
    }

    /// Passes a hit of chip 0 to the clock, or counts it as outside. The times of all hits of its group come from one word.
    fn hit_of_group(&mut self, group: u32, [x, y]: [u32; 2], time: i64, tot: u16) {
        match self.layout.place(0, x, y) {
            Some((x, y)) => self.sample(Sample { time, group, payload: Payload::Hit([x, y, tot]) }),
            None => self.counts.outside += 1,
        }
    }

    #[inline(always)]
    fn sample(&mut self, sample: Sample) {
        self.clock.take(sample, &mut Sink { block: self.block, counts: self.counts });
    }

    /// Ends the stream: the clock decides about all samples that wait.
    fn finish(&mut self) {
        let (clock, mut sink) = self.clock_and_sink();
        clock.finish(&mut sink);
    }

    /// Restarts the clock with the next hit, as the input requires.
    fn restart(&mut self) {
        let (clock, mut sink) = self.clock_and_sink();
        clock.restart(&mut sink);
    }

    /// Begins a new stretch near `time` with the next hit, ticks of the device's clock.
    fn begin(&mut self, time: i64) {
        let (clock, mut sink) = self.clock_and_sink();
        clock.begin(time, &mut sink);
    }
}

/// Whether a time is valid for a hit: differences of times beyond a thousand years might overflow.
fn is_time(ticks: i64) -> bool {
    ticks.unsigned_abs() >> 62 == 0
}

/// Extends a number of `bits` bits to the value nearest to `near` that has these low bits.
#[inline(always)]
fn extend(value: u64, bits: u32, near: i64) -> i64 {
    let difference = (value as i64).wrapping_sub(near) << (64 - bits) >> (64 - bits);
    near.wrapping_add(difference)
}

/// Little-endian words of 8 bytes.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// Decodes `bytes` in pieces.
#[cfg(test)]
fn decoded(
    decoder: &mut dyn Decode,
    mut clock: Timeline,
    layout: &Layout,
    bytes: &[u8],
    piece: usize,
) -> (PixelBlock, PixelCounts) {
    let (mut block, mut counts, mut rest) = (PixelBlock::default(), PixelCounts::default(), Vec::new());
    let mut to = Output { block: &mut block, counts: &mut counts, layout, clock: &mut clock };
    for piece in bytes.chunks(piece) {
        rest.extend_from_slice(piece);
        let used = decoder.decode(&rest, &mut to);
        rest.drain(..used);
    }
    decoder.finish(&rest, &mut to);
    to.finish();
    (block, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_extended_to_the_nearest() {
        assert_eq!(extend(5, 4, 100), 101);
        assert_eq!(extend(0xF, 4, 0x100), 0xFF);
        assert_eq!(extend(0x0, 4, 0xFF), 0x100);
        assert_eq!(extend(3, 30, 0), 3);
        assert_eq!(extend((1 << 30) - 1, 30, 1 << 30), (1 << 30) - 1);
    }

    #[test]
    fn chips_are_a_set_of_numbers() {
        let (mut one, mut other) = (Chips::default(), Chips::default());
        [7, 64, 1000].into_iter().for_each(|chip| one.insert(chip));
        [7, 0].into_iter().for_each(|chip| other.insert(chip));
        one.merge(&other);
        assert_eq!(one.iter().collect::<Vec<_>>(), [0, 7, 64, 255]);
    }

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        for (head, format) in [
            (&b"TPX3\0\0\0\0"[..], Some(PixelFormat::Tpx3)),
            (b"TPX4", Some(PixelFormat::Tpx4)),
            (b"Index\tMatrix Index", Some(PixelFormat::T3pa)),
            (b"TOA\tMatrix", Some(PixelFormat::T3pa)),
            (b"Total of all", None),
            (b"\xEF\xBB\xBF# comment", Some(PixelFormat::Burda)),
            (b"12 4 5 6\n", Some(PixelFormat::Burda)),
            (b"\x93NUMPY\x01\0", Some(PixelFormat::Npy)),
            (b"PAR1\x15", Some(PixelFormat::Parquet)),
            (b"PK\x03\x04", None),
            (b"", None),
        ] {
            assert_eq!(PixelFormat::detect(head), format, "{head:?}");
        }
        for (name, format) in PixelFormat::NAMES {
            assert_eq!((name.parse::<PixelFormat>().unwrap(), format.to_string().as_str()), (format, name));
        }
        assert!("csv".parse::<PixelFormat>().unwrap_err().to_string().contains("burda"));
    }
}
