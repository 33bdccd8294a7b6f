//! Naive reference of the straight-line Kalman fit of a track.

use super::{max, min};
use crate::event::{States, VeloTracks};
use crate::velo::config::FitConfig;

/// A filtered state: position relative to the last hit, slopes relative to a fixed line, the covariance of one
/// projection, and chi2 so far. Covariances and chi2 are in units of the hits' variance, as in the kernel. `fit_f64` is
/// the textbook's filter for comparison.
#[derive(Clone, Copy)]
struct State {
    x: f32,
    y: f32,
    tx: f32,
    ty: f32,
    xx_and_hit: f32,
    xt: f32,
    tt: f32,
    chi2: f32,
}

impl State {
    /// Runs the filter over hits in the given order. Each step is from the previous hit, with dx and dy relative to the
    /// line that slopes are relative to. `learn` returns the noise after a hit, given the noise before, the hit's
    /// number, its squared distance divided by the variance, and the share of the slope in the variance.
    fn filter(
        config: &FitConfig,
        [tx, ty]: [f32; 2],
        noise: &mut f32,
        steps: impl Iterator<Item = [f32; 3]>,
        learn: impl Fn(f32, usize, [f32; 2]) -> f32,
    ) -> Self {
        let mut state =
            Self { x: 0.0, y: 0.0, tx, ty, xx_and_hit: 2.0, xt: 0.0, tt: config.weight, chi2: 0.0 };
        // A hit changes the noise from the second hit after it on.
        let mut known = *noise;
        for ([x, y, dz], number) in steps.zip(1..) {
            let old = state;
            let tt = old.tt + known;
            known = *noise;
            let before = dz.mul_add(old.xt, old.xx_and_hit);
            let xt = dz.mul_add(tt, old.xt);
            let inverse = 1.0 / dz.mul_add(xt, before);
            let (keep, gain) = (before * inverse, xt * inverse);
            let (dx, dy) = (x - old.x, y - old.y);
            let (rx, ry) = ((-dz).mul_add(old.tx, dx), (-dz).mul_add(old.ty, dy));
            let square = rx.mul_add(rx, ry * ry);
            state = Self {
                x: -(inverse * rx),
                y: -(inverse * ry),
                tx: gain.mul_add(dx, keep * old.tx),
                ty: gain.mul_add(dy, keep * old.ty),
                xx_and_hit: 2.0 - inverse,
                xt: gain,
                tt: (-old.xt).mul_add(old.xt, tt * old.xx_and_hit) * inverse,
                chi2: square.mul_add(inverse, old.chi2),
            };
            *noise = learn(*noise, number, [square * inverse, 1.0 - keep]);
        }
        state
    }

    /// Returns the state after scattering with the variance `noise`.
    fn scattered(self, noise: f32) -> Self {
        Self { tt: self.tt + noise, ..self }
    }

    /// Returns the line of the state, given its last hit and the slopes that its slopes are relative to.
    fn line(&self, hit: [f32; 3], slopes: [f32; 2]) -> ([f32; 3], [f32; 2]) {
        ([hit[0] + self.x, hit[1] + self.y, hit[2]], [slopes[0] + self.tx, slopes[1] + self.ty])
    }

    /// Moves the state, which is on the given line, to `z`, and appends it.
    fn append_to(
        self,
        config: &FitConfig,
        ([x, y, here], [tx, ty]): ([f32; 3], [f32; 2]),
        z: f32,
        states: &mut States,
    ) {
        let dz = z - here;
        let xt = dz.mul_add(self.tt, self.xt);
        let xx = dz.mul_add(self.xt + xt, self.xx_and_hit - 1.0);
        let (x, y) = (dz.mul_add(tx, x), dz.mul_add(ty, y));
        let variance = 1.0 / config.weight;
        let rounded_up = 1.0 + 1.0 / 1_048_576.0;
        let values = [x, y, z, tx, ty, xx * (variance * rounded_up), xt * variance, self.tt * variance];
        for (column, value) in states.columns_mut().into_iter().zip(values) {
            column.push(same_nan(value));
        }
    }
}

/// Replaces every NaN by the same NaN: sign and payload of a computed NaN depend on the machine.
fn same_nan(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

/// Returns z of the closest approach of a line to the beam line; for a line along the beam, z of its point.
fn closest_to_beam(config: &FitConfig, [x, y, z]: [f32; 3], [tx, ty]: [f32; 2]) -> f32 {
    let slope2 = tx.mul_add(tx, ty * ty);
    let along = tx.mul_add(config.beam_x - x, ty * (config.beam_y - y));
    z + if slope2 < 1e-12 { 0.0 } else { along / max(slope2, 1e-12) }
}

/// Fits a track and appends everything but its hits to `out`.
pub(super) fn fit(config: &FitConfig, hits: &[[f32; 3]], out: &mut VeloTracks) {
    let (top, bottom) = (hits[0], hits[hits.len() - 1]);
    let dz = bottom[2] - top[2];
    let slope = |i: usize| if dz.abs() < 1.0 { 0.0 } else { (bottom[i] - top[i]) / dz };
    let slopes = [slope(0), slope(1)];
    let slope2 = slopes[0].mul_add(slopes[0], slopes[1] * slopes[1]);
    let [constant, slope, steep] =
        [config.noise_constant, config.noise_slope, config.noise_steep].map(|noise| noise * config.weight);
    let mut noise = slope2.mul_add(slope2.sqrt().mul_add(steep, slope), constant);
    let backward = top[2] < closest_to_beam(config, top, slopes);

    // The hits after the third measure the scattering of the track.
    let learn = |noise: f32, before: usize, [square, share]: [f32; 2]| {
        if config.noise_gain <= 0.0 || before < 3 {
            return noise;
        }
        let [usual, largest] =
            [config.noise_chi2, config.noise_largest_chi2].map(|chi2| chi2 / config.weight);
        let gain = max(share, 0.0) * (config.noise_gain * config.weight);
        min(noise * gain.mul_add(min(square, largest) - usual, 1.0), config.weight)
    };
    // Slopes are relative to the line through the ends, unless it is too steep for a track.
    let (straight, first) = if slope2 < 0.25 { (slopes, [0.0; 2]) } else { ([0.0; 2], slopes) };
    let steps: Vec<[f32; 3]> = hits
        .windows(2)
        .map(|pair| {
            let [dx, dy, dz] = [0, 1, 2].map(|i| pair[1][i] - pair[0][i]);
            [(-dz).mul_add(straight[0], dx), (-dz).mul_add(straight[1], dy), dz]
        })
        .collect();
    let back = steps.iter().rev().map(|step| step.map(|value| -value));
    let down = State::filter(config, first, &mut noise, steps.iter().copied(), learn);
    let up = State::filter(config, first, &mut noise, back, learn);
    let (beam, last) = if backward { (up, top) } else { (down, bottom) };
    let (beam, line) = (beam.scattered(noise * config.noise_beam), beam.line(last, straight));
    beam.append_to(config, line, closest_to_beam(config, line.0, line.1), &mut out.beam);
    let end = up.scattered(noise * config.noise_end);
    end.append_to(config, up.line(top, straight), config.end_z, &mut out.end);
    out.chi2.push(same_nan(beam.chi2 * config.weight));
    out.backward.push(u8::from(backward));
}
