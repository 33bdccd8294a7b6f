//! Adds differences between simulated and real pairs to the inputs of the networks, drawn anew each time that weights
//! are fitted to a pair: larger residuals, larger chi2, missing UT hits.

use super::sample::Widening;
use peloton::long::reference::{INPUTS_PAIR, INPUTS_UT};

/// Number of residuals among the inputs, and indices of some other inputs.
const RESIDUALS: usize = 3;
const SCIFI_Y: usize = 6;
const LN_VELO_CHI2: usize = 9;
const UT: usize = INPUTS_PAIR;
/// Residuals are multiplied by e to the power of a normal number with this width. Then a normal number with the width
/// `SHIFT` is added, in units of the effect of scattering. Distances in the UT get a factor in the same way. The widths
/// come from the study that docs/algorithms.md names; they were not tuned.
const FACTOR: f64 = 0.5;
const SHIFT: f64 = 0.6;
/// Share of pairs that lose one of three or four hits in the UT: real tracks have three hits more often.
const MISSED: f64 = 0.08;
/// Value in place of the distance in the UT if a hit is missing.
const NOT_ALL: f32 = 9.0;

/// Generator of random changes of the inputs of pairs.
pub struct Noise(Widening);

impl Noise {
    pub fn new() -> Self {
        Self(Widening::new())
    }

    /// Changes the inputs of one pair; the number of inputs shows for which network they are.
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

    /// Changes the number of hits, their distance, the distance over its scale, and this ratio for pairs that lack no hit.
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
