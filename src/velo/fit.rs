//! Fit: a straight-line Kalman filter through each track, one track per lane (`docs/algorithms.md`, "Velo:
//! straight-line fit").
//!
//! x and y have equal weights, so one covariance serves both. A track is filtered from both ends: the filter that ends
//! nearest to the beam line gives the state near the beam line, and the filter that ends at the largest z gives the
//! state at the end of the Velo.
//!
//! The scattering of a track depends on its momentum, which the Velo does not measure. Hits farther from the line than
//! expected raise the noise (the assumed variance of scattering), nearer hits lower it ([`next_noise`]). The filter up
//! (to larger z) starts with the last noise of the filter down; both states use the last noise of the filter up.

use super::config::FitConfig;
use super::found::{Found, HITS_AT, LEN_AT, ROW};
use crate::event::{Column, States, VeloTracks};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// A filtered state per lane: position, slopes, the covariance of one projection, chi2 so far. Covariances and chi2 are
/// in units of the hits' variance V, which leaves a hit the variance 1. Positions are relative to the last hit, and
/// slopes are relative to the line through the track's ends: single precision loses little of such small numbers. Hits
/// are stored as their distances from the previous hit ([`Step`]).
///
/// The first hit does not measure the slope: at the next hit, at distance d, the variance of the line is d^2, some 10^7
/// times the variance of the hit. The textbook's `xx - K xx` then has no digit left in f32. The formulas here cancel
/// nothing: with S = xx + 1 at the new hit, xx becomes 1 - 1/S = xx / S, xt becomes xt / S, and tt xx - xt^2, which
/// moving the state does not change, gives tt as (tt + tt xx - xt^2) / S. Before the move these differences are
/// harmless: the variance of a filtered line is nowhere below V / n, the variance of the mean of n hits in one place,
/// so xx is 1/n at least and tt xx - xt^2 is tt / n at least. The new position is 1/S of the old residual away from the
/// hit, and the new slope is a weighted mean of the old slope and the slope to the hit.
struct State<G: Gang> {
    x: F32<G>,
    y: F32<G>,
    tx: F32<G>,
    ty: F32<G>,
    /// Variance of x plus the variance of a hit: 1 to 2.
    xx_and_hit: F32<G>,
    xt: F32<G>,
    tt: F32<G>,
    chi2: F32<G>,
}

impl<G: Gang> State<G> {
    /// Returns the state at the first hit.
    #[inline(always)]
    fn start(g: G, config: &FitConfig, tx: F32<G>, ty: F32<G>) -> Self {
        let (zero, two) = (F32::splat(g, 0.0), F32::splat(g, 2.0));
        // The variance of a slope is 1 before any measurement.
        let tt = F32::splat(g, config.weight);
        Self { x: zero, y: zero, tx, ty, xx_and_hit: two, xt: zero, tt, chi2: zero }
    }

    /// Updates the state with a hit in `lanes`; returns how far the hit was from the line.
    #[inline(always)]
    fn update(&mut self, g: G, [x, y, dz]: Step<G>, noise: F32<G>, lanes: Mask<G>) -> Surprise<G> {
        let tt = self.tt + noise;
        // S is `before + dz * xt`: the second term is the part due to the slope.
        let before = dz.mul_add(self.xt, self.xx_and_hit);
        let xt = dz.mul_add(tt, self.xt);
        let inverse = F32::splat(g, 1.0) / dz.mul_add(xt, before);
        let (keep, gain) = (before * inverse, xt * inverse);
        let (dx, dy) = (x - self.x, y - self.y);
        let (rx, ry) = (dz.neg_mul_add(self.tx, dx), dz.neg_mul_add(self.ty, dy));
        let square = rx.mul_add(rx, ry * ry);
        let next = Self {
            x: -(inverse * rx),
            y: -(inverse * ry),
            tx: gain.mul_add(dx, keep * self.tx),
            ty: gain.mul_add(dy, keep * self.ty),
            xx_and_hit: F32::splat(g, 2.0) - inverse,
            xt: gain,
            tt: self.xt.neg_mul_add(self.xt, tt * self.xx_and_hit) * inverse,
            chi2: square.mul_add(inverse, self.chi2),
        };
        // Tracks are sorted by length, so that mostly all lanes have a hit.
        *self = if lanes.all() { next } else { next.select(lanes, self) };
        Surprise { square: square * inverse, share: F32::splat(g, 1.0) - keep }
    }

