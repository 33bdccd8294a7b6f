//! Scores of triplets and of tracks of three hits, in f32 as in the searches ([`Scores::in_f32`]) and in f64 by
//! textbook formulas ([`Scores::in_f64`]), to test the effect of single precision.

use super::modules::{Hit, chi2};
use super::{find, forwarding, paper};
use crate::velo::config::{BestConfig, PassConfig};

/// Scores of three hits: outer, middle and inner.
#[derive(Debug, Clone, Copy)]
pub struct Scores {
    /// Score in the preset `best`: chi2 of the inner hit plus a weight times the distance to the beam (no unit).
    pub triplet: f64,
    /// Scores in `paper` and in `forwarding`: squared distance of the inner hit from the line through the others, mm^2.
    pub scatter: [f64; 2],
    /// Score of tracks in `paper` and `forwarding`: chi2 per degree of freedom of the least-squares line (no unit).
    pub chi2: f64,
    /// Score of triplets in the preset `paper-literal`: chi2 per degree of freedom (no unit).
    pub seed_chi2: f64,
}

/// Parameters of the scores of three hits.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// Parameters of the preset `best`.
    pub best: &'a BestConfig,
    /// Parameters of a pass of the preset `best`.
    pub pass: &'a PassConfig,
    /// Weight of the distance to the beam in the score, 1/mm.
    pub doca_weight: f32,
    /// Weight of a hit in the chi2, 1/mm^2.
    pub weight: f32,
}

impl Scores {
    /// Returns the scores in f32, computed as in the searches.
    pub fn in_f32(judge: &Judge<'_>, hits: [[f32; 3]; 3]) -> Self {
        let [a, b, c] = hits.map(|[x, y, z]| Hit { key: 0.0, x, y, z, source: 0, used: false });
        let triplet = find::triplet_score(judge.best, judge.pass, judge.doca_weight, hits);
        Self {
            triplet: triplet.into(),
            scatter: [paper::scatter(a, b, c), forwarding::scatter(a, b, c)].map(f64::from),
            chi2: chi2(&[a, b, c], judge.weight).into(),
            seed_chi2: f64::from(judge.weight * paper::residuals(a, b, c) / 2.0),
        }
    }

    /// Returns the scores in f64, computed by textbook formulas.
    pub fn in_f64(judge: &Judge<'_>, hits: [[f32; 3]; 3]) -> Self {
        let hits = hits.map(|hit| hit.map(f64::from));
        let [outer, middle, inner] = hits;
        // The line through the first two hits extrapolates to (1 + r) times the second hit minus r times the first.
        let r = (inner[2] - middle[2]) / (middle[2] - outer[2]);
        let off = [0, 1].map(|i| (1.0 + r) * middle[i] - r * outer[i] - inner[i]);
        let scatter = off[0] * off[0] + off[1] * off[1];
        let slope = |i: usize| (middle[i] - outer[i]) / (middle[2] - outer[2]);
        let slope2 = slope(0).powi(2) + slope(1).powi(2);
        let [resolution, constant] = [judge.best.hit_resolution, judge.best.scatter_constant].map(f64::from);
        let angle = constant + f64::from(judge.pass.scatter_slope) * slope2;
        let variance =
            resolution.powi(2) * (1.0 + (1.0 + r).powi(2) + r * r) + angle * (inner[2] - middle[2]).powi(2);
        let chi2 = f64::from(judge.weight) * [0, 1].map(|i| line_chi2(hits, i)).iter().sum::<f64>() / 2.0;
        Self {
            triplet: scatter / variance + f64::from(judge.doca_weight) * distance_to_beam(outer, inner),
            scatter: [scatter; 2],
            chi2,
            seed_chi2: chi2,
        }
    }
}

/// Returns the distance of the line through two points from the z axis, mm. The squared slope is increased by 1e-9, as
/// in the searches.
fn distance_to_beam(a: [f64; 3], b: [f64; 3]) -> f64 {
    let [x, y] = [0, 1].map(|i| b[i] - a[i]);
    let across2 = x * x + y * y + 1e-9 * (b[2] - a[2]).powi(2);
    (a[0] * y - a[1] * x).abs() / across2.sqrt()
}

/// Returns the sum of squared distances from the least-squares line in x (0) or y (1), by the normal equations.
fn line_chi2(hits: [[f64; 3]; 3], i: usize) -> f64 {
    let middle = |axis: usize| hits.iter().map(|hit| hit[axis]).sum::<f64>() / 3.0;
    let (at, z) = (middle(i), middle(2));
    let sum = |term: &dyn Fn(&[f64; 3]) -> f64| hits.iter().map(term).sum::<f64>();
    let slope = sum(&|hit| (hit[2] - z) * (hit[i] - at)) / sum(&|hit| (hit[2] - z).powi(2));
    sum(&|hit| (hit[i] - at - slope * (hit[2] - z)).powi(2))
}
