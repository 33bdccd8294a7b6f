//! Positions of the fibres of each readout channel, read from `scifi_geometry.bin`.
//!
//! A channel's number consists of station, layer, quarter, module, mat, SiPM and channel, from the highest bits down.
//! Geometry files have three generations: without a version number, version 0, and version 1. In version 1 boards have
//! any number, and their links are connected in any order.

use crate::Result;
use crate::bytes::Fields;
use crate::simd::with_default_float_mode;

/// Number of the first mat: stations are counted from 1.
const FIRST_MAT: usize = 512;
/// Number of mats that mat numbers can address.
pub(super) const MATS: usize = 1536;
/// Number of bits of a channel number below its quarter number, and below its layer number.
pub(super) const QUARTER_SHIFT: u32 = 14;
pub(super) const LAYER_SHIFT: u32 = 16;
/// Number of quarters, and number of the first quarter.
pub(super) const QUARTERS: usize = 48;
pub(super) const FIRST_QUARTER: u32 = 16;
/// Number of links of a board.
pub const LINKS: usize = 24;
/// Number of layers.
pub const LAYERS: usize = 12;
const MATS_IN_LAYER: usize = MATS / LAYERS;
/// |y| of the readout end of the fibres, mm.
pub const FIBRE_END: f32 = 2424.0;
/// Largest number of boards.
const MAX_BOARDS: usize = 1024;

/// Bits of an LHCbID that number the channel, and number of bits below its mat number.
const CHANNEL_BITS: u32 = (1 << 28) - 1;
const MAT_SHIFT: u32 = 9;

/// How boards are numbered and connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Boards {
    /// Board i is source i; the vector holds the first channel of each board.
    Consecutive(Vec<u32>),
    /// (source, number of the SiPM at each link), by source.
    Mapped(Vec<(u32, [u32; LINKS])>),
}

/// A quarter in the order of hits by x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Number of the quarter, counted through all layers.
    pub quarter: usize,
    /// Whether x falls from module to module as channel numbers rise.
    pub modules_fall: bool,
    /// Whether x changes within a module in the opposite direction to its change from module to module.
    pub modules_turned: bool,
}

/// One mat of fibres.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mat {
    /// Position of the middle fibre at the mirror, mm.
    pub mirror: [f32; 3],
    /// Direction across the fibres.
    pub step: [f32; 3],
    /// dx/dy and dz/dy along the fibres.
    pub slope: [f32; 2],
}

/// Fibre mats and boards of the SciFi.
#[derive(Debug, Clone, PartialEq)]
pub struct SciFiGeometry {
    /// Detector number in the highest bits of LHCbIDs.
    pub(super) detector: u32,
    pub(super) boards: Boards,
    /// The numbers of the boards in rising order.
    numbers: Vec<u16>,
    /// Whether this is the nominal SciFi.
    is_nominal: bool,
    /// Distance of a mat's first channel from its middle, mm.
    pub(super) begin: f32,
    /// Half the width of a channel, mm.
    pub(super) half_pitch: f32,
    /// Gap in the middle of a SiPM, mm.
    pub(super) die_gap: f32,
    /// Distance between the SiPMs of a mat, mm.
    pub(super) sipm_pitch: f32,
    /// Upper limit of the distance of a channel from the middle of its mat, mm.
    reach: f32,
    /// Per mat, from number 0 on: x of the fibre's end at the mirror for u = 0 and its change along u, then y and its
    /// change along u.
    pub(super) across: Vec<[f32; 4]>,
    /// Per mat: z and its change along u, slopes dx/dy and dz/dy; the last value is NaN for a missing mat.
    pub(super) along: Vec<[f32; 4]>,
    /// Quarters in the order of zones, two per zone, by x.
    pub(super) parts: [Part; QUARTERS],
    /// Number of the quarter of each board, when boards are in the order of their channels.
    pub(super) board_quarter: Option<Vec<u8>>,
}

impl SciFiGeometry {
    /// Returns the boards that send a bank in every event, even without hits, in rising order.
    pub fn boards(&self) -> &[u16] {
        &self.numbers
    }

    /// Marks this geometry as nominal.
    pub(super) fn into_nominal(self) -> Self {
        Self { is_nominal: true, ..self }
    }

