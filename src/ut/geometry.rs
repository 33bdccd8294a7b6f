//! Strip of each readout channel, and positions of the strips, from the files `ut_boards.bin` and `ut_geometry.bin`.
//!
//! The files have two generations, which number sectors differently. In memory, sectors are always in the order of
//! hits: by plane, group of sectors at one x, and y of the lower end.

pub use super::grid::STRIP_SLOPE;
use crate::bytes::{Fields, File};
use crate::event::{UT_GROUPS, UT_PLANES};
use crate::simd::with_default_float_mode;
use crate::{Error, Result};

/// Number of lanes of a board, each of which reads one sector.
pub const LANES: usize = 6;
/// Number of strips of a sector.
pub const STRIPS: u32 = 512;
/// Number of the first sector of each plane, and the number of all sectors.
pub(super) const PLANE_START: [usize; UT_PLANES + 1] = [0, 248, 496, 772, 1048];
/// Number of all sectors.
pub const SECTORS: usize = PLANE_START[UT_PLANES];
/// Largest difference of x between the sectors of a group, mm.
const GROUP_WIDTH: f32 = 2.0;
/// Smallest allowed pitch of strips, mm.
const SMALLEST_PITCH: f32 = 1e-3;
/// Upper limit of the rounding error of a line at a sector, mm.
const ROUNDING: f32 = 1.0;
/// Number of groups of sectors in each plane.
const GROUPS_IN_PLANE: [usize; UT_PLANES] = [20, 20, 22, 22];
/// Value for a lane without a sector.
pub(super) const NO_SECTOR: u32 = u32::MAX;
/// Entries of one board in the tables: one for each of the eight lane numbers that a channel can have.
pub(super) const LANE_STRIDE: usize = 8;

/// Strips, sectors and boards of the UT.
#[derive(Debug, Clone, PartialEq)]
pub struct UtGeometry {
    /// x of the first sector of each group of sectors, mm.
    pub group_x: Vec<f32>,
    /// First group of each plane, and the number of all groups.
    pub plane_groups: [usize; UT_PLANES + 1],
    /// Number of boards in the tables.
    pub(super) boards: usize,
    /// Boards that read out a sector, in rising order.
    connected: Vec<u16>,
    /// Whether this is the nominal UT.
    is_nominal: bool,
    /// Per board and lane: index of its sector in the order of hits, or [`NO_SECTOR`].
    pub(super) sector: Vec<u32>,
    /// Per sector in the order of hits: LHCbID to which the number of a strip is added.
    pub(super) sector_channel: Vec<u32>,
    /// Number of the first strip of a sector in LHCbIDs of banks of version 3.
    pub(super) first_number: u32,
    /// Per sector in the order of hits: number of its group.
    pub(super) group: Vec<u32>,
    /// Per sector: y of the lower end of the first strip, its change per strip, x of the first strip at y = 0, its
    /// change per strip.
    pub(super) across: Vec<[f32; 4]>,
    /// Per sector: z at y = 0, its change per strip, length of a strip, weight; z is negative where the sensor is
    /// flipped.
    pub(super) along: Vec<[f32; 4]>,
    /// Per sector in the order of hits: the board and lane that reads it, if any.
    readout: Vec<Option<(u16, u8)>>,
    /// Per group: its first sector; then the number of all sectors.
    group_start: Vec<usize>,
    /// Per group: smallest and largest x at y = 0 of its strips, mm.
    group_reach: Vec<[f32; 2]>,
    /// Per plane: smallest and largest z of its sectors, mm.
    plane_depth: [[f32; 2]; UT_PLANES],
    /// Per sector: whether the last strip comes first in the order of hits; the second list is for banks that know of
    /// flipped sensors.
    pub(super) falls: [Vec<bool>; 2],
}

/// Contents of a board file, the same for both generations.
pub(super) struct Boards {
    pub count: usize,
    /// For each board and lane: number of the sector in the geometry file, or `None` for a lane without a sector.
    pub sector: Vec<Option<usize>>,
    /// For each sector in the geometry file: the LHCbID to which the number of a strip is added.
    pub channel: Vec<u32>,
    pub first_number: u32,
}

