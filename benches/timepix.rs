//! Clustering of pixel hits by the protocol of Celko et al., section 5: 4 million hits, repeated with an
//! offset in time, in memory. CPU time of one thread, least of several passes, millions of hits per second.
//!
//! `cargo bench --bench timepix` prints a table of the ten simulated samples. Arguments name samples, or files
//! of records of 16 bytes in order of time (`.bin`); `passes=N` and `repeats=N` (25 in the paper) change how
//! much is measured, `block=N` the hits of a block of the chain. `scaling` shows what a second thread gains instead,
//! `levels` the chain on each instruction set and on one and two workers, `chain` the chain alone, stage by stage.
//! With `--test` everything runs once on few hits. All programs of a row must find the same clusters. `fast` is the search alone, from hits in order of time to labels; `plain` is the plain loop, `open` the
//! published algorithm 1; `chain` is everything from hits in the order of their readout to clusters with
//! features, energies by a calibration of each pixel among them.

mod common;

use common::{free_gain, now, wall};
use peloton::event::{Column, Layout, PixelBlock, PixelHits};
use peloton::simd::Level;
use peloton::timepix::{
    Algorithm, Chain, FindConfig, Finder, PlainMatrix, TimeSorter, TimepixConfig, Workers, plain_loop,
};
use peloton_io::input::Source;
use peloton_io::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd};
use peloton_sim::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

/// A stream as it is read out and in order of time.
struct Sample {
    name: String,
    read_out: PixelHits,
    sorted: PixelHits,
    disorder_us: f64,
}

impl Sample {
    fn simulated(preset: PixelPreset, hits: u64) -> Self {
        let mut sim = PixelSim::new(PixelSimSpec { preset, hits, ..PixelSimSpec::default() });
        let mut read_out = PixelHits::default();
        while sim.read(read_out.len() + 1000, &mut read_out) {}
        let mut sorted = PixelHits::default();
        let mut sorter = TimeSorter::new(Level::choose(None, None).expect("a level"), i64::MAX, 1 << 28);
        sorter.push(&read_out);
        sorter.finish(&mut sorted);
        Self { name: preset.name().into(), read_out, sorted, disorder_us: sim.disorder_us() }
    }

    fn file(path: &str) -> Self {
        let options = PixelOptions { format: PixelFormat::Hits16, ..PixelOptions::default() };
        let mut reader = PixelReader::open(&[Source::Path(path.into())], options).expect("a file");
        let mut block = PixelBlock::default();
        while reader.read(block.hits.len() + 1000, &mut block).expect("hits") == ReadEnd::More {}
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".bin").into();
        Self { name, read_out: block.hits.clone(), sorted: block.hits, disorder_us: 1.0 }
    }

    /// The stream as it is read out `repeats` times, in the blocks in which a reader hands it over.
    fn blocks(&self, repeats: usize, block_hits: usize) -> Vec<PixelHits> {
        let all = self.repeated(&self.read_out, repeats);
        let starts = (0..all.len()).step_by(block_hits);
        let block = |start: usize| {
            let mut block = PixelHits::default();
            block.extend_from(&all, start..all.len().min(start + block_hits), 0);
            block
        };
        starts.map(block).collect()
    }

    /// The hits `repeats` times, one after another.
    fn repeated(&self, hits: &PixelHits, repeats: usize) -> PixelHits {
        let span = self.sorted.time[self.sorted.len() - 1] - self.sorted.time[0] + 1000;
        let mut all = PixelHits::default();
        (0..repeats as i64).for_each(|i| all.extend_from(hits, 0..hits.len(), i * span));
        all
    }
}

/// Best rate of several passes, million hits/s, and what the passes found.
fn rate(passes: usize, hits: usize, mut run: impl FnMut() -> usize) -> (f64, usize) {
    let (mut best, mut found) = (f64::INFINITY, 0);
    for _ in 0..passes {
        let start = now();
        found = run();
        best = best.min(now() - start);
    }
    (hits as f64 / best * 1e3, found)
}