    /// Returns whether an LHCbID belongs to a channel on a mat of this SciFi.
    pub fn has_id(&self, id: u32) -> bool {
        let mat = self.along.get(((id & CHANNEL_BITS) >> MAT_SHIFT) as usize);
        id & !CHANNEL_BITS == self.detector && mat.is_some_and(|mat| !mat[3].is_nan())
    }

    /// Returns whether this is the nominal SciFi, not a SciFi from geometry files.
    pub fn is_nominal(&self) -> bool {
        self.is_nominal
    }

    /// Parses the bytes of a geometry file; `file` is its name in error messages.
    ///
    /// # Errors
    /// Returns [`Error::Format`](crate::Error::Format) with file, field and offset if the file is not valid.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        with_default_float_mode(|| Self::read(file, bytes))
    }

    fn read(file: &str, bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(file, bytes);
        for (name, value) in [
            ("stations", 3),
            ("layers per station", 4),
            ("layers", 12),
            ("quarters per layer", 4),
            ("quarters", 48),
        ] {
            fields.expect_u32(name, &[value])?;
        }
        fields.u32s("modules per quarter", 48)?;
        fields.expect_u32("mats per module", &[4])?;
        fields.u32("mats")?;
        let count = fields.u32("boards")? as usize;
        if count > MAX_BOARDS {
            return Err(fields.wrong("boards", &format!("{count} are too many")));
        }
        let is_old = fields.left() == 4 * count + 4 + 13 * 4 * MATS;
        let version = if is_old { 0 } else { fields.expect_u32("version", &[0, 1])? };
        let numbers = fields.u32s("boards' numbers", count)?;
        let boards = if version == 0 {
            Boards::Consecutive(numbers)
        } else {
            let mut boards = Vec::with_capacity(count);
            for number in numbers {
                let sipms = fields.u32s("SiPMs of a board", LINKS)?;
                boards.push((number, sipms.try_into().expect("one number per link")));
            }
            boards.sort_unstable();
            Boards::Mapped(boards)
        };
        fields.expect_u32("mats", &[MATS as u32])?;
        let mut column = |name: &str| fields.f32s(name, MATS);
        let mirror = [column("mirrorX")?, column("mirrorY")?, column("mirrorZ")?];
        let step = [column("ddxX")?, column("ddxY")?, column("ddxZ")?];
        let common =
            [column("uBegin")?, column("halfChannelPitch")?, column("dieGap")?, column("sipmPitch")?];
        let slope = [column("dxdy")?, column("dzdy")?];
        column("globaldy")?;
        fields.end()?;
        // All mats have the same sizes: common values are stored once.
        let exists = |mat: &usize| common[1][*mat] != 0.0;
        let mut same = [0.0; 4];
        for (value, column) in same.iter_mut().zip(&common) {
            let mut values = (0..MATS).filter(exists).map(|mat| column[mat]);
            *value = values.next().unwrap_or(0.0);
            if values.any(|other| other != *value) {
                return Err(fields.wrong("pitches and gaps", "must be equal for all mats"));
            }
        }
        let mat = |mat: usize| Mat {
            mirror: [0, 1, 2].map(|axis| mirror[axis][mat]),
            step: [0, 1, 2].map(|axis| step[axis][mat]),
            slope: [0, 1].map(|axis| slope[axis][mat]),
        };
        let detector = if is_old { 0xA << 28 } else { 5 << 28 };
        Ok(Self::assemble(detector, boards, same, |number| Some(number).filter(exists).map(mat)))
    }

    /// Builds the geometry from mats and boards. `common` has the values that all mats share, in the order of the
    /// fields of [`SciFiGeometry`]; `mat` returns the mats that exist, by their number from the first one on.
    pub(super) fn assemble(
        detector: u32,
        boards: Boards,
        common: [f32; 4],
        mat: impl Fn(usize) -> Option<Mat>,
    ) -> Self {
        let nothing = [0.0, 0.0, 0.0, f32::NAN];
        let (mut across, mut along) = (vec![[0.0; 4]; FIRST_MAT], vec![nothing; FIRST_MAT]);
        for number in 0..MATS {
            let mat = mat(number);
            across.push(mat.map_or([0.0; 4], |m| [m.mirror[0], m.step[0], m.mirror[1], m.step[1]]));
            along.push(mat.map_or(nothing, |m| [m.mirror[2], m.step[2], m.slope[0], m.slope[1]]));
        }
        let [begin, half_pitch, die_gap, sipm_pitch] = common;
        Self {
            detector,
            board_quarter: board_quarters(&boards),
            numbers: numbers(&boards),
            boards,
            is_nominal: false,
            begin,
            half_pitch,
            die_gap,
            sipm_pitch,
            // A margin of 1 mm is far more than any rounding error.
            reach: begin.abs().max((begin + 4.0 * sipm_pitch).abs()) + 1.0,
            parts: parts(&across, &along),
            across,
            along,
        }
    }

    /// Returns the mats of a layer: the number of each mat in the layer, and its corners in order around the mat, mm.
    ///
    /// # Panics
    /// Panics if `layer >= LAYERS`.
    pub fn corners(&self, layer: usize) -> impl Iterator<Item = (usize, [[f32; 3]; 4])> + '_ {
        assert!(layer < LAYERS, "there are {LAYERS} layers");
        let first = FIRST_MAT + MATS_IN_LAYER * layer;
        (0..MATS_IN_LAYER).filter_map(move |number| {
            let ([mx, ux, my, uy], [mz, uz, slope_x, slope_z]) =
                (self.across[first + number], self.along[first + number]);
            // Fibres run from the mirror to the readout, away from y = 0.
            let is_upper = number >> 6 & 1 == 1;
            let end = if is_upper { FIBRE_END } else { -FIBRE_END };
            let corner = |u: f32, at_end: bool| {
                let mirror = [mx + u * ux, my + u * uy, mz + u * uz];
                let dy = if at_end { end - mirror[1] } else { 0.0 };
                [mirror[0] + slope_x * dy, mirror[1] + dy, mirror[2] + slope_z * dy]
            };
            let half = self.begin.abs();
            let corners = [(-half, false), (half, false), (half, true), (-half, true)];
            (!slope_z.is_nan()).then(|| (number, corners.map(|(u, at_end)| corner(u, at_end))))
        })
    }

    /// Returns the slopes dx/dy and dz/dy of the fibres of the hit with this LHCbID.
    pub fn slopes(&self, id: u32) -> [f32; 2] {
        let mat = (id & 0x0FFF_FFFF) as usize >> 9;
        self.along.get(mat).map_or([0.0; 2], |along| [along[2], along[3]])
    }
}