/// Contents of a geometry file, one value per sector, mm.
pub(super) struct Sectors {
    pub pitch: Vec<f32>,
    /// Length of the strips along y.
    pub length: Vec<f32>,
    /// Changes of x, y and z from one strip to the next.
    pub step: [Vec<f32>; 3],
    /// x at y = 0, lower end in y, and z of the first strip.
    pub start: [Vec<f32>; 3],
}

impl UtGeometry {
    /// Returns the boards that send a bank in every event, even without hits, in rising order.
    pub fn boards(&self) -> &[u16] {
        &self.connected
    }

    /// Marks this geometry as the nominal UT.
    pub(super) fn into_nominal(self) -> Self {
        Self { is_nominal: true, ..self }
    }

    /// Returns whether an LHCbID belongs to a strip of this UT. A sector has one number more than strips, since some
    /// bank versions count strips from 0, some from 1.
    pub fn has_id(&self, id: u32) -> bool {
        self.sector_channel.iter().any(|&first| id.wrapping_sub(first) <= STRIPS)
    }

    /// Returns whether this is the nominal UT, not a UT from geometry files.
    pub fn is_nominal(&self) -> bool {
        self.is_nominal
    }

    /// Reads the board file and the geometry file, which must be of the same generation.
    ///
    /// # Errors
    /// Returns [`Error::Format`] with file, field and offset if a file is not valid.
    pub fn parse(boards: File<'_>, geometry: File<'_>) -> Result<Self> {
        with_default_float_mode(|| Self::read(boards, geometry))
    }

    fn read(boards: File<'_>, geometry: File<'_>) -> Result<Self> {
        let boards = parse_boards(boards.name, boards.bytes)?;
        let mut fields = Fields::new(geometry.name, geometry.bytes);
        fields.expect_u32("sectors", &[SECTORS as u32])?;
        let first = fields.u32s("firstStrip", SECTORS)?;
        if first.iter().any(|&first| first != 1) {
            return Err(fields.wrong("firstStrip", "strips must be counted from 1"));
        }
        let mut column = |name: &str| fields.f32s(name, SECTORS);
        let (pitch, dy) = (column("pitch")?, column("dy")?);
        let step = [column("dp0diX")?, column("dp0diY")?, column("dp0diZ")?];
        let start = [column("p0X")?, column("p0Y")?, column("p0Z")?];
        column("cos")?;
        fields.end()?;
        if let Some(at) = pitch.iter().position(|&pitch| pitch < SMALLEST_PITCH) {
            return Err(Error::format(geometry.name, format!("`pitch` of sector {at} is {}", pitch[at])));
        }
        Self::assemble(geometry.name, &boards, &Sectors { pitch, length: dy, step, start })
    }

