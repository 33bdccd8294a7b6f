//! Fit: a straight-line Kalman filter through each track, one lane a track (ALGORITHMS.md 3).
//!
//! x and y have equal weights, so one covariance serves both. A track is filtered from both ends; the filter
//! that ends nearest to the beam line gives the state there, the one that ends upstream gives the state at
//! the end of the Velo.

use super::config::FitConfig;
use super::find::ROW;
use super::scratch::{Found, LEN_AT};
use crate::event::{Column, States, VeloTracks};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// A filtered state per lane: positions, slopes, the covariance of one projection, chi2 so far.
struct State<G: Gang> {
    x: F32<G>,
    y: F32<G>,
    z: F32<G>,
    tx: F32<G>,
    ty: F32<G>,
    xx: F32<G>,
    xt: F32<G>,
    tt: F32<G>,
    chi2: F32<G>,
}

impl<G: Gang> State<G> {
    /// Starts on a hit, with the slopes of the whole track.
    #[inline(always)]
    fn start(g: G, config: &FitConfig, [x, y, z]: [F32<G>; 3], tx: F32<G>, ty: F32<G>) -> Self {
        let zero = F32::splat(g, 0.0);
        let xx = F32::splat(g, 1.0 / config.weight);
        Self { x, y, z, tx, ty, xx, xt: zero, tt: F32::splat(g, 1.0), chi2: zero }
    }

    /// The state moved to `z`: (x, y, variance of x, covariance of x and tx).
    #[inline(always)]
    fn predict(&self, z: F32<G>, tt: F32<G>) -> [F32<G>; 4] {
        let dz = z - self.z;
        let moved = dz.mul_add(tt, self.xt);
        let xx = dz.mul_add(self.xt + moved, self.xx);
        [dz.mul_add(self.tx, self.x), dz.mul_add(self.ty, self.y), xx, moved]
    }

    /// Takes in a hit in the lanes that have one.
    #[inline(always)]
    fn update(&mut self, g: G, hit: [F32<G>; 3], noise: F32<G>, hit_variance: f32, lanes: Mask<G>) {
        let tt = self.tt + noise;
        let [x, y, xx, xt] = self.predict(hit[2], tt);
        let inverse = F32::splat(g, 1.0) / (xx + F32::splat(g, hit_variance));
        let (gain_x, gain_t) = (xx * inverse, xt * inverse);
        let (rx, ry) = (hit[0] - x, hit[1] - y);
        let next = Self {
            x: gain_x.mul_add(rx, x),
            y: gain_x.mul_add(ry, y),
            z: hit[2],
            tx: gain_t.mul_add(rx, self.tx),
            ty: gain_t.mul_add(ry, self.ty),
            xx: gain_x.neg_mul_add(xx, xx),
            xt: gain_x.neg_mul_add(xt, xt),
            tt: gain_t.neg_mul_add(xt, tt),
            chi2: rx.mul_add(rx, ry * ry).mul_add(inverse, self.chi2),
        };
        *self = next.select(lanes, self);
    }

    /// Lane by lane this state or the other one.
    #[inline(always)]
    fn select(self, lanes: Mask<G>, other: &Self) -> Self {
        Self {
            x: lanes.select_f(self.x, other.x),
            y: lanes.select_f(self.y, other.y),
            z: lanes.select_f(self.z, other.z),
            tx: lanes.select_f(self.tx, other.tx),
            ty: lanes.select_f(self.ty, other.ty),
            xx: lanes.select_f(self.xx, other.xx),
            xt: lanes.select_f(self.xt, other.xt),
            tt: lanes.select_f(self.tt, other.tt),
            chi2: lanes.select_f(self.chi2, other.chi2),
        }
    }

    /// Writes the state, moved to `z`, at place `at` of the columns.
    #[inline(always)]
    fn store(&self, z: F32<G>, to: &mut States, at: usize, lanes: Mask<G>) {
        let [x, y, xx, xt] = self.predict(z, self.tt);
        let values = [x, y, z, self.tx, self.ty, xx, xt, self.tt];
        for (value, column) in values.into_iter().zip(to.columns_mut()) {
            same_nan(value).store_some(&mut column[at..], lanes);
        }
    }
}

/// The value, and one NaN for all NaNs: which one an operation gives is what gangs leave open, and hits that
/// lie absurdly, as a track's ends a denormal number apart, overflow the slopes.
#[inline(always)]
fn same_nan<G: Gang>(value: F32<G>) -> F32<G> {
    value.eq(value).select_f(value, F32::splat(value.g, f32::NAN))
}

/// z of the closest approach of a line to the beam line, mm; a line along the beam stays where it is.
#[inline(always)]
fn closest_to_beam<G: Gang>(
    g: G,
    config: &FitConfig,
    [x, y, z]: [F32<G>; 3],
    [tx, ty]: [F32<G>; 2],
) -> F32<G> {
    let (bx, by) = (F32::splat(g, config.beam_x), F32::splat(g, config.beam_y));
    let slope2 = tx.mul_add(tx, ty * ty);
    let along = tx.mul_add(bx - x, ty * (by - y));
    // A track of slope 1e-6 meets nothing within the detector.
    let parallel = slope2.lt(F32::splat(g, 1e-12));
    z + parallel.select_f(F32::splat(g, 0.0), along / slope2.max(F32::splat(g, 1e-12)))
}

