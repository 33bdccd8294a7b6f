//! Parameters of the preset `fast`.

use serde::{Deserialize, Serialize};

/// Largest number of hits in an event: indices in a pair of modules have 16 bits.
pub(in crate::velo) const MOST_HITS: u32 = 60_000;

/// Parameters of the preset `fast`. The chi2 of a hit is defined in [`BestConfig`](super::BestConfig). The values are
/// tuned on every second event (the even lines) of the public 200-event sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// Resolution of a hit in x and in y, mm (12.5 um, weight 6400 / mm^2).
    pub hit_resolution: f32,
    /// Constant term in the variance of the scattering angle in one pair of modules, rad^2.
    pub scatter_constant: f32,
    /// Coefficient of tx^2 + ty^2 in the variance of the scattering angle, rad^2.
    pub scatter_slope: f32,
    /// Largest chi2 of a triplet of the first pass, whose windows are two of 512 phi bins (no unit).
    pub score: f32,
    /// Largest chi2 of a track of three hits in the first pass (no unit).
    pub weak_score: f32,
    /// Half width in phi of the second pass's window for a triplet's outer hit, in 1/256 turn, 0..=16.
    pub second_window: f32,
    /// Largest distance between the line of a doublet and the beam line in the second pass, mm.
    pub second_doublet_doca: f32,
    /// Largest score of a triplet in the second pass: chi2 plus a weight times the distance of closest approach to the
    /// beam line (no unit).
    pub second_score: f32,
    /// Weight of the distance of closest approach in `second_score`, 1/mm.
    pub second_doca_weight: f32,
    /// Largest score of a track of three hits in the second pass (no unit).
    pub second_weak_score: f32,
    /// Two tracks, one of which begins beyond the end of the other, are joined if the sum of the chi2 of each track's
    /// end hit with the other's line is below this. If 0, no tracks are joined, even if they share a hit (no unit).
    pub join_chi2: f32,
    /// Largest number of pairs of modules between the ends of joined tracks (no unit).
    pub join_pairs: u32,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            hit_resolution: 0.0125,
            scatter_constant: 1e-7,
            scatter_slope: 2e-5,
            score: 17.0,
            weak_score: 4.0,
            second_window: 8.0,
            second_doublet_doca: 30.0,
            second_score: 40.0,
            second_doca_weight: 0.5,
            second_weak_score: 15.0,
            join_chi2: 80.0,
            join_pairs: 3,
        }
    }
}