/// Readout channel of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SciFiChannel {
    /// Number of the board.
    pub board: u16,
    /// Number of the link of the board.
    pub link: u8,
    /// Number of the channel on the link.
    pub cell: u8,
    /// Whether the hit is in the right half of the channel.
    pub half: bool,
    /// LHCbID of the channel.
    pub id: u32,
}

impl SciFiGeometry {
    /// Returns the channel of a layer that a line crosses (the inverse of decoding); `at` returns x and y of the line
    /// at a z. Returns `None` in gaps between channels, and if boards have links in any order.
    pub fn channel_at(&self, layer: usize, at: impl Fn(f32) -> [f32; 2]) -> Option<SciFiChannel> {
        let first = FIRST_MAT + 128 * layer;
        // The same mats of different modules mostly share their z: cache z and the position of the line there.
        let mut known = [([f32::NAN; 2], [0.0; 3]); 4];
        (first..first + 128).find_map(|mat| {
            let ([mx, ux, my, uy], [z, _, slope_x, slope_z]) = (self.across[mat], self.along[mat]);
            if slope_z.is_nan() {
                return None;
            }
            let (place, line) = &mut known[mat % 4];
            if *place != [z, slope_z] {
                let [_, y] = at(z);
                let [x_there, y_there] = at(z + y * slope_z);
                (*place, *line) = ([z, slope_z], [y, x_there, y_there]);
            }
            let [first_y, x, y] = *line;
            let upper = mat >> 6 & 1 == 1;
            if (first_y > 0.0) != upper {
                return None;
            }
            let (distance, across) = (x - slope_x * (y - my) - mx, ux - slope_x * uy);
            // A mat far from the line is skipped without the division.
            if distance.abs() > self.reach * across.abs() {
                return None;
            }
            let u = distance / across - self.begin;
            let sipm = (u / self.sipm_pitch).floor();
            if !(0.0..4.0).contains(&sipm) {
                return None;
            }
            let within = u - sipm * self.sipm_pitch;
            let die = 128.0 * self.half_pitch;
            let halves = match within {
                _ if within < die => within / self.half_pitch,
                _ if within < die + self.die_gap => return None,
                _ => (within - self.die_gap) / self.half_pitch,
            };
            // The middle of the first half channel is one unit from the edge.
            let halves = (halves + 0.5) as u32;
            let halves = halves.clamp(1, 256) - 1;
            let number = ((mat as u32) << 9) + ((sipm as u32) << 7) + halves / 2;
            self.channel(number, halves % 2 == 1)
        })
    }