    /// Selects this state in `lanes`, else the other.
    #[inline(always)]
    fn select(self, lanes: Mask<G>, other: &Self) -> Self {
        Self {
            x: lanes.select_f(self.x, other.x),
            y: lanes.select_f(self.y, other.y),
            tx: lanes.select_f(self.tx, other.tx),
            ty: lanes.select_f(self.ty, other.ty),
            xx_and_hit: lanes.select_f(self.xx_and_hit, other.xx_and_hit),
            xt: lanes.select_f(self.xt, other.xt),
            tt: lanes.select_f(self.tt, other.tt),
            chi2: lanes.select_f(self.chi2, other.chi2),
        }
    }

    /// Returns the state after scattering with the variance `noise`.
    #[inline(always)]
    fn scattered(&self, noise: F32<G>) -> Self {
        Self { tt: self.tt + noise, ..*self }
    }

    /// Moves the state, which is on `line`, to `z`, and writes it at index `at` of the columns.
    #[inline(always)]
    fn store(
        &self,
        config: &FitConfig,
        line: &Line<G>,
        z: F32<G>,
        (to, at): (&mut States, usize),
        lanes: Mask<G>,
    ) {
        let g = z.g;
        let ([x, y, here], [tx, ty]) = *line;
        let dz = z - here;
        let xt = dz.mul_add(self.tt, self.xt);
        let xx = dz.mul_add(self.xt + xt, self.xx_and_hit - F32::splat(g, 1.0));
        let [x, y] = [dz.mul_add(tx, x), dz.mul_add(ty, y)];
        let variance = 1.0 / config.weight;
        let xx = xx * F32::splat(g, variance * XX_ROUNDED_UP);
        let (xt, tt) = (xt * F32::splat(g, variance), self.tt * F32::splat(g, variance));
        for (value, column) in [x, y, z, tx, ty, xx, xt, tt].into_iter().zip(to.columns_mut()) {
            same_nan(value).store_some(&mut column[at..], lanes);
        }
    }

    /// Returns the line of the state, given its last hit and the slopes that its slopes are relative to.
    #[inline(always)]
    fn line(&self, hit: [F32<G>; 3], slopes: [F32<G>; 2]) -> Line<G> {
        ([hit[0] + self.x, hit[1] + self.y, hit[2]], [slopes[0] + self.tx, slopes[1] + self.ty])
    }
}

/// The step from one hit to the next: dx and dy relative to the line that slopes are relative to, and dz.
type Step<G> = [F32<G>; 3];

/// A point (x, y, z) and the slopes of a line through it.
type Line<G> = ([F32<G>; 3], [F32<G>; 2]);

/// Selects the first line in `lanes`, else the second.
#[inline(always)]
fn select_line<G: Gang>(lanes: Mask<G>, (from, slopes): &Line<G>, (other_from, other): &Line<G>) -> Line<G> {
    let x = lanes.select_f(from[0], other_from[0]);
    let y = lanes.select_f(from[1], other_from[1]);
    let z = lanes.select_f(from[2], other_from[2]);
    ([x, y, z], [lanes.select_f(slopes[0], other[0]), lanes.select_f(slopes[1], other[1])])
}

/// The distance of a hit from the line.
struct Surprise<G: Gang> {
    /// Squared distance divided by its variance, with the variance in units of a hit's variance, mm^2.
    square: F32<G>,
    /// Share of the variance that is due to the slope: nearly 0 when the slope is well known and nothing scatters.
    share: F32<G>,
}

/// Returns the variance of the scattering angle in a module, in units of a hit's variance, from the slopes: steep
/// tracks have low momenta.
#[inline(always)]
fn first_noise<G: Gang>(g: G, config: &FitConfig, tx: F32<G>, ty: F32<G>) -> F32<G> {
    let constant = F32::splat(g, config.noise_constant * config.weight);
    let slope = F32::splat(g, config.noise_slope * config.weight);
    let steep = F32::splat(g, config.noise_steep * config.weight);
    let slope2 = tx.mul_add(tx, ty * ty);
    slope2.mul_add(slope2.sqrt().mul_add(steep, slope), constant)
}

