//! Workspaces, and runs on the caller's threads.

use crate::batch::{Filled, peloton_batch};
use crate::engine::peloton_engine;
use crate::guard::{Result, enter, invalid};
use crate::pointers::{free, hand_over, look, read_struct, reference, slice, take, write_struct};
use crate::result::{Held, peloton_result};
use crate::structs::{peloton_counters, peloton_cylinder_hits, peloton_velo_hits};
use peloton_core::Status;
use peloton_core::cylinder::CylinderInput;
use peloton_core::event::{CYLINDER_LAYERS, CylinderBatch, CylinderSeeds, VELO_MODULES, VeloEvents};
use peloton_job::embed::{ConfiguredOutcome, ConfiguredWorkspace, Events, known_status};
use std::sync::{RwLock, RwLockReadGuard};

/// Scratch memory of one thread. A workspace may move between threads, but only one call at a time may use it.
pub struct peloton_workspace(pub(crate) RwLock<Scratch>);

pub(crate) struct Scratch {
    workspace: ConfiguredWorkspace,
    copies: Copies,
}

/// Copies of those parts of the caller's events that the library needs in another form.
#[derive(Default)]
pub(crate) struct Copies {
    statuses: Vec<Status>,
    cylinder: CylinderBatch,
    /// A list without seeds for each event.
    seeds: CylinderSeeds,
}

const WORKSPACE: &str = "workspace";

/// Makes a workspace for the engine, and for every other engine of the same sequence. Memory: the caller frees
/// *workspace with peloton_workspace_free. Threads: any thread, at any time. Codes: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_workspace_new(
    engine: *const peloton_engine,
    workspace: *mut *mut peloton_workspace,
) -> i32 {
    // SAFETY: the caller's engine lives, and workspace may be written to.
    enter(|| unsafe {
        hand_over(workspace, || {
            let workspace = reference(engine, "engine")?.events()?.workspace();
            Ok(peloton_workspace(RwLock::new(Scratch { workspace, copies: Copies::default() })))
        })
    })
}

/// Frees a workspace; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_workspace_free(workspace: *mut peloton_workspace) {
    // SAFETY: the caller's last use of it.
    enter(|| unsafe {
        free(workspace);
        Ok(())
    });
}

/// Adds the counts of the run that made these results to `counters`, unless it is NULL.
///
/// # Safety
/// A pointer that is not NULL points to counters that may be written to.
pub(crate) unsafe fn count(held: &Held, counters: *mut peloton_counters) -> Result<()> {
    if counters.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let mut sum = unsafe { read_struct(counters, "counters")? };
    let columns = held.outcome.columns();
    sum.add(held.outcome.counters(), columns.tracks(), columns.hits());
    // SAFETY: as above.
    unsafe { write_struct(counters, &sum, "counters") }
}

/// Runs the engine on this thread, on the events that `events` returns; all functions of this module call this.
///
/// # Safety
/// Handles are NULL or live, and counters are NULL or may be written to.
unsafe fn run(
    engine: *const peloton_engine,
    workspace: *mut peloton_workspace,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
    events: impl for<'a> FnOnce(&'a mut Copies) -> Result<Given<'a>>,
) -> i32 {
    // SAFETY: the caller's promise.
    enter(|| unsafe {
        let engine = reference(engine, "engine")?.events()?;
        let mut scratch = take(&reference(workspace, WORKSPACE)?.0, WORKSPACE)?;
        let Scratch { workspace, copies } = &mut *scratch;
        let given = events(copies)?;
        let mut held = take(&reference(result, "result")?.0, "result")?;
        given.run(&mut held, counters, |events, outcome| engine.run(events, workspace, outcome))
    })
}

