//! [`AnyEngine`]: an engine whose sequence is known only when the program runs.

use super::outcome::{AnyOutcome, wrong_sequence};
use super::pool::AnyPool;
use crate::system::check_preset;
use crate::{Cancel, Config, Request};
use peloton::cylinder::CylinderInput;
use peloton::engine::{Engine, Input, SLICE_EVENTS, Sequence, Stage};
use peloton::event::{Outcome, RawEvents, VeloEvents};
use peloton::simd::{Level, with_default_float_mode};
use peloton::{Error, Result};
use peloton_io::input::NOMINAL;
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

/// Events that an engine takes, borrowed.
#[derive(Clone, Copy)]
pub enum Events<'a> {
    /// Raw banks of LHCb.
    Banks(RawEvents<'a>),
    /// Hits of the Velo.
    VeloHits(VeloEvents<'a>),
    /// Hits of the cylinder detector.
    CylinderHits(CylinderInput<'a>),
}

impl Events<'_> {
    /// Number of events.
    pub fn len(&self) -> usize {
        match self {
            Self::Banks(events) => events.len(),
            Self::VeloHits(events) => events.len(),
            Self::CylinderHits(events) => events.events(),
        }
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses raw banks that do not say that they are of the nominal detector.
    pub(super) fn check_nominal(&self) -> Result<()> {
        let Self::Banks(events) = self else { return Ok(()) };
        let Some(event) = (0..events.len()).find(|&event| events.lacks_nominal(event)) else { return Ok(()) };
        let words = "the raw banks do not say that they are of the nominal detector: name the folder of their detector's \
                     geometry files, or decode them by the nominal geometry all the same with `nominal-forced`";
        Err(Error::Config(format!("geometry `nominal`, event {event} of the batch: {words}")))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Banks(_) => "raw banks",
            Self::VeloHits(_) => "hits of the Velo",
            Self::CylinderHits(_) => "hits of the cylinder detector",
        }
    }
}

/// Picks the events that a sequence takes.
pub(crate) type Pick<S> = for<'a> fn(Events<'a>) -> Option<<S as Sequence>::Input<'a>>;

/// An engine of the sequence that a configuration names. It holds nothing that changes, so that any number of threads may
/// share it; clones are the same engine.
#[derive(Clone)]
pub struct AnyEngine {
    pub(super) runs: Arc<dyn Runs>,
    config: Config,
    /// Whether events must say that they are of the nominal detector.
    only_nominal: bool,
}

/// Scratch memory of one thread, for every engine of the sequence that it was made for.
pub struct AnyWorkspace {
    /// The workspace of the sequence, and an outcome by which results are lent to the sequence.
    memory: Box<dyn Any + Send>,
    cancel: Cancel,
}

impl AnyWorkspace {
    /// Lets `cancel` end runs with this workspace, after the slice under way.
    pub fn end_by(&mut self, cancel: &Cancel) {
        self.cancel = cancel.clone();
    }
}

/// What is called through a table of functions, once per batch.
pub(super) trait Runs: Send + Sync {
    fn name(&self) -> &'static str;
    fn stages(&self) -> &'static [Stage];
    fn level(&self) -> Level;
    fn workspace(&self) -> AnyWorkspace;
    fn outcome(&self) -> AnyOutcome;
    fn run(
        &self,
        events: Events<'_>,
        slice_events: usize,
        workspace: &mut AnyWorkspace,
        to: &mut AnyOutcome,
    ) -> Result<()>;
    fn pool(&self, threads: usize, slice_events: usize) -> Result<AnyPool>;
}

/// What a workspace holds.
type Memory<S> = (<S as Sequence>::Workspace, Outcome<<S as Sequence>::Output>);

pub(super) struct Runner<S: Sequence> {
    pub engine: Engine<S>,
    pub pick: Pick<S>,
}

impl<S: Sequence> Runner<S> {
    /// The events that the sequence takes.
    pub fn picked<'a>(&self, events: Events<'a>) -> Result<S::Input<'a>> {
        let wrong = || Error::Config(format!("the sequence {} does not take {}", S::NAME, events.kind()));
        (self.pick)(events).ok_or_else(wrong)
    }
}