/// x, y, z of the hits at places of the words of the rows.
#[inline(always)]
fn position<G: Gang>(hits: &[[f32; 4]], words: &[u32], entry: U32<G>) -> [F32<G>; 3] {
    let [x, y, z, _] = F32::gather_records(hits, U32::gather(words, entry));
    [x, y, z]
}

/// Fits the tracks of `found.order`, given the sorted hits and their ids, and appends them, their hits and their
/// states to `out`.
#[inline(always)]
pub(super) fn fit<G: Gang>(
    g: G,
    config: &FitConfig,
    (sorted, ids_of): (&[[f32; 4]], &[u32]),
    found: &Found,
    path: &mut Column<f32>,
    out: &mut VeloTracks,
) {
    let tracks = found.order.len();
    let base = out.tracks();
    out.hits.reserve_total(out.hits.len() + tracks * ROW);
    for &row in found.order.iter() {
        let (hits, first) = (found.hits_of(row), out.hits.len());
        let ids = &mut out.hits.padded_mut()[first..][..hits.len()];
        for (id, &hit) in ids.iter_mut().zip(hits) {
            *id = ids_of[hit as usize];
        }
        out.hits.set_len(first + hits.len());
        out.hit_start.push(out.hits.len() as u32);
    }
    out.track_start.push((base + tracks) as u32);
    out.chi2.set_len(base + tracks);
    out.backward.set_len(base + tracks);
    for states in [&mut out.beam, &mut out.end] {
        states.columns_mut().into_iter().for_each(|column| column.set_len(base + tracks));
    }
    let words = found.words();
    for at in (0..tracks).step_by(G::LANES) {
        let lanes = Mask::first(g, tracks - at);
        let row = U32::load(g, &found.order.padded()[at..]);
        let first = row * U32::splat(g, ROW as u32);
        let len = U32::gather(words, first + U32::splat(g, LEN_AT as u32));
        let last = first + len - U32::splat(g, 1);
        let top = position(sorted, words, first);
        let bottom = position(sorted, words, last);
        let dz = bottom[2] - top[2];
        let flat = dz.eq(F32::splat(g, 0.0));
        let none = F32::splat(g, 0.0);
        let tx = flat.select_f(none, (bottom[0] - top[0]) / dz);
        let ty = flat.select_f(none, (bottom[1] - top[1]) / dz);
        let noise = tx
            .mul_add(tx, ty * ty)
            .mul_add(F32::splat(g, config.noise_slope), F32::splat(g, config.noise_constant));
        let backward = top[2].lt(closest_to_beam(g, config, top, [tx, ty]));

        let mut down = State::start(g, config, top, tx, ty);
        let mut up = State::start(g, config, bottom, tx, ty);
        let variance = 1.0 / config.weight;
        // The hits between the ends, gathered once: the way up reads what the way down wrote.
        let mut hits = 0;
        loop {
            let step = U32::splat(g, hits as u32 + 1);
            let on = (first + step).lt(last + U32::splat(g, 1)) & lanes;
            if !on.any() {
                break;
            }
            let hit = position(sorted, words, first + step);
            down.update(g, hit, noise, variance, on);
            let at = 3 * hits * G::LANES;
            path.reserve_total(at + 3 * G::LANES);
            hit[0].store(&mut path.padded_mut()[at..]);
            hit[1].store(&mut path.padded_mut()[at + G::LANES..]);
            hit[2].store(&mut path.padded_mut()[at + 2 * G::LANES..]);
            hits += 1;
        }
        for number in (0..hits).rev() {
            let on = (first + U32::splat(g, number as u32 + 1)).lt(last) & lanes;
            let at = 3 * number * G::LANES;
            let x = F32::load(g, &path.padded()[at..]);
            let y = F32::load(g, &path.padded()[at + G::LANES..]);
            let z = F32::load(g, &path.padded()[at + 2 * G::LANES..]);
            up.update(g, [x, y, z], noise, variance, on);
        }
        up.update(g, top, noise, variance, lanes);
        let to = base + at;
        up.store(F32::splat(g, config.end_z), &mut out.end, to, lanes);
        let beam = up.select(backward, &down);
        let z = closest_to_beam(g, config, [beam.x, beam.y, beam.z], [beam.tx, beam.ty]);
        beam.store(z, &mut out.beam, to, lanes);
        same_nan(beam.chi2).store_some(&mut out.chi2[to..], lanes);
        let bits = (backward & lanes).bits();
        for (lane, flag) in out.backward[to..].iter_mut().take(G::LANES).enumerate() {
            *flag = (bits >> lane & 1) as u8;
        }
    }
}