/// Events that a caller gives.
pub(crate) enum Given<'a> {
    Banks(RwLockReadGuard<'a, Filled>),
    Velo(VeloEvents<'a>),
    Cylinder(CylinderInput<'a>),
}

impl<'a> Given<'a> {
    /// Raw banks.
    ///
    /// # Safety
    /// A pointer that is not NULL points to a batch that lives as long as `'a`.
    pub(crate) unsafe fn banks(batch: *const peloton_batch) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(Self::Banks(look(&unsafe { reference(batch, "batch")? }.0, "batch")?))
    }

    /// Hits of the Velo.
    ///
    /// # Safety
    /// A pointer that is not NULL points to a struct of the size that it says, whose columns are as long as it says and live as
    /// long as `'a`.
    pub(crate) unsafe fn velo(hits: *const peloton_velo_hits, copies: &'a mut Copies) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Ok(Self::Velo(velo_events(&read_struct(hits, "hits")?, &mut copies.statuses)?)) }
    }

    /// Hits of the cylinder detector.
    ///
    /// # Safety
    /// As [`velo`](Self::velo).
    unsafe fn cylinder(hits: *const peloton_cylinder_hits, copies: &'a mut Copies) -> Result<Self> {
        let Copies { statuses, cylinder, seeds } = copies;
        // SAFETY: the caller's promise.
        let events = unsafe {
            let hits = read_struct(hits, "hits")?;
            cylinder_events(&hits, statuses, cylinder)?;
            hits.events
        };
        seeds.clear();
        (0..events).for_each(|_| seeds.end_event());
        Ok(Self::Cylinder(CylinderInput { hits: cylinder, seeds }))
    }

    /// Runs the events, stores their numbers in the result, and adds the counts of the run to `counters`.
    ///
    /// # Safety
    /// Counters are NULL or may be written to.
    pub(crate) unsafe fn run(
        &self,
        held: &mut Held,
        counters: *mut peloton_counters,
        run: impl FnOnce(Events<'_>, &mut ConfiguredOutcome) -> peloton_core::Result<()>,
    ) -> Result<()> {
        // Before anything is run: a struct of a wrong size costs nothing.
        if !counters.is_null() {
            // SAFETY: the caller's promise.
            unsafe { read_struct(counters, "counters")? };
        }
        let outcome = &mut held.outcome;
        match self {
            Self::Banks(filled) => {
                let batch = &filled.events;
                run(Events::Banks(batch.raw().view()), outcome)?;
                outcome.set_ids(batch.ids());
            }
            Self::Velo(hits) => run(Events::VeloHits(*hits), outcome)?,
            Self::Cylinder(input) => run(Events::CylinderHits(*input), outcome)?,
        }
        // SAFETY: the caller's promise.
        unsafe { count(held, counters) }
    }
}

/// Reconstructs the raw banks of a batch on this thread: the result is emptied and receives one entry per event, in
/// order. Memory: all arguments are borrowed for the call; counters may be NULL. Threads: any number of threads may
/// share an engine and a batch; each thread needs its own workspace, result and counters. Codes: INVALID_ARGUMENT,
/// CONFIG (another sequence, no geometry), ABI_MISMATCH, PANIC, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_run_banks(
    engine: *const peloton_engine,
    workspace: *mut peloton_workspace,
    batch: *const peloton_batch,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory and Threads.
    unsafe { run(engine, workspace, result, counters, |_| Given::banks(batch)) }
}

/// Number of starts of `lists` lists in each of so many events.
fn starts(events: usize, lists: usize) -> Result<usize> {
    let count = events.checked_mul(lists).and_then(|count| count.checked_add(1));
    count.ok_or_else(|| invalid(format!("{events} events are more than memory can hold")))
}

/// Converts the caller's statuses of events; without statuses, all are 0.
///
/// # Safety
/// A pointer that is not NULL points to as many numbers.
unsafe fn statuses(codes: *const u16, events: usize, to: &mut Vec<Status>) -> Result<()> {
    to.clear();
    if codes.is_null() {
        to.resize(events, Status::Ok);
        return Ok(());
    }
    // SAFETY: the caller's promise.
    for code in unsafe { slice(codes, events, "status_or_null")? } {
        to.push(known_status(*code)?);
    }
    Ok(())
}

/// Reconstructs hits of the Velo, without copying them, on this thread; otherwise like peloton_run_banks. Memory:
/// arguments are borrowed for the call; counters may be NULL. Threads: as for peloton_run_banks. Codes:
/// INVALID_ARGUMENT, CONFIG (another sequence, no such status), COLUMNS, ABI_MISMATCH, PANIC, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_run_hits(
    engine: *const peloton_engine,
    workspace: *mut peloton_workspace,
    hits: *const peloton_velo_hits,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory and Threads.
    unsafe { run(engine, workspace, result, counters, |copies| Given::velo(hits, copies)) }
}