impl<S: Sequence> Runs for Runner<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn stages(&self) -> &'static [Stage] {
        S::STAGES
    }

    fn level(&self) -> Level {
        self.engine.level()
    }

    fn workspace(&self) -> AnyWorkspace {
        let memory: Memory<S> = (self.engine.workspace(), Outcome::default());
        AnyWorkspace { memory: Box::new(memory), cancel: Cancel::default() }
    }

    fn outcome(&self) -> AnyOutcome {
        AnyOutcome::new::<S::Output>(S::NAME)
    }

    fn run(
        &self,
        events: Events<'_>,
        slice_events: usize,
        workspace: &mut AnyWorkspace,
        to: &mut AnyOutcome,
    ) -> Result<()> {
        let AnyWorkspace { memory, cancel } = workspace;
        let memory = memory.downcast_mut::<Memory<S>>();
        let (workspace, spare) = memory.ok_or_else(|| wrong_sequence("workspace", S::NAME))?;
        let events = self.picked(events)?;
        let mut done = Ok(());
        to.begin(S::NAME)?.lend(spare, |outcome| {
            // Slice by slice, so that what a stage hands to the next is still in the cache.
            done = (0..events.events()).step_by(slice_events).try_for_each(|first| {
                if cancel.is_requested() {
                    return Err(Error::System("the run was ended early".into()));
                }
                let range = first..events.events().min(first + slice_events);
                self.engine.try_run_range(events, range, workspace, outcome)
            });
        });
        done
    }

    fn pool(&self, threads: usize, slice_events: usize) -> Result<AnyPool> {
        AnyPool::new(Self { engine: self.engine.clone(), pick: self.pick }, threads, slice_events)
    }
}

impl AnyEngine {
    /// An engine of the configuration and the geometry of a request; its inputs are not looked at. Without a geometry only
    /// events of hits can be reconstructed.
    ///
    /// # Errors
    /// Those of the configuration and of the geometry; [`Error::Unsupported`] for the sequence of an endless stream, which
    /// [`ClusterStream`](super::ClusterStream) runs.
    pub fn new(request: &Request) -> Result<Self> {
        check_preset(&request.config)?;
        let engine = with_default_float_mode(|| request.config.sequence.system().embed(request))?;
        let only_nominal = request.geometry.as_deref() == Some(Path::new(NOMINAL));
        Ok(Self { only_nominal, ..engine })
    }

    /// Of a sequence, which takes the events that `pick` picks.
    pub fn of<S: Sequence>(sequence: S, config: Config, pick: Pick<S>) -> Self {
        Self { runs: Arc::new(Runner { engine: Engine::new(sequence), pick }), config, only_nominal: false }
    }

    /// What was asked for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The name of the sequence.
    pub fn name(&self) -> &'static str {
        self.runs.name()
    }

    /// The stages in the order in which they run and are counted.
    pub fn stages(&self) -> &'static [Stage] {
        self.runs.stages()
    }

    /// The instruction set level and gang size that run.
    pub fn level(&self) -> Level {
        self.runs.level()
    }

    /// Scratch memory for one more thread.
    pub fn workspace(&self) -> AnyWorkspace {
        self.runs.workspace()
    }

    /// Memory for results.
    pub fn outcome(&self) -> AnyOutcome {
        self.runs.outcome()
    }

    /// Reconstructs all events on the calling thread: `to` is emptied and gets one entry per event, in order. Nothing is
    /// allocated once `workspace` and `to` have grown to the size of the data.
    ///
    /// # Errors
    /// [`Error::Config`] for events, a workspace or an outcome of another sequence, and as
    /// [`Engine::try_run`](peloton::engine::Engine::try_run); [`Error::System`] when it was ended early
    /// ([`AnyWorkspace::end_by`]). Trouble with one event is a status in the results.
    pub fn run(&self, events: Events<'_>, workspace: &mut AnyWorkspace, to: &mut AnyOutcome) -> Result<()> {
        if self.only_nominal {
            events.check_nominal()?;
        }
        self.runs.run(events, self.slice_events(), workspace, to)
    }

    fn slice_events(&self) -> usize {
        self.config.slice_events.unwrap_or(SLICE_EVENTS).max(1)
    }

    /// Starts threads that run this engine.
    ///
    /// # Errors
    /// For no threads at all, and when the system gives no more.
    pub fn pool(&self, threads: usize) -> Result<AnyPool> {
        let mut pool = self.runs.pool(threads, self.slice_events())?;
        pool.only_nominal = self.only_nominal;
        Ok(pool)
    }
}

/// The geometry that a request names, for sequences that start from raw banks.
pub(crate) fn geometry(request: &Request, sequence: &str) -> Result<peloton_io::input::Geometry> {
    let missing = || {
        let words = "needs a geometry: the folder of the detector's geometry files, or `nominal` for simulated events";
        Error::Config(format!("the sequence {sequence} {words}"))
    };
    peloton_io::input::Geometry::named(request.geometry.as_deref().ok_or_else(missing)?)
}
