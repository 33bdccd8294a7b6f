//! [`Engine`]: reconstructs events in memory.

use crate::background::{self, Watch, lock};
use crate::columns::copy_column;
use crate::errors::{exception, named};
use crate::events::Events;
use crate::request::Asked;
use crate::results::Results;
use peloton::event::{VELO_MODULES, VeloEvents};
use peloton::{Result, Status};
use peloton_io::input::EventId;
use peloton_job::embed::{
    self, ConfiguredEngine, ConfiguredOutcome, ConfiguredPool, ConfiguredWorkspace, SpareUser, Spares,
};
use peloton_job::{Cancel, Host, Preset, Request};
use pyo3::prelude::*;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Number of events up to which a run stays on the calling thread and cannot be interrupted.
const FEW_EVENTS: usize = 32;

/// An engine. Any number of Python threads may use an engine at once: each takes a free or new workspace.
#[pyclass(frozen, module = "peloton._native")]
pub struct Engine {
    request: Arc<Request>,
    engine: ConfiguredEngine,
    seats: Mutex<Seats>,
    /// Memory for hits that no run reads.
    hits: Mutex<Vec<Hits>>,
    /// Memory of results that Python has released.
    spares: Spares,
}

/// Seats that no run uses.
#[derive(Default)]
struct Seats {
    /// The process that made the seats: a child of `fork` has none of their threads.
    process: u32,
    free: Vec<Seat>,
}

/// Memory and threads of one run at a time.
struct Seat {
    runner: Runner,
    /// Dropped with the seat: a run that fails or is interrupted does not give its seat back.
    _user: SpareUser,
}

/// Scratch memory for the calling thread, or a pool of threads with scratch memory each.
enum Runner {
    One(Box<ConfiguredWorkspace>),
    Many(ConfiguredPool),
}

impl Seat {
    /// Lets `cancel` end the next run between two slices; a pool of threads finishes its run.
    fn end_by(&mut self, cancel: &Cancel) {
        if let Runner::One(workspace) = &mut self.runner {
            workspace.end_by(cancel);
        }
    }

    fn new(engine: &ConfiguredEngine, spares: &Spares) -> Result<Self> {
        let runner = match engine.config().thread_count() {
            1 => Runner::One(Box::new(engine.workspace())),
            threads => Runner::Many(engine.pool(threads)?),
        };
        Ok(Self { runner, _user: spares.add_user() })
    }

    fn run(
        &mut self,
        engine: &ConfiguredEngine,
        events: embed::Events<'_>,
        to: &mut ConfiguredOutcome,
    ) -> Result<()> {
        match &mut self.runner {
            Runner::One(workspace) => engine.run(events, workspace, to),
            Runner::Many(pool) => pool.run(events, to),
        }
    }
}

/// Owned events, which a thread can keep while it runs.
trait Held: Send + Sync {
    fn run(&self, seat: &mut Seat, engine: &ConfiguredEngine, to: &mut ConfiguredOutcome) -> Result<()>;
    fn count(&self) -> usize;
    fn ids(&self) -> &[EventId];
}

impl Held for embed::ReadEvents {
    fn run(&self, seat: &mut Seat, engine: &ConfiguredEngine, to: &mut ConfiguredOutcome) -> Result<()> {
        seat.run(engine, self.events(), to)
    }

    fn count(&self) -> usize {
        self.ids().len()
    }

    fn ids(&self) -> &[EventId] {
        embed::ReadEvents::ids(self)
    }
}

/// Hits of the Velo, copied from columns in Python.
#[derive(Default)]
struct Hits {
    position: [Vec<f32>; 3],
    id: Vec<u32>,
    module_start: Vec<u32>,
    status: Vec<Status>,
}

impl Hits {
    fn events(&self) -> Result<VeloEvents<'_>> {
        let Self { position: [x, y, z], id, module_start, status } = self;
        VeloEvents::new(x, y, z, id, module_start, status)
    }
}

impl Held for Hits {
    fn run(&self, seat: &mut Seat, engine: &ConfiguredEngine, to: &mut ConfiguredOutcome) -> Result<()> {
        seat.run(engine, embed::Events::VeloHits(self.events()?), to)
    }

    fn count(&self) -> usize {
        self.status.len()
    }

    fn ids(&self) -> &[EventId] {
        &[]
    }
}

