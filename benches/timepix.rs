//! Clustering of pixel hits by the protocol of Celko et al., section 5: 4 million hits in memory. CPU time of one thread,
//! and hits/s.
//!
//! `cargo bench --bench timepix` measures the ten simulated samples; `-- am241` selects one sample, `-- pion45/chain` a part of
//! one. Instead of simulated samples, `PELOTON_PIXELS` may name files of records of 16 bytes in order of time (`.bin`, with
//! colons between). `fast` is the search alone, from hits in order of time to labels; `plain` is the plain loop, `open` the
//! published algorithm 1; `chain` is everything from hits in the order of their readout to clusters with features, with
//! energies by a calibration of each pixel or without, on each instruction set; `frames` is the search on frames.
//! `scaling` measures the gain of a second thread by the wall clock, for the search on two halves of a stream, for the chain
//! on two workers and for a loop in registers.
//! All programs must find the same clusters. Rows are measured in turns, in several rounds: compare rows of one round.

mod common;

use common::{Apart, CpuTime, Work, criterion, in_turns, is_test, is_wanted, on_one_and_two, scaling};
use criterion::Throughput;
use peloton::event::{Column, Layout, PixelBlock, PixelHits};
use peloton::simd::Level;
use peloton::timepix::{
    Algorithm, Chain, FindConfig, Finder, PlainMatrix, TimeSorter, TimepixConfig, Workers, plain_loop,
};
use peloton_io::input::Source;
use peloton_io::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd};
use peloton_sim::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use std::hint::black_box;
use std::path::Path;

/// Length of a frame, ticks: 100 us.
const FRAME: i64 = 64_000;

/// A stream in the order of its readout and in order of time.
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
        let mut sorter = TimeSorter::new(level(), i64::MAX, 1 << 28);
        sorter.push(&read_out);
        sorter.finish(&mut sorted);
        Self { name: preset.name().into(), read_out, sorted, disorder_us: sim.disorder_us() }
    }

    fn file(path: &Path) -> Self {
        let options = PixelOptions { format: PixelFormat::Hits16, ..PixelOptions::default() };
        let mut reader = PixelReader::open(&[Source::Path(path.into())], options).expect("a file");
        let mut block = PixelBlock::default();
        while reader.read(block.hits.len() + 1000, &mut block).expect("hits") == ReadEnd::More {}
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, read_out: block.hits.clone(), sorted: block.hits, disorder_us: 1.0 }
    }

    /// Returns the stream in the order of its readout, in the blocks that a reader provides.
    fn blocks(&self, block_hits: usize) -> Vec<PixelHits> {
        let starts = (0..self.read_out.len()).step_by(block_hits);
        starts.map(|start| part(&self.read_out, start..self.read_out.len().min(start + block_hits))).collect()
    }
}

fn part(hits: &PixelHits, range: std::ops::Range<usize>) -> PixelHits {
    let mut part = PixelHits::default();
    part.extend_from(hits, range, 0);
    part
}

fn level() -> Level {
    Level::choose(None, None).expect("a level")
}

fn finder(algorithm: Algorithm) -> Finder {
    Finder::new(FindConfig { algorithm, ..FindConfig::default() }, 256, 256).expect("a finder")
}

/// Writes files of parameters that differ from pixel to pixel.
fn calibration() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (k, (name, middle)) in [("a", 0.73), ("b", 3.6), ("c", 2.3), ("t", 2.5)].into_iter().enumerate() {
        let value = |i: usize| middle * (0.9 + 0.2 * ((i * 7919 + k * 104_729) % 1009) as f64 / 1009.0);
        let text: String = (0..256 * 256).map(|i| format!("{:.5} ", value(i))).collect();
        std::fs::write(folder.path().join(format!("{name}.txt")), text).expect("a file");
    }
    folder
}

/// Returns the configuration and the layout for the chain.
fn chain_config(sample: &Sample, calibration: Option<&Path>) -> (TimepixConfig, Layout) {
    let config = TimepixConfig {
        disorder_us: Some(sample.disorder_us),
        calibration: calibration.map(Path::to_path_buf),
        ..TimepixConfig::default()
    };
    (config, Layout::single(256, 256).expect("a chip"))
}

/// Returns a work that runs the whole chain on one thread and returns the number of clusters.
fn chain<'a>(sample: &'a Sample, level: Level, calibration: Option<&Path>) -> impl FnMut() -> usize + 'a {
    let (config, layout) = chain_config(sample, calibration);
    let mut chain = Chain::new(&config, level, &layout).expect("a chain");
    let blocks = sample.blocks(config.block_hits);
    move || {
        let clusters: usize = blocks.iter().map(|block| chain.push(block, false).len()).sum();
        clusters + chain.push(&PixelHits::default(), true).len()
    }
}

