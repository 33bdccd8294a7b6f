//! Finds pairs of a Velo and a SciFi track that fit together, one Velo track per lane, and computes the inputs of the
//! networks, one pair per lane.

use super::config::LongConfig;
use super::parts::Parts;
use super::select::{COMPARED_Z, Selected};
use crate::event::{Column, SciFiTracks, SearchedLines};
use crate::simd::math::ln;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use std::ops::Range;

/// z of the states of SciFi tracks, mm.
const SCIFI_Z: f32 = 9_410.0;
/// z where the lines before and behind the magnet meet: a constant, mm, and coefficients of the change of slope
/// (absolute value, square), of |x| of the SciFi track and of the square of the Velo track's slope.
const MAGNET_Z: f32 = 5_287.6;
const PER_CHANGE: f32 = -7.98878;
const PER_CHANGE2: f32 = 317.683;
const PER_X: f32 = 0.0119379;
const PER_TX2: f32 = -1_418.42;
/// Variances of the distances in x and y, mm^2: constant, and part per square of the change of slope (in x) or of the
/// slope (in y).
const VARIANCE_X: [f32; 2] = [10.12 * 10.12, 101.0 * 101.0];
const VARIANCE_Y: [f32; 2] = [1.59 * 1.59, 212.1 * 212.1];
/// Approximate sizes due to scattering of the distances in x and y, mm, and of the change of the slope in y: constant,
/// and part per change of the slope in x, which is proportional to 1/p.
const SCATTERED: [[f32; 2]; 3] = [[0.7, 26.0], [2.0, 50.0], [0.001, 0.012]];

/// Number of inputs of the first network, which describe how well a pair fits.
pub(super) const INPUTS: usize = 11;

/// Pairs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Number of the Velo track in the batch, and its index among the selected tracks.
    pub(super) velo: Column<u32>,
    pub(super) place: Column<u32>,
    pub(super) scifi: Column<u32>,
    pub(super) chi2: Column<f32>,
    /// Rank of the pairs in the choice of tracks, the smallest first: one minus the second network's response, or the
    /// chi2; infinite if the network rejects the pair.
    pub(super) rank: Column<f32>,
    pub(super) len: usize,
    /// Number of pairs of the event: the number of listed pairs, or `Judge::crowd`.
    pub(super) crowd: usize,
    /// Numbers of lanes with a Velo track, and of all lanes.
    pub(super) lanes: [u64; 2],
}

impl Pairs {
    /// Lists the pairs of the SciFi tracks of `range` that are within the windows, ranked by chi2.
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
            let value = inlined!(|value| F32::splat(g, value));
            let SearchedLines { x, y, tx, ty } = &scifi.searched;
            let [x, y, tx, ty] = [x[track], y[track], tx[track], ty[track]];
            let y = (COMPARED_Z - SCIFI_Z).mul_add(ty, y);
            let near = selected.near(y, config.max_distance_y);
            let behind = Behind { x: value(x), y: value(y), tx: value(tx), ty: value(ty) };
            for column in [&mut self.velo, &mut self.place, &mut self.scifi] {
                column.reserve_total(self.len + near.len());
            }
            self.chi2.reserve_total(self.len + near.len());
            self.lanes[0] += near.len() as u64;
            self.lanes[1] += near.len().next_multiple_of(G::LANES) as u64;
            for at in near.clone().step_by(G::LANES) {
                let here = Mask::first(g, near.end - at);
                let apart = Apart::new(g, &Before::load(g, selected, at), &behind);
                let near = apart.is_near(g, config) & here;
                if !near.any() {
                    continue;
                }
                let chi2 = apart.chi2(g, config);
                let fits = near & chi2.le(F32::splat(g, config.max_chi2));
                let place = U32::splat(g, at as u32) + U32::iota(g);
                place.store_packed(&mut self.place.padded_mut()[self.len..], fits);
                let number = U32::load(g, &selected.track.padded()[at..]);
                number.store_packed(&mut self.velo.padded_mut()[self.len..], fits);
                U32::splat(g, track as u32).store(&mut self.scifi.padded_mut()[self.len..]);
                self.len += chi2.store_packed(&mut self.chi2.padded_mut()[self.len..], fits);
            }
        }
        self.crowd = self.len;
        self.rank.set_len(self.len);
        self.rank.copy_from_slice(&self.chi2.padded()[..self.len]);
    }

    /// Moves the pairs from `at` on that are in `lanes` behind the first `kept` pairs; returns the new number of kept
    /// pairs.
    #[inline(always)]
    pub(super) fn keep<G: Gang>(&mut self, g: G, at: usize, kept: usize, lanes: Mask<G>) -> usize {
        for column in [&mut self.velo, &mut self.place, &mut self.scifi] {
            U32::load(g, &column.padded()[at..]).store_packed(&mut column.padded_mut()[kept..], lanes);
        }
        let chi2 = F32::load(g, &self.chi2.padded()[at..]);
        kept + chi2.store_packed(&mut self.chi2.padded_mut()[kept..], lanes)
    }

    /// Returns the inputs of the first network for the pairs from `at` on, and the absolute change of the slope in x.
    #[inline(always)]
    pub(super) fn inputs<G: Gang>(
        &self,
        g: G,
        config: &LongConfig,
        selected: &Selected,
        Parts { velo, scifi, .. }: Parts<'_>,
        at: usize,
    ) -> ([F32<G>; INPUTS], F32<G>) {
        let (lanes, none) = (Mask::first(g, self.len - at), U32::splat(g, 0));
        let index =
            inlined!(|column: &Column<u32>| lanes.select_u(U32::load(g, &column.padded()[at..]), none));
        let (place, track) = (index(&self.place), index(&self.scifi));
        let behind = Behind::gather(g, scifi, track);
        let apart = Apart::new(g, &Before::gather(selected, place), &behind);
        let velo_track = index(&self.velo);
        let quality = Quality {
            velo_hits: count_of(g, &velo.hit_start, velo_track),
            velo_chi2: F32::gather(&velo.chi2, velo_track),
            scifi_hits: count_of(g, &scifi.hit_start, track),
            scifi_chi2: F32::gather(&scifi.chi2_y, track),
        };
        (apart.inputs(g, config, &quality, self.crowd), apart.change_x.abs())
    }
}

