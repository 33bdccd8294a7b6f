//! Decode: converts raw banks of an event to hits sorted by module.
//!
//! ```text
//! retina words      -> retina ------------.
//!                                          +--> singles --.
//! superpixel words  -> superpixel --------'               +--> place: x, y, z, id by module
//!                          '--> groups --> joined --------'
//! ```
//! First, banks are converted to *clusters*: a channel (sensor, column, row) and the position within its pixel. Then
//! clusters are converted to points in space, one module after another.

mod groups;
mod patterns;
#[cfg(feature = "reference")]
mod reference;
mod retina;
mod superpixel;

#[cfg(feature = "reference")]
pub use reference::{position_f64, reference, reference_with};

use super::geometry::PITCH;
use super::sensors::VeloSensors;
use crate::Status;
use crate::event::{
    BankKind, Column, Counters, Outcome, PAD, RawBank, RawEvent, RawEvents, StageClock, Truncation,
    VELO_MODULES, VeloBatch,
};
use crate::lhcb::banks::Salvage;
use crate::simd::varying::{F32, U32};
use crate::simd::{Gang, Level};
use groups::GroupScratch;
use std::ops::Range;

/// Largest number of words in one event: more than any detector sends, and few enough to decode quickly.
pub(super) const MAX_WORDS: usize = 1 << 16;
/// Detector number in LHCbIDs of superpixel clusters, and of clusters from the readout.
const DETECTOR: [u32; 2] = [8 << 28, 2 << 28];
/// First bit of the column in a channel, above the row; then the first bit of the sensor.
const COLUMN_SHIFT: u32 = 8;
const SENSOR_SHIFT: u32 = 18;
/// First bit of the module's number in a channel: a module has four sensors.
const MODULE_SHIFT: u32 = 20;

/// Kind of Velo banks to decode if an event has several kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VeloBanks {
    /// Retina clusters (found by the readout) if the event has any; otherwise superpixels.
    #[default]
    Auto,
    /// Retina clusters (found by the readout).
    Retina,
    /// Superpixels.
    Superpixel,
}

impl std::fmt::Display for VeloBanks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Retina => "retina",
            Self::Superpixel => "superpixel",
        })
    }
}

impl std::str::FromStr for VeloBanks {
    type Err = crate::Error;
    fn from_str(name: &str) -> crate::Result<Self> {
        let all = [Self::Auto, Self::Retina, Self::Superpixel];
        let message = || format!("no Velo banks `{name}`: choose auto, retina or superpixel");
        let found = all.into_iter().find(|banks| banks.to_string() == name);
        found.ok_or_else(|| crate::Error::Config(message()))
    }
}

impl VeloBanks {
    /// Returns the kind of banks to decode in an event.
    pub fn kind(self, event: &RawEvent<'_>) -> BankKind {
        match self {
            Self::Auto if event.has(BankKind::VeloRetina) => BankKind::VeloRetina,
            Self::Retina => BankKind::VeloRetina,
            Self::Auto | Self::Superpixel => BankKind::VeloSuperpixel,
        }
    }
}

/// Clusters of an event, by module.
#[derive(Debug)]
struct Clusters {
    /// Row, column and sensor; above them the other bits of an LHCbID.
    channel: Column<u32>,
    /// Fractions of a column and of a row beyond the middle of the pixel.
    fx: Column<f32>,
    fy: Column<f32>,
    /// Number of clusters of each module.
    count: [u32; VELO_MODULES],
}

impl Default for Clusters {
    fn default() -> Self {
        Self {
            channel: Column::default(),
            fx: Column::default(),
            fy: Column::default(),
            count: [0; VELO_MODULES],
        }
    }
}

impl Clusters {
    /// Removes everything and reserves memory for `clusters`.
    fn clear(&mut self, clusters: usize) {
        self.count = [0; VELO_MODULES];
        self.channel.set_len(0);
        self.channel.reserve_total(clusters);
        self.fx.reserve_total(clusters);
        self.fy.reserve_total(clusters);
    }

