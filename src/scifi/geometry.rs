//! Which fibres each readout channel sees, and where they are (`scifi_geometry.bin`).
//!
//! A channel's number is its place: station, layer, quarter, module, mat, SiPM, channel, from the highest
//! bits down. The file comes in three generations: without a version, with version 0, and with version 1, in
//! which boards have any number and their links are connected in any order.

use crate::Result;
use crate::bytes::Fields;

/// Bits of a channel number below that of its mat.
pub(super) const MAT_SHIFT: u32 = 9;
/// Mats before the first: stations are counted from 1.
pub(super) const FIRST_MAT: u32 = 512;
/// Mats that numbers can name.
pub(super) const MATS: usize = 1536;
/// Links of a board.
pub const LINKS: usize = 24;
/// Boards at most.
const MAX_BOARDS: usize = 1024;

/// How boards are numbered and connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Boards {
    /// Board i is source i, its channels follow this number.
    Consecutive(Vec<u32>),
    /// (source, number of the first channel of each link), by source.
    Mapped(Vec<(u32, [u32; LINKS])>),
}

/// Fibre mats and boards of the SciFi.
#[derive(Debug, Clone, PartialEq)]
pub struct SciFiGeometry {
    /// Detector number in the highest bits of LHCbIDs.
    pub(super) detector: u32,
    pub(super) boards: Boards,
    /// Distance of a mat's first channel from its middle, mm.
    pub(super) begin: f32,
    /// Half the width of a channel, mm.
    pub(super) half_pitch: f32,
    /// Gap in the middle of a SiPM, mm.
    pub(super) die_gap: f32,
    /// Distance of a mat's SiPMs, mm.
    pub(super) sipm_pitch: f32,
    /// Per mat: mirror end of the fibre at u = 0 and its change along u.
    pub(super) mirror: Vec<[f32; 3]>,
    pub(super) step: Vec<[f32; 3]>,
    /// Per mat: slopes of the fibres, dx/dy and dz/dy.
    pub slope: Vec<[f32; 2]>,
    /// Whether the mat exists.
    pub(super) exists: Vec<bool>,
}

impl SciFiGeometry {
    /// Reads a geometry file; `file` stands in messages.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) names file, field and offset.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
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
                boards.push((number, sipms.try_into().expect("as many as asked for")));
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
        let exists: Vec<bool> = common[1].iter().map(|&pitch| pitch != 0.0).collect();
        // All mats are made alike: what they have in common is kept once.
        let mut same = [0.0; 4];
        for (value, column) in same.iter_mut().zip(&common) {
            let mut values =
                column.iter().zip(&exists).filter(|(_, exists)| **exists).map(|(value, _)| *value);
            *value = values.next().unwrap_or(0.0);
            if values.any(|other| other != *value) {
                return Err(fields.wrong("pitches and gaps", "they differ from mat to mat"));
            }
        }
        let [begin, half_pitch, die_gap, sipm_pitch] = same;
        let triple = |from: &[Vec<f32>; 3]| (0..MATS).map(|mat| [0, 1, 2].map(|i| from[i][mat])).collect();
        Ok(Self {
            detector: if is_old { 0xA << 28 } else { 5 << 28 },
            boards,
            begin,
            half_pitch,
            die_gap,
            sipm_pitch,
            mirror: triple(&mirror),
            step: triple(&step),
            slope: (0..MATS).map(|mat| [0, 1].map(|i| slope[i][mat])).collect(),
            exists,
        })
    }
}