    /// Puts the sectors in the order of hits.
    pub(super) fn assemble(name: &str, boards: &Boards, sectors: &Sectors) -> Result<Self> {
        let Sectors { pitch, length, step, start } = sectors;
        let mut group_x = Vec::new();
        let mut plane_groups = [0; UT_PLANES + 1];
        let mut order = Vec::with_capacity(SECTORS);
        let mut group = Vec::with_capacity(SECTORS);
        for plane in 0..UT_PLANES {
            let mut sectors: Vec<_> = (PLANE_START[plane]..PLANE_START[plane + 1]).collect();
            sectors.sort_by(|&a, &b| start[0][a].total_cmp(&start[0][b]));
            let mut groups: Vec<(f32, Vec<usize>)> = Vec::new();
            for sector in sectors {
                let x = start[0][sector];
                match groups.last_mut() {
                    Some((left, members)) if x - *left <= GROUP_WIDTH => members.push(sector),
                    _ => groups.push((x, vec![sector])),
                }
            }
            if groups.len() != GROUPS_IN_PLANE[plane] {
                let (have, want) = (groups.len(), GROUPS_IN_PLANE[plane]);
                let message = format!("`p0X`: plane {plane} has {have} groups of sectors, not {want}");
                return Err(Error::format(name, message));
            }
            for (x, mut members) in groups {
                members.sort_by(|&a, &b| {
                    let key = |s: usize| (start[1][s], start[0][s]);
                    key(a).partial_cmp(&key(b)).expect("finite numbers").then(a.cmp(&b))
                });
                group.extend(std::iter::repeat_n(group_x.len() as u32, members.len()));
                group_x.push(x);
                order.extend(members);
            }
            plane_groups[plane + 1] = group_x.len();
        }
        debug_assert_eq!(group_x.len(), UT_GROUPS);
        let mut place = vec![NO_SECTOR; SECTORS];
        order.iter().zip(0..).for_each(|(&sector, at)| place[sector] = at);
        let falls = |s: usize, flips: bool| {
            let step_of = if step[1][s] != 0.0 { step[1][s] } else { step[0][s] };
            (step_of < 0.0) != (flips && start[2][s] < 0.0)
        };
        let mut readout = vec![None; SECTORS];
        for (at, sector) in boards.sector.iter().enumerate() {
            if let Some(sector) = sector {
                readout[place[*sector] as usize] =
                    Some(((at / LANE_STRIDE) as u16, (at % LANE_STRIDE) as u8));
            }
        }
        let records = |of: &dyn Fn(usize) -> [f32; 4]| -> Vec<_> { order.iter().map(|&s| of(s)).collect() };
        let across = records(&|s| [start[1][s], step[1][s], start[0][s], step[0][s]]);
        let along = records(&|s| [start[2][s], step[2][s], length[s], 12.0 / (pitch[s] * pitch[s])]);
        let group_start: Vec<_> =
            (0..=group_x.len()).map(|at| group.partition_point(|&group| (group as usize) < at)).collect();
        let ends = |&[_, _, x, step]: &[f32; 4]| [x, x + STRIPS as f32 * step];
        let group_reach =
            group_start.windows(2).map(|at| range(across[at[0]..at[1]].iter().flat_map(ends))).collect();
        let depth =
            |at: usize| along[PLANE_START[at]..PLANE_START[at + 1]].iter().map(|along| along[0].abs());
        Ok(Self {
            plane_depth: std::array::from_fn(|plane| range(depth(plane))),
            across,
            along,
            readout,
            group_start,
            group_reach,
            group_x,
            plane_groups,
            boards: boards.count,
            connected: connected(boards),
            is_nominal: false,
            sector: boards.sector.iter().map(|s| s.map_or(NO_SECTOR, |s| place[s])).collect(),
            sector_channel: order.iter().map(|&sector| boards.channel[sector]).collect(),
            falls: [false, true].map(|flips| order.iter().map(|&sector| falls(sector, flips)).collect()),
            first_number: boards.first_number,
            group,
        })
    }
}

/// Returns the boards that read out any sector.
fn connected(boards: &Boards) -> Vec<u16> {
    let lanes = boards.sector.chunks(LANE_STRIDE).zip(0..);
    lanes.filter(|(lanes, _)| lanes.iter().any(Option::is_some)).map(|(_, board)| board).collect()
}

/// Returns the smallest and the largest value.
fn range(values: impl Iterator<Item = f32>) -> [f32; 2] {
    values.fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

/// Strip of a hit, and the board and lane that read the strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtChannel {
    /// Number of the board.
    pub board: u16,
    /// Number of the lane on the board.
    pub lane: u8,
    /// Number of the strip in its sector, from 0 on.
    pub strip: u16,
    /// Distance of the hit from the strip towards the next strip, in quarters of the pitch, 0 to 3.
    pub quarter: u8,
    /// LHCbID of the strip.
    pub id: u32,
}

