//! Parameters and presets of the search for UT hits of Velo tracks; sources are in docs/algorithms.md, "Velo-UT".

use super::find::tracklets::Cuts;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Preset: a named set of parameters for the search for UT hits of Velo tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UtPreset {
    /// The search by pairs, for transverse momenta above 0.1 GeV/c: finds most particles, with few ghosts.
    #[default]
    #[serde(rename = "best")]
    Best,
    /// The search by pairs, for transverse momenta above 0.25 GeV/c: faster, finds most particles above 5 GeV/c.
    #[serde(rename = "fast")]
    Fast,
    /// Compass UT as in its paper: searches groups of sectors around the track, with a limited number of doublets.
    #[serde(rename = "paper")]
    Paper,
    /// The search of Compass UT with the cuts of LHCb's first trigger stage in 2023, also on the transverse momentum.
    #[serde(rename = "hlt1")]
    Hlt1,
    /// The preset `hlt1` with lower cuts on the transverse momentum.
    #[serde(rename = "hlt1-unrestricted")]
    Hlt1Unrestricted,
}

crate::names!(UtPreset, "preset of the UT", {
    Best => "best",
    Fast => "fast",
    Paper => "paper",
    Hlt1 => "hlt1",
    Hlt1Unrestricted => "hlt1-unrestricted",
});

/// Method that chooses the best tracklet (hits of several planes) of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UtChoice {
    /// Tracklets are compared by a first fit, in which the magnet bends the track at one z: a later tracklet replaces
    /// an earlier one if it has no fewer hits and a smaller chi2. Tracks with a small discriminant are dropped.
    Kick,
    /// The fit of `kick` with the rules of Compass's paper: four hits are better than three at any chi2, only doublets
    /// with a third hit are candidates, and planes 3 and 1 are searched only if planes 0 and 2 give no candidate.
    Compass,
    /// Tracklets are compared by the line through their hits: by its distance from the Velo track, its chi2, its
    /// momentum and its number of hits. All pairs of hits that the cuts on momentum allow are tried (`find/pairs`).
    Line,
}

/// Parameters of the choice `line`. The cost of a tracklet is chi2 minus gains for a fourth hit and for momentum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LineConfig {
    /// Distance in z from the kink, where the line through a track's hits meets the Velo track, to the middle of the
    /// UT: constant, coefficient of |ty| and coefficient of ty^2, mm.
    pub kink: [f32; 3],
    /// Error of the Velo track's x at the kink: constant, mm, and coefficient of 1/p, mm GeV; added in quadrature.
    pub kink_error: [f32; 2],
    /// Error of the Velo track's y in the UT: constant, mm, and coefficient of 1/p, mm GeV; added in quadrature.
    pub offset_error: [f32; 2],
    /// Amount by which a fourth hit lowers the cost of a tracklet (no unit).
    pub fourth_hit: f32,
    /// Amount by which the cost falls if the momentum grows by a factor of e (no unit).
    pub momentum: f32,
    /// Momentum above which the cost no longer falls with momentum, GeV.
    pub max_momentum: f32,
    /// Largest cost of a tracklet (no unit).
    pub max_cost: f32,
    /// Factor by which the angle between pair and Velo track may exceed the limit from the cuts on momentum (no unit).
    pub pair_margin: f32,
    /// Largest distance between a pair's line and the Velo track at the kink, in units of `kink_error` (no unit).
    pub pair_kink: f32,
    /// A track is dropped as a clone if fewer than this number of its hits are on no better track (no unit).
    pub own_hits: u32,
    /// Factor that corrects the fitted momentum: the true momentum divided by the fitted momentum (no unit).
    pub scale: f32,
}

impl LineConfig {
    /// Default of `kink`, mm.
    pub(super) const KINK: [f32; 3] = [650.0, 1000.0, -2000.0];
}

impl Default for LineConfig {
    fn default() -> Self {
        Self {
            kink: Self::KINK,
            // This value and the next four are from `cargo run --release --example choose -- ut`.
            kink_error: [0.175, 2.8],
            offset_error: [0.35, 4.9],
            fourth_hit: 30.0,
            momentum: 4.0,
            max_momentum: 20.0,
            // These three values were tuned with the search by pairs on `sim:lhcb`, seeds 4242 and 777, and checked on
            // the seven public events.
            max_cost: 2.0,
            pair_margin: 1.15,
            pair_kink: 5.0,
            own_hits: 2,
            scale: 1.05,
        }
    }
}

/// Parameters of the search for UT hits of Velo tracks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UtConfig {
    /// Preset that sets the defaults of the other parameters (no unit).
    pub preset: UtPreset,
    /// Number of groups of sectors to search in each plane: 1, 3 or 5 around the track, or 0 for all groups in the
    /// window; must be 0 for the choice `line` (no unit).
    pub sectors: u32,
    /// Largest number of doublets that are tried for a track; `compass` counts only doublets with a third hit. Must be
    /// 0 for the choice `line`, which tries all doublets (no unit).
    pub candidates: u32,
    /// Smallest momentum of particles whose bent tracks stay within the windows, MeV.
    pub min_momentum: f32,
    /// Smallest transverse momentum of particles whose bent tracks stay within the windows, MeV.
    pub min_pt: f32,
    /// Largest distance by which a track may pass above or below the strip of a hit, mm.
    pub y_tolerance: f32,
    /// Growth of `y_tolerance` per mm by which the magnet bends the track (no unit).
    pub y_tolerance_slope: f32,
    /// Largest absolute difference in dx/dz between a doublet and the Velo track (no unit).
    pub slope_tolerance: f32,
    /// Largest distance of a third or fourth hit from the line through a doublet, mm.
    pub hit_tolerance: f32,
    /// Error of the Velo track's slope in the first fit (no unit).
    pub velo_slope_error: f32,
    /// Smallest momentum of a track, MeV; tracks with smaller momenta are dropped.
    pub final_momentum: f32,
    /// Smallest transverse momentum of a track, MeV; tracks with smaller transverse momenta are dropped.
    pub final_pt: f32,
    /// Method that chooses among the tracklets of a track (no unit).
    pub choice: UtChoice,
    /// Smallest discriminant, a measure of quality, of a track with the choices `kick` and `compass` (no unit).
    pub discriminant: f32,
    /// Whether the choices `kick` and `compass` drop tracks that the magnet bends into the hole for the beam or out of
    /// the SciFi (no unit).
    pub fiducial: bool,
    /// Parameters of the choice `line` (no unit).
    pub line: LineConfig,
}