/// Velo tracks at the end of the Velo, one per lane, but with y at the z of the comparison.
struct Before<G: Gang> {
    x: F32<G>,
    y: F32<G>,
    z: F32<G>,
    tx: F32<G>,
    ty: F32<G>,
}

impl<G: Gang> Before<G> {
    #[inline(always)]
    fn load(g: G, selected: &Selected, at: usize) -> Self {
        let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
        let Selected { x, y, z, tx, ty, .. } = selected;
        Self { x: load(x), y: load(y), z: load(z), tx: load(tx), ty: load(ty) }
    }

    #[inline(always)]
    fn gather(selected: &Selected, place: U32<G>) -> Self {
        let Selected { x, y, z, tx, ty, .. } = selected;
        let [x, y, z, tx, ty] = F32::gather_columns([x, y, z, tx, ty], place);
        Self { x, y, z, tx, ty }
    }
}

/// SciFi tracks, one per lane, with y at the z of the comparison.
struct Behind<G: Gang> {
    x: F32<G>,
    y: F32<G>,
    tx: F32<G>,
    ty: F32<G>,
}

impl<G: Gang> Behind<G> {
    #[inline(always)]
    fn gather(g: G, scifi: &SciFiTracks, track: U32<G>) -> Self {
        let SearchedLines { x, y, tx, ty } = &scifi.searched;
        let [x, y, tx, ty] = F32::gather_columns([x, y, tx, ty], track);
        Self { x, y: F32::splat(g, COMPARED_Z - SCIFI_Z).mul_add(ty, y), tx, ty }
    }
}

/// Distances between the Velo and the SciFi track of a pair, one pair per lane.
struct Apart<G: Gang> {
    /// Distance in x at the meeting point in the magnet, and in y behind the SciFi, mm.
    distance_x: F32<G>,
    distance_y: F32<G>,
    /// Changes of the slopes.
    change_x: F32<G>,
    change_y: F32<G>,
    /// Slope of the Velo track in y, and the square of its slope to the beam.
    velo_ty: F32<G>,
    slope2: F32<G>,
}

