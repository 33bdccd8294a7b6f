//! Speed of Velo tracking (sort, find, fit) from hits in memory: the 200 public events, or simulated events. CPU time of
//! one thread, and events/s.
//!
//! `cargo bench --bench velo` measures the preset `best` on each level (`levels/`), the presets on the level chosen by default
//! (`presets/`) and the gain of a second thread by the wall clock (`scaling/`). A filter such as `-- presets` selects rows.
//! Rows are measured in turns, in several rounds: compare rows of one round.

mod common;

use common::{Apart, Work, criterion, data, in_turns, on_one_and_two, say_events, scaling};
use criterion::Throughput;
use peloton::engine::Engine;
use peloton::event::{Outcome, VeloBatch, VeloTracks};
use peloton::simd::Level;
use peloton::velo::{Preset, Velo, VeloConfig};
use peloton_io::input::{ReadOptions, Source, VeloReader};
use peloton_sim::SimReader;

/// Returns a work that runs one thread's engine over all events.
fn work(level: Level, preset: Preset, events: &VeloBatch) -> impl FnMut() -> usize {
    let config = VeloConfig::preset(preset);
    let engine = Engine::new(Velo::new(level, config).expect("a sequence"));
    let (mut workspace, mut tracks) = (engine.workspace(), Outcome::<VeloTracks>::default());
    move || {
        engine.try_run(events.view(), &mut workspace, &mut tracks).expect("events of hits");
        tracks.results.tracks()
    }
}

fn row<'a>(name: impl ToString, mut work: impl FnMut() -> usize + 'a) -> Work<'a> {
    let run = move || {
        work();
    };
    (name.to_string(), Box::new(run))
}

fn read() -> VeloBatch {
    let mut events = VeloBatch::default();
    let path = data("velo").map(|folder| folder.join("public200.ndjson.zst")).filter(|path| path.is_file());
    if let Some(path) = path {
        say_events("the 200 public ones");
        let mut reader = VeloReader::open(&[Source::Path(path)], ReadOptions::default()).expect("events");
        while reader.read(64, &mut events, &mut Vec::new()).expect("events") > 0 {}
    } else {
        let spec = "sim:velo,events=200,seed=1";
        say_events(spec);
        let mut reader = SimReader::new(spec.parse().expect("a simulation"));
        reader.read(usize::MAX, &mut events, &mut Vec::new()).expect("events");
    }
    events
}

fn main() {
    let events = read();
    let usual = Level::choose(None, None).expect("a level");
    let expected = work(usual, Preset::Best, &events)();
    let mut criterion_cpu = criterion(common::CpuTime);

    let mut group = criterion_cpu.benchmark_group("levels");
    group.throughput(Throughput::Elements(events.len() as u64));
    let level = |level: Level| {
        let mut work = work(level, Preset::Best, &events);
        assert_eq!(work(), expected, "{level}");
        row(level, work)
    };
    in_turns(&mut group, &mut Level::supported().into_iter().map(level).collect::<Vec<_>>());
    group.finish();

    let mut group = criterion_cpu.benchmark_group("presets");
    group.throughput(Throughput::Elements(events.len() as u64));
    in_turns(&mut group, &mut Preset::ALL.map(|preset| row(preset, work(usual, preset, &events))));
    group.finish();
    criterion_cpu.final_summary();

    let workers = [0, 1].map(|_| Apart::new(work(usual, Preset::Best, &events)));
    let track = |i: usize| {
        workers[i].lock()();
    };
    scaling("scaling", &mut on_one_and_two("tracking", &track).into());
}