    fn len(&self) -> usize {
        self.channel.len()
    }

    #[inline(always)]
    fn part(&self, range: Range<usize>) -> Part<'_> {
        Part { clusters: self, range }
    }
}

/// A range of the clusters.
struct Part<'a> {
    clusters: &'a Clusters,
    range: Range<usize>,
}

/// Parameters of the decoder: sensors, and the kind of banks.
#[derive(Debug, Clone, Copy)]
pub struct VeloDecoder<'a> {
    /// The sensors.
    pub sensors: &'a VeloSensors,
    /// Kind of banks to decode if an event has several kinds.
    pub banks: VeloBanks,
}

/// Memory of the decoder that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct DecodeScratch {
    singles: Clusters,
    joined: Clusters,
    groups: GroupScratch,
    /// Events without their damaged banks.
    pub(super) salvage: Salvage,
}

/// Decodes the events of `range` and appends them to `out`, in order, with the number of each event as its id. An event
/// that cannot be decoded has no hits, and its [`Status`] gives the reason. Words read and hits written are counted.
///
/// Output bytes do not depend on `level`. Memory is allocated only until `scratch` and `out` are large enough.
///
/// # Panics
/// Panics if `range` is not within the events.
pub fn decode(
    level: Level,
    decoder: VeloDecoder<'_>,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut DecodeScratch,
    out: &mut Outcome<VeloBatch>,
) {
    let mut clock = StageClock::start();
    crate::simd::kernels!(dispatch_gathers!(level, g => run(g, decoder, events, range, scratch, out)));
    clock.lap(&mut out.counters.stages[0]);
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    decoder: VeloDecoder<'_>,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut DecodeScratch,
    out: &mut Outcome<VeloBatch>,
) {
    let VeloDecoder { sensors, banks } = decoder;
    let Outcome { results: out, counters } = out;
    let mut salvage = std::mem::take(&mut scratch.salvage);
    salvage.clear();
    for number in range {
        let event = events.event(number);
        let before = out.x.len();
        let kind = banks.kind(&event);
        let mut status = match event.status {
            Status::Ok => clusters(g, &event, kind, scratch, counters),
            status => status,
        };
        if status != Status::Ok {
            status = salvage.decode(number, &event, (kind, status), &mut |event| {
                clusters(g, event, kind, scratch, counters)
            });
        }
        if status == Status::Ok {
            let detector = DETECTOR[usize::from(kind == BankKind::VeloRetina)];
            place_room(g, sensors, scratch, detector, out);
            out.event_id.push(number as u64);
            out.status.push(status);
        } else {
            out.push_failed(number as u64, status);
        }
        counters.stages[0].items_out += (out.x.len() - before) as u64;
    }
    counters.count_truncated(Truncation::BanksLeftOut, salvage.left_out());
    scratch.salvage = salvage;
}

/// Fills `singles` and `joined`.
#[inline(always)]
fn clusters<G: Gang>(
    g: G,
    event: &RawEvent<'_>,
    kind: BankKind,
    scratch: &mut DecodeScratch,
    counters: &mut Counters,
) -> Status {
    let banks = event.banks(kind);
    if banks.is_empty() {
        return Status::MissingBanks;
    }
    let words: usize = banks.iter().map(|bank| bank.bytes as usize / 4).sum();
    if words > MAX_WORDS {
        return Status::OversizedBank;
    }
    counters.stages[0].items_in += words as u64;
    let DecodeScratch { singles, joined, groups, .. } = scratch;
    // A superpixel may hold two clusters.
    singles.clear(2 * words);
    joined.clear(2 * words);
    match kind {
        BankKind::VeloRetina => retina::read_room(g, event, banks, singles),
        _ => superpixel::read_room(g, event, banks, singles, joined, groups),
    }
}