impl UtGeometry {
    /// Returns the strips of a plane that a line crosses, one per sector, since sectors may overlap: `at` returns x and
    /// y of the line at a z, and `off` is added to the measured position, in pitches of strips. This is the inverse of
    /// decoding, rounded to a quarter of a strip.
    pub fn strips_at<'a>(
        &'a self,
        plane: usize,
        at: impl Fn(f32) -> [f32; 2] + 'a,
        off: f32,
    ) -> impl Iterator<Item = UtChannel> + 'a {
        // A line can only meet the groups that it passes between the smallest and the largest z of the plane.
        let [low, high] = range(self.plane_depth[plane].into_iter().map(|z| {
            let [x, y] = at(z);
            x - y * STRIP_SLOPE[plane]
        }));
        let is_near = move |group: &usize| {
            let [from, to] = self.group_reach[*group];
            from <= high + ROUNDING && to >= low - ROUNDING
        };
        let groups = (self.plane_groups[plane]..self.plane_groups[plane + 1]).filter(is_near);
        let sectors = groups.flat_map(|group| self.group_start[group]..self.group_start[group + 1]);
        sectors.filter_map(move |sector| {
            let ([y0, y_step, x0, x_step], [z, _, length, _]) = (self.across[sector], self.along[sector]);
            let [x, y] = at(z.abs());
            let s = (x - y * STRIP_SLOPE[plane] - x0) / x_step + off;
            let y_begin = y0 + s * y_step;
            let inside = (0.0..STRIPS as f32).contains(&s) && (y_begin..y_begin + length).contains(&y);
            // A position nearest to the end of the last strip is still in that strip.
            let quarters = ((4.0 * s + 0.5) as u32).min(4 * STRIPS - 1);
            if inside { self.strip(sector, quarters) } else { None }
        })
    }

    /// Returns the four corners of each sector of a plane, mm: sectors in the order of hits, corners in order around
    /// the sector.
    ///
    /// # Panics
    /// Panics if `plane >= UT_PLANES`.
    pub fn corners(&self, plane: usize) -> impl Iterator<Item = [[f32; 3]; 4]> + '_ {
        let slope = STRIP_SLOPE[plane];
        (PLANE_START[plane]..PLANE_START[plane + 1]).map(move |sector| {
            let ([y0, y_step, x0, x_step], [z0, z_step, length, _]) =
                (self.across[sector], self.along[sector]);
            [(0.0, 0.0), (0.0, length), (STRIPS as f32, length), (STRIPS as f32, 0.0)].map(
                |(strip, along)| {
                    let y = y0 + strip * y_step + along;
                    [x0 + strip * x_step + slope * y, y, z0.abs() + strip * z_step]
                },
            )
        })
    }

    /// Returns the plane of a strip.
    pub fn plane_of(&self, strip: &UtChannel) -> usize {
        let sector = self.sector[LANE_STRIDE * usize::from(strip.board) + usize::from(strip.lane)];
        let group = self.group.get(sector as usize).map_or(0, |&group| group as usize);
        self.plane_groups.partition_point(|&first| first <= group) - 1
    }

    /// Returns the strip at a position in a sector: `quarters` is the position in quarters of a strip, and `sector` the
    /// index of the sector in the order of hits.
    pub fn strip(&self, sector: usize, quarters: u32) -> Option<UtChannel> {
        let (board, lane) = (*self.readout.get(sector)?)?;
        let strip = (quarters / 4).min(STRIPS - 1);
        Some(UtChannel {
            board,
            lane,
            strip: strip as u16,
            quarter: (quarters % 4) as u8,
            id: self.sector_channel[sector] + self.first_number + strip,
        })
    }
}

