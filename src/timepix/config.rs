//! [`FindConfig`]: definition of a cluster; [`TimepixConfig`]: all parameters from hits to clusters.

use super::filter::Filter;
use super::sort::{DIGIT_BITS, PART_HITS, SortShape};
use crate::event::NS_PER_TICK;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Largest time difference, ticks: 1.7 s, a quarter of the range of the 32-bit times in the search.
pub const MAX_DELTA: u32 = 1 << 30;

/// Definition of a cluster. Hits are neighbours in space when neither x nor y differ by more than one pixel; the
/// letters (a), (b) and (c) come from the paper of Celko et al. (section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Definition {
    /// (a): hits are linked when they are neighbours in space and not more than `delta` apart in time; clusters are
    /// the connected components.
    #[default]
    Local,
    /// (b): a hit joins every cluster that contains a neighbour in space and whose latest hit is not more than
    /// `delta` older; the joined clusters become one.
    Global,
    /// (c): the earliest hit that is in no cluster opens a cluster, which contains the hits of the next `delta` that
    /// are in no cluster and are connected to it in space.
    Static,
}

crate::names!(Definition, "definition", { Local => "local", Global => "global", Static => "static" });

/// Algorithm that finds the clusters. All algorithms find the same clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Fragments and links between them (local), union-find in order of time (global), or windows (static).
    #[default]
    Fast,
    /// Lists of open clusters, the paper's algorithm 1; not for the static definition.
    Open,
    /// Last hit per pixel, nine neighbours, union-find: the simplest algorithm.
    Plain,
}

crate::names!(Algorithm, "algorithm", { Fast => "fast", Open => "open", Plain => "plain" });

/// Parameters of the search for clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindConfig {
    /// Definition of a cluster.
    pub definition: Definition,
    /// Largest time difference that links hits, ticks of 1.5625 ns; 128 are 200 ns.
    pub delta: u32,
    /// Whether hits with a time difference of exactly `delta` stay unlinked.
    pub strict: bool,
    /// Algorithm that finds the clusters.
    pub algorithm: Algorithm,
}

impl Default for FindConfig {
    fn default() -> Self {
        let (definition, algorithm) = Default::default();
        Self { definition, delta: 128, strict: false, algorithm }
    }
}

impl FindConfig {
    /// Returns the largest time difference that links hits, ticks: `delta`, or one tick less if `strict`.
    pub fn window(&self) -> u32 {
        self.delta - u32::from(self.strict)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Config`] names the value that cannot be used, and the reason.
    pub fn validate(&self) -> Result<()> {
        if !(u32::from(self.strict)..=MAX_DELTA).contains(&self.delta) {
            let message = format!("delta must be {} to {MAX_DELTA} ticks", u32::from(self.strict));
            return Err(Error::Config(message));
        }
        if self.definition == Definition::Static && self.algorithm == Algorithm::Open {
            return Err(Error::Config("algorithm open has no static definition".into()));
        }
        Ok(())
    }
}

/// Parameters of the whole chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimepixConfig {
    /// Largest time by which a hit may be older than a previous hit of the stream, us; without a value, the usual value
    /// of the input format, or else [`DISORDER_US`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disorder_us: Option<f64>,
    /// Largest number of hits that wait for earlier hits, and of hits that wait for the end of their clusters.
    pub capacity: usize,
    /// Number of hits that are processed at once; affects only the speed.
    pub block_hits: usize,
    /// Largest number of bits of a digit of the radix sort by time, 6 to 13; without a value, chosen for the CPU;
    /// affects only the speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_digit_bits: Option<u32>,
    /// Number of hits that the radix sort sorts at once; without a value, chosen for the CPU; affects only the speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_part_hits: Option<usize>,
    /// Folder with the files a.txt, b.txt, c.txt, t.txt of an energy calibration of one chip, or with folders chip0,
    /// chip1 and so on that have these files for each chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<PathBuf>,
    /// Time walk `a / (E - b)^c + d` in ns, E in keV; needs a calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_walk: Option<[f64; 4]>,
    /// Definition of a cluster.
    pub find: FindConfig,
    /// Filter of clusters; without cuts all clusters pass.
    #[serde(default)]
    pub filter: Filter,
}

/// Assumed disorder when the format of the input has no usual value, us: the limit of the Katherine readout, and more than
/// the delay between chips of a quad (1.2 ms).
pub const DISORDER_US: f64 = 2000.0;

impl Default for TimepixConfig {
    fn default() -> Self {
        Self {
            disorder_us: None,
            capacity: 1 << 24,
            block_hits: 1 << 15,
            sort_digit_bits: None,
            sort_part_hits: None,
            calibration: None,
            time_walk: None,
            find: FindConfig::default(),
            filter: Filter::default(),
        }
    }
}

impl TimepixConfig {
    /// Returns the largest disorder of the stream, ticks.
    pub fn disorder_ticks(&self) -> i64 {
        (self.disorder_us.unwrap_or(DISORDER_US) * (1000.0 / NS_PER_TICK)) as i64
    }

    /// Returns the parameters of the sort by time.
    pub fn sort_shape(&self) -> SortShape {
        let usual = SortShape::of_this_cpu();
        SortShape {
            digit_bits: self.sort_digit_bits.unwrap_or(usual.digit_bits),
            part_hits: self.sort_part_hits.unwrap_or(usual.part_hits),
            ..usual
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Config`] names the value that cannot be used, and the reason.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: &str| Err(Error::Config(format!("timepix: {message}")));
        if self.disorder_us.is_some_and(|us| !(0.0..=1e12).contains(&us)) {
            return wrong("disorder_us must be 0 to 1e12");
        }
        if !(1..=1 << 28).contains(&self.capacity) || !(1..=1 << 24).contains(&self.block_hits) {
            return wrong("capacity must be 1 to 2^28 and block_hits 1 to 2^24");
        }
        let shape = self.sort_shape();
        if !DIGIT_BITS.contains(&shape.digit_bits) || !PART_HITS.contains(&shape.part_hits) {
            return wrong("sort_digit_bits must be 6 to 13 and sort_part_hits 2^10 to 2^24");
        }
        if self.time_walk.is_some() && self.calibration.is_none() {
            return wrong("time_walk needs a calibration: it is a function of the energy");
        }
        self.filter.check(true)?;
        self.find.validate()
    }
}
