//! [`Cylinder`]: the sequence from hits to tracks with states.

use super::config::CylinderConfig;
use super::run::{CylinderInput, CylinderWorkspace, reconstruct};
use crate::Result;
use crate::engine::{Batch, Input, Sequence, Stage};
use crate::event::{CylinderBatch, CylinderTracks, CylinderTruth, Outcome};
use crate::simd::Level;
use std::ops::Range;

/// Hits of the cylinder detector to tracks with states.
#[derive(Debug, Clone)]
pub struct Cylinder {
    level: Level,
    config: CylinderConfig,
}

impl Cylinder {
    /// A sequence on a level.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for a configuration that cannot be used.
    pub fn new(level: Level, config: CylinderConfig) -> Result<Self> {
        config.validate()?;
        Ok(Self { level, config })
    }

    /// The configuration.
    pub fn config(&self) -> &CylinderConfig {
        &self.config
    }
}

impl Input for CylinderInput<'_> {
    fn events(&self) -> usize {
        self.hits.len()
    }
}

/// Events with their true particles, which may be seeds.
#[derive(Debug, Default)]
pub struct CylinderSample {
    /// Hits.
    pub hits: CylinderBatch,
    /// Particles.
    pub truth: CylinderTruth,
    /// Number of each event in its source (no unit).
    pub event_id: Vec<u64>,
}

impl Batch for CylinderSample {
    fn clear(&mut self) {
        self.hits.clear();
        self.truth.clear();
        self.event_id.clear();
    }

    fn event_ids(&self) -> &[u64] {
        &self.event_id
    }

    fn hits(&self) -> Option<u64> {
        Some(self.hits.x.len() as u64)
    }
}

impl Sequence for Cylinder {
    const NAME: &'static str = "cylinder";
    const STAGES: &'static [Stage] = &[
        Stage { name: "bin", input: "hits by layer", output: "hits by azimuth and z", parts: &[] },
        Stage { name: "seed", input: "hits by azimuth and z", output: "seeds with states", parts: &[] },
        Stage { name: "build", input: "seeds with states", output: "tracks as hit lists", parts: &[] },
        Stage { name: "fit", input: "tracks as hit lists", output: "states", parts: &[] },
    ];

    type Input<'a> = CylinderInput<'a>;
    type Batch = CylinderSample;
    type Output = CylinderTracks;
    type Workspace = CylinderWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn view(batch: &CylinderSample) -> CylinderInput<'_> {
        CylinderInput { hits: &batch.hits, seeds: &batch.truth.particles }
    }

    fn run_range(
        &self,
        events: CylinderInput<'_>,
        range: Range<usize>,
        workspace: &mut CylinderWorkspace,
        out: &mut Outcome<CylinderTracks>,
    ) {
        reconstruct(self.level, &self.config, events, range, workspace, out);
    }
}