/// Returns the variance of the scattering angle after a hit: at most the variance of an unmeasured slope.
#[inline(always)]
fn next_noise<G: Gang>(g: G, config: &FitConfig, noise: F32<G>, hit: &Surprise<G>) -> F32<G> {
    let (weight, zero, one) = (config.weight, F32::splat(g, 0.0), F32::splat(g, 1.0));
    let gain = F32::splat(g, config.noise_gain * weight);
    let usual = F32::splat(g, config.noise_chi2 / weight);
    let largest = F32::splat(g, config.noise_largest_chi2 / weight);
    // The share of a track that turns back can be negative; it is always between -0.2 and 1.2.
    let growth = (hit.share.max(zero) * gain).mul_add(hit.square.min(largest) - usual, one);
    (noise * growth).min(F32::splat(g, weight))
}

/// Number of hits before the first hit that measures the scattering. Three hits are the fewest that show scattering,
/// but their own errors are as large as the effect.
const FIRST_TO_LEARN_FROM: usize = 3;

/// Factor on the variance of a position. Far from the hits of a line, xx tt and xt^2 agree in all digits of an f32; a
/// little more variance keeps the written covariance positive definite.
pub(crate) const XX_ROUNDED_UP: f32 = 1.0 + 1.0 / (1 << 20) as f32;

/// Smallest distance in z of the ends of a track that give the first slopes of the fit, mm; real tracks are longer.
pub(crate) const MIN_LENGTH: f32 = 1.0;

/// Upper limit of tx^2 + ty^2 for slopes relative to the line through the ends. Much steeper lines belong to no real
/// track, and may be far from the hits between the ends.
pub(crate) const MAX_SLOPE2: f32 = 0.25;

/// Replaces every NaN by the same NaN: gangs do not define which NaN an operation gives, and an absurd configuration
/// can overflow.
#[inline(always)]
fn same_nan<G: Gang>(value: F32<G>) -> F32<G> {
    value.eq(value).select_f(value, F32::splat(value.g, f32::NAN))
}

/// Returns z of the closest approach of a line to the beam line, mm; for a line along the beam, z of its point.
#[inline(always)]
fn closest_to_beam<G: Gang>(g: G, config: &FitConfig, &([x, y, z], [tx, ty]): &Line<G>) -> F32<G> {
    let (bx, by) = (F32::splat(g, config.beam_x), F32::splat(g, config.beam_y));
    let slope2 = tx.mul_add(tx, ty * ty);
    let along = tx.mul_add(bx - x, ty * (by - y));
    // A line with a slope below 1e-6 counts as parallel to the beam.
    let parallel = slope2.lt(F32::splat(g, 1e-12));
    z + parallel.select_f(F32::splat(g, 0.0), along / slope2.max(F32::splat(g, 1e-12)))
}

/// Returns x, y, z of the hits whose indices are in the words `entry` of the rows.
#[inline(always)]
fn position<G: Gang>(hits: &[[f32; 4]], words: &[u32], entry: U32<G>) -> [F32<G>; 3] {
    let [x, y, z, _] = F32::gather_records(hits, U32::gather(words, entry));
    [x, y, z]
}

/// The sorted hits: x, y, z in records of four, and their ids.
#[derive(Clone, Copy)]
pub(super) struct SortedHits<'a> {
    pub hits: &'a [[f32; 4]],
    pub ids: &'a [u32],
}

/// Stores the step to hit number `number` of each lane.
#[inline(always)]
fn store_step<G: Gang>(path: &mut [f32], number: usize, [x, y, z]: Step<G>) {
    let path = &mut path[3 * number * G::LANES..][..3 * G::LANES];
    x.store(&mut path[..G::LANES]);
    y.store(&mut path[G::LANES..2 * G::LANES]);
    z.store(&mut path[2 * G::LANES..]);
}

