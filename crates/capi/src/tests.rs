//! Faults that cannot be made from outside: sequences that panic.

mod routes;

use crate::engine::{EngineKind, peloton_engine, peloton_engine_free};
use crate::guard::{PELOTON_BUSY, PELOTON_OK, PELOTON_PANIC, enter};
use crate::names::peloton_last_error;
use crate::pool::{peloton_pool_free, peloton_pool_new, peloton_pool_run_hits};
use crate::result::{peloton_result, peloton_result_free, peloton_result_new, peloton_result_velo_tracks};
use crate::run::{peloton_run_hits, peloton_workspace, peloton_workspace_free, peloton_workspace_new};
use crate::structs::{peloton_counters, peloton_velo_hits, peloton_velo_tracks};
use peloton_core::engine::{Algorithm, AlgorithmInfo, Events, Sequence, Slice};
use peloton_core::event::{Outcome, VELO_MODULES, VeloEvents};
use peloton_core::simd::Level;
use peloton_core::velo::{Velo, VeloConfig};
use peloton_core::{Result, Status};
use peloton_job::Config;
use peloton_job::embed::ConfiguredEngine;
use std::cell::Cell;
use std::ffi::CStr;
use std::mem::zeroed;
use std::ptr::{null, null_mut};

const EVENTS: usize = 1000;
/// The event in which the sequence panics.
const FAULTY: usize = 137;

