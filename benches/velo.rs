//! Speed of Velo tracking (sort, find, fit) from hits in memory: the 200 public events. CPU time of one thread, least
//! of many rounds; levels and presets take turns by rounds, so that a noisy machine is noisy to all.
//!
//! `cargo bench --bench velo` prints preset `best` over the levels, with the ratio to scalar code, and the presets on
//! the level chosen by default. `-- scaling` shows what a second thread gains, for tracking and for a loop in
//! registers. With `--test` everything runs once.

mod common;

use common::{data, free_gain, now, wall};
use peloton::engine::Sequence;
use peloton::event::{Outcome, VeloBatch, VeloTracks};
use peloton::simd::{Isa, Level};
use peloton::velo::{Preset, Velo, VeloConfig, VeloWorkspace, reconstruct};
use peloton_io::input::{ReadOptions, Source, VeloReader};
use std::hint::black_box;
use std::sync::Mutex;

/// Stages of the sequence.
const STAGES: usize = Velo::STAGES.len();
/// Events reconstructed into one set of columns.
const SLICE: usize = 64;

/// What one thread needs.
#[derive(Default)]
struct Worker {
    workspace: VeloWorkspace,
    outcome: Outcome<VeloTracks>,
}

impl Worker {
    /// Reconstructs all events once; how many tracks.
    fn pass(&mut self, level: Level, config: &VeloConfig, events: &VeloBatch) -> usize {
        let mut tracks = 0;
        for first in (0..events.len()).step_by(SLICE) {
            let range = first..events.len().min(first + SLICE);
            let Self { workspace, outcome } = self;
            outcome.results.clear();
            reconstruct(level, config, events.view(), range, workspace, outcome);
            tracks += outcome.results.tracks();
        }
        tracks
    }
}

/// The least time of a pass, ns, and the stages' times in it.
struct Least {
    worker: Worker,
    pass: f64,
    stages: [f64; STAGES],
    tracks: usize,
}

impl Least {
    fn new() -> Self {
        Self { worker: Worker::default(), pass: f64::INFINITY, stages: [0.0; STAGES], tracks: 0 }
    }

    fn measure(&mut self, level: Level, config: &VeloConfig, events: &VeloBatch) {
        self.worker.outcome.clear();
        let start = now();
        self.tracks = self.worker.pass(level, config, events);
        let time = now() - start;
        if time < self.pass {
            self.pass = time;
            self.stages = std::array::from_fn(|stage| self.worker.outcome.counters.stages[stage].ns as f64);
        }
    }

    fn print(&self, name: &str, events: usize, than: f64) {
        let micros = |ns: f64| ns / events as f64 / 1e3;
        println!(
            "| {name:<15} | {:>8.0} | {:>6.2} | {:>5.1} | {:>6.1} | {:>5.1} |",
            1e9 * events as f64 / self.pass,
            than / self.pass,
            micros(self.stages[1]),
            micros(self.stages[2]),
            micros(self.stages[3])
        );
    }
}

fn head(first: &str, ratio: &str) {
    println!("\n| {first:<15} | events/s | {ratio:>6} |  sort |   find |   fit |");
    println!("|-----------------|---------:|-------:|------:|-------:|------:|");
}

/// What a second thread gains: for a loop in registers, and for tracking.
fn two_threads(events: &VeloBatch, rounds: usize) {
    let (level, config) = (Level::choose(None, None).expect("a level"), VeloConfig::default());
    let workers = [Mutex::new(Worker::default()), Mutex::new(Worker::default())];
    let track = |i: usize| {
        let worker = &mut *workers[i].lock().expect("no panic");
        for _ in 0..20 {
            black_box(worker.pass(level, &config, events));
        }
    };
    let both = |_| (0..2).for_each(track);
    let free = free_gain(rounds);
    let tracking = wall(rounds, 1, both) / wall(rounds, 2, track);
    println!(
        "two threads over one, {level}: registers {free:.2}, tracking {tracking:.2} ({:.2} of it)",
        tracking / free
    );
}

fn main() {
    let path = data("velo").join("public200.ndjson.zst");
    if !path.is_file() {
        eprintln!("skipped: no event data in {} (PELOTON_DATA names its place)", path.display());
        return;
    }
    let mut events = VeloBatch::default();
    let mut reader = VeloReader::open(&[Source::Path(path)], ReadOptions::default()).expect("events");
    while reader.read(64, &mut events, &mut Vec::new()).expect("events") > 0 {}
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    let rounds = if has("--test") { 1 } else { 30 };
    if has("scaling") {
        return two_threads(&events, rounds.min(8));
    }

    let levels = Level::supported();
    let config = VeloConfig::default();
    let mut least: Vec<_> = levels.iter().map(|_| Least::new()).collect();
    for _ in 0..rounds {
        for (level, least) in levels.iter().zip(&mut least) {
            least.measure(*level, &config, &events);
        }
    }
    let is_scalar = |level: &&Level| level.isa() == Isa::Scalar && level.gang() == 1;
    let scalar = levels.iter().position(|level| is_scalar(&level)).expect("scalar code");
    let than = least[scalar].pass;
    head("level", "speed");
    for (level, row) in levels.iter().zip(&least) {
        assert_eq!(row.tracks, least[scalar].tracks, "{level}");
        row.print(&level.to_string(), events.len(), than);
    }

    let level = Level::choose(None, None).expect("a level");
    let presets = Preset::ALL.map(|preset| VeloConfig { preset, ..VeloConfig::default() });
    let mut least = Preset::ALL.map(|_| Least::new());
    for _ in 0..rounds {
        for (config, least) in presets.iter().zip(&mut least) {
            least.measure(level, config, &events);
        }
    }
    head("preset", "speed");
    for (config, row) in presets.iter().zip(&least) {
        row.print(&config.preset.to_string(), events.len(), least[0].pass);
    }
}
