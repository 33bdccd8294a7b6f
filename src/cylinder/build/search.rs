//! The hits near a candidate: computes the window of each lane, and the chi2 of each hit.

use crate::cylinder::config::BuildConfig;
use crate::cylinder::index::Layer;
use crate::event::StageCounter;
use crate::kalman::{CylinderState, within_turn};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Receives the hits that a search finds.
pub(super) trait Visit<G: Gang> {
    /// Receives a hit per lane with its chi2; lanes outside `found` have none.
    fn visit(&mut self, g: G, hit: U32<G>, chi2: F32<G>, found: Mask<G>);
}

/// Returns chi2 of hits (azimuth, z, their variances) for states at azimuth `phi` and `z`, given the covariance of the states.
#[inline(always)]
pub(crate) fn distance<G: Gang>(
    g: G,
    [phi, z]: [F32<G>; 2],
    [c00, c10, c11]: [F32<G>; 3],
    [hit_phi, hit_z, var_phi, var_z]: [F32<G>; 4],
) -> F32<G> {
    let d_phi = within_turn(g, hit_phi - phi);
    let d_z = hit_z - z;
    let (s00, s11) = (c00 + var_phi, c11 + var_z);
    let determinant = c10.neg_mul_add(c10, s00 * s11);
    let cross = c10 * d_phi * d_z;
    let sum = d_phi.mul_add(d_phi * s11, d_z * d_z * s00) - (cross + cross);
    sum / determinant
}

/// The layer to search, and the size of the windows.
pub(super) struct Windows<'a> {
    pub config: &'a BuildConfig,
    pub layer: Layer<'a>,
}

/// Calls `visit` for all hits with a chi2 below the cut in the windows of the states. States are on the layer's radius and
/// within a turn of azimuth 0. The hits of a lane are in the order of the index.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub(super) fn search<G: Gang>(
    g: G,
    Windows { config, layer }: &Windows<'_>,
    state: &CylinderState<G>,
    lanes: Mask<G>,
    visit: &mut impl Visit<G>,
    counter: &mut StageCounter,
) {
    let (one, cut) = (U32::splat(g, 1), F32::splat(g, config.chi2));
    let [phi, z, ..] = state.p;
    let (c00, c10, c11) = (state.c.at(0, 0), state.c.at(1, 0), state.c.at(1, 1));
    let width = F32::splat(g, config.window);
    let width_phi = (width * c00.sqrt()).min(F32::splat(g, config.window_phi));
    let width_z = (width * c11.sqrt()).min(F32::splat(g, config.window_z));
    // A state without a window (NaN) finds no hit.
    let zero = F32::splat(g, 0.0);
    let lanes = lanes & zero.le(width_phi) & zero.le(width_z) & phi.abs().lt(F32::splat(g, 4.0));
    let (first_row, rows) = layer.rows_of(g, phi, width_phi);
    let (first_bin, last_bin) = layer.bins(g, z, width_z);
    let mut row = U32::splat(g, 0);
    loop {
        let has_row = row.lt(rows) & lanes;
        if !has_row.any() {
            break;
        }
        let (mut hit, end) = layer.range(g, first_row + row, first_bin, last_bin);
        loop {
            let has_hit = hit.lt(end) & has_row;
            if !has_hit.any() {
                break;
            }
            counter.lanes_active += has_hit.count() as u64;
            counter.lanes_total += G::LANES as u64;
            let [hit_phi, hit_z, var_phi, var_z] = F32::gather_records(layer.hits, hit);
            let chi2 = distance(g, [phi, z], [c00, c10, c11], [hit_phi, hit_z, var_phi, var_z]);
            let found = chi2.lt(cut) & zero.le(chi2) & has_hit;
            if found.any() {
                visit.visit(g, hit, chi2, found);
            }
            hit = hit + one;
        }
        row = row + one;
    }
}
