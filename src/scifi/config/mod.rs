//! Parameters of the search for tracks in the SciFi, and their presets.

mod rows;

use crate::scifi::weights::FEATURES;
use crate::{Error, Result};
pub use rows::{RowPass, RowsConfig};
use serde::{Deserialize, Serialize};

/// Preset: a named set of parameters for the search for tracks in the SciFi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SciFiPreset {
    /// The search by rows of bits in two passes: finds most particles, with fewest ghosts.
    #[default]
    Best,
    /// The search by rows of bits in one pass: faster than `best`, for a first trigger level.
    Fast,
    /// The hybrid seeding of LHCb's first trigger stage of 2023, without its limits on the numbers of candidates.
    Hlt1,
}

crate::names!(SciFiPreset, "preset of the SciFi", { Best => "best", Fast => "fast", Hlt1 => "hlt1" });

/// Parameters of the search for tracks in the SciFi.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SciFiConfig {
    /// Preset that sets the defaults of the other parameters.
    pub preset: SciFiPreset,
    /// Limits on the hits of an event and on the lists of the search.
    pub limits: LimitConfig,
    /// Resolution of a hit across its fibre, used in covariances but not in the search, mm.
    pub resolution: f32,
    /// Factor on the variance of scattering in the SciFi, used in covariances of states to account for elastic
    /// scattering off nuclei (no unit).
    pub scattering: f32,
    /// Standard deviation of the z where particles originate, mm: momenta are computed as if all particles came from
    /// the origin, and their errors include this spread.
    pub origin_z: f32,
    /// Relative error of the formula for the momentum of a track in the SciFi alone.
    pub momentum_error: f32,
    /// Whether the preset `hlt1` first copies the x of an event's hits to one block of memory, half by half. If not, it
    /// reads the event's columns, and finds the same tracks.
    pub compact: bool,
    /// Parameters of the search of the preset `hlt1`.
    pub hlt1: SeedPass,
    /// Parameters of the search of the presets `best` and `fast`.
    pub rows: RowsConfig,
}

/// Limits: an event with too many hits is rejected; too long lists are truncated, and the dropped elements counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitConfig {
    /// Largest number of hits in one event, at most 65,000 with `best` and `fast`; busy real events have 10,000 hits.
    pub hits: u32,
    /// Largest number of hits in one zone (half a layer); minimum-bias events have up to 350 hits in a zone.
    pub hits_in_zone: u32,
    /// Largest |x| of a hit, mm.
    pub coordinate: f32,
    /// Limit on three kinds of lists: triplets in three given layers of a half, runs of bits of one pivot's layer in a
    /// half, and lines in y of a pass. Further elements are dropped and counted.
    pub triplets: u32,
    /// Largest number of candidates in x: per half with `hlt1`, in both halves together with `best` and `fast` (there
    /// at most 65,536). Further candidates are dropped and counted.
    pub candidates: u32,
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self {
            hits: 40_000,
            hits_in_zone: 4_000,
            coordinate: 10_000.0,
            triplets: 1 << 22,
            candidates: 1 << 16,
        }
    }
}

/// Parameters of the published search by triplets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SeedPass {
    /// Kinds of triplets: the x layers (0 to 5, in order of z) of the first, middle and last hit of each kind.
    pub triplets: Vec<[usize; 3]>,
    /// Smallest momentum of particles whose hits are within the windows, MeV.
    pub min_momentum: f64,
    /// Largest distance of a hit in one of the other x layers from the parabola through a triplet, mm.
    pub x_tolerance: f32,
    /// Fewest hits of a track in x layers.
    pub min_x_hits: u32,
    /// Largest distance of a hit in a u or v layer from its expected position, mm.
    pub uv_tolerance: f32,
    /// Fewest hits of a track.
    pub min_hits: u32,
    /// Fewest hits of a track in u and v layers.
    pub min_uv_hits: u32,
    /// Limit for clones: a track in x with fewer than six hits is dropped unless, for at least this many of its hits,
    /// no other track with the hit is better.
    pub min_own_hits: u32,
    /// The value of `min_own_hits` for a track in x with six hits.
    pub min_own_of_six: u32,
}

/// Default of `scattering` for `best` and `fast`: with it the pulls of the slope in x at 3 to 5 GeV/c are as wide as above 30
/// GeV/c. Chosen in steps of 0.25 (`check --sequence scifi sim:lhcb,events=1000,seed=700`; pulls are quoted on other events).
const SCATTERING: f32 = 1.5;

/// Most hits of an event for which 16 bits can number all places, including the empty places around layers.
const MOST_HITS: u32 = 65_000;

/// Parameters of the choice among the tracks of a pass. First, tracks are dropped if their weighted sum of features
/// (`rows/choose.rs`), the logarithm of the odds that a track is true, is small. Then tracks that share many hits with
/// better tracks are dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceConfig {
    /// Weights of the features, in order: 1; numbers of missing hits in x, and in u and v; logarithms of chi2 in x and
    /// y; |y| at the origin; three products; bend; four more products; logarithm of the pass's number of tracks.
    pub weights: [f32; FEATURES],
    /// Smallest weighted sum of a chosen track.
    pub min_score: f32,
    /// Largest number of hits that a track may share with better tracks.
    pub shared_hits: u32,
}