    /// Returns the channel with this number; `None` if it does not exist, or if boards have links in any order.
    pub fn channel(&self, number: u32, half: bool) -> Option<SciFiChannel> {
        let Boards::Consecutive(first) = &self.boards else { return None };
        let exists = !self.along.get((number >> 9) as usize)?[3].is_nan();
        let board = first.partition_point(|&first| first <= number).checked_sub(1).filter(|_| exists)?;
        let offset = number - first[board];
        let link = u8::try_from(offset >> 7).ok().filter(|link| usize::from(*link) < LINKS)?;
        let (board, cell) = (board as u16, (offset & 0x7F) as u8);
        Some(SciFiChannel { board, link, cell, half, id: self.detector | number })
    }
}

/// Returns the quarters in the order of hits: for each layer the two of the lower half by x, then the two of the upper half.
fn parts(across: &[[f32; 4]], along: &[[f32; 4]]) -> [Part; QUARTERS] {
    let look = |quarter: usize| {
        let first = (FIRST_QUARTER as usize + quarter) << (QUARTER_SHIFT - 9);
        let mats = || (first..first + 32).filter(|&mat| !along[mat][3].is_nan());
        let x: f32 = mats().map(|mat| across[mat][0]).sum();
        let falls = mats().next().is_some_and(|mat| across[mat][1] < 0.0);
        // A module has four mats.
        let ends = mats().next().zip(mats().next_back()).map(|(one, last)| (one / 4 * 4, last / 4 * 4));
        let modules_fall = ends.is_some_and(|(one, last)| across[last][0] < across[one][0]);
        (x, Part { quarter, modules_fall, modules_turned: falls != modules_fall })
    };
    std::array::from_fn(|at| {
        let first = at / 2 * 2;
        let (one, other) = (look(first), look(first + 1));
        let (left, right) = if other.0 < one.0 { (other.1, one.1) } else { (one.1, other.1) };
        if at == first { left } else { right }
    })
}

/// Returns the numbers of the boards, without those that no source can have.
fn numbers(boards: &Boards) -> Vec<u16> {
    match boards {
        Boards::Consecutive(first) => (0..=u16::MAX).take(first.len()).collect(),
        Boards::Mapped(boards) => {
            boards.iter().filter_map(|(number, _)| u16::try_from(*number).ok()).collect()
        }
    }
}

/// Returns the quarter of each board; none when boards are not in the order of their channels.
fn board_quarters(boards: &Boards) -> Option<Vec<u8>> {
    let Boards::Consecutive(first) = boards else { return None };
    let quarter = |first: &u32| {
        let quarter = (first >> QUARTER_SHIFT).checked_sub(FIRST_QUARTER)?;
        u8::try_from(quarter).ok().filter(|quarter| usize::from(*quarter) < QUARTERS)
    };
    // Boards do not share channels, and all channels of a board are in one quarter.
    let within = |first: &u32| {
        first.is_multiple_of(128) && first % (1 << QUARTER_SHIFT) + 128 * LINKS as u32 <= 1 << QUARTER_SHIFT
    };
    let sane = first.is_sorted() && first.iter().all(within);
    first.iter().map(quarter).collect::<Option<_>>().filter(|_| sane)
}
