//! [`UtLayout`]: the UT and the magnetic field before it, in the form that the search for hits reads.

use super::cells::UtCells;
use super::find::tracklets::Planes;
use super::geometry::{PLANE_START, SECTORS, STRIPS, UtGeometry};
pub(super) use super::grid::{BUCKET_WIDTH, BUCKETS, LEFT, LOWEST, MIDDLE, ROW_STEP, ROWS};
use super::tables::UtTables;
use crate::event::{UT_CELLS, UT_PLANES};
use crate::lhcb::magnet::field;
use crate::lhcb::material::Scattering;
use crate::{Error, Result};

/// z at which the first two planes scatter as one, mm.
pub(super) const TWO_PLANES: f32 = 2350.0;

/// The UT and the magnetic field between Velo and UT, in the form that the search for UT hits reads.
#[derive(Debug, Clone, PartialEq)]
pub struct UtLayout {
    /// Middle of each plane, and largest distance of its sectors from the middle, mm.
    pub(super) z: [f32; UT_PLANES],
    pub(super) depth: [f32; UT_PLANES],
    /// How far strips reach below and above their row, mm.
    pub(super) below: f32,
    pub(super) above: f32,
    /// Left ends of the groups of sectors, mm, and the first group of each plane.
    pub(super) group_x: Vec<f32>,
    pub(super) plane_groups: [usize; UT_PLANES + 1],
    /// The order of hits that the search by pairs reads.
    pub(super) cells: UtCells,
    /// Bending in the magnet's field, see [`UtTables`].
    pub(super) tables: UtTables,
    /// By plane and bin of |ty|: ratio of the deflection at the plane to the deflection in the middle of the UT.
    pub(super) factors: [[f32; FACTORS]; UT_PLANES],
    /// Field integrals for states at `velo_z`, T m, by node of the table in the origin's z, then ty: the value of the
    /// node, and the values of the next nodes in ty, in the origin's z and in the state's z.
    pub(super) field_nodes: Vec<[f32; 4]>,
    /// Distance of the states beyond their node, in steps of z; `None` outside the table.
    pub(super) field_part: Option<f32>,
    /// -1 with the magnet down, 1 up.
    pub(super) polarity: f32,
    /// z of the Velo tracks' states, mm.
    pub(super) velo_z: f32,
    /// Material between Velo and UT: z, mm, and variance of its scattering angle at 1 GeV/c, (GeV/c)^2.
    pub(super) scatterers: [[f32; 2]; 2],
    /// Variance of the scattering angle in the first two planes at 1 GeV/c, (GeV/c)^2; they scatter as one in between.
    pub(super) two_planes: f32,
    /// The field in the middle of the UT that bends in x, T.
    pub(super) field: f32,
}

impl UtLayout {
    /// Creates the layout of a detector, for a polarity of the magnet, -1 or 1, and z of the Velo tracks' states, mm.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if |`velo_z`| is too large: the states of Velo tracks must be before the UT.
    pub fn new(geometry: &UtGeometry, tables: UtTables, polarity: f32, velo_z: f32) -> Result<Self> {
        if velo_z.is_nan() || velo_z.abs() >= MAX_VELO_Z {
            let message = format!("states of Velo tracks at z = {velo_z} mm: |z| must be < {MAX_VELO_Z} mm");
            return Err(Error::Config(message));
        }
        let (mut z, mut depth) = ([0.0; UT_PLANES], [0.0; UT_PLANES]);
        let (mut below, mut above) = (0.0f32, 0.0f32);
        for plane in 0..UT_PLANES {
            let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
            for sector in PLANE_START[plane]..PLANE_START[plane + 1] {
                let ([y0, y_step, ..], [z, z_step, length, _]) =
                    (geometry.across[sector], geometry.along[sector]);
                for strip in [0.0, STRIPS as f32] {
                    let (y, z) = (strip.mul_add(y_step, y0), strip.mul_add(z_step, z.abs()));
                    (low, high) = (low.min(z), high.max(z));
                    let row = ((y + 0.5 * length - LOWEST) / ROW_STEP).floor().clamp(0.0, (ROWS - 1) as f32);
                    let begin = row.mul_add(ROW_STEP, LOWEST);
                    below = below.max(begin - y);
                    above = above.max(y + length - begin - ROW_STEP);
                }
            }
            (z[plane], depth[plane]) = (0.5 * (low + high), 0.5 * (high - low));
        }
        let Scattering { before_ut, ut_plane, .. } = Scattering::new();
        Ok(Self {
            z,
            depth,
            below,
            above,
            group_x: geometry.group_x.clone(),
            plane_groups: geometry.plane_groups,
            cells: UtCells::new(geometry),
            factors: factors(&tables),
            field_nodes: field_nodes(&tables, velo_z),
            field_part: field_part(velo_z),
            tables,
            polarity,
            velo_z,
            scatterers: before_ut.map(|of| of.map(|value| value as f32)),
            two_planes: (2.0 * ut_plane) as f32,
            field: field([0.0, 0.0, f64::from(MIDDLE)])[1] as f32,
        })
    }

