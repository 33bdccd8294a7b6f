//! Parameters of the preset `paper`.

use serde::{Deserialize, Serialize};

/// Parameters of the preset `paper`. The paper prints none; these are those of the public code of its time, LHCb's
/// Allen of 2019 (`docs/algorithms.md`, "Velo: preset `paper`").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaperConfig {
    /// Half width of the phi window of a triplet's outer hits around its middle hit, at z = 0, rad.
    pub seed_window: f32,
    /// Its growth with |z| of the middle hit, rad/mm.
    pub seed_window_slope: f32,
    /// Largest squared distance of a triplet's last hit from the line of the first two, mm^2.
    pub seed_scatter: f32,
    /// Half width of the phi window of forwarding around the extrapolated track, rad.
    pub forward_window: f32,
    /// Largest squared distance of a hit from the extrapolated track, mm^2.
    pub forward_scatter: f32,
    /// Pairs in a row a track may miss (no unit).
    pub skipped_pairs: u32,
    /// Largest chi2 per degree of freedom of a track that ends with three hits (no unit).
    pub weak_chi2: f32,
    /// Weight of a hit in that chi2, 1/mm^2: 12 / (55 um)^2, the variance of a flat distribution over a pixel.
    pub weak_weight: f32,
}

impl Default for PaperConfig {
    fn default() -> Self {
        Self {
            seed_window: 0.03,
            seed_window_slope: 0.0002,
            seed_scatter: 0.1,
            forward_window: 0.052,
            forward_scatter: 0.1,
            skipped_pairs: 1,
            weak_chi2: 20.0,
            weak_weight: 3966.94,
        }
    }
}
