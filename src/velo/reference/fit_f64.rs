//! A textbook straight-line Kalman filter in f64. Tests require that states and chi2 of the fit in f32 agree with this
//! filter to a hundredth of their errors.
//!
//! In the model, a hit measures x and y with variance 1 / weight, and the slopes scatter between hits. The filter
//! starts with the slopes of the line through the first and the last hit, with a variance of 1.

use crate::velo::config::FitConfig;

/// A filtered line: position and slopes at `z`, the covariance in x, which equals the covariance in y, and chi2.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// x, mm.
    pub x: f64,
    /// y, mm.
    pub y: f64,
    /// z, mm.
    pub z: f64,
    /// dx/dz.
    pub tx: f64,
    /// dy/dz.
    pub ty: f64,
    /// Variance of x, mm^2.
    pub xx: f64,
    /// Covariance of x and tx, mm.
    pub xt: f64,
    /// Variance of tx.
    pub tt: f64,
    /// chi2 of both projections.
    pub chi2: f64,
    /// Contributions of the hits' errors to `xx`, `xt` and `tt`; the rest is from scattering and the filter's start.
    pub of_hits: [f64; 3],
}

impl Line {
    /// Returns the line extrapolated to another z, without scattering on the way.
    pub fn at(self, z: f64) -> Self {
        let dz = z - self.z;
        Self {
            x: self.x + dz * self.tx,
            y: self.y + dz * self.ty,
            z,
            xx: self.xx + 2.0 * dz * self.xt + dz * dz * self.tt,
            xt: self.xt + dz * self.tt,
            of_hits: [
                self.of_hits[0] + 2.0 * dz * self.of_hits[1] + dz * dz * self.of_hits[2],
                self.of_hits[1] + dz * self.of_hits[2],
                self.of_hits[2],
            ],
            ..self
        }
    }

    /// Returns the line after scattering with the variance `noise`, rad^2.
    pub fn scattered(self, noise: f64) -> Self {
        Self { tt: self.tt + noise, ..self }
    }

    /// Returns z of the closest approach to the beam line, or `self.z` if the line is parallel to the beam.
    pub fn closest_to_beam(self, config: &FitConfig) -> f64 {
        let (x, y) = (f64::from(config.beam_x) - self.x, f64::from(config.beam_y) - self.y);
        let slope2 = self.tx * self.tx + self.ty * self.ty;
        if slope2 < 1e-12 { self.z } else { self.z + (self.tx * x + self.ty * y) / slope2 }
    }

    /// Returns the line after a hit.
    fn updated(self, variance: f64, [x, y, z]: [f64; 3]) -> Self {
        let at = self.at(z);
        let (gain_x, gain_t) = (at.xx / (at.xx + variance), at.xt / (at.xx + variance));
        let (rx, ry) = (x - at.x, y - at.y);
        // (1 - K H) C (1 - K H)^T + K V K^T with the covariance C due to the hits alone.
        let [hit_xx, hit_xt, hit_tt] = at.of_hits;
        let left = hit_xt - gain_t * hit_xx;
        let of_hits = [
            (1.0 - gain_x).powi(2) * hit_xx + gain_x * gain_x * variance,
            (1.0 - gain_x) * left + gain_x * gain_t * variance,
            hit_tt - 2.0 * gain_t * hit_xt + gain_t * gain_t * (hit_xx + variance),
        ];
        Self {
            x: at.x + gain_x * rx,
            y: at.y + gain_x * ry,
            z,
            tx: at.tx + gain_t * rx,
            ty: at.ty + gain_t * ry,
            xx: at.xx - gain_x * at.xx,
            xt: at.xt - gain_x * at.xt,
            tt: at.tt - gain_t * at.xt,
            chi2: at.chi2 + (rx * rx + ry * ry) / (at.xx + variance),
            of_hits,
        }
    }

    /// Returns the chi2 that a hit would have, and the share of the slope in the variance of its distance.
    fn surprise(self, variance: f64, [x, y, z]: [f64; 3]) -> (f64, f64) {
        let (at, dz) = (self.at(z), z - self.z);
        let total = at.xx + variance;
        let chi2 = ((x - at.x).powi(2) + (y - at.y).powi(2)) / total;
        (chi2, dz * (self.xt + dz * self.tt) / total)
    }
}

/// Results of the two filters of a track, which run in opposite directions.
#[derive(Debug, Clone, Copy)]
pub struct Filtered {
    /// Result of the filter from the first hit to the last.
    pub down: Line,
    /// Result of the filter from the last hit to the first.
    pub up: Line,
    /// Variance of the scattering angle per module, as adapted at the end of the filter `up`, rad^2.
    pub noise: f64,
}

/// Runs a filter from the first hit to the last, and a filter from the last hit to the first. Each result is the line
/// at the filter's last hit, before scattering there.
///
/// # Panics
/// Panics if `hits` is empty.
pub fn fit_f64(config: &FitConfig, hits: &[[f32; 3]]) -> Filtered {
    let hits: Vec<_> = hits.iter().map(|hit| hit.map(f64::from)).collect();
    let (top, bottom) = (hits[0], hits[hits.len() - 1]);
    let dz = bottom[2] - top[2];
    // Ends less than a millimetre apart do not measure slopes.
    let slope = |axis: usize| if dz.abs() < 1.0 { 0.0 } else { (bottom[axis] - top[axis]) / dz };
    let (tx, ty) = (slope(0), slope(1));
    let variance = 1.0 / f64::from(config.weight);
    let [constant, slope, steep] =
        [config.noise_constant, config.noise_slope, config.noise_steep].map(f64::from);
    let slope2 = tx * tx + ty * ty;
    let mut noise = constant + slope * slope2 + steep * slope2.powf(1.5);
    let of_hits = [variance, 0.0, 0.0];
    let start =
        |[x, y, z]: [f64; 3]| Line { x, y, z, tx, ty, xx: variance, xt: 0.0, tt: 1.0, chi2: 0.0, of_hits };
    let mut follow = |line: Line, hits: &mut dyn Iterator<Item = &[f64; 3]>| {
        // A hit changes the noise from the second hit after it on.
        let mut known = noise;
        hits.skip(1).zip(1..).fold(line, |line, (hit, number)| {
            let before = line.scattered(known);
            known = noise;
            if number >= 3 {
                let (chi2, share) = before.surprise(variance, *hit);
                let off = chi2.min(f64::from(config.noise_largest_chi2)) - f64::from(config.noise_chi2);
                noise = (noise * (1.0 + f64::from(config.noise_gain) * share.max(0.0) * off)).min(1.0);
            }
            before.updated(variance, *hit)
        })
    };
    let down = follow(start(top), &mut hits.iter());
    let up = follow(start(bottom), &mut hits.iter().rev());
    Filtered { down, up, noise }
}
