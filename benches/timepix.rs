//! Clustering of pixel hits by the protocol of Celko et al., section 5: 4 million hits, repeated with an
//! offset in time, in memory. CPU time of one thread, least of several passes, millions of hits per second.
//!
//! `cargo bench --bench timepix` prints a table of the ten simulated samples. Arguments name samples, or files
//! of records of 16 bytes in order of time (`.bin`); `passes=N` and `repeats=N` (25 in the paper) change how
//! much is measured, `block=N` the hits of a block of the chain. `scaling` shows what a second thread gains instead. With `--test` everything runs once on few hits. All programs of a row must find the same
//! clusters. `fast` is the search alone, from hits in order of time to labels; `plain` is the plain loop, `open` the
//! published algorithm 1; `chain` is everything from hits in the order of their readout to clusters with
//! features.

use peloton::event::{Column, Layout, PixelBlock, PixelHits};
use peloton::input::Source;
use peloton::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd};
use peloton::pipeline::timepix::Lanes;
use peloton::simd::Level;
use peloton::timepix::reference::{PlainMatrix, plain_loop};
use peloton::timepix::{Algorithm, Chain, FindConfig, Finder, TimeSorter, TimepixConfig};
use peloton::truth::simulate::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

/// CPU time of this thread, s.
fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

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
        let start = cpu_time();
        found = run();
        best = best.min(cpu_time() - start);
    }
    (hits as f64 / best * 1e-6, found)
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

    let block_hits = block_hits.unwrap_or(TimepixConfig::default().block_hits);
    let config =
        TimepixConfig { disorder_us: Some(sample.disorder_us), block_hits, ..TimepixConfig::default() };
    let level = Level::choose(None, None).expect("a level");
    let mut chain = Chain::new(&config, level, &Layout::single(256, 256).expect("a chip")).expect("a chain");
    let hits = sample.repeated(&sample.read_out, repeats);
    let mut block = PixelHits::default();
    let whole = rate(passes, hits.len(), || {
        let mut clusters = 0;
        for start in (0..hits.len()).step_by(config.block_hits) {
            block.clear();
            block.extend_from(&hits, start..hits.len().min(start + config.block_hits), 0);
            clusters += chain.push(&block, false).len();
        }
        clusters + chain.push(&PixelHits::default(), true).len()
    });
    assert_eq!((whole.1, chain.counts().late), (fast.1, 0), "{}", sample.name);
    let total: u64 = chain.counters().stages.iter().map(|stage| stage.ns).sum();
    let share = |i: usize| 100.0 * chain.counters().stages[i].ns as f64 / total as f64;
    let size = sample.sorted.len() as f64 / fast_once.1 as f64;
    println!(
        "| {:<12} | {size:>9.1} | {:>6.1} | {:>6.1} | {:>5.2} | {:>5.1} | {:>6.1} | {:>2.0} {:>2.0} {:>2.0} |",
        sample.name,
        fast.0,
        plain.0,
        fast.0 / plain.0,
        open.0,
        whole.0,
        share(1),
        share(2),
        share(3)
    );
}

/// Wall clock of `threads` threads that each run `work`, least of several passes, s.
fn wall(passes: usize, threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let pass = || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            (0..threads).for_each(|thread| {
                drop(scope.spawn({
                    let work = &work;
                    move || work(thread)
                }))
            });
        });
        start.elapsed().as_secs_f64()
    };
    (0..passes).map(|_| pass()).fold(f64::INFINITY, f64::min)
}

/// What a second thread gains: for a loop in registers, for the search on two halves of a stream, and for the
/// chain on two lanes instead of one.
fn scaling(sample: &Sample, passes: usize, repeats: usize) {
    let registers = |_| {
        let mut x = 1u64;
        for i in 0..200_000_000u64 {
            x = black_box(x.wrapping_mul(0x9E37_79B9_7F4A_7C15)) ^ i;
        }
        black_box(x);
    };
    let free = 2.0 * wall(passes, 1, registers) / wall(passes, 2, registers);
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

    let hits = sample.repeated(&sample.read_out, repeats);
    let config = TimepixConfig { disorder_us: Some(sample.disorder_us), ..TimepixConfig::default() };
    let chain = |lanes: usize| {
        let level = Level::choose(None, None).expect("a level");
        let layout = Layout::single(256, 256).expect("a chip");
        let chain = Mutex::new(Lanes::new(&config, level, &layout, lanes).expect("lanes"));
        wall(passes, 1, |_| {
            let (chain, mut block) = (&mut *chain.lock().expect("no panic"), PixelHits::default());
            for start in (0..hits.len()).step_by(config.block_hits) {
                block.clear();
                block.extend_from(&hits, start..hits.len().min(start + config.block_hits), 0);
                black_box(chain.push(&block, false).len());
            }
            black_box(chain.push(&PixelHits::default(), true).len());
        })
    };
    let lanes = chain(1) / chain(2);
    println!(
        "{}: two threads over one: registers {free:.2}, search {search:.2} ({:.2} of it), chain {lanes:.2}",
        sample.name,
        search / free
    );
}

fn main() {
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

    if arguments.iter().any(|argument| argument == "scaling") {
        for preset in [PixelPreset::Am241, PixelPreset::Pion75, PixelPreset::Lead0Large] {
            scaling(&Sample::simulated(preset, hits), passes, repeats.min(4));
        }
        return;
    }
    println!(
        "| sample       | hits/clu. |   fast |  plain | ratio |  open |  chain | sort, find, features % |"
    );
    println!(
        "|--------------|----------:|-------:|-------:|------:|------:|-------:|-----------------------:|"
    );
    for path in names.iter().filter(|name| name.ends_with(".bin")) {
        measure(&Sample::file(path), passes, repeats, block_hits);
    }
    for (name, preset) in PixelPreset::NAMES {
        let no_sample = names.iter().all(|name| name.ends_with(".bin")) && !names.is_empty();
        if names.is_empty() || (!no_sample && names.iter().any(|wanted| *wanted == name)) {
            measure(&Sample::simulated(preset, hits), passes, repeats, block_hits);
        }
    }
}
