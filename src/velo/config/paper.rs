//! Parameters of the presets `paper` and `paper-literal`.

use serde::{Deserialize, Serialize};

/// Parameters of the presets `paper` and `paper-literal`. The paper prints no values; the defaults come from LHCb's
/// public code of 2019, Allen (`docs/algorithms.md`, "Velo: preset `paper`"). Allen also judges hits differently from
/// the paper: `seed_by_fit` and `forward_by_angle` select the paper's criteria ([`PaperConfig::literal`] sets both).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaperConfig {
    /// Half width of the phi window of a triplet's outer hits around its middle hit, at z = 0, rad.
    pub seed_window: f32,
    /// Growth of `seed_window` with |z| of the middle hit, rad/mm.
    pub seed_window_slope: f32,
    /// Largest squared distance of a triplet's last hit from the line through the first two, mm^2.
    pub seed_scatter: f32,
    /// Whether a triplet is judged by the chi2 of the least-squares line through its hits, as in the paper, instead of
    /// the distance in `seed_scatter` (no unit).
    pub seed_by_fit: bool,
    /// Largest chi2 per degree of freedom of a triplet if `seed_by_fit` is set; hits have the weight `weak_weight` (no
    /// unit).
    pub seed_chi2: f32,
    /// Half width of the phi window of forwarding around the extrapolated track, rad.
    pub forward_window: f32,
    /// Largest squared distance of a hit from the extrapolated track, mm^2.
    pub forward_scatter: f32,
    /// Whether forwarding judges a hit by its squared distance from the extrapolated track divided by dz^2, as in the
    /// paper, instead of by `forward_scatter`; dz is the distance in z from the track's last hit (no unit).
    pub forward_by_angle: bool,
    /// Largest (dx^2 + dy^2) / dz^2 of a hit if `forward_by_angle` is set (no unit).
    pub forward_angle2: f32,
    /// Largest number of consecutive pairs of modules that a track may miss (no unit).
    pub skipped_pairs: u32,
    /// Largest chi2 per degree of freedom of a track of three hits (no unit).
    pub weak_chi2: f32,
    /// Weight of a hit in `weak_chi2`, 1/mm^2: 12 / (55 um)^2, from the variance of a flat distribution over a pixel.
    pub weak_weight: f32,
}

impl Default for PaperConfig {
    fn default() -> Self {
        Self {
            seed_window: 0.03,
            seed_window_slope: 0.0002,
            seed_scatter: 0.1,
            seed_by_fit: false,
            seed_chi2: 16.0,
            forward_window: 0.052,
            forward_scatter: 0.1,
            forward_by_angle: false,
            forward_angle2: 4e-5,
            skipped_pairs: 1,
            weak_chi2: 20.0,
            weak_weight: 3966.94,
        }
    }
}

impl PaperConfig {
    /// Returns parameters that judge hits as in the paper.
    pub fn literal() -> Self {
        Self { seed_by_fit: true, forward_by_angle: true, ..Self::default() }
    }

    /// Returns the largest sum of squared residuals of a triplet's least-squares line in both projections, mm^2.
    pub(in crate::velo) fn seed_residuals(&self) -> f32 {
        const DEGREES_OF_FREEDOM: f32 = 2.0;
        self.seed_chi2 * DEGREES_OF_FREEDOM / self.weak_weight
    }
}