    /// Returns the planes in the form for the steps in `tracklets`.
    #[inline(always)]
    pub(crate) fn planes(&self) -> Planes<'_> {
        Planes {
            z: self.z,
            depth: self.depth,
            velo_z: self.velo_z,
            group_x: &self.group_x,
            first_group: self.plane_groups.map(|group| group as u32),
            plane_factor: &self.tables.plane_factor,
        }
    }

    /// Returns how far strips reach below and above their row, mm.
    #[cfg(feature = "cuda")]
    pub(crate) fn strip_reach(&self) -> [f32; 2] {
        [self.below, self.above]
    }

    /// Returns the first cell of each plane, and the number of all cells; see [`UtCellHits`](crate::event::UtCellHits).
    pub fn plane_cells(&self) -> [usize; UT_PLANES + 1] {
        PLANE_START.map(|sector| sector * UT_CELLS / SECTORS)
    }
}

/// Numbers of nodes of the table of field integrals, in ty, in the origin's z and in the state's z, and the inverse of
/// the step in the state's z, 1/mm.
pub(super) const FIELD_SLOPES: usize = 31;
const FIELD_ORIGINS: usize = 11;
const FIELD_STATES: usize = 11;
const PER_STATE: f32 = 0.0125;

/// Returns the state's z in steps of the table, and its node.
fn state_node(velo_z: f32) -> (f32, usize) {
    let at = velo_z * PER_STATE;
    (at, at.clamp(0.0, (FIELD_STATES - 1) as f32) as usize)
}

fn field_part(velo_z: f32) -> Option<f32> {
    let (at, node) = state_node(velo_z);
    (0.0..=(FIELD_STATES - 1) as f32).contains(&at).then_some(at - node as f32)
}

fn field_nodes(tables: &UtTables, velo_z: f32) -> Vec<[f32; 4]> {
    let (_, k) = state_node(velo_z);
    let value = |i: usize, j: usize, k: usize| {
        let (i, j) = (i.min(FIELD_SLOPES - 1), j.min(FIELD_ORIGINS - 1));
        tables.field_integral[(k.min(FIELD_STATES - 1) * FIELD_ORIGINS + j) * FIELD_SLOPES + i]
    };
    let nodes = (0..FIELD_ORIGINS).flat_map(|j| (0..FIELD_SLOPES).map(move |i| (i, j)));
    nodes.map(|(i, j)| [value(i, j, k), value(i + 1, j, k), value(i, j + 1, k), value(i, j, k + 1)]).collect()
}

/// Number of bins of |ty| in the table of factors, with padding for registers.
pub(super) const FACTORS: usize = 32;

/// Returns the inverse of the table of plane factors, by plane.
fn factors(tables: &UtTables) -> [[f32; FACTORS]; UT_PLANES] {
    let of_plane = |plane: usize| {
        let factors = tables.plane_factor.iter().skip(plane).step_by(UT_PLANES);
        let mut found = [0.0; FACTORS];
        found.iter_mut().zip(factors).for_each(|(found, factor)| *found = 1.0 / factor);
        found
    };
    std::array::from_fn(of_plane)
}

/// Upper limit of z of the Velo tracks' states, mm: before the magnet bends the tracks.
const MAX_VELO_Z: f32 = 1500.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_where_they_are_and_strips_stay_near_their_rows() {
        let layout = |z| UtLayout::new(&UtGeometry::nominal(), UtTables::nominal(), -1.0, z);
        let nominal = layout(770.0).unwrap();
        for (found, wanted) in nominal.z.into_iter().zip([2327.5, 2372.5, 2597.5, 2642.5]) {
            assert!((found - wanted).abs() < 0.1, "{found} {wanted}");
        }
        assert!(nominal.depth.iter().all(|depth| (7.0..8.0).contains(depth)), "{:?}", nominal.depth);
        assert!(nominal.below < 10.0 && nominal.above < 10.0, "{} {}", nominal.below, nominal.above);
        assert!(layout(f32::NAN).is_err() && layout(2000.0).is_err());
    }
}
