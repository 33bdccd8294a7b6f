//! [`ConfiguredEngine`]: an engine for the sequence that a configuration names.

use super::outcome::ConfiguredOutcome;
use super::pool::ConfiguredPool;
use crate::system::check_preset;
use crate::{Cancel, Config, Request};
use peloton::engine::{Engine, Events, SLICE_EVENTS, Sequence, Workspace};
use peloton::simd::{Level, with_default_float_mode};
use peloton::{Error, Result};
use peloton_io::input::NOMINAL;
use std::path::Path;

/// Function that checks events, in addition to the checks of the sequence.
pub type CheckEvents = fn(Events<'_>) -> Result<()>;

/// Rejects raw banks that are not marked as simulated with the nominal detector.
fn check_nominal(events: Events<'_>) -> Result<()> {
    let Events::Banks(events) = events else { return Ok(()) };
    let Some(event) = (0..events.len()).find(|&event| events.lacks_nominal(event)) else { return Ok(()) };
    let words = "the raw banks are not marked as simulated with the nominal detector: name the folder of their detector's geometry files, or decode them with the nominal geometry anyway by `nominal-forced`";
    Err(Error::Config(format!("geometry `nominal`, event {event} of the batch: {words}")))
}

/// An engine for the sequence that a configuration names. The engine is immutable, so that any number of threads may
/// share it; clones share one engine.
#[derive(Clone)]
pub struct ConfiguredEngine {
    engine: Engine,
    config: Config,
    pub(super) checks: Vec<CheckEvents>,
}

/// Scratch memory of one thread; works with every engine of the same sequence.
pub struct ConfiguredWorkspace {
    workspace: Workspace,
    cancel: Cancel,
}

impl ConfiguredWorkspace {
    /// Makes `cancel` end runs that use this workspace, after the current slice of events.
    pub fn end_by(&mut self, cancel: &Cancel) {
        self.cancel = cancel.clone();
    }
}

impl ConfiguredEngine {
    /// Makes an engine for the configuration and the geometry of a request, and ignores the request's inputs. Without a
    /// geometry the engine reconstructs only events that consist of hits, not of raw banks.
    ///
    /// # Errors
    /// Returns errors of the configuration and of the geometry; [`Error::Unsupported`] for the sequence timepix, since
    /// its input is an endless stream: use [`ClusterStream`](super::ClusterStream).
    pub fn new(request: &Request) -> Result<Self> {
        check_preset(&request.config)?;
        request.config.sequence.system().check_products(&request.config)?;
        let engine = with_default_float_mode(|| request.config.sequence.system().embed(request))?;
        let is_nominal = request.geometry.as_deref() == Some(Path::new(NOMINAL));
        Ok(if is_nominal { engine.with_check(check_nominal) } else { engine })
    }

    /// Makes an engine that runs a sequence with this configuration.
    pub fn of(sequence: impl Into<Sequence>, config: Config) -> Self {
        Self { engine: Engine::new(sequence), config, checks: Vec::new() }
    }

    /// Adds a check that all events must pass.
    pub(crate) fn with_check(mut self, check: CheckEvents) -> Self {
        self.checks.push(check);
        self
    }

    /// Returns the configuration of the engine.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the sequence of the engine.
    pub fn sequence(&self) -> &Sequence {
        self.engine.sequence()
    }

    /// Returns the instruction set level and gang size that run.
    pub fn level(&self) -> Level {
        self.engine.level()
    }

    /// Makes scratch memory for one more thread.
    pub fn workspace(&self) -> ConfiguredWorkspace {
        ConfiguredWorkspace { workspace: self.engine.workspace(), cancel: Cancel::default() }
    }

    /// Makes an empty outcome, into which [`run`](Self::run) writes results.
    pub fn outcome(&self) -> ConfiguredOutcome {
        ConfiguredOutcome::new(self.sequence().products())
    }

    /// Reconstructs all events on the calling thread. `to` is emptied and then receives one entry per event, in order.
    /// A run allocates nothing once `workspace` and `to` have grown to the size of the data.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for events, a workspace or an outcome of another sequence, [`Error::System`] for a run
    /// that was ended early ([`ConfiguredWorkspace::end_by`]), and errors of [`Engine::run_range`]. A fault in one
    /// event is no error: the results contain the status of each event.
    pub fn run(
        &self,
        events: Events<'_>,
        workspace: &mut ConfiguredWorkspace,
        to: &mut ConfiguredOutcome,
    ) -> Result<()> {
        self.checks.iter().try_for_each(|check| check(events))?;
        let ConfiguredWorkspace { workspace, cancel } = workspace;
        let (out, slice) = (to.begin(), self.slice_events());
        self.engine.accept(events, workspace, out)?;
        // Slices are so small that the output of a stage is still in the cache when the next stage reads it.
        (0..events.len()).step_by(slice).try_for_each(|first| {
            if cancel.is_requested() {
                return Err(Error::System("the run was ended early".into()));
            }
            self.engine.run_range(events, first..events.len().min(first + slice), workspace, out)
        })
    }

    fn slice_events(&self) -> usize {
        self.config.slice_events.unwrap_or(SLICE_EVENTS).max(1)
    }

    /// Starts threads that run this engine.
    ///
    /// # Errors
    /// Fails when `threads` is 0, and when the system cannot start the threads.
    pub fn pool(&self, threads: usize) -> Result<ConfiguredPool> {
        ConfiguredPool::new(self.engine.clone(), self.checks.clone(), threads, self.slice_events())
    }
}

/// Returns the geometry that a request names; `sequence`, which reads raw banks, is named in the error.
pub(crate) fn geometry(request: &Request, sequence: &str) -> Result<peloton_io::input::Geometry> {
    let missing = || {
        let words = "needs a geometry: the folder of the detector's geometry files, or `nominal` for simulated events";
        Error::Config(format!("the sequence {sequence} {words}"))
    };
    peloton_io::input::Geometry::named(request.geometry.as_deref().ok_or_else(missing)?)
}