impl<G: Gang> Apart<G> {
    #[inline(always)]
    fn new(g: G, velo: &Before<G>, &Behind { x, y, tx, ty }: &Behind<G>) -> Self {
        let value = inlined!(|value| F32::splat(g, value));
        let (change_x, change_y) = (velo.tx - tx, velo.ty - ty);
        let change2 = change_x * change_x;
        let of_change =
            change2.mul_add(value(PER_CHANGE2), change_x.abs().mul_add(value(PER_CHANGE), value(MAGNET_Z)));
        let of_slope = (velo.tx * velo.tx) * value(PER_TX2);
        let magnet = of_change + x.abs().mul_add(value(PER_X), of_slope);
        let before = (magnet - velo.z).mul_add(velo.tx, velo.x);
        let behind = (magnet - value(SCIFI_Z)).mul_add(tx, x);
        let (distance_x, distance_y) = (behind - before, y - velo.y);
        let slope2 = velo.tx.mul_add(velo.tx, velo.ty * velo.ty);
        Self { distance_x, distance_y, change_x, change_y, velo_ty: velo.ty, slope2 }
    }

    /// Returns the chi2 of the match.
    #[inline(always)]
    fn chi2(&self, g: G, config: &LongConfig) -> F32<G> {
        let value = inlined!(|value| F32::splat(g, value));
        let &Self { distance_x, distance_y, change_x, change_y, slope2, .. } = self;
        let change2 = change_x * change_x;
        let variance_x = change2.mul_add(value(VARIANCE_X[1]), value(VARIANCE_X[0]));
        let variance_y = slope2.mul_add(value(VARIANCE_Y[1]), value(VARIANCE_Y[0]));
        let [wx, wy, wty, wtx] = config.weights;
        let of_x = value(wx) * (distance_x * distance_x) / variance_x;
        let of_y = value(wy) * (distance_y * distance_y) / variance_y;
        let of_slopes = change2.mul_add(value(wtx), value(wty) * (change_y * change_y));
        of_x + of_y + of_slopes
    }

    /// Returns the lanes whose pairs are within the windows.
    #[inline(always)]
    fn is_near(&self, g: G, config: &LongConfig) -> Mask<G> {
        let within = inlined!(|of: F32<G>, most: f32| of.abs().le(F32::splat(g, most)));
        within(self.change_x, config.max_change_tx)
            & within(self.change_y, config.max_change_ty)
            & within(self.distance_x, config.max_distance_x)
            & within(self.distance_y, config.max_distance_y)
    }

    /// Returns the inputs of the first network. Distances are divided by their size due to scattering at this momentum.
    /// Their signs are relative to the bend in x, and in y to the slope, since scattering changes y and its slope
    /// together. The number of pairs of the event is an input, since with many pairs more of them are false.
    #[inline(always)]
    fn inputs(&self, g: G, config: &LongConfig, quality: &Quality<G>, crowd: usize) -> [F32<G>; INPUTS] {
        let bend = self.change_x.abs();
        [
            part(along(self.change_x, self.distance_x), bend, SCATTERED[0]),
            part(along(self.velo_ty, self.distance_y), bend, SCATTERED[1]),
            part(along(self.velo_ty, self.change_y), bend, SCATTERED[2]),
            ln(bend + F32::splat(g, 0.01)),
            ln(self.slope2.sqrt() + F32::splat(g, 0.005)),
            quality.scifi_hits,
            quality.scifi_chi2.sqrt(),
            ln(self.chi2(g, config) + F32::splat(g, 0.01)),
            quality.velo_hits,
            ln(quality.velo_chi2 + F32::splat(g, 1.0)),
            ln(F32::splat(g, crowd as f32)),
        ]
    }
}

/// Returns a distance, with its sign changed where `sign` is negative.
#[inline(always)]
fn along<G: Gang>(sign: F32<G>, of: F32<G>) -> F32<G> {
    let zero = F32::splat(of.g, 0.0);
    sign.lt(zero).select_f(zero - of, of)
}

/// Returns a distance divided by its size due to scattering for a change of the slope.
#[inline(always)]
fn part<G: Gang>(of: F32<G>, bend: F32<G>, [constant, per_bend]: [f32; 2]) -> F32<G> {
    of / bend.mul_add(F32::splat(of.g, per_bend), F32::splat(of.g, constant))
}

/// Quality of the tracks of pairs.
struct Quality<G: Gang> {
    velo_hits: F32<G>,
    velo_chi2: F32<G>,
    scifi_hits: F32<G>,
    scifi_chi2: F32<G>,
}

/// Returns the numbers of hits of tracks.
#[inline(always)]
fn count_of<G: Gang>(g: G, starts: &[u32], track: U32<G>) -> F32<G> {
    let next = U32::gather(starts, track + U32::splat(g, 1));
    (next - U32::gather(starts, track)).as_i32().to_f32()
}
