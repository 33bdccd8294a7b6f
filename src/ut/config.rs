//! All parameters of the way from Velo tracks into the UT, with their sources (docs/algorithms.md, "Velo-UT").

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// A ready configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UtPreset {
    /// The best physics that we know at a good speed.
    #[default]
    #[serde(rename = "best")]
    Best,
    /// Compass by its paper: hits by groups of sectors around the track's own, a number of doublets tried.
    #[serde(rename = "paper")]
    Paper,
    /// The cuts of LHCb's first trigger stage in 2023, those on the transverse momentum too.
    #[serde(rename = "hlt1")]
    Hlt1,
    /// The same with lower cuts on the transverse momentum.
    #[serde(rename = "hlt1-unrestricted")]
    Hlt1Unrestricted,
}

crate::names!(UtPreset, "preset of the UT", {
    Best => "best",
    Paper => "paper",
    Hlt1 => "hlt1",
    Hlt1Unrestricted => "hlt1-unrestricted",
});

/// Everything that can be set about the way from Velo tracks into the UT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UtConfig {
    /// The preset that the values are based on (no unit).
    pub preset: UtPreset,
    /// Groups of sectors in which hits are looked for: 1, 3 or 5 around the track's own, or 0 for wherever the window
    /// reaches (no unit).
    pub sectors: u32,
    /// Doublets of hits that are tried for a track (no unit).
    pub candidates: u32,
    /// Windows are as wide as particles of this momentum bend, MeV.
    pub min_momentum: f32,
    /// Windows are as wide as particles of this transverse momentum bend, MeV.
    pub min_pt: f32,
    /// How far above or below its strip a track may pass, mm.
    pub y_tolerance: f32,
    /// The same, per mm that it is bent (no unit).
    pub y_tolerance_slope: f32,
    /// Largest angle between a doublet and the Velo track (no unit).
    pub slope_tolerance: f32,
    /// Largest distance of a third and a fourth hit from the doublet's line, mm.
    pub hit_tolerance: f32,
    /// Error of the Velo track's slope in the first fit (no unit).
    pub velo_slope_error: f32,
    /// Tracks of smaller momentum are dropped, MeV.
    pub final_momentum: f32,
    /// Tracks of smaller transverse momentum are dropped, MeV.
    pub final_pt: f32,
    /// Tracks with a smaller discriminant are dropped (no unit).
    pub discriminant: f32,
}

impl Default for UtConfig {
    fn default() -> Self {
        Self::preset(UtPreset::default())
    }
}

impl UtConfig {
    /// The parameters of a preset.
    pub fn preset(preset: UtPreset) -> Self {
        let paper = Self {
            preset,
            sectors: 5,
            candidates: 8,
            min_momentum: 1500.0,
            min_pt: 300.0,
            y_tolerance: 0.5,
            y_tolerance_slope: 0.08,
            slope_tolerance: 0.018,
            hit_tolerance: 0.8,
            velo_slope_error: 1e-4,
            final_momentum: 2500.0,
            final_pt: 425.0,
            discriminant: -0.5,
        };
        let hlt1 = Self {
            sectors: 0,
            candidates: 6,
            min_momentum: 1250.0,
            min_pt: 275.0,
            final_momentum: 1500.0,
            final_pt: 400.0,
            ..paper
        };
        match preset {
            UtPreset::Paper => paper,
            UtPreset::Hlt1 => hlt1,
            UtPreset::Hlt1Unrestricted => Self { min_pt: 200.0, final_pt: 250.0, ..hlt1 },
            UtPreset::Best => Self { min_pt: 200.0, final_pt: 250.0, candidates: 64, ..hlt1 },
        }
    }

    /// Checks all values.
    ///
    /// # Errors
    /// [`Error::Config`] says which value cannot be used, and why.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::Config(message));
        if ![0, 1, 3, 5].contains(&self.sectors) {
            return wrong(format!("ut.sectors = {}: 1, 3 or 5, or 0 for all", self.sectors));
        }
        if !(1..=MAX_CANDIDATES).contains(&self.candidates) {
            return wrong(format!("ut.candidates = {}: 1 to {MAX_CANDIDATES}", self.candidates));
        }
        for (name, value) in [
            ("min_momentum", self.min_momentum),
            ("min_pt", self.min_pt),
            ("slope_tolerance", self.slope_tolerance),
            ("hit_tolerance", self.hit_tolerance),
            ("velo_slope_error", self.velo_slope_error),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return wrong(format!("ut.{name} = {value}: must be positive and finite"));
            }
        }
        for (name, value) in [
            ("y_tolerance", self.y_tolerance),
            ("y_tolerance_slope", self.y_tolerance_slope),
            ("final_momentum", self.final_momentum),
            ("final_pt", self.final_pt),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(format!("ut.{name} = {value}: must be finite and not negative"));
            }
        }
        if self.discriminant.is_nan() {
            return wrong("ut.discriminant is no number".into());
        }
        Ok(())
    }
}

/// Doublets tried for a track at most: those of full windows, from both ends.
const MAX_CANDIDATES: u32 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_absurd_values_are_refused() {
        for preset in UtPreset::ALL {
            UtConfig::preset(preset).validate().unwrap();
        }
        let base = UtConfig::default;
        for wrong in [
            UtConfig { sectors: 2, ..base() },
            UtConfig { candidates: 0, ..base() },
            UtConfig { candidates: 513, ..base() },
            UtConfig { min_pt: 0.0, ..base() },
            UtConfig { min_momentum: f32::INFINITY, ..base() },
            UtConfig { y_tolerance: -1.0, ..base() },
            UtConfig { discriminant: f32::NAN, ..base() },
        ] {
            let error = wrong.validate().unwrap_err().to_string();
            assert!(error.contains("ut."), "{error}");
        }
    }
}
