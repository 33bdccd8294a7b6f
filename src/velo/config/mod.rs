//! Parameters of the Velo reconstruction, their defaults, and the sources of the defaults.

mod forwarding;
mod link;
mod paper;

use super::geometry::PAIRS;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

pub use forwarding::ForwardingConfig;
pub use link::LinkConfig;
pub(super) use link::MOST_HITS;
pub use paper::PaperConfig;

/// Preset: a named set of parameters for the Velo reconstruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// A search for triplets in two passes (`find`), which finds most particles, with few ghosts.
    #[default]
    Best,
    /// A search that links triplets of all hits (`link`): nearly the same particles as `best` in half the time.
    Fast,
    /// The search of `best` under a second name; GPUs run both presets.
    TwoPass,
    /// Search by triplet with the steps of its paper (IEEE 8778210), which searches the modules of each side in windows
    /// of phi, and with the constants of LHCb's public code of 2019.
    Paper,
    /// Search by triplet exactly as in the paper: the chi2 of a least-squares line judges triplets, (dx^2 + dy^2) /
    /// dz^2 judges hits of tracks, and tracks are fitted by least squares.
    PaperLiteral,
    /// The sequential track forwarding of section II.A of the paper on Search by triplet: the baseline.
    Forwarding,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 6] =
        [Self::Best, Self::Fast, Self::TwoPass, Self::Paper, Self::PaperLiteral, Self::Forwarding];
}

impl std::str::FromStr for Preset {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let unknown = || {
            let there = Self::ALL.map(|preset| preset.to_string()).join(", ");
            Error::Config(format!("no preset {name:?}; there are {there}"))
        };
        Self::ALL.into_iter().find(|preset| preset.to_string() == name).ok_or_else(unknown)
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Best => "best",
            Self::Fast => "fast",
            Self::TwoPass => "two-pass",
            Self::Paper => "paper",
            Self::PaperLiteral => "paper-literal",
            Self::Forwarding => "forwarding",
        })
    }
}

/// Parameters of the Velo reconstruction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VeloConfig {
    /// Preset, which selects the search algorithm (no unit).
    pub preset: Preset,
    /// Limits on the hits of an event and of a search window (no unit).
    pub limits: LimitConfig,
    /// Parameters of the presets `best` and `two-pass` (no unit).
    pub best: BestConfig,
    /// Parameters of the preset `fast` (no unit).
    pub link: LinkConfig,
    /// Parameters of the presets `paper` and `paper-literal` (no unit).
    pub paper: PaperConfig,
    /// Parameters of the preset `forwarding` (no unit).
    pub forwarding: ForwardingConfig,
    /// Parameters of the track fit (no unit).
    pub fit: FitConfig,
}

/// Limits: an event with too many hits is rejected; too full windows are truncated, and the dropped hits counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitConfig {
    /// Largest number of hits in one event; the busiest known real event has 5,738 (no unit).
    pub hits: u32,
    /// Largest number of hits in one module; real events have up to 288 hits in a module (no unit).
    pub hits_in_module: u32,
    /// Largest |x|, |y| and |z| of a hit, mm.
    pub coordinate: f32,
    /// Largest number of hits in one search window; further hits are counted as dropped (no unit).
    pub candidates_in_window: u32,
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self { hits: 20_000, hits_in_module: 2_000, coordinate: 1_000.0, candidates_in_window: 128 }
    }
}

