//! [`Cylinder`]: the algorithm from hits to tracks with states.

use super::config::CylinderConfig;
use super::run::{CylinderWorkspace, reconstruct};
use crate::Result;
use crate::engine::{Algorithm, AlgorithmInfo, Batch, Events, Handle, Sequence, Slice, Stage};
use crate::event::{CylinderBatch, CylinderInput, CylinderTracks, CylinderTruth, Outcome, countable};
use crate::simd::Level;

/// Handle of the product `cylinder_tracks`: tracks in the cylinder detector.
pub const CYLINDER_TRACKS: Handle = Handle::of::<CylinderTracks>("cylinder_tracks");

/// Finds tracks with states from hits of the cylinder detector.
#[derive(Debug, Clone)]
pub struct Cylinder {
    level: Level,
    config: CylinderConfig,
}

impl Cylinder {
    /// Creates an algorithm that runs on `level`.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for a configuration that cannot be used.
    pub fn new(level: Level, config: CylinderConfig) -> Result<Self> {
        config.validate()?;
        Ok(Self { level, config })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &CylinderConfig {
        &self.config
    }
}

/// Events with their true particles, from which seeds may be made.
#[derive(Debug, Default)]
pub struct CylinderSample {
    /// Hits.
    pub hits: CylinderBatch,
    /// Particles.
    pub truth: CylinderTruth,
    /// Number of each event in its source (no unit).
    pub event_id: Vec<u64>,
}

impl CylinderSample {
    /// Returns the events as input of a sequence.
    pub fn view(&self) -> CylinderInput<'_> {
        CylinderInput { hits: &self.hits, seeds: &self.truth.particles }
    }
}

impl Batch for CylinderSample {
    fn events(&self) -> Events<'_> {
        Events::CylinderHits(self.view())
    }

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

    fn repeat(&mut self, copies: usize) -> Result<()> {
        countable(copies, self.hits.x.len().max(self.truth.particles.len()))?;
        let (hits, truth, ids) = (self.hits.clone(), self.truth.clone(), self.event_id.clone());
        for _ in 1..copies {
            self.hits.append(&hits);
            self.truth.append(&truth);
            self.event_id.extend_from_slice(&ids);
        }
        Ok(())
    }
}

const STAGES: &[Stage] = &[
    Stage { name: "bin", input: "hits by layer", output: "hits by azimuth and z", parts: &[] },
    Stage { name: "seed", input: "hits by azimuth and z", output: "seeds with states", parts: &[] },
    Stage { name: "build", input: "seeds with states", output: "tracks as hit lists", parts: &[] },
    Stage { name: "fit", input: "tracks as hit lists", output: "states", parts: &[] },
];

impl From<Cylinder> for Sequence {
    fn from(algorithm: Cylinder) -> Self {
        Self::of_one("cylinder", algorithm)
    }
}

impl Algorithm for Cylinder {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "cylinder",
        reads: &[],
        makes: CYLINDER_TRACKS,
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = CylinderTracks;
    type Scratch = CylinderWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        events.cylinder_hits().map(drop)
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut CylinderWorkspace, out: &mut Outcome<CylinderTracks>) {
        let Events::CylinderHits(input) = slice.events() else { unreachable!("other events are rejected") };
        reconstruct(self.level, &self.config, input, slice.range(), scratch, out);
    }
}