thread_local! {
    /// Panics outside of events, once, in runs of this thread: tests run side by side.
    static PANICS_OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// An algorithm with a fault.
#[derive(Debug)]
struct Faulty<A>(A);

impl<A: Algorithm> Algorithm for Faulty<A> {
    const INFO: &'static AlgorithmInfo = A::INFO;
    type Output = A::Output;
    type Scratch = A::Scratch;

    fn level(&self) -> Level {
        self.0.level()
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        assert!(!PANICS_OUTSIDE.replace(false), "planted outside of events");
        self.0.accept(events)
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut A::Scratch, out: &mut Outcome<A::Output>) {
        let planted = slice.range().contains(&FAULTY);
        self.0.run(slice, scratch, out);
        assert!(!planted, "planted in an event");
    }
}

fn velo() -> Velo {
    Velo::new(Level::choose(None, None).unwrap(), VeloConfig::default()).unwrap()
}

fn engine(sequence: impl Into<Sequence>) -> *mut peloton_engine {
    let engine = ConfiguredEngine::of(sequence, Config::default());
    Box::into_raw(Box::new(peloton_engine::new(EngineKind::Events(engine))))
}

fn good() -> *mut peloton_engine {
    engine(velo())
}

fn faulty_of(algorithm: impl Algorithm) -> *mut peloton_engine {
    engine(Sequence::new("faulty", Faulty(algorithm)).unwrap())
}

fn faulty() -> *mut peloton_engine {
    faulty_of(velo())
}

/// Events of straight tracks.
struct Hits {
    columns: [Vec<f32>; 3],
    id: Vec<u32>,
    module_start: Vec<u32>,
}

impl Hits {
    fn new() -> Self {
        let (mut columns, mut id, mut module_start) = ([const { Vec::new() }; 3], Vec::new(), vec![0]);
        for event in 0..EVENTS {
            for module in 0..VELO_MODULES {
                let z = -290.0 + 20.0 * module as f32;
                for track in 0..(event % 5) * (module % 2) {
                    let slope = 0.02 + 0.01 * track as f32;
                    let point = [slope * (z + 400.0), slope * (z + 400.0) / 2.0, z];
                    columns.iter_mut().zip(point).for_each(|(column, value)| column.push(value));
                    id.push(id.len() as u32);
                }
                module_start.push(id.len() as u32);
            }
        }
        Self { columns, id, module_start }
    }

    fn view(&self) -> peloton_velo_hits {
        let [x, y, z] = &self.columns;
        peloton_velo_hits {
            size: size_of::<peloton_velo_hits>(),
            events: EVENTS,
            hits: x.len(),
            x: x.as_ptr(),
            y: y.as_ptr(),
            z: z.as_ptr(),
            id: self.id.as_ptr(),
            module_start: self.module_start.as_ptr(),
            status_or_null: null(),
        }
    }
}

/// Statuses and tracks of each event.
fn events_of(result: *const peloton_result) -> Vec<(u16, Vec<Vec<u32>>)> {
    // SAFETY: all zeros are numbers and NULL; the result lives, and its columns are as long as it says.
    unsafe {
        let mut view: peloton_velo_tracks = zeroed();
        view.size = size_of::<peloton_velo_tracks>();
        assert_eq!(peloton_result_velo_tracks(result, &raw mut view), PELOTON_OK);
        let at = |values: *const u32, i: usize| *values.add(i) as usize;
        let hits = |track| {
            (at(view.hit_start, track)..at(view.hit_start, track + 1))
                .map(|hit| *view.hits.add(hit))
                .collect()
        };
        let tracks =
            |event| (at(view.track_start, event)..at(view.track_start, event + 1)).map(hits).collect();
        (0..view.events).map(|event| (*view.status.add(event), tracks(event))).collect()
    }
}

fn counters() -> peloton_counters {
    // SAFETY: all fields are numbers.
    let mut counters: peloton_counters = unsafe { zeroed() };
    counters.size = size_of::<peloton_counters>();
    counters
}

#[test]
fn a_panic_costs_its_event_and_nothing_else() {
    let (hits, good, faulty) = (Hits::new(), good(), faulty());
    let view = hits.view();
    // SAFETY: all handles are made here and live until they are freed; hits outlive the runs.
    unsafe {
        let mut workspace: *mut peloton_workspace = null_mut();
        let mut result: *mut peloton_result = null_mut();
        assert_eq!(peloton_workspace_new(good, &raw mut workspace), PELOTON_OK);
        assert_eq!(peloton_result_new(good, &raw mut result), PELOTON_OK);
        assert_eq!(peloton_run_hits(good, workspace, &raw const view, result, null_mut()), PELOTON_OK);
        let mut expected = events_of(result);
        assert!(!expected[FAULTY].1.is_empty());
        expected[FAULTY] = (Status::InternalFault.code(), Vec::new());
        let mut counts = counters();
        assert_eq!(peloton_run_hits(faulty, workspace, &raw const view, result, &raw mut counts), PELOTON_OK);
        assert!(events_of(result) == expected);
        let fault = usize::from(Status::InternalFault.code());
        assert_eq!((counts.events, counts.status[fault], counts.status[0]), (1000, 1, 999));
        for threads in [1, 3] {
            let mut pool = null_mut();
            assert_eq!(peloton_pool_new(faulty, threads, &raw mut pool), PELOTON_OK);
            assert_eq!(peloton_pool_run_hits(pool, &raw const view, result, null_mut()), PELOTON_OK);
            assert!(events_of(result) == expected);
            peloton_pool_free(pool);
        }
        PANICS_OUTSIDE.set(true);
        assert_eq!(peloton_run_hits(faulty, workspace, &raw const view, result, null_mut()), PELOTON_PANIC);
        let text = CStr::from_ptr(peloton_last_error()).to_str().unwrap();
        assert!(text.contains("planted outside of events"), "{text}");
        assert_eq!(peloton_run_hits(faulty, workspace, &raw const view, result, null_mut()), PELOTON_OK);
        assert!(events_of(result) == expected);
        peloton_result_free(result);
        peloton_workspace_free(workspace);
        peloton_engine_free(faulty);
        peloton_engine_free(good);
    }
}

#[test]
fn handles_in_use_are_busy() {
    let (hits, good) = (Hits::new(), good());
    let view = hits.view();
    // SAFETY: as above.
    unsafe {
        let (mut workspace, mut result) = (null_mut(), null_mut());
        assert_eq!(peloton_workspace_new(good, &raw mut workspace), PELOTON_OK);
        assert_eq!(peloton_result_new(good, &raw mut result), PELOTON_OK);
        let run = || peloton_run_hits(good, workspace, &raw const view, result, null_mut());
        let held = (*workspace).0.try_write().unwrap();
        assert_eq!(run(), PELOTON_BUSY);
        drop(held);
        let held = (*result).0.try_read().unwrap();
        assert_eq!(run(), PELOTON_BUSY);
        drop(held);
        assert_eq!(run(), PELOTON_OK);
        peloton_result_free(result);
        peloton_workspace_free(workspace);
        peloton_engine_free(good);
    }
}

#[test]
fn panics_become_codes_with_words() {
    for (work, words) in [
        ((|| panic!("words")) as fn() -> crate::guard::Result<()>, "internal error: words"),
        (|| std::panic::panic_any(7), "internal error: a panic"),
    ] {
        assert_eq!(enter(work), PELOTON_PANIC);
        // SAFETY: the text is this thread's until its next failure.
        let text = unsafe { CStr::from_ptr(peloton_last_error()) }.to_str().unwrap();
        assert!(text.starts_with(words), "{text}");
    }
    let columns = VeloEvents::new(&[1.0], &[], &[], &[], &[0], &[]).map(drop);
    assert_eq!(enter(|| Ok(columns?)), crate::guard::PELOTON_COLUMNS);
}