/// Parameters of the preset `best`. A hit at distance d from an extrapolated line has chi2 = d^2 / (variance of a hit +
/// variance by scattering). Scattering grows with the slope, since tracks at large angles have lower momenta. The
/// values are tuned on every second event (the even lines) of the public 200-event sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BestConfig {
    /// Resolution of a hit in x and in y, mm (12.5 um, weight 6400 / mm^2).
    pub hit_resolution: f32,
    /// Constant term in the variance of the scattering angle in one pair of modules, rad^2.
    pub scatter_constant: f32,
    /// Coefficient of tx^2 + ty^2 in the variance of the scattering angle when a track is forwarded, rad^2.
    pub scatter_slope: f32,
    /// Largest chi2 of a hit that forwarding adds to a track (no unit).
    pub forward_chi2: f32,
    /// Smallest distance from the beam axis at which the line of a doublet may meet the next pair, mm. Sensors of a
    /// closed Velo begin at 5.1 mm; the margin allows for scattering.
    pub inner_radius: f32,
    /// Smallest distance from the beam axis at which a forwarded track may meet the next pair, mm.
    pub forward_inner_radius: f32,
    /// Largest distance of a doublet's line or a track from the beam axis at the next pair, mm; sensors end at 50.7 mm.
    pub outer_radius: f32,
    /// Two tracks, one of which begins in the pair after the end of the other, are joined if the sum of the chi2 of
    /// each track's end hit with the other's line is below this. If 0, no tracks are joined (no unit).
    pub join_chi2: f32,
    /// Largest number of consecutive pairs of modules that a track may miss (no unit).
    pub skipped_pairs: u32,
    /// Parameters of the first pass, with narrow windows over all hits (no unit).
    pub first: PassConfig,
    /// Parameters of the second pass over the remaining hits, with wide windows and triplets over a gap (no unit).
    pub second: PassConfig,
    /// A track is a clone when more than this share of its hits is on longer tracks (no unit).
    pub shared_hits: f32,
}

impl Default for BestConfig {
    fn default() -> Self {
        let first = PassConfig {
            window: 0.3,
            doublet_doca: 3.0,
            score: 17.0,
            scatter_slope: 2e-5,
            doca_weight: 0.7,
            weak_score: 4.0,
            gaps: false,
            gap_window: 0.0,
            gap_doublet_doca: 0.0,
            gap_score: 0.0,
            gap_doca_weight: 0.0,
        };
        let second = PassConfig {
            window: 12.0,
            doublet_doca: 30.0,
            score: 40.0,
            scatter_slope: 2e-5,
            doca_weight: 0.5,
            weak_score: 15.0,
            gaps: true,
            gap_window: 0.25,
            gap_doublet_doca: 1.15,
            gap_score: 8.0,
            gap_doca_weight: 7.0,
        };
        Self {
            hit_resolution: 0.0125,
            scatter_constant: 1e-7,
            scatter_slope: 2e-5,
            forward_chi2: 20.0,
            join_chi2: 50.0,
            inner_radius: 3.0,
            forward_inner_radius: 5.0,
            outer_radius: 50.7,
            skipped_pairs: 1,
            first,
            second,
            shared_hits: 0.7,
        }
    }
}

/// Parameters of one pass of the preset `best`. The score of a triplet is its chi2 plus a weight times its distance of
/// closest approach to the beam line; the smallest is best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassConfig {
    /// Half width in phi of the window for the outer hit of a triplet, in 1/256 turn, 0..=16.
    pub window: f32,
    /// Largest distance between the line of a doublet and the beam line, mm.
    pub doublet_doca: f32,
    /// Largest score of a triplet (no unit).
    pub score: f32,
    /// Coefficient of tx^2 + ty^2 in the variance of the scattering angle, rad^2.
    pub scatter_slope: f32,
    /// Weight of the distance of closest approach to the beam line in the score, 1/mm.
    pub doca_weight: f32,
    /// Largest score of a track of three hits (no unit).
    pub weak_score: f32,
    /// Whether triplets may skip one pair of modules, a gap (no unit).
    pub gaps: bool,
    /// Half width in phi of the window for the outer hit of a triplet over a gap, in 1/256 turn, 0..=16.
    pub gap_window: f32,
    /// Largest distance from the beam line to the line of a doublet over a gap, mm.
    pub gap_doublet_doca: f32,
    /// Largest score of a triplet over a gap (no unit).
    pub gap_score: f32,
    /// Weight of the distance of closest approach in `gap_score`, 1/mm.
    pub gap_doca_weight: f32,
}

impl Default for PassConfig {
    fn default() -> Self {
        BestConfig::default().first
    }
}