impl Default for SeedPass {
    fn default() -> Self {
        Self::hlt1()
    }
}

impl SeedPass {
    /// Returns the published parameters.
    fn hlt1() -> Self {
        Self {
            triplets: vec![[0, 2, 4], [1, 3, 5]],
            min_momentum: 3_000.0,
            x_tolerance: 0.5,
            min_x_hits: 5,
            uv_tolerance: 2.0,
            min_hits: 10,
            min_uv_hits: 4,
            min_own_hits: 4,
            min_own_of_six: 4,
        }
    }
}

impl Default for SciFiConfig {
    fn default() -> Self {
        Self::preset(SciFiPreset::default())
    }
}

impl SciFiConfig {
    /// Returns the configuration of a preset.
    pub fn preset(preset: SciFiPreset) -> Self {
        let rows = match preset {
            SciFiPreset::Best | SciFiPreset::Hlt1 => RowsConfig::best(),
            SciFiPreset::Fast => RowsConfig::fast(),
        };
        Self {
            preset,
            limits: LimitConfig::default(),
            resolution: 0.088,
            scattering: if preset == SciFiPreset::Hlt1 { 1.0 } else { SCATTERING },
            origin_z: 63.0,
            momentum_error: 0.0025,
            compact: true,
            hlt1: SeedPass::hlt1(),
            rows,
        }
    }

    /// Checks that all values are within their limits.
    ///
    /// # Errors
    /// Returns [`Error::Config`] with the name and the limits of a value that is out of range.
    pub fn validate(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        self.hlt1.validate()?;
        self.rows.validate()?;
        if !(self.resolution > 0.0 && self.resolution <= 10.0) {
            return wrong(format!("resolution = {}: must be above 0 and at most 10 mm", self.resolution));
        }
        if !(0.0..=100.0).contains(&self.scattering) {
            return wrong(format!("scattering = {}: must be from 0 to 100", self.scattering));
        }
        if !(0.0..=10_000.0).contains(&self.origin_z) {
            return wrong(format!("origin_z = {}: must be from 0 to 10,000 mm", self.origin_z));
        }
        if !(0.0..=1.0).contains(&self.momentum_error) {
            return wrong(format!("momentum_error = {}: must be from 0 to 1", self.momentum_error));
        }
        let limits = &self.limits;
        if !(limits.coordinate > 0.0 && limits.coordinate <= 1e5) {
            return wrong(format!(
                "limits.coordinate = {}: must be above 0 and at most 100,000 mm",
                limits.coordinate
            ));
        }
        for (key, value, most) in [
            ("hits", limits.hits, 1 << 17),
            ("hits_in_zone", limits.hits_in_zone, 1 << 15),
            ("triplets", limits.triplets, 1 << 30),
            ("candidates", limits.candidates, 1 << 20),
        ] {
            if value == 0 || value > most {
                return wrong(format!("limits.{key} = {value}: must be from 1 to {most}"));
            }
        }
        if self.preset != SciFiPreset::Hlt1 && limits.hits > MOST_HITS {
            let message = "with the presets best and fast";
            return wrong(format!("limits.hits = {}: must be at most {MOST_HITS} {message}", limits.hits));
        }
        Ok(())
    }
}

impl SeedPass {
    fn validate(&self) -> Result<()> {
        let wrong = |key: &str, what: String| Err(Error::Config(format!("hlt1.{key}{what}")));
        if !(1..=8).contains(&self.triplets.len()) {
            return wrong("triplets", ": must be one to eight kinds of triplets".into());
        }
        for layers in &self.triplets {
            if !(layers[0] < layers[1] && layers[1] < layers[2] && layers[2] < 6) {
                return wrong("triplets", format!(" = {layers:?}: must be three rising numbers, 0 to 5"));
            }
        }
        if !(1_000.0..=1e6).contains(&self.min_momentum) {
            return wrong("min_momentum", format!(" = {}: from 1,000 to 1,000,000 MeV", self.min_momentum));
        }
        for (key, value) in [("x_tolerance", self.x_tolerance), ("uv_tolerance", self.uv_tolerance)] {
            if !(value > 0.0 && value <= 100.0) {
                return wrong(key, format!(" = {value}: must be above 0 and at most 100 mm"));
            }
        }
        for (key, value, range) in [
            ("min_x_hits", self.min_x_hits, 4..=6),
            ("min_hits", self.min_hits, 7..=12),
            ("min_uv_hits", self.min_uv_hits, 3..=6),
            ("min_own_hits", self.min_own_hits, 0..=6),
            ("min_own_of_six", self.min_own_of_six, 0..=6),
        ] {
            if !range.contains(&value) {
                return wrong(key, format!(" = {value}: from {} to {}", range.start(), range.end()));
            }
        }
        Ok(())
    }
}