/// One row: rates of fast, plain, open and chain.
fn measure(sample: &Sample, passes: usize, repeats: usize, block_hits: Option<usize>) {
    let config = FindConfig::default();
    let hits = sample.repeated(&sample.sorted, repeats);
    let mut labels = Column::default();
    let mut find = |algorithm, hits: &PixelHits, passes| {
        let mut finder = Finder::new(FindConfig { algorithm, ..config }, 256, 256).expect("a finder");
        rate(passes, hits.len(), || finder.run(hits, &mut labels))
    };
    let fast = find(Algorithm::Fast, &hits, passes);
    let open = find(Algorithm::Open, &sample.sorted, 1);
    let fast_once = find(Algorithm::Fast, &sample.sorted, 1);
    assert_eq!(open.1, fast_once.1, "{}", sample.name);
    let mut matrix = PlainMatrix::new(256, 256);
    let plain = rate(passes, hits.len(), || {
        labels.set_len(hits.len());
        plain_loop(config.window(), &hits, &mut matrix, &mut labels)
    });
    assert_eq!(plain.1, fast.1, "{}", sample.name);

    let level = Level::choose(None, None).expect("a level");
    let whole = chain_rate(sample, level, passes, repeats, block_hits, true);
    assert_eq!(whole.clusters, fast.1, "{}", sample.name);
    let share = |i: usize| 100.0 * whole.stages[i] / whole.stages.iter().sum::<f64>();
    let size = sample.sorted.len() as f64 / fast_once.1 as f64;
    println!(
        "| {:<12} | {size:>9.1} | {:>6.1} | {:>6.1} | {:>5.2} | {:>5.1} | {:>6.1} | {:>2.0} {:>2.0} {:>2.0} |",
        sample.name,
        fast.0,
        plain.0,
        fast.0 / plain.0,
        open.0,
        whole.rate,
        share(1),
        share(2),
        share(3)
    );
}

/// Words that say what is measured.
const MODES: [&str; 3] = ["chain", "levels", "scaling"];

/// One row: the chain with energies and without, and how long each stage takes per hit.
fn stages(sample: &Sample, passes: usize, repeats: usize, block_hits: Option<usize>) {
    let level = Level::choose(None, None).expect("a level");
    let without = chain_rate(sample, level, passes, repeats, block_hits, false);
    let whole = chain_rate(sample, level, passes, repeats, block_hits, true);
    let ns = |i: usize| whole.stages[i] / (passes * repeats * sample.sorted.len()) as f64;
    println!(
        "| {:<12} | {:>8.1} | {:>7.1} | {:>8.2} | {:>4.2} | {:>8.2} |",
        sample.name,
        whole.rate,
        without.rate,
        ns(0) + ns(1),
        ns(2),
        ns(3)
    );
}

/// The whole chain on one thread: million hits/s, clusters, time of its stages.
struct Whole {
    rate: f64,
    clusters: usize,
    stages: [f64; 4],
}

/// Calibration files of this run.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// The configuration of the chain: with energies, from parameters that differ from pixel to pixel.
fn chain_config(sample: &Sample) -> TimepixConfig {
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("peloton-bench-calibration-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for (k, (name, middle)) in [("a", 0.73), ("b", 3.6), ("c", 2.3), ("t", 2.5)].into_iter().enumerate() {
            let value = |i: usize| middle * (0.9 + 0.2 * ((i * 7919 + k * 104_729) % 1009) as f64 / 1009.0);
            let text: String = (0..256 * 256).map(|i| format!("{:.5} ", value(i))).collect();
            std::fs::write(folder.join(format!("{name}.txt")), text).expect("a file");
        }
        folder
    });
    TimepixConfig {
        disorder_us: Some(sample.disorder_us),
        calibration: Some(folder.clone()),
        ..TimepixConfig::default()
    }
}

fn chain_rate(
    sample: &Sample,
    level: Level,
    passes: usize,
    repeats: usize,
    block_hits: Option<usize>,
    energies: bool,
) -> Whole {
    let mut config = chain_config(sample);
    config.block_hits = block_hits.unwrap_or(config.block_hits);
    if !energies {
        config.calibration = None;
    }
    let mut chain = Chain::new(&config, level, &Layout::single(256, 256).expect("a chip")).expect("a chain");
    let blocks = sample.blocks(repeats, config.block_hits);
    let hits = blocks.iter().map(PixelHits::len).sum();
    let (rate, clusters) = rate(passes, hits, || {
        let clusters: usize = blocks.iter().map(|block| chain.push(block, false).len()).sum();
        clusters + chain.push(&PixelHits::default(), true).len()
    });
    assert_eq!(chain.counts().late, 0, "{}", sample.name);
    let stages = std::array::from_fn(|i| chain.counters().stages[i].ns as f64);
    Whole { rate, clusters, stages }
}

/// Seconds that a stream takes on so many workers, wall clock, least of several passes.
fn workers_wall(sample: &Sample, workers: usize, passes: usize, repeats: usize) -> (f64, usize) {
    let config = chain_config(sample);
    let blocks = sample.blocks(repeats, config.block_hits);
    let level = Level::choose(None, None).expect("a level");
    let layout = Layout::single(256, 256).expect("a chip");
    let chain = Mutex::new(Workers::new(&config, level, &layout, workers).expect("workers"));
    let seconds = wall(passes, 1, |_| {
        let chain = &mut *chain.lock().expect("no panic");
        for block in &blocks {
            black_box(chain.push(block, false).len());
        }
        black_box(chain.push(&PixelHits::default(), true).len());
    });
    (seconds, blocks.iter().map(PixelHits::len).sum())
}

