//! Differences between simulated and real pairs, drawn again each time that weights are fitted to a pair: larger
//! residuals, larger chi2, missing hits in the UT.

use super::sample::Widening;
use peloton::long::reference::{INPUTS_PAIR, INPUTS_UT};

/// Residuals among the inputs, and where some others are.
const RESIDUALS: usize = 3;
const SCIFI_Y: usize = 6;
const LN_VELO_CHI2: usize = 9;
const UT: usize = INPUTS_PAIR;
/// Residuals are multiplied with e to a normal number of this width, and one of the other width, in units of what scattering makes of
/// them, is added; distances in the UT are multiplied alike. The level is that of the study that docs/algorithms.md
/// names; it was not tuned.
const FACTOR: f64 = 0.5;
const SHIFT: f64 = 0.6;
/// Share of pairs that lose one of three or four hits in the UT: real tracks have more often three.
const MISSED: f64 = 0.08;
/// What stands in place of the distance in the UT where a hit is missing.
const NOT_ALL: f32 = 9.0;

/// Changes the inputs of pairs.
pub struct Noise(Widening);

impl Noise {
    pub fn new() -> Self {
        Self(Widening::new())
    }

    /// Changes the inputs of one pair, for the first network or for either second one.
    pub fn add(&mut self, inputs: &mut [f32]) {
        for residual in &mut inputs[..RESIDUALS] {
            let factor = self.factor();
            *residual = (f64::from(*residual) * factor + SHIFT * self.0.normal()) as f32;
        }
        let [of_velo, of_scifi] = [self.0.factor(), self.0.factor()].map(f64::sqrt);
        inputs[SCIFI_Y] = (f64::from(inputs[SCIFI_Y]) * of_scifi) as f32;
        let velo = libm::expm1(f64::from(inputs[LN_VELO_CHI2]));
        inputs[LN_VELO_CHI2] = libm::log1p(velo * of_velo) as f32;
        if inputs.len() == INPUTS_UT {
            self.change_ut(&mut inputs[UT..]);
        }
    }

    fn factor(&mut self) -> f64 {
        libm::exp(FACTOR * self.0.normal())
    }

    /// Changes how many hits there are, their distance, that over its scale, and the same where none is missing.
    fn change_ut(&mut self, of_ut: &mut [f32]) {
        let [hits, distance, part, of_all] = of_ut else { return };
        let factor = self.factor() as f32;
        (*distance, *part) = (*distance * factor, *part * factor);
        if self.0.even() < MISSED && *hits > 2.5 {
            *hits -= 1.0;
        }
        *of_all = if *hits < 3.5 { NOT_ALL } else { *part };
    }
}