fn parse_boards(name: &str, bytes: &[u8]) -> Result<Boards> {
    let mut fields = Fields::new(name, bytes);
    let count = fields.u32("boards")? as usize;
    if count > 1 << 12 {
        return Err(fields.wrong("boards", &format!("{count} are too many")));
    }
    // The newer generation has three columns more and a version.
    let old_left = 4 * count + 5 * 4 * LANES * count;
    let is_old = fields.left() == old_left;
    if !is_old {
        fields.expect_u32("version", &[3])?;
    }
    let at = fields.clone();
    let strips = fields.u32s("strips per lane", count)?;
    if let Some(&strips) = strips.iter().find(|&&strips| strips != 0 && strips != STRIPS) {
        return Err(at.wrong("strips per lane", &format!("{strips}, neither 0 nor {STRIPS}")));
    }
    let names: &[&str] = match is_old {
        true => &["station", "layer", "region", "sector", "chanID"],
        false => &["sector", "module", "face", "stave", "layer", "side", "type", "chanID"],
    };
    let columns: Vec<_> = names.iter().map(|name| fields.u32s(name, LANES * count)).collect::<Result<_>>()?;
    fields.end()?;
    let channel = columns.last().expect("there are columns");
    let detector = if is_old { 0xB } else { 3 };
    let mut boards = Boards {
        count,
        sector: vec![None; LANE_STRIDE * count],
        channel: vec![0; SECTORS],
        first_number: u32::from(is_old),
    };
    for record in 0..LANES * count {
        let (board, lane) = (record / LANES, record % LANES);
        // A lane without a channel number has no sector.
        if strips[board] == 0 || channel[record] == 0 {
            continue;
        }
        let values: Vec<u32> = columns.iter().map(|column| column[record]).collect();
        let sector = if is_old { old_sector(&values) } else { new_sector(&values) };
        let sector: usize = sector.filter(|sector| *sector < SECTORS).ok_or_else(|| {
            let message = format!("lane {lane} of board {board} reads no sector of the detector: {values:?}");
            Error::format(name, message)
        })?;
        boards.sector[LANE_STRIDE * board + lane] = Some(sector);
        if std::mem::replace(&mut boards.channel[sector], detector << 28 | channel[record]) != 0 {
            let message = format!("lane {lane} of board {board} reads a sector that another lane reads, too");
            return Err(Error::format(name, message));
        }
    }
    Ok(boards)
}

/// Returns the number of a sector from station, layer, region and sector, all counted from 1.
fn old_sector(values: &[u32]) -> Option<usize> {
    /// Number of sectors before each region.
    const REGION: [usize; 12] = [0, 84, 164, 248, 332, 412, 496, 594, 674, 772, 870, 950];
    let below = |i: usize, count: u32| values[i].checked_sub(1).filter(|v| *v < count).map(|v| v as usize);
    let region = 6 * below(0, 2)? + 3 * below(1, 2)? + below(2, 3)?;
    Some(REGION[region] + below(3, 98)?)
}

/// Returns the number of a sector from sector, module, face, stave, layer and side, all counted from 0.
fn new_sector(values: &[u32]) -> Option<usize> {
    let &[sector, module, face, stave, layer, side, ..] = values else { return None };
    if sector > 1 || module > 7 || face > 1 || layer > 3 || side > 1 {
        return None;
    }
    let (half, right) = (2 * layer + side, side == 1);
    let staves = if layer < 2 { 8 } else { 9 };
    let start = if half < 4 { 124 * half } else { 496 + 138 * (half - 4) };
    // A stave has 14 sectors above one another; the two staves next to the beam have more.
    let outer = 14 * (staves - 2);
    let m = 2 * module + 1 - face;
    let within = match stave {
        0 => {
            let base = if right { 0 } else { outer + 18 };
            base + match m {
                0..5 => m,
                5..8 => 5 + 2 * (m - 5) + sector,
                8..11 => 11 + 2 * (m - 8) + (1 - sector),
                _ => 17 + m - 11,
            }
        }
        1 => {
            let base = if right { 22 } else { outer };
            base + match m {
                0..5 => m,
                5..9 => 5 + 2 * (m - 5) + sector,
                9..11 => 9 + 2 * (m - 9) + (1 - sector),
                _ => 13 + m - 11,
            }
        }
        _ if stave < staves => {
            let base = if right { 40 + 14 * (stave - 2) } else { 14 * (staves - 1 - stave) };
            (base + m).checked_sub(2 * (module / 4))?
        }
        _ => return None,
    };
    Some((start + within) as usize)
}
