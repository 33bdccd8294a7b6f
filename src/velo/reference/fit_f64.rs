//! The textbook's straight-line Kalman filter, in f64: what the fit's states and chi2 must be to a hundredth of their errors.
//!
//! The same model as everywhere: a hit measures x and y with variance 1 / weight; between hits the slopes scatter; they
//! start with those of the line through the first and the last hit, and a variance of 1.

use crate::velo::config::FitConfig;

/// A filtered line: position and slopes at `z`, the covariance of one projection, chi2.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// mm.
    pub x: f64,
    /// mm.
    pub y: f64,
    /// mm.
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
    /// Of both projections.
    pub chi2: f64,
}

impl Line {
    /// The line at another z; nothing scatters on the way.
    pub fn at(self, z: f64) -> Self {
        let dz = z - self.z;
        Self {
            x: self.x + dz * self.tx,
            y: self.y + dz * self.ty,
            z,
            xx: self.xx + 2.0 * dz * self.xt + dz * dz * self.tt,
            xt: self.xt + dz * self.tt,
            ..self
        }
    }

    /// The line behind something that scatters it by so much, rad^2.
    pub fn scattered(self, noise: f64) -> Self {
        Self { tt: self.tt + noise, ..self }
    }

    /// z of the closest approach to the beam line; the line's own when it does not tend there.
    pub fn closest_to_beam(self, config: &FitConfig) -> f64 {
        let (x, y) = (f64::from(config.beam_x) - self.x, f64::from(config.beam_y) - self.y);
        let slope2 = self.tx * self.tx + self.ty * self.ty;
        if slope2 < 1e-12 { self.z } else { self.z + (self.tx * x + self.ty * y) / slope2 }
    }

    /// Takes in a hit.
    fn updated(self, variance: f64, [x, y, z]: [f64; 3]) -> Self {
        let at = self.at(z);
        let (gain_x, gain_t) = (at.xx / (at.xx + variance), at.xt / (at.xx + variance));
        let (rx, ry) = (x - at.x, y - at.y);
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
        }
    }
}

/// What the filters say of a track.
#[derive(Debug, Clone, Copy)]
pub struct Filtered {
    /// From the first hit to the last one.
    pub down: Line,
    /// From the last hit to the first one.
    pub up: Line,
    /// Variance of the scattering angle in a module, rad^2.
    pub noise: f64,
}

/// The filters from the first hit to the last one, and from the last to the first; both end on a hit, before whatever
/// scatters there.
///
/// # Panics
/// When there is no hit.
pub fn fit_f64(config: &FitConfig, hits: &[[f32; 3]]) -> Filtered {
    let hits: Vec<_> = hits.iter().map(|hit| hit.map(f64::from)).collect();
    let (top, bottom) = (hits[0], hits[hits.len() - 1]);
    let dz = bottom[2] - top[2];
    // Ends less than a millimetre apart say nothing of slopes.
    let slope = |axis: usize| if dz.abs() < 1.0 { 0.0 } else { (bottom[axis] - top[axis]) / dz };
    let (tx, ty) = (slope(0), slope(1));
    let variance = 1.0 / f64::from(config.weight);
    let noise = f64::from(config.noise_constant) + f64::from(config.noise_slope) * (tx * tx + ty * ty);
    let start = |[x, y, z]: [f64; 3]| Line { x, y, z, tx, ty, xx: variance, xt: 0.0, tt: 1.0, chi2: 0.0 };
    let take = |line: Line, hit: &[f64; 3]| line.scattered(noise).updated(variance, *hit);
    Filtered {
        down: hits[1..].iter().fold(start(top), take),
        up: hits.iter().rev().skip(1).fold(start(bottom), take),
        noise,
    }
}