/// The words of a bank, and memory behind them for reading whole gangs.
#[derive(Clone, Copy)]
struct Words<'a> {
    from: &'a [u32],
    count: usize,
}

impl<'a> Words<'a> {
    /// Returns all words of a bank.
    #[inline(always)]
    fn all(event: &RawEvent<'a>, bank: &RawBank) -> Self {
        Self { from: event.words_from(bank), count: bank.bytes as usize / 4 }
    }

    /// Returns the words of a bank whose first word is their number. Words beyond this number must be padding, else the
    /// number is wrong.
    #[inline(always)]
    fn counted(event: &RawEvent<'a>, bank: &RawBank) -> Result<Self, Status> {
        let Self { from, count: whole } = Self::all(event, bank);
        match from.split_first() {
            Some((&count, from)) if (count as usize) < whole => {
                let count = count as usize;
                if from[count..whole - 1].iter().any(|&word| word != 0) {
                    return Err(Status::BadBank);
                }
                Ok(Self { from, count })
            }
            _ => Err(Status::TruncatedBank),
        }
    }
}

#[inline(never)]
fn place_room<G: Gang>(
    g: G,
    sensors: &VeloSensors,
    scratch: &DecodeScratch,
    detector: u32,
    out: &mut VeloBatch,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let DecodeScratch { singles, joined, .. } = scratch;
            let start = out.x.len();
            let end = start + singles.len() + joined.len();
            out.x.set_len(end);
            out.y.set_len(end);
            out.z.set_len(end);
            out.id.set_len(end);
            if joined.len() == 0 {
                // All modules at once.
                place(g, sensors, singles.part(0..singles.len()), detector, start, out);
            }
            let (mut at, mut from) = (start, [0, 0]);
            for module in 0..VELO_MODULES {
                for (clusters, from) in [singles, joined].into_iter().zip(&mut from) {
                    let count = clusters.count[module] as usize;
                    if joined.len() > 0 {
                        place(g, sensors, clusters.part(*from..*from + count), detector, at, out);
                    }
                    *from += count;
                    at += count;
                }
                out.module_start.push(at as u32);
            }
        },
    );
}

/// Turns clusters into hits, which are written from index `at` on.
#[inline(always)]
fn place<G: Gang>(
    g: G,
    sensors: &VeloSensors,
    Part { clusters, range }: Part<'_>,
    detector: u32,
    at: usize,
    out: &mut VeloBatch,
) {
    let offset = at.wrapping_sub(range.start);
    for from in range.step_by(G::LANES) {
        let channel = U32::load(g, &clusters.channel.padded()[from..]);
        let fx = F32::load(g, &clusters.fx.padded()[from..]);
        let fy = F32::load(g, &clusters.fy.padded()[from..]);
        let column = channel.shr::<COLUMN_SHIFT>() & U32::splat(g, 0x3FF);
        let row = channel & U32::splat(g, 0xFF);
        let sensor = channel.shr::<SENSOR_SHIFT>() & U32::splat(g, 0xFF);
        let u =
            fx.mul_add(F32::gather(&sensors.column_pitch, column), F32::gather(&sensors.column_x, column));
        let v = row.as_i32().to_f32() + F32::splat(g, 0.5) + fy;
        let v = v * F32::splat(g, PITCH as f32);
        let first = sensor * U32::splat(g, 3);
        let to = from.wrapping_add(offset);
        for (axis, out) in [&mut out.x, &mut out.y, &mut out.z].into_iter().enumerate() {
            let [a, b, _, t] = F32::gather_records(&sensors.rows, first + U32::splat(g, axis as u32));
            u.mul_add(a, v.mul_add(b, t)).store(&mut out.padded_mut()[to..]);
        }
        (channel | U32::splat(g, detector)).store(&mut out.id.padded_mut()[to..]);
    }
}

// A gang may be stored at the end of a column.
const _: () = assert!(PAD >= 64);
