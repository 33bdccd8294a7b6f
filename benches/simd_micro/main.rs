//! Gangs on three small kernels, every level and gang size: ns per unit of work, least of many runs, in CPU
//! time of the thread (on a busy machine wall-clock time is noise).
//!
//! `cargo bench --bench simd_micro` prints the table; arguments keep only levels whose name contains one of
//! them (`-- avx2`). With `--test` every kernel runs once on every gang and must give the plain loop's bits.

mod kernels;
mod sorts;

use kernels::{Lookup, Mandelbrot, Track};
use peloton::dispatch;
use peloton::simd::{Level, with_default_float_mode};
use rustix::time::{ClockId, clock_gettime};
use sorts::Sorts;
use std::hint::black_box;

/// CPU time of this thread in ns.
fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Least CPU time of `runs` runs in ns.
fn least(runs: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = cpu_time();
        run();
        best = best.min(cpu_time() - start);
    }
    best
}

struct Kernels {
    mandelbrot: Mandelbrot,
    lookup: Lookup,
    track: Track,
}

impl Kernels {
    fn new() -> Self {
        Self { mandelbrot: Mandelbrot::new(), lookup: Lookup::new(), track: Track::new() }
    }

    /// ns per unit of work of each kernel.
    fn time(&mut self, runs: usize, level: Option<Level>) -> [f64; 3] {
        let Self { mandelbrot, lookup, track } = self;
        let times = match level {
            Some(level) => [
                least(runs, || dispatch!(level, g => mandelbrot.gang(g))),
                least(runs, || dispatch!(level, g => lookup.gang(g))),
                least(runs, || dispatch!(level, g => track.gang(g))),
            ],
            None => [
                least(runs, || mandelbrot.plain()),
                least(runs, || lookup.plain()),
                least(runs, || track.plain()),
            ],
        };
        [times[0] / mandelbrot.work(), times[1] / lookup.work(), times[2] / track.work()]
    }

    /// The outputs as bits.
    fn outputs(&self) -> [Vec<u32>; 4] {
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect();
        let Self { mandelbrot, lookup, track } = self;
        [mandelbrot.out.clone(), bits(&lookup.out), bits(&track.out), track.steps.clone()]
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let test = arguments.iter().any(|a| a == "--test");
    let names: Vec<_> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let runs = if test { 1 } else { 15 };

    let wanted = |level: &Level| names.is_empty() || names.iter().any(|n| level.to_string().contains(*n));
    let levels: Vec<_> = Level::supported().into_iter().filter(wanted).collect();
    time_kernels(runs, &levels);
    time_sorts(runs, &levels);
    time_float_mode(runs);
}

/// What it costs to make sure of the floating-point mode, once per slice of events, in a host that has the default one.
fn time_float_mode(runs: usize) {
    const CALLS: usize = 100_000;
    let mut sum = 0;
    let time = least(runs, || {
        for i in 0..CALLS {
            sum += with_default_float_mode(|| black_box(i));
        }
    });
    assert_eq!(sum, runs * (CALLS * (CALLS - 1) / 2));
    println!("\nfloating-point mode: {:.2} ns/call", time / CALLS as f64);
}

fn time_kernels(runs: usize, levels: &[Level]) {
    println!("| level           | mandelbrot ns/iteration | lookup ns/element | track ns/step |");
    println!("|-----------------|------------------------:|------------------:|--------------:|");
    let print = |name: &str, times: [f64; 3]| {
        println!("| {name:<15} | {:>23.3} | {:>17.3} | {:>13.3} |", times[0], times[1], times[2]);
    };
    let mut plain = Kernels::new();
    print("plain loops", plain.time(runs, None));
    for &level in levels {
        let mut kernels = Kernels::new();
        print(&level.to_string(), kernels.time(runs, Some(level)));
        assert!(kernels.outputs() == plain.outputs(), "{level} gives other bits than the plain loops");
    }
}

fn time_sorts(runs: usize, levels: &[Level]) {
    print!("\n| sort, ns/key    |");
    for len in Sorts::LENGTHS {
        print!(" n = {len:>4} |");
    }
    print!("\n|-----------------|");
    print!("{}", "---------:|".repeat(Sorts::LENGTHS.len()));
    let print = |name: &str, times: [f64; Sorts::LENGTHS.len()]| {
        print!("\n| {name:<15} |");
        for time in times {
            print!(" {time:>8.2} |");
        }
    };
    print(
        "sort_unstable",
        Sorts::LENGTHS.map(|len| {
            let mut sorts = Sorts::new(len);
            least(runs, || sorts.standard()) / sorts.work()
        }),
    );
    for &level in levels {
        print(
            &level.to_string(),
            Sorts::LENGTHS.map(|len| {
                let (mut sorts, mut standard) = (Sorts::new(len), Sorts::new(len));
                standard.standard();
                let time = least(runs, || sorts.gang(level)) / sorts.work();
                assert!(sorts.order == standard.order, "{level} sorts otherwise than the standard library");
                time
            }),
        );
    }
    println!();
}
