//! Gangs against plain loops, on every level and with every gang size: three small kernels, and sorts. CPU time of the thread,
//! and units of work/s: iterations of `mandelbrot`, elements of `lookup`, steps of `track`, keys of sorts.
//!
//! `cargo bench --bench simd_micro` measures all rows, `-- track/avx2` only rows whose names contain this. First, every kernel
//! runs once on every gang and must give the plain loop's bits. Rows are measured in turns, in several rounds: compare rows of
//! one round.

#[path = "../common/mod.rs"]
mod common;
mod kernels;
mod sorts;

use common::{CpuTime, Work, criterion, in_turns};
use criterion::{Criterion, Throughput};
use kernels::{Lookup, Mandelbrot, Track};
use peloton::dispatch;
use peloton::simd::{Level, with_default_float_mode};
use sorts::Sorts;
use std::hint::black_box;

/// Measures rows of a kernel: plain loops, then each level. `new` makes its data, `plain` and `gang` run it, and `result` returns
/// the bits of its results.
macro_rules! kernel {
    ($criterion:expr, $name:literal, $new:expr, $result:expr) => {{
        let mut plain = $new;
        plain.plain();
        let expected = $result(&plain);
        let work = plain.work() as u64;
        let mut rows: Vec<Work> = vec![("plain loops".into(), Box::new(move || plain.plain()))];
        for level in Level::supported() {
            let mut kernel = $new;
            dispatch!(level, g => kernel.gang(g));
            assert!($result(&kernel) == expected, "{level} gives other bits than the plain loops");
            let run = move || dispatch!(level, g => kernel.gang(g));
            rows.push((level.to_string(), Box::new(run)));
        }
        let mut group = $criterion.benchmark_group($name);
        group.throughput(Throughput::Elements(work));
        in_turns(&mut group, &mut rows);
        group.finish();
    }};
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn kernels(criterion: &mut Criterion<CpuTime>) {
    kernel!(criterion, "mandelbrot", Mandelbrot::new(), |kernel: &Mandelbrot| kernel.out.clone());
    kernel!(criterion, "lookup", Lookup::new(), |kernel: &Lookup| bits(&kernel.out));
    kernel!(criterion, "track", Track::new(), |kernel: &Track| (bits(&kernel.out), kernel.steps.clone()));
}

fn sorts(criterion: &mut Criterion<CpuTime>) {
    for len in Sorts::LENGTHS {
        let mut standard = Sorts::new(len);
        standard.standard();
        let (expected, work) = (standard.order.clone(), standard.work() as u64);
        let mut rows: Vec<Work> = vec![("sort_unstable".into(), Box::new(move || standard.standard()))];
        for level in Level::supported() {
            let mut sorts = Sorts::new(len);
            sorts.gang(level);
            assert!(sorts.order == expected, "{level} sorts otherwise than the standard library");
            rows.push((level.to_string(), Box::new(move || sorts.gang(level))));
        }
        let mut group = criterion.benchmark_group(format!("sort of {len}"));
        group.throughput(Throughput::Elements(work));
        in_turns(&mut group, &mut rows);
        group.finish();
    }
}

/// Measures the cost of ensuring the floating-point mode, once per slice of events, in a host that has the default mode.
fn float_mode(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("float mode");
    let call = || {
        with_default_float_mode(|| black_box(1));
    };
    in_turns(&mut group, &mut [("call".into(), Box::new(call))]);
    group.finish();
}

fn main() {
    let mut criterion = criterion(CpuTime);
    kernels(&mut criterion);
    sorts(&mut criterion);
    float_mode(&mut criterion);
    criterion.final_summary();
}
