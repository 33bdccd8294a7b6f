//! Finds tracklets (hits of several planes that may belong to one particle) for the choices `kick` and `compass`: from
//! windows around Velo tracks to each track's best tracklet. GPU kernels (`src/gpu/lanes`) run this code, too, one
//! track per thread, so the caller provides all memory, and the code uses only `simd`, `grid` and `UT_PLANES`.

mod choose;
mod complete;
mod doublets;
mod tracklet;
mod windows;

pub(crate) use choose::choose;
pub(crate) use complete::complete;
pub(crate) use doublets::doublets;
pub(crate) use tracklet::Tracklet;
pub(crate) use windows::{BENDING, LAST_BIN, MAX_INVERSE_ANGLE, ROUNDING, windows};

use crate::event::UT_PLANES;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Hits of one plane that are tried for a track at most: more are counted as dropped.
pub(crate) const SLOTS: usize = 1 << SLOT_BITS;
pub(crate) const SLOT_BITS: u32 = 4;
/// Stands for a hit that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// Slope dx/dy of the strips in each plane.
pub(crate) const SLOPE: [f32; UT_PLANES] = crate::ut::grid::STRIP_SLOPE;
/// Where the magnet's kick is put in the first fit, mm.
pub(crate) const KINK: f32 = 1780.0;
/// Tracklets with a larger chi2 per degree of freedom are no candidates.
pub(crate) const MAX_CHI2: f32 = 1280.0;

/// What is searched, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) cuts: Cuts,
    pub(crate) planes: Planes<'a>,
}

/// The parameters of these steps, see [`UtConfig`](crate::ut::UtConfig).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(crate) struct Cuts {
    pub(crate) sectors: u32,
    pub(crate) candidates: u32,
    /// 1 with the choice `compass`, 0 with `kick`.
    pub(crate) compass: u32,
    pub(crate) min_momentum: f32,
    pub(crate) min_pt: f32,
    pub(crate) y_tolerance: f32,
    pub(crate) y_tolerance_slope: f32,
    pub(crate) slope_tolerance: f32,
    pub(crate) hit_tolerance: f32,
    pub(crate) velo_slope_error: f32,
}

/// The detector, see [`UtLayout`](crate::ut::UtLayout).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planes<'a> {
    /// Middle of each plane, and how far its sectors are from it, mm.
    pub(crate) z: [f32; UT_PLANES],
    pub(crate) depth: [f32; UT_PLANES],
    /// z of the Velo tracks' states, mm.
    pub(crate) velo_z: f32,
    /// Left ends of the groups of sectors, mm, and the first group of each plane.
    pub(crate) group_x: &'a [f32],
    pub(crate) first_group: [u32; UT_PLANES + 1],
    /// Deflection at the middle of the UT over that at a plane: `[4 * k + plane]`, k the nearest whole 100 |ty|.
    pub(crate) plane_factor: &'a [f32],
}

/// The tracks of an event that may have hits in the UT, in memory with room for a gang behind each column.
pub(crate) struct Tracks<'a> {
    /// How many there are.
    pub(crate) len: usize,
    /// x, y, tx, ty at the end of the Velo.
    pub(crate) line: &'a [[f32; 4]],
    /// Per track and plane: hits of the store, [`SLOTS`] each, and how many there are.
    pub(crate) slots: &'a mut [u32],
    pub(crate) counts: &'a mut [u32],
    /// Tracks with hits in three planes, and how many there are.
    pub(crate) rows: &'a mut [u32],
    pub(crate) kept: usize,
}

/// Pairs of hits of tracks, and what they were completed to, in memory with room for a gang behind each column. Hits are
/// in the order of their roles: first and third, which make the pair, have second and fourth between and behind them.
pub(crate) struct Doublets<'a> {
    pub(crate) row: &'a mut [u32],
    /// 1 where the first hit is in the last plane.
    pub(crate) backward: &'a mut [u32],
    pub(crate) hits: [&'a mut [u32]; UT_PLANES],
    /// How many hits there are.
    pub(crate) count: &'a mut [u32],
    /// chi2 per degree of freedom, and the difference of the sines of the angles before and behind the kick.
    pub(crate) chi2: &'a mut [f32],
    pub(crate) kick: &'a mut [f32],
    pub(crate) len: usize,
}

/// The best tracklet of a track so far.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(crate) struct Best {
    pub(crate) chi2: f32,
    pub(crate) hits: u32,
    pub(crate) doublet: u32,
}

/// What the lanes of a loop did.
pub(crate) struct Tally<G: Gang> {
    pub(crate) active: U32<G>,
    pub(crate) steps: u64,
}

impl<G: Gang> Tally<G> {
    pub(crate) fn new(g: G) -> Self {
        Self { active: U32::splat(g, 0), steps: 0 }
    }

    /// Counts a step with work in some lanes.
    #[inline(always)]
    pub(crate) fn step(&mut self, on: Mask<G>) {
        self.active = self.active.count(on);
        self.steps += 1;
    }
}

/// Straight lines of Velo tracks, a lane each.
#[derive(Clone, Copy)]
pub(crate) struct Line<G: Gang> {
    pub(crate) x: F32<G>,
    pub(crate) y: F32<G>,
    pub(crate) tx: F32<G>,
    pub(crate) ty: F32<G>,
    pub(crate) z: F32<G>,
}

impl<G: Gang> Line<G> {
    #[inline(always)]
    pub(crate) fn gather(g: G, lines: &[[f32; 4]], row: U32<G>, z: f32) -> Self {
        let [x, y, tx, ty] = F32::gather_records(lines, row);
        Self { x, y, tx, ty, z: F32::splat(g, z) }
    }

    /// x and y at some z.
    #[inline(always)]
    pub(crate) fn at(&self, z: F32<G>) -> [F32<G>; 2] {
        let dz = z - self.z;
        [dz.mul_add(self.tx, self.x), dz.mul_add(self.ty, self.y)]
    }
}

/// Hits, by how far in x they are from a line.
#[derive(Clone, Copy)]
pub(crate) struct Beside<G: Gang> {
    pub(crate) d: F32<G>,
    pub(crate) z: F32<G>,
}

impl<G: Gang> Beside<G> {
    #[inline(always)]
    pub(crate) fn gather(hits: &[[f32; 4]], hit: U32<G>, line: &Line<G>, slope: F32<G>) -> Self {
        let [x0, z, ..] = F32::gather_records(hits, hit);
        let [x, y] = line.at(z);
        Self { d: y.mul_add(slope, x0) - x, z }
    }

    #[inline(always)]
    pub(crate) fn select(self, lanes: Mask<G>, other: Self) -> Self {
        Self { d: lanes.select_f(self.d, other.d), z: lanes.select_f(self.z, other.z) }
    }
}