#[pymethods]
impl Engine {
    #[new]
    fn new(asked: Asked) -> PyResult<Self> {
        let request = asked.request()?;
        let engine = ConfiguredEngine::new(&request).map_err(exception)?;
        Ok(Self {
            request: Arc::new(request),
            engine,
            seats: Mutex::default(),
            hits: Mutex::default(),
            spares: Spares::default(),
        })
    }

    /// Returns the configuration as TOML.
    #[getter]
    fn config(&self) -> String {
        self.request.config.to_toml()
    }

    /// Returns sequence, preset, level, gang, threads and stages as JSON.
    #[getter]
    fn info(&self) -> String {
        let (level, config) = (self.engine.level(), &self.request.config);
        let info = json!({
            "sequence": self.engine.sequence().name(),
            "preset": config.preset_of_sequence().map(Preset::name),
            "isa": level.isa().name(),
            "gang": level.gang(),
            "threads": config.thread_count(),
            "stages": self.engine.sequence().stages().iter().map(|stage| stage.name).collect::<Vec<_>>(),
        });
        info.to_string()
    }

    /// Reconstructs events that a reader read.
    fn run(&self, py: Python<'_>, events: &Bound<'_, Events>) -> PyResult<Results> {
        self.run_held(py, events.get().read.clone())
    }

    /// Reconstructs hits of the Velo after copying them from the caller's columns.
    fn run_hits(
        &self,
        py: Python<'_>,
        position: [Bound<'_, PyAny>; 3],
        id: &Bound<'_, PyAny>,
        module_start: &Bound<'_, PyAny>,
    ) -> PyResult<Results> {
        let mut hits = lock(&self.hits).pop().unwrap_or_default();
        for ((name, object), values) in ["x", "y", "z"].iter().zip(&position).zip(&mut hits.position) {
            copy_column(py, name, object, values)?;
        }
        copy_column(py, "module_start", module_start, &mut hits.module_start)?;
        copy_column(py, "id", id, &mut hits.id)?;
        let starts = hits.module_start.len();
        if starts % VELO_MODULES != 1 {
            let words = format!("{starts} values, but {VELO_MODULES} for each event and one more are needed");
            return Err(named("ColumnError", &format!("module_start: {words}")));
        }
        hits.status.resize(starts / VELO_MODULES, Status::Ok);
        hits.events().map_err(exception)?;
        let hits = Arc::new(hits);
        let results = self.run_held(py, hits.clone());
        // The thread of an interrupted run may still read the hits.
        if let Ok(hits) = Arc::try_unwrap(hits) {
            lock(&self.hits).push(hits);
        }
        results
    }
}

impl Engine {
    fn run_held<H: Held + 'static>(&self, py: Python<'_>, held: Arc<H>) -> PyResult<Results> {
        let mut seat = self.take_seat().map_err(exception)?;
        let (engine, working, spares) = (self.engine.clone(), held.clone(), self.spares.clone());
        let work = move |host: Host<'_>| {
            seat.end_by(host.cancel);
            let mut outcome = engine.outcome();
            outcome.reuse(&spares);
            working.run(&mut seat, &engine, &mut outcome)?;
            outcome.set_ids(working.ids());
            let results = outcome.share(&spares);
            let batch = results.arrow()?;
            Ok((results, batch, seat))
        };
        let (results, batch, seat) = if held.count() <= FEW_EVENTS {
            background::at_once(py, work)?
        } else {
            background::run(py, Watch::default(), work)?
        };
        self.give_back(seat);
        Ok(Results::new(results, batch, self.request.clone()))
    }

    // `take_seat` and `give_back` run with the interpreter's lock: no `fork` finds the mutex locked.
    fn take_seat(&self) -> Result<Seat> {
        let mut seats = lock(&self.seats);
        if seats.process != std::process::id() {
            seats.process = std::process::id();
            // The threads of these seats exist in the parent process only: nothing may wait for them.
            std::mem::take(&mut seats.free).into_iter().for_each(|seat| std::mem::forget(seat.runner));
        }
        let free = seats.free.pop();
        drop(seats);
        free.map_or_else(|| Seat::new(&self.engine, &self.spares), Ok)
    }

    fn give_back(&self, seat: Seat) {
        lock(&self.seats).free.push(seat);
    }
}