/// The columns of hits that a caller describes.
///
/// # Safety
/// They are as long as is said, and live as long as `'a`.
unsafe fn velo_events<'a>(hits: &peloton_velo_hits, status: &'a mut Vec<Status>) -> Result<VeloEvents<'a>> {
    let starts = starts(hits.events, VELO_MODULES)?;
    // SAFETY: the caller's promise.
    unsafe {
        let column = |values: *const f32, name: &str| slice(values, hits.hits, name);
        let (x, y, z) = (column(hits.x, "x")?, column(hits.y, "y")?, column(hits.z, "z")?);
        let id = slice(hits.id, hits.hits, "id")?;
        let module_start = slice(hits.module_start, starts, "module_start")?;
        statuses(hits.status_or_null, hits.events, status)?;
        Ok(VeloEvents::new(x, y, z, id, module_start, status)?)
    }
}

/// Reconstructs hits of the cylinder detector on this thread; otherwise like peloton_run_banks. Memory: hits are
/// borrowed for the call and copied; counters may be NULL. Threads: as for peloton_run_banks. Codes:
/// INVALID_ARGUMENT, CONFIG (another sequence, no such status), COLUMNS, ABI_MISMATCH, PANIC, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_run_cylinder(
    engine: *const peloton_engine,
    workspace: *mut peloton_workspace,
    hits: *const peloton_cylinder_hits,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory and Threads.
    unsafe { run(engine, workspace, result, counters, |copies| Given::cylinder(hits, copies)) }
}

/// Copies the hits that a caller describes.
///
/// # Safety
/// They are as many as is said.
unsafe fn cylinder_events(
    hits: &peloton_cylinder_hits,
    status: &mut Vec<Status>,
    to: &mut CylinderBatch,
) -> Result<()> {
    to.clear();
    let starts = starts(hits.events, CYLINDER_LAYERS)?;
    // SAFETY: the caller's promise.
    let (columns, layer_start) = unsafe {
        let mut columns = [&[][..]; 6];
        let pointers = [hits.x, hits.y, hits.z, hits.var_r, hits.var_rphi, hits.var_z];
        for (column, pointer) in columns.iter_mut().zip(pointers) {
            *column = slice(pointer, hits.hits, "a column of hits")?;
        }
        // Before anything is made for each event: what has no starts for so many events costs no memory.
        let layer_start = slice(hits.layer_start, starts, "layer_start")?;
        statuses(hits.status_or_null, hits.events, status)?;
        (columns, layer_start)
    };
    let falls = layer_start.windows(2).any(|pair| pair[0] > pair[1]);
    if falls || layer_start[0] != 0 || layer_start[starts - 1] as usize != hits.hits {
        let text = format!("layer_start must rise from 0 to {} hits", hits.hits);
        return Err(peloton_core::Error::Columns(text).into());
    }
    to.columns_mut().into_iter().zip(columns).for_each(|(to, values)| to.extend_from_slice(values));
    to.layer_start.extend_from_slice(&layer_start[1..]);
    to.status.extend_from_slice(status);
    Ok(())
}