/// One row: the chain at each level on one thread, then on one worker and on two, by the wall clock.
fn levels(sample: &Sample, passes: usize, repeats: usize) {
    let mut row = format!("| {:<12} |", sample.name);
    let mut clusters = None;
    for level in usual_levels() {
        let whole = chain_rate(sample, level, passes, repeats, None, true);
        assert_eq!(*clusters.get_or_insert(whole.clusters), whole.clusters, "{} {level}", sample.name);
        row.push_str(&format!(" {:>13.1} |", whole.rate));
    }
    for workers in [1, 2] {
        let (seconds, hits) = workers_wall(sample, workers, passes, repeats);
        row.push_str(&format!(" {:>9.1} |", hits as f64 / seconds * 1e-6));
    }
    println!("{row}");
}

/// The usual gang of each level that runs here.
fn usual_levels() -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for level in Level::supported() {
        if levels.iter().all(|known| known.isa() != level.isa()) {
            levels.push(Level::choose(Some(level.isa()), None).expect("it is supported"));
        }
    }
    levels
}

/// What a second thread gains: for a loop in registers, for the search on two halves of a stream, and for the
/// chain on two workers instead of one.
fn scaling(sample: &Sample, passes: usize, repeats: usize) {
    let free = free_gain(passes);
    let hits = sample.repeated(&sample.sorted, repeats);
    let halves = [0..hits.len() / 2, hits.len() / 2..hits.len()].map(|range| {
        let mut half = PixelHits::default();
        half.extend_from(&hits, range, 0);
        let finder = Finder::new(FindConfig::default(), 256, 256).expect("a finder");
        Mutex::new((half, finder, Column::default()))
    });
    let find = |i: usize| {
        let (hits, finder, labels) = &mut *halves[i].lock().expect("no panic");
        black_box(finder.run(hits, labels));
    };
    let both = |_| (0..2).for_each(find);
    let search = wall(passes, 1, both) / wall(passes, 2, find);

    let chain = workers_wall(sample, 1, passes, repeats).0 / workers_wall(sample, 2, passes, repeats).0;
    println!(
        "{}: two threads over one: registers {free:.2}, search {search:.2} ({:.2} of it), chain {chain:.2} ({:.2} of it)",
        sample.name,
        search / free,
        chain / free
    );
}

fn main() {
    run();
    if let Some(folder) = FOLDER.get() {
        std::fs::remove_dir_all(folder).expect("the folder of this run");
    }
}

fn run() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let test = arguments.iter().any(|argument| argument == "--test");
    let given = |key: &str| {
        let found = arguments.iter().find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='));
        found.map(|value| value.parse::<usize>().expect("a number"))
    };
    let number = |key: &str, default: usize| given(key).unwrap_or(default);
    let block_hits = given("block");
    let (passes, repeats) = if test { (1, 2) } else { (number("passes", 5), number("repeats", 25)) };
    let hits: u64 = if test { 20_000 } else { 4_000_000 };
    let is_name = |argument: &&String| !argument.starts_with("--") && !argument.contains('=');
    let names: Vec<_> = arguments.iter().filter(is_name).collect();

    let names = &names[..];
    let samples = || {
        let bins = names.iter().filter(|name| name.ends_with(".bin")).map(|path| Sample::file(path));
        let no_sample = names.iter().all(|name| name.ends_with(".bin") || MODES.contains(&name.as_str()));
        let only_bins = no_sample && names.iter().any(|name| name.ends_with(".bin"));
        let simulated = PixelPreset::NAMES
            .into_iter()
            .filter(move |(name, _)| !only_bins && (no_sample || names.iter().any(|wanted| wanted == name)));
        bins.chain(simulated.map(|(_, preset)| Sample::simulated(preset, hits)))
    };
    if names.iter().any(|name| *name == "scaling") {
        samples().for_each(|sample| scaling(&sample, passes, repeats.min(4)));
        return;
    }
    if names.iter().any(|name| *name == "chain") {
        println!("| sample       | energies | without | ns: sort | find | features |");
        samples().for_each(|sample| stages(&sample, passes, repeats, block_hits));
        return;
    }
    if names.iter().any(|name| *name == "levels") {
        let head: String =
            usual_levels().iter().map(|level| format!(" {:>13} |", level.to_string())).collect();
        println!("| sample       |{head}1 worker | 2 workers |");
        samples().for_each(|sample| levels(&sample, passes, repeats));
        return;
    }
    println!(
        "| sample       | hits/clu. |   fast |  plain | ratio |  open |  chain | sort, find, features % |"
    );
    println!(
        "|--------------|----------:|-------:|-------:|------:|------:|-------:|-----------------------:|"
    );
    samples().for_each(|sample| measure(&sample, passes, repeats, block_hits));
}
