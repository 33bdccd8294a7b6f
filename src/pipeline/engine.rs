//! [`Engine`]: a configuration made ready to run; the embedding API.

use super::{Config, Events, Geometry, Sequence};
use crate::event::{Counters, VeloBatch, VeloTracks};
use crate::simd::Level;
use crate::velo::{self, DecodeScratch, VeloBanks, VeloConfig, VeloWorkspace};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Reconstructs events. It holds the configuration and nothing that changes, so that any number of threads
/// may share one engine; what changes lives in a [`Workspace`] of each thread.
///
/// ```
/// use peloton::event::{VeloBatch, VeloTracks};
/// use peloton::pipeline::{Config, Engine};
///
/// # fn main() -> peloton::Result<()> {
/// let engine = Engine::new(&Config::default())?;
/// let (mut workspace, mut tracks) = (engine.workspace(), VeloTracks::default());
/// let events = VeloBatch::default(); // columns of hits: see its fields
/// let counters = engine.run(events.view(), &mut workspace, &mut tracks);
/// assert_eq!(counters.events(), 0);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    sequence: Sequence,
    level: Level,
    slice_events: usize,
    velo: VeloConfig,
    decoding: Option<(Arc<Geometry>, VeloBanks)>,
}

/// Scratch memory of one thread. It grows to what the largest event needs and is then reused.
#[derive(Debug, Default)]
pub struct Workspace {
    velo: VeloWorkspace,
    decode: DecodeScratch,
    /// Hits decoded from raw banks.
    hits: VeloBatch,
}

impl Engine {
    /// Makes an engine for a configuration, whose values and level are checked here, once.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) and [`Error::Unsupported`](crate::Error::Unsupported).
    pub fn new(config: &Config) -> Result<Self> {
        config.validate()?;
        if config.sequence == Sequence::Timepix {
            return Err(Error::Unsupported("timepix has streams and no events: run a timepix::Chain".into()));
        }
        if config.sequence == Sequence::Cylinder {
            return Err(Error::Unsupported("cylinder has hits of its own: run a CylinderPool".into()));
        }
        Ok(Self {
            sequence: config.sequence,
            level: config.level()?,
            slice_events: config.slice_events,
            velo: config.velo.clone(),
            decoding: None,
        })
    }

    /// Makes the engine take raw banks, too: those of `banks` where an event has several kinds.
    pub fn with_geometry(mut self, geometry: Arc<Geometry>, banks: VeloBanks) -> Self {
        self.decoding = Some((geometry, banks));
        self
    }

    /// What is reconstructed.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The instruction set level and gang size that run.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Events a thread takes at once when many threads share a batch.
    pub fn slice_events(&self) -> usize {
        self.slice_events
    }

    /// Scratch memory for one more thread.
    pub fn workspace(&self) -> Workspace {
        Workspace::default()
    }

    /// Reconstructs all events on the calling thread: `tracks` is emptied and gets one entry per event, in
    /// order, whatever became of it. Nothing is allocated once `workspace` and `tracks` have grown to the
    /// size of the data.
    ///
    /// # Panics
    /// When the events are raw banks and the engine has no geometry.
    pub fn run<'a>(
        &self,
        events: impl Into<Events<'a>>,
        workspace: &mut Workspace,
        tracks: &mut VeloTracks,
    ) -> Counters {
        let events = events.into();
        tracks.clear();
        let mut counters = Counters::default();
        self.run_range(events, 0..events.len(), workspace, tracks, &mut counters);
        counters
    }

    /// Reconstructs the events of `range` and appends them to `tracks`, their counts to `counters`.
    ///
    /// # Panics
    /// When `range` reaches beyond the events, and as [`Engine::run`].
    pub fn run_range(
        &self,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        tracks: &mut VeloTracks,
        counters: &mut Counters,
    ) {
        let Self { level, velo, .. } = self;
        let Workspace { velo: scratch, decode, hits } = workspace;
        match (self.sequence, events) {
            // Refused when the engine was made.
            (Sequence::Timepix | Sequence::Cylinder, _) => {}
            (Sequence::Velo, Events::Hits(events)) => {
                velo::reconstruct(*level, velo, events, range, scratch, tracks, counters);
            }
            (Sequence::Velo, Events::Banks(events)) => {
                let (geometry, banks) = self.decoding.as_ref().expect("a geometry for raw banks");
                hits.clear();
                let count = range.len();
                velo::decode(*level, &geometry.velo, *banks, events, range, decode, hits, counters);
                velo::reconstruct(*level, velo, hits.view(), 0..count, scratch, tracks, counters);
            }
        }
    }
}