/// Fits the tracks of `found.order`, given the sorted hits, and appends them, their hits and their states to `out`. The
/// caller appends the begins of events.
#[inline(always)]
pub(super) fn fit<G: Gang>(
    g: G,
    config: &FitConfig,
    SortedHits { hits: sorted, ids: ids_of }: SortedHits<'_>,
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
    out.chi2.set_len(base + tracks);
    out.backward.set_len(base + tracks);
    for states in [&mut out.beam, &mut out.end] {
        states.columns_mut().into_iter().for_each(|column| column.set_len(base + tracks));
    }
    let words = found.words();
    let learns = config.noise_gain > 0.0;
    path.reserve_total(3 * ROW * G::LANES);
    let path = path.padded_mut();
    for at in (0..tracks).step_by(G::LANES) {
        let lanes = Mask::first(g, tracks - at);
        let row = U32::load(g, &found.order.padded()[at..]);
        let word = row * U32::splat(g, ROW as u32);
        let len = U32::gather(words, word + U32::splat(g, LEN_AT as u32));
        let first = word + U32::splat(g, HITS_AT as u32);
        let last = first + len - U32::splat(g, 1);
        let top = position(sorted, words, first);
        let bottom = position(sorted, words, last);
        let dz = bottom[2] - top[2];
        let flat = dz.abs().lt(F32::splat(g, MIN_LENGTH));
        let none = F32::splat(g, 0.0);
        let tx = flat.select_f(none, (bottom[0] - top[0]) / dz);
        let ty = flat.select_f(none, (bottom[1] - top[1]) / dz);
        let mut noise = first_noise(g, config, tx, ty);
        let backward = top[2].lt(closest_to_beam(g, config, &(top, [tx, ty])));
        // Slopes are relative to the line through the ends, unless it is too steep for a track.
        let usual = tx.mul_add(tx, ty * ty).lt(F32::splat(g, MAX_SLOPE2));
        let straight = [usual.select_f(tx, none), usual.select_f(ty, none)];
        let (tx, ty) = (usual.select_f(none, tx), usual.select_f(none, ty));

        let (mut down, mut up) = (State::start(g, config, tx, ty), State::start(g, config, tx, ty));
        // Hits are gathered once: the filter up reads what the filter down wrote. A hit changes the noise from the
        // second hit after it on, so that the next need not wait.
        let (mut hits, mut before, mut known) = (0, top, noise);
        loop {
            let number = U32::splat(g, hits as u32 + 1);
            let on = (first + number).lt(last + U32::splat(g, 1)) & lanes;
            if !on.any() {
                break;
            }
            let hit = position(sorted, words, first + number);
            let dz = hit[2] - before[2];
            let x = dz.neg_mul_add(straight[0], hit[0] - before[0]);
            let y = dz.neg_mul_add(straight[1], hit[1] - before[1]);
            let step = [x, y, dz];
            let surprise = down.update(g, step, known, on);
            known = noise;
            if learns && hits + 1 >= FIRST_TO_LEARN_FROM {
                noise = on.select_f(next_noise(g, config, noise, &surprise), noise);
            }
            store_step(path, hits, step);
            (hits, before) = (hits + 1, hit);
        }
        // Lanes that had a hit two steps ago, and one step ago: shorter tracks begin later.
        let mut behind = [Mask::first(g, 0); 2];
        known = noise;
        for number in (0..hits).rev() {
            let on = (first + U32::splat(g, number as u32)).lt(last) & lanes;
            let path = &path[3 * number * G::LANES..][..3 * G::LANES];
            let x = -F32::load(g, &path[..G::LANES]);
            let y = -F32::load(g, &path[G::LANES..2 * G::LANES]);
            let step = [x, y, -F32::load(g, &path[2 * G::LANES..])];
            let surprise = up.update(g, step, known, on);
            known = noise;
            if learns {
                noise = behind[0].select_f(next_noise(g, config, noise, &surprise), noise);
            }
            behind = [behind[1], on];
        }
        let to = base + at;
        let at_beam = noise * F32::splat(g, config.noise_beam);
        let at_end = noise * F32::splat(g, config.noise_end);
        let line = up.line(top, straight);
        let end_z = F32::splat(g, config.end_z);
        up.scattered(at_end).store(config, &line, end_z, (&mut out.end, to), lanes);
        let (other, beam) = (down.line(bottom, straight), up.select(backward, &down));
        let line = select_line(backward, &line, &other);
        let z = closest_to_beam(g, config, &line);
        beam.scattered(at_beam).store(config, &line, z, (&mut out.beam, to), lanes);
        same_nan(beam.chi2 * F32::splat(g, config.weight)).store_some(&mut out.chi2[to..], lanes);
        let bits = (backward & lanes).bits();
        for (lane, flag) in out.backward[to..].iter_mut().take(G::LANES).enumerate() {
            *flag = (bits >> lane & 1) as u8;
        }
    }
}