/// Returns the rows of one sample. All rows must find the same number of clusters.
fn rows<'a>(sample: &'a Sample, calibration: &Path) -> Vec<Work<'a>> {
    let mut rows: Vec<Work<'a>> = Vec::new();
    let mut clusters = None;
    let mut add = |name: String, mut find: Box<dyn FnMut() -> usize + 'a>| {
        let found = find();
        assert_eq!(*clusters.get_or_insert(found), found, "{}: {name}", sample.name);
        rows.push((
            name,
            Box::new(move || {
                black_box(find());
            }),
        ));
    };
    for (name, algorithm) in [("fast", Algorithm::Fast), ("open", Algorithm::Open)] {
        let (mut finder, mut labels) = (finder(algorithm), Column::default());
        add(name.into(), Box::new(move || finder.run(&sample.sorted, &mut labels)));
    }
    let (mut matrix, mut labels) = (PlainMatrix::new(256, 256), Column::default());
    let plain = move || {
        labels.set_len(sample.sorted.len());
        plain_loop(FindConfig::default().window(), &sample.sorted, &mut matrix, &mut labels)
    };
    add("plain".into(), Box::new(plain));
    for level in Level::supported().into_iter().filter(|level| level.is_usual()) {
        add(format!("chain, {level}"), Box::new(chain(sample, level, Some(calibration))));
    }
    add("chain without energies".into(), Box::new(chain(sample, level(), None)));
    rows
}

/// Returns the search on frames of 100 us: by the raster, with one tick allowed between hits, and by the plain loop.
fn on_frames(sample: &Sample) -> Vec<Work<'static>> {
    let mut frames = PixelHits::default();
    frames.extend_from(&sample.sorted, 0..sample.sorted.len(), 0);
    frames.time.iter_mut().for_each(|time| *time = *time / FRAME * 2);
    let (mut sorter, mut hits) = (TimeSorter::new(level(), i64::MAX, 1 << 28), PixelHits::default());
    sorter.push(&frames);
    sorter.finish(&mut hits);
    let hits = std::rc::Rc::new(hits);
    let mut expected = None;
    let ways = [
        ("frames", 0, Algorithm::Fast),
        ("frames, fragments", 1, Algorithm::Fast),
        ("frames, plain", 0, Algorithm::Plain),
    ];
    ways.map(|(name, delta, algorithm)| {
        let config = FindConfig { delta, algorithm, ..FindConfig::default() };
        let (mut finder, mut labels) = (Finder::new(config, 256, 256).expect("a finder"), Column::default());
        let clusters = finder.run(&hits, &mut labels);
        assert_eq!(*expected.get_or_insert(clusters), clusters, "{}: {name}", sample.name);
        let hits = hits.clone();
        let run = move || {
            black_box(finder.run(&hits, &mut labels));
        };
        (name.to_string(), Box::new(run) as Box<_>)
    })
    .into()
}

/// Measures the gain of a second thread, for the search on two halves of a stream, and for the chain on two workers.
fn two_threads(sample: &Sample, calibration: &Path) {
    let middle = sample.sorted.len() / 2;
    let halves = [0..middle, middle..sample.sorted.len()].map(|range| {
        Apart::new((part(&sample.sorted, range), finder(Algorithm::Fast), Column::<u32>::default()))
    });
    let find = |i: usize| {
        let (hits, finder, labels) = &mut *halves[i].lock();
        black_box(finder.run(hits, labels));
    };
    let (config, layout) = chain_config(sample, Some(calibration));
    let blocks = sample.blocks(config.block_hits);
    let mut works: Vec<Work> = on_one_and_two("search", &find).into();
    for (name, workers) in [("chain, 1 thread", 1), ("chain, 2 threads", 2)] {
        let mut chain = Workers::new(&config, level(), &layout, workers).expect("workers");
        let blocks = &blocks;
        let run = move || {
            for block in blocks {
                black_box(chain.push(block, false));
            }
            black_box(chain.push(&PixelHits::default(), true));
        };
        works.push((name.into(), Box::new(run)));
    }
    scaling(&format!("{}/scaling", sample.name), &mut works);
}

fn main() {
    let hits = if is_test() { 20_000 } else { 4_000_000 };
    let names = PixelPreset::NAMES.map(|(name, _)| name);
    let files = std::env::var_os("PELOTON_PIXELS");
    let files: Vec<_> = files.iter().flat_map(std::env::split_paths).collect();
    let simulated =
        PixelPreset::NAMES.into_iter().filter(|(name, _)| files.is_empty() && is_wanted(name, &names));
    let samples = files
        .iter()
        .map(|path| Sample::file(path))
        .chain(simulated.map(|(_, preset)| Sample::simulated(preset, hits)));
    let calibration = calibration();
    for sample in samples {
        let mut criterion = criterion(CpuTime).sample_size(10);
        let mut group = criterion.benchmark_group(&sample.name);
        group.throughput(Throughput::Elements(sample.sorted.len() as u64));
        in_turns(&mut group, &mut rows(&sample, calibration.path()));
        in_turns(&mut group, &mut on_frames(&sample));
        group.finish();
        two_threads(&sample, calibration.path());
    }
}