/// Parameters of the straight-line Kalman fit (`docs/algorithms.md`, "Velo: straight-line fit"). Momenta are unknown,
/// so the variance of scattering (the noise) begins with an estimate from the slope and adapts to the residuals.
/// Defaults are tuned on pulls of `sim:velo`, seed 101, in bins of momentum above 3 GeV/c. `paper` and `forwarding` use
/// the values of Allen, whose noise depends on the slope alone; `paper-literal` fits by least squares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitConfig {
    /// Weight of a hit, 1/mm^2.
    pub weight: f32,
    /// Constant term in the variance of the scattering angle per hit, rad^2.
    pub noise_constant: f32,
    /// Coefficient of tx^2 + ty^2 in the variance of the scattering angle, rad^2.
    pub noise_slope: f32,
    /// Coefficient of (tx^2 + ty^2)^1.5 in the variance of the scattering angle, rad^2.
    pub noise_steep: f32,
    /// Strength of the adaptation of the variance of scattering: from the fourth hit on, each hit multiplies the
    /// variance by 1 + `noise_gain` x share x (chi2 - `noise_chi2`), where share is the slope's part of the residual's
    /// variance. If 0, the variance depends on the slopes alone (no unit).
    pub noise_gain: f32,
    /// The chi2 of a hit that leaves the variance of scattering unchanged (no unit).
    pub noise_chi2: f32,
    /// Limit on chi2 in the formula of `noise_gain`: larger chi2 are often from hits of other particles (no unit).
    pub noise_largest_chi2: f32,
    /// Variance of scattering between the innermost hit and the beam line (in the module of the hit and in the foil),
    /// in units of the variance per hit (no unit).
    pub noise_beam: f32,
    /// Variance of scattering behind the last hit (in its module), in units of the variance per hit (no unit).
    pub noise_end: f32,
    /// z of the state at the end of the Velo, mm.
    pub end_z: f32,
    /// x of the beam line, mm.
    pub beam_x: f32,
    /// y of the beam line, mm.
    pub beam_y: f32,
}

impl FitConfig {
    /// Returns the values of LHCb's Allen, which has no scattering beyond the outermost hits.
    fn published() -> Self {
        Self {
            weight: 6400.0,
            noise_constant: 1e-8,
            noise_slope: 7e-6,
            noise_steep: 0.0,
            noise_gain: 0.0,
            noise_beam: 0.0,
            noise_end: 0.0,
            ..Self::default()
        }
    }

    /// Returns the configuration of a least-squares fit: no scattering, and hits of weight `weight`, 1/mm^2. Without
    /// noise the filter ends with the least-squares line through all hits.
    fn least_squares(weight: f32) -> Self {
        Self { weight, noise_constant: 0.0, noise_slope: 0.0, ..Self::published() }
    }
}

impl Default for FitConfig {
    fn default() -> Self {
        Self {
            weight: 7000.0,
            noise_constant: 4.8e-11,
            noise_slope: 1.25e-6,
            noise_steep: 3.1e-5,
            noise_gain: 0.395,
            noise_chi2: 1.255,
            noise_largest_chi2: 13.0,
            noise_beam: 1.72,
            noise_end: 0.79,
            end_z: 770.0,
            beam_x: 0.0,
            beam_y: 0.0,
        }
    }
}

/// Largest half width of a window that the index supports, in 1/256 turn.
pub(crate) const MAX_WINDOW: u32 = 16;

impl VeloConfig {
    /// Returns the configuration of a preset.
    pub fn preset(preset: Preset) -> Self {
        let paper = match preset {
            Preset::PaperLiteral => PaperConfig::literal(),
            Preset::Best | Preset::Fast | Preset::TwoPass | Preset::Paper | Preset::Forwarding => {
                PaperConfig::default()
            }
        };
        let fit = match preset {
            Preset::Best | Preset::Fast | Preset::TwoPass => FitConfig::default(),
            Preset::Paper | Preset::Forwarding => FitConfig::published(),
            Preset::PaperLiteral => FitConfig::least_squares(paper.weak_weight),
        };
        Self { preset, paper, fit, ..Self::default() }
    }

