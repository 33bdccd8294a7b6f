//! Pairs of Velo and SciFi tracks that fit together, one lane a Velo track.

use super::config::LongConfig;
use super::pair_network::PAIRS;
use super::select::{COMPARED_Z, Selected};
use crate::event::{Column, SciFiTracks, SearchedLines};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// Where the states of SciFi tracks are, mm.
const SCIFI_Z: f32 = 9_410.0;
/// Where the lines before and behind the magnet meet: a constant, mm, and what change of slope (size and square), x of the
/// SciFi track and slope of the Velo track (square) add.
const MAGNET_Z: f32 = 5_287.6;
const PER_CHANGE: f32 = -7.98878;
const PER_CHANGE2: f32 = 317.683;
const PER_X: f32 = 0.0119379;
const PER_TX2: f32 = -1_418.42;
/// Variances of the distances in x and y, mm^2: constant, and per square of the change of slope, and of the slope.
const VARIANCE_X: [f32; 2] = [10.12 * 10.12, 101.0 * 101.0];
const VARIANCE_Y: [f32; 2] = [1.59 * 1.59, 212.1 * 212.1];

/// Pairs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) velo: Column<u32>,
    pub(super) scifi: Column<u32>,
    pub(super) chi2: Column<f32>,
    /// What decides which pairs are tracks, the smallest first: one minus the classifier's response, or the chi2.
    pub(super) rank: Column<f32>,
    pub(super) len: usize,
    /// Lanes with a Velo track, and all.
    pub(super) lanes: [u64; 2],
}

impl Pairs {
    /// Lists the pairs of the SciFi tracks of `range`.
    #[inline(always)]
    pub(super) fn list<G: Gang>(
        &mut self,
        g: G,
        config: &LongConfig,
        selected: &Selected,
        scifi: &SciFiTracks,
        range: Range<usize>,
    ) {
        (self.len, self.lanes) = (0, [0; 2]);
        for track in range {
            let value = |value| F32::splat(g, value);
            let SearchedLines { x, y, tx, ty } = &scifi.searched;
            let [x, y, tx, ty] = [x[track], y[track], tx[track], ty[track]];
            let y = (COMPARED_Z - SCIFI_Z).mul_add(ty, y);
            let near = selected.near(y, config.max_distance_y);
            let behind = Behind {
                x: value(x),
                y: value(y),
                tx: value(tx),
                ty: value(ty),
                hits: value(scifi.hits_of(track).len() as f32),
                chi2_y: value(scifi.chi2_y[track]),
            };
            for column in [&mut self.velo, &mut self.scifi] {
                column.reserve_total(self.len + near.len());
            }
            for column in [&mut self.chi2, &mut self.rank] {
                column.reserve_total(self.len + near.len());
            }
            for at in near.clone().step_by(G::LANES) {
                let here = Mask::first(g, near.end - at);
                self.lanes[0] += here.count() as u64;
                self.lanes[1] += G::LANES as u64;
                let (chi2, rank, fits) = judge(g, config, selected, at, &behind);
                let fits = fits & here;
                let number = U32::load(g, &selected.track.padded()[at..]);
                number.store_packed(&mut self.velo.padded_mut()[self.len..], fits);
                U32::splat(g, track as u32).store(&mut self.scifi.padded_mut()[self.len..]);
                rank.store_packed(&mut self.rank.padded_mut()[self.len..], fits);
                self.len += chi2.store_packed(&mut self.chi2.padded_mut()[self.len..], fits);
            }
        }
    }
}

/// What is known of a SciFi track, in all lanes.
struct Behind<G: Gang> {
    x: F32<G>,
    /// Where y is compared.
    y: F32<G>,
    tx: F32<G>,
    ty: F32<G>,
    hits: F32<G>,
    chi2_y: F32<G>,
}

/// How well the Velo tracks from place `at` on fit to a SciFi track, their rank, and which do.
#[inline(always)]
fn judge<G: Gang>(
    g: G,
    config: &LongConfig,
    selected: &Selected,
    at: usize,
    &Behind { x, y, tx, ty, hits, chi2_y }: &Behind<G>,
) -> (F32<G>, F32<G>, Mask<G>) {
    let value = |value| F32::splat(g, value);
    let velo = |column: &Column<f32>| F32::load(g, &column.padded()[at..]);
    let (velo_x, velo_z) = (velo(&selected.x), velo(&selected.z));
    let (velo_tx, velo_ty) = (velo(&selected.tx), velo(&selected.ty));
    let (change_x, change_y) = (velo_tx - tx, velo_ty - ty);
    let change2 = change_x * change_x;
    let of_change =
        change2.mul_add(value(PER_CHANGE2), change_x.abs().mul_add(value(PER_CHANGE), value(MAGNET_Z)));
    let of_slope = (velo_tx * velo_tx) * value(PER_TX2);
    let magnet = of_change + x.abs().mul_add(value(PER_X), of_slope);
    let before = (magnet - velo_z).mul_add(velo_tx, velo_x);
    let behind = (magnet - value(SCIFI_Z)).mul_add(tx, x);
    let (distance_x, distance_y) = (behind - before, y - velo(&selected.y));
    let variance_x = change2.mul_add(value(VARIANCE_X[1]), value(VARIANCE_X[0]));
    let slope2 = velo_tx.mul_add(velo_tx, velo_ty * velo_ty);
    let variance_y = slope2.mul_add(value(VARIANCE_Y[1]), value(VARIANCE_Y[0]));
    let [wx, wy, wty, wtx] = config.weights;
    let of_x = value(wx) * (distance_x * distance_x) / variance_x;
    let of_y = value(wy) * (distance_y * distance_y) / variance_y;
    let of_slopes = change2.mul_add(value(wtx), value(wty) * (change_y * change_y));
    let chi2 = of_x + of_y + of_slopes;
    let near = change_x.abs().le(value(config.max_change_tx))
        & change_y.abs().le(value(config.max_change_ty))
        & distance_x.abs().le(value(config.max_distance_x))
        & distance_y.abs().le(value(config.max_distance_y));
    let fits = near & chi2.le(value(config.max_chi2));
    if config.min_response > 0.0 && fits.any() {
        // Signed as the particle bends, and as it leaves the beam: what scatters it changes y and its slope together.
        let zero = value(0.0);
        let along = |sign: F32<G>, of: F32<G>| sign.lt(zero).select_f(zero - of, of);
        let (distance_x, distance_y) = (along(change_x, distance_x), along(velo_ty, distance_y));
        let (change_x, change_y) = (change_x.abs(), along(velo_ty, change_y));
        let slope = slope2.sqrt();
        let inputs = [chi2, distance_x, distance_y, change_x, change_y, slope, hits, chi2_y.sqrt()];
        let response = PAIRS.response(inputs);
        return (chi2, value(1.0) - response, fits & value(config.min_response).le(response));
    }
    (chi2, chi2, fits)
}
