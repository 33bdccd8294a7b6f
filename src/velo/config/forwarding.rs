//! Parameters of the preset `forwarding`.

use serde::{Deserialize, Serialize};

/// Parameters of the preset `forwarding` (`docs/algorithms.md`, "Velo: preset `forwarding`"). The paper prints only the
/// number of modules that may be missed. `slope` comes from the authors' public code of 2018; the other values are the
/// defaults of [`PaperConfig`](super::PaperConfig).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardingConfig {
    /// Largest |dx/dz| and |dy/dz| of the line through the first two hits of a track (no unit).
    pub slope: f32,
    /// Largest squared distance of a hit from the extrapolated track, mm^2.
    pub scatter: f32,
    /// Largest number of consecutive modules of one side that a track may miss (no unit).
    pub skipped_modules: u32,
    /// Largest chi2 per degree of freedom of a track of three hits (no unit).
    pub weak_chi2: f32,
    /// Weight of a hit in `weak_chi2`, 1/mm^2: 12 / (55 um)^2, from the variance of a flat distribution over a pixel.
    pub weak_weight: f32,
}

impl Default for ForwardingConfig {
    fn default() -> Self {
        Self { slope: 0.4, scatter: 0.1, skipped_modules: 1, weak_chi2: 20.0, weak_weight: 3966.94 }
    }
}