impl Default for UtConfig {
    fn default() -> Self {
        Self::preset(UtPreset::default())
    }
}

impl UtConfig {
    /// Returns the parameters of a preset.
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
            choice: UtChoice::Compass,
            discriminant: -0.5,
            // The paper has no such cut.
            fiducial: false,
            line: LineConfig::default(),
        };
        let hlt1 = Self {
            sectors: 0,
            candidates: 6,
            min_momentum: 1250.0,
            min_pt: 275.0,
            final_momentum: 1500.0,
            final_pt: 400.0,
            choice: UtChoice::Kick,
            fiducial: true,
            ..paper.clone()
        };
        match preset {
            UtPreset::Paper => paper,
            UtPreset::Hlt1 => hlt1,
            UtPreset::Hlt1Unrestricted => Self { min_pt: 200.0, final_pt: 250.0, ..hlt1 },
            UtPreset::Best => Self {
                candidates: 0,
                min_momentum: 2000.0,
                min_pt: 100.0,
                final_momentum: 2500.0,
                final_pt: 100.0,
                choice: UtChoice::Line,
                ..hlt1
            },
            UtPreset::Fast => Self {
                preset,
                min_pt: 250.0,
                final_pt: 250.0,
                line: LineConfig { max_cost: 4.0, ..LineConfig::default() },
                ..Self::preset(UtPreset::Best)
            },
        }
    }

    /// Returns whether the search needs hits sorted by cell, not by group of sectors.
    pub fn reads_cells(&self) -> bool {
        self.choice == UtChoice::Line
    }

    /// Returns the parameters of the steps in `tracklets`.
    #[inline(always)]
    pub(crate) fn cuts(&self) -> Cuts {
        Cuts {
            sectors: self.sectors,
            candidates: self.candidates,
            compass: u32::from(self.choice == UtChoice::Compass),
            min_momentum: self.min_momentum,
            min_pt: self.min_pt,
            y_tolerance: self.y_tolerance,
            y_tolerance_slope: self.y_tolerance_slope,
            slope_tolerance: self.slope_tolerance,
            hit_tolerance: self.hit_tolerance,
            velo_slope_error: self.velo_slope_error,
        }
    }

    /// Checks that all values are valid.
    ///
    /// # Errors
    /// Returns [`Error::Config`] with the first invalid value, and the reason.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::Config(message));
        if self.reads_cells() {
            for (name, value) in [("sectors", self.sectors), ("candidates", self.candidates)] {
                if value != 0 {
                    let why = "the choice `line` (presets best and fast) tries all pairs of hits in a window";
                    return wrong(format!("ut.{name} = {value}: {why}, so it must be 0"));
                }
            }
        } else if !(1..=MAX_CANDIDATES).contains(&self.candidates) {
            return wrong(format!("ut.candidates = {}: must be 1 to {MAX_CANDIDATES}", self.candidates));
        }
        if ![0, 1, 3, 5].contains(&self.sectors) {
            return wrong(format!("ut.sectors = {}: must be 1, 3 or 5, or 0 for all", self.sectors));
        }
        for (name, value) in [
            ("min_momentum", self.min_momentum),
            ("min_pt", self.min_pt),
            ("slope_tolerance", self.slope_tolerance),
            ("hit_tolerance", self.hit_tolerance),
            ("velo_slope_error", self.velo_slope_error),
            ("line.kink_error[0]", self.line.kink_error[0]),
            ("line.offset_error[0]", self.line.offset_error[0]),
            ("line.max_momentum", self.line.max_momentum),
            ("line.scale", self.line.scale),
            ("line.pair_margin", self.line.pair_margin),
            ("line.pair_kink", self.line.pair_kink),
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
            ("line.kink_error[1]", self.line.kink_error[1]),
            ("line.offset_error[1]", self.line.offset_error[1]),
            ("line.fourth_hit", self.line.fourth_hit),
            ("line.momentum", self.line.momentum),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(format!("ut.{name} = {value}: must be finite and not negative"));
            }
        }
        for (name, value) in [("discriminant", self.discriminant), ("line.max_cost", self.line.max_cost)] {
            if value.is_nan() {
                return wrong(format!("ut.{name} is no number"));
            }
        }
        if !self.line.kink.iter().all(|kink| kink.is_finite()) {
            return wrong(format!("ut.line.kink = {:?}: must be finite", self.line.kink));
        }
        Ok(())
    }
}

/// Largest number of doublets tried for a track: the doublets of full windows, from both ends.
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
            UtConfig { sectors: 1, ..base() },
            UtConfig { candidates: 64, ..base() },
            UtConfig { sectors: 2, ..UtConfig::preset(UtPreset::Hlt1) },
            UtConfig { candidates: 0, ..UtConfig::preset(UtPreset::Hlt1) },
            UtConfig { candidates: 513, ..UtConfig::preset(UtPreset::Hlt1) },
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
