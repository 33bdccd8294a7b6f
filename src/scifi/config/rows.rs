//! Parameters of the search by rows of bits.

use super::ChoiceConfig;
use crate::scifi::weights::{self, FEATURES};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Parameters of the search by rows of bits (presets `best` and `fast`). For each hit of one layer, the pivot, the
/// search tests all momenta of tracks through the hit at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RowsConfig {
    /// The x layers of the middle station, 2 and 3, in the order in which their hits become pivots (no unit).
    pub pivots: [usize; 2],
    /// Half width of the range of bits that a hit sets in the row of its layer: a constant, mm, plus a factor times the
    /// layer's spread, the median deviation of tracks from the formula for their position.
    pub reach: [f32; 2],
    /// A hit beyond this |x|, mm, sets one more bit at both ends: far out, tracks deviate more, and hits are few.
    pub outer: f32,
    /// Passes of the search: each pass uses the hits that are on no track of earlier passes.
    pub passes: Vec<RowPass>,
}

/// Parameters of one pass of the search by rows of bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowPass {
    /// Largest absolute shift of a track, mm. The shift is x in the first layer minus x in the last layer, both
    /// relative to the line from the origin through the pivot: 307 mm at about 4 GeV/c, 540 mm at 2.3 GeV/c.
    pub shift: f32,
    /// Factor on the half width of the range of bits that a hit sets (no unit).
    pub width: f32,
    /// Fewest hits of a track in x layers, 5 or 4 (no unit).
    pub min_x_hits: u32,
    /// Largest absolute shift of a track with four hits in x layers, mm.
    pub four_hit_shift: f32,
    /// Largest distance of a hit in an x layer from the parabola through three other hits, mm.
    pub x_tolerance: f32,
    /// Largest distance of a hit in a u or v layer from its expected position, mm.
    pub uv_tolerance: f32,
    /// Largest distance of a hit in a u or v layer from the fitted line in y, for the final choice of hits, mm.
    pub line_tolerance: f32,
    /// Fewest hits of a track (no unit).
    pub min_hits: u32,
    /// Fewest hits of a track in u and v layers (no unit).
    pub min_uv_hits: u32,
    /// Limit for clones: a track in x with fewer than six hits is dropped unless, for at least this many of its hits,
    /// no other track with the hit is better (no unit).
    pub min_own_hits: u32,
    /// The value of `min_own_hits` for a track in x with six hits (no unit).
    pub min_own_of_six: u32,
    /// Parameters of the choice among the tracks of the pass (no unit).
    pub choice: ChoiceConfig,
}

/// Returns the choice with these weights and this smallest sum.
fn choice((weights, min_score): ([f32; FEATURES], f32)) -> ChoiceConfig {
    ChoiceConfig { weights, min_score, shared_hits: 2 }
}

impl RowPass {
    /// Returns the one pass of `fast`: particles above about 3 GeV/c.
    fn fast() -> Self {
        Self {
            shift: 450.0,
            width: 1.2,
            min_x_hits: 5,
            four_hit_shift: 400.0,
            x_tolerance: 0.7,
            uv_tolerance: 1.2,
            line_tolerance: 0.7,
            min_hits: 10,
            min_uv_hits: 4,
            min_own_hits: 3,
            min_own_of_six: 2,
            choice: choice(weights::FAST),
        }
    }

    /// Returns the first pass of `best`: particles above about 4 GeV/c, in narrow windows.
    fn first() -> Self {
        Self {
            shift: 307.0,
            width: 1.0,
            x_tolerance: 0.5,
            uv_tolerance: 1.0,
            line_tolerance: 0.6,
            choice: choice(weights::FIRST),
            ..Self::fast()
        }
    }

    /// Returns the second pass of `best`: among the remaining hits, particles that are slower, scatter more or lack hits.
    fn second() -> Self {
        Self {
            shift: 540.0,
            width: 1.0,
            min_x_hits: 4,
            x_tolerance: 0.8,
            uv_tolerance: 1.5,
            line_tolerance: 0.9,
            min_hits: 9,
            choice: choice(weights::SECOND),
            ..Self::fast()
        }
    }
}

impl Default for RowsConfig {
    fn default() -> Self {
        Self::best()
    }
}

impl RowsConfig {
    /// Returns the configuration with these passes.
    fn new(passes: Vec<RowPass>) -> Self {
        Self { pivots: [2, 3], reach: [0.35, 1.6], outer: 1_200.0, passes }
    }

    /// Returns the configuration of the preset `fast`.
    pub(super) fn fast() -> Self {
        Self::new(vec![RowPass::fast()])
    }

    /// Returns the configuration of the preset `best`.
    pub(super) fn best() -> Self {
        Self::new(vec![RowPass::first(), RowPass::second()])
    }

    /// Checks the limits that serde cannot check.
    pub(super) fn validate(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        if ![[2, 3], [3, 2]].contains(&self.pivots) {
            return wrong(format!("rows.pivots = {:?}: must be 2 and 3, in any order", self.pivots));
        }
        let [constant, factor] = self.reach;
        if !((0.05..=10.0).contains(&constant) && (0.0..=10.0).contains(&factor)) {
            return wrong(format!("rows.reach = {:?}: must be 0.05 to 10 mm, and 0 to 10", self.reach));
        }
        if self.outer.is_nan() || self.outer < 0.0 {
            return wrong(format!("rows.outer = {}: must be at least 0 mm", self.outer));
        }
        if !(1..=4).contains(&self.passes.len()) {
            return wrong(format!("rows.passes: {} passes, must be one to four", self.passes.len()));
        }
        self.passes.iter().enumerate().try_for_each(|(number, pass)| pass.validate(number))
    }
}

impl RowPass {
    fn validate(&self, number: usize) -> Result<()> {
        let wrong = |key: &str, value: String, limits: &str| {
            Err(Error::Config(format!("rows.passes[{number}].{key} = {value}: {limits}")))
        };
        for (key, value, least, most) in [
            ("shift", self.shift, 50.0, 1_000.0),
            ("width", self.width, 0.1, 10.0),
            ("four_hit_shift", self.four_hit_shift, 0.0, 1_000.0),
            ("x_tolerance", self.x_tolerance, 0.01, 100.0),
            ("uv_tolerance", self.uv_tolerance, 0.01, 10.0),
            ("line_tolerance", self.line_tolerance, 0.01, 10.0),
        ] {
            if !(least..=most).contains(&value) {
                return wrong(key, value.to_string(), &format!("from {least} to {most}"));
            }
        }
        for (key, value, range) in [
            ("min_x_hits", self.min_x_hits, 4..=5),
            ("min_hits", self.min_hits, 8..=12),
            ("min_uv_hits", self.min_uv_hits, 4..=6),
            ("min_own_hits", self.min_own_hits, 0..=6),
            ("min_own_of_six", self.min_own_of_six, 0..=6),
        ] {
            if !range.contains(&value) {
                return wrong(key, value.to_string(), &format!("from {} to {}", range.start(), range.end()));
            }
        }
        let choice = &self.choice;
        if !choice.weights.iter().chain([&choice.min_score]).all(|value| value.is_finite()) {
            return wrong("choice", "...".into(), "weights and min_score must be finite");
        }
        Ok(())
    }
}