    /// Checks that all values are within their limits.
    ///
    /// # Errors
    /// Returns [`Error::Config`] with the name and the limits of a value that is out of range.
    pub fn validate(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        let best = &self.best;
        for (name, window) in [
            ("best.first.window", best.first.window),
            ("best.first.gap_window", best.first.gap_window),
            ("best.second.window", best.second.window),
            ("best.second.gap_window", best.second.gap_window),
            ("link.second_window", self.link.second_window),
        ] {
            if !(0.0..=MAX_WINDOW as f32).contains(&window) {
                return wrong(format!(
                    "{name} = {window}: the half width of a window must be 0 to {MAX_WINDOW}, in units of 1/256 turn"
                ));
            }
        }
        for (name, value) in [
            ("best.hit_resolution", best.hit_resolution),
            ("best.outer_radius", best.outer_radius),
            ("link.hit_resolution", self.link.hit_resolution),
            ("paper.seed_window", self.paper.seed_window),
            ("paper.forward_window", self.paper.forward_window),
            ("paper.seed_chi2", self.paper.seed_chi2),
            ("paper.forward_angle2", self.paper.forward_angle2),
            ("paper.weak_weight", self.paper.weak_weight),
            ("forwarding.slope", self.forwarding.slope),
            ("forwarding.scatter", self.forwarding.scatter),
            ("forwarding.weak_weight", self.forwarding.weak_weight),
            ("fit.weight", self.fit.weight),
            ("limits.coordinate", self.limits.coordinate),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return wrong(format!("{name} = {value}: must be positive and finite"));
            }
        }
        for (name, value) in [
            ("best.first.doca_weight", best.first.doca_weight),
            ("best.first.gap_doca_weight", best.first.gap_doca_weight),
            ("best.join_chi2", best.join_chi2),
            ("link.join_chi2", self.link.join_chi2),
            ("link.second_doca_weight", self.link.second_doca_weight),
            ("best.second.doca_weight", best.second.doca_weight),
            ("best.second.gap_doca_weight", best.second.gap_doca_weight),
            ("paper.seed_window_slope", self.paper.seed_window_slope),
            ("fit.noise_constant", self.fit.noise_constant),
            ("fit.noise_slope", self.fit.noise_slope),
            ("fit.noise_steep", self.fit.noise_steep),
            ("fit.noise_gain", self.fit.noise_gain),
            ("fit.noise_chi2", self.fit.noise_chi2),
            ("fit.noise_largest_chi2", self.fit.noise_largest_chi2),
            ("fit.noise_beam", self.fit.noise_beam),
            ("fit.noise_end", self.fit.noise_end),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(format!("{name} = {value}: must be finite and not negative"));
            }
        }
        let fit = &self.fit;
        if fit.noise_gain * fit.noise_chi2 > 0.8 {
            return wrong(format!(
                "fit.noise_gain = {} times fit.noise_chi2 = {}: must be at most 0.8, or noise could become negative",
                fit.noise_gain, fit.noise_chi2
            ));
        }
        if !(0.0..=1.0).contains(&best.shared_hits) {
            return wrong(format!("best.shared_hits = {}: must be from 0 to 1", best.shared_hits));
        }
        for (name, radius) in [
            ("best.inner_radius", best.inner_radius),
            ("best.forward_inner_radius", best.forward_inner_radius),
        ] {
            if !(0.0..best.outer_radius).contains(&radius) {
                return wrong(format!("{name} = {radius}: not from 0 to best.outer_radius"));
            }
        }
        if best.skipped_pairs as usize > PAIRS {
            return wrong(format!("best.skipped_pairs = {}: at most {PAIRS}", best.skipped_pairs));
        }
        if self.limits.coordinate > 1e4 {
            return wrong(format!("limits.coordinate = {}: at most 10,000 mm", self.limits.coordinate));
        }
        if !(1..=PAIRS as u32).contains(&self.link.join_pairs) {
            return wrong(format!("link.join_pairs = {}: 1 to {PAIRS}", self.link.join_pairs));
        }
        if self.preset == Preset::Fast && self.limits.hits > MOST_HITS {
            return wrong(format!(
                "limits.hits = {}: must be at most {MOST_HITS} with preset fast",
                self.limits.hits
            ));
        }
        if self.limits.hits > 1 << 20 {
            return wrong(format!("limits.hits = {}: at most {}", self.limits.hits, 1 << 20));
        }
        if self.limits.candidates_in_window == 0 || self.limits.candidates_in_window > 1 << 16 {
            return wrong("limits.candidates_in_window must be 1..=65536".into());
        }
        Ok(())
    }
}
