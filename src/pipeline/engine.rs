//! [`Engine`]: a configuration made ready to run; the embedding API.

use super::{Config, Sequence};
use crate::event::{Counters, VeloEvents, VeloTracks};
use crate::simd::Level;
use crate::velo::{self, VeloConfig, VeloWorkspace};
use crate::{Error, Result};
use std::ops::Range;

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
}

/// Scratch memory of one thread. It grows to what the largest event needs and is then reused.
#[derive(Debug, Default)]
pub struct Workspace {
    velo: VeloWorkspace,
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
        Ok(Self {
            sequence: config.sequence,
            level: config.level()?,
            slice_events: config.slice_events,
            velo: config.velo.clone(),
        })
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
    pub fn run(
        &self,
        events: VeloEvents<'_>,
        workspace: &mut Workspace,
        tracks: &mut VeloTracks,
    ) -> Counters {
        tracks.clear();
        let mut counters = Counters::default();
        self.run_range(events, 0..events.len(), workspace, tracks, &mut counters);
        counters
    }

    /// Reconstructs the events of `range` and appends them to `tracks`, their counts to `counters`.
    ///
    /// # Panics
    /// When `range` reaches beyond the events.
    pub fn run_range(
        &self,
        events: VeloEvents<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        tracks: &mut VeloTracks,
        counters: &mut Counters,
    ) {
        match self.sequence {
            // Refused when the engine was made.
            Sequence::Timepix => {}
            Sequence::Velo => {
                velo::reconstruct(
                    self.level,
                    &self.velo,
                    events,
                    range,
                    &mut workspace.velo,
                    tracks,
                    counters,
                );
            }
        }
    }
}
