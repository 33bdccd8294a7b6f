//! Shared parts of the integration tests.
#![allow(dead_code)] // Each test program uses its own part of it.

pub mod cylinder;
mod data;
pub mod decoding;
pub mod geometry;
pub mod hostile;
pub mod random;
pub mod scifi;
pub mod ut;

pub use data::data;
use peloton::engine::{Engine, Events, Pool, SLICE_EVENTS, Sliced};
use peloton::event::{Hasher, Hashes, RawBatch, TruthEvent, VeloBatch};
use peloton::simd::Level;
use peloton::velo::{Preset, Velo, VeloConfig};
use peloton_io::input::{EventNote, RawReader, ReadOptions, Source, VeloReader};
use peloton_sim::SimReader;
use std::path::Path;

/// All events of a file or directory, with truth; panics when anything is wrong with them.
pub fn read_all(path: &Path) -> (VeloBatch, Vec<TruthEvent>) {
    let options = ReadOptions { strict: true, truth: true, ..ReadOptions::default() };
    let mut reader = VeloReader::open(&[Source::Path(path.into())], options).expect("sources");
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    while reader.read(64, &mut batch, &mut truth).expect("events") > 0 {}
    (batch, truth)
}

/// The ten reference events, in order.
pub fn reference10() -> Option<(VeloBatch, Vec<TruthEvent>)> {
    let folder = data()?.join("velo/reference10");
    let files: Vec<_> = (0..10).map(|i| Source::Path(folder.join(format!("velo_event_{i}.json")))).collect();
    let options = ReadOptions { strict: true, truth: true, ..ReadOptions::default() };
    let mut reader = VeloReader::open(&files, options).expect("sources");
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    while reader.read(3, &mut batch, &mut truth).expect("events") > 0 {}
    assert_eq!(batch.len(), 10);
    Some((batch, truth))
}

/// The seven public LHCb events as raw banks, with their truth; panics when anything is wrong with them.
pub fn read_raw(path: &Path) -> (RawBatch, Vec<EventNote>) {
    let options = ReadOptions { strict: true, truth: true, ..ReadOptions::default() };
    let mut reader = RawReader::open(&[Source::Path(path.into())], options).expect("sources");
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(3, &mut batch, &mut notes).expect("events") > 0 {}
    assert_eq!((batch.len(), notes.len()), (7, 7));
    (batch, notes)
}

/// Simulated events.
pub fn simulated(events: usize, seed: u64) -> VeloBatch {
    let spec = format!("sim:velo,events={events},seed={seed}").parse().expect("a simulation");
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    SimReader::new(spec).read(events, &mut batch, &mut truth).expect("events");
    assert_eq!(batch.len(), events);
    batch
}

/// Samples for all tests: simulated events, and real events where the data exist.
pub fn samples() -> Vec<(&'static str, VeloBatch)> {
    let mut samples = vec![("simulated", simulated(30, 11))];
    if let Some((batch, _)) = reference10() {
        samples.push(("reference10", batch));
    }
    if let Some(data) = data() {
        samples.push(("public200", read_all(&data.join("velo/public200.ndjson.zst")).0));
    }
    samples
}

/// The best level of this CPU.
pub fn best_level() -> Level {
    Level::choose(None, None).expect("there is always one")
}

/// The levels to compare in round `number`: the usual levels, and every fourth of the gangs that `all-gangs` adds, so that four
/// rounds in a row have all of them. With both `all-gangs` and `small-kernels`, the usual levels take turns, too.
pub fn levels_in_turn(number: usize) -> Vec<Level> {
    let always =
        |level: &Level| level.is_usual() && !cfg!(all(feature = "all-gangs", feature = "small-kernels"));
    let turn = |(index, level): &(usize, Level)| always(level) || index % 4 == number % 4;
    Level::supported().into_iter().enumerate().filter(turn).map(|(_, level)| level).collect()
}

/// Hits to Velo tracks.
pub fn velo_at(level: Level, preset: Preset) -> Engine {
    Engine::new(Velo::new(level, VeloConfig::preset(preset)).expect("a configuration"))
}

/// Hits to Velo tracks on the best level.
pub fn velo(preset: Preset) -> Engine {
    velo_at(best_level(), preset)
}

/// Numbers of threads and of events in a slice.
#[derive(Debug, Clone, Copy)]
pub struct Sharing {
    pub threads: usize,
    pub slice_events: usize,
}

impl Sharing {
    /// A number of threads, with the usual slices.
    pub fn threads(threads: usize) -> Self {
        Self { threads, slice_events: SLICE_EVENTS }
    }
}

/// The hashes of the results of a pool, and the number of tracks; one thread, the usual slices.
pub fn hashes<'a>(engine: &Engine, events: impl Into<Events<'a>>) -> (Hashes, usize) {
    hashes_on(Sharing::threads(1), engine, events)
}

/// The hashes of the results of a pool, and the number of tracks.
pub fn hashes_on<'a>(sharing: Sharing, engine: &Engine, events: impl Into<Events<'a>>) -> (Hashes, usize) {
    let events = events.into();
    let pool = Pool::new(engine.clone(), sharing.threads, sharing.slice_events).expect("threads");
    let mut results = Sliced::default();
    let counters = pool.try_run(events, &mut results).expect("events that the sequence takes");
    assert_eq!(counters.events(), events.len() as u64, "every event is accounted for");
    let mut hasher = Hasher::new(engine.products().first().schema());
    results.slices().for_each(|piece| hasher.update(&**piece));
    (hasher.finish(), results.tracks())
}
