//! Steps of the filter on tracks in memory: transport and update with two measured dimensions, 9,600 tracks through
//! 20 layers, to planes of z and to radii. CPU time of the thread, and steps/s, for the usual gang of each level and for two
//! such gangs together. A loop of multiply-adds in registers, in operations/s, shows the limit of the core.
//!
//! A step to a plane has 327 floating-point operations, one to a radius 298: the multiply-adds (two each), additions,
//! products, divisions and roots in the machine code (avx512 x 16).
//!
//! `cargo bench --bench kalman` measures all rows; a filter such as `-- planes` selects some. `-- scaling` measures the gain
//! of a second thread by the wall clock, for the fit of particles, for the clone engine (`within an event`: both threads work
//! on one event) and for a loop in registers. Rows are measured in turns, in several rounds: compare rows of one round.

mod common;
#[path = "common/steps.rs"]
mod steps;

use common::{Apart, CpuTime, Work, criterion, in_turns, on_one_and_two, scaling};
use criterion::Throughput;
use peloton::cylinder::{Cylinder, CylinderConfig, CylinderInput, CylinderSample, fit_particles};
use peloton::dispatch_usual;
use peloton::engine::Engine;
use peloton::event::{CylinderTracks, Outcome};
use peloton::kalman::matriplex::Matriplex;
use peloton::simd::varying::{F32, Mask};
use peloton::simd::{Gang, Level, Pair};
use peloton_sim::CylinderSim;
use std::hint::black_box;
use steps::{LAYERS, STATE, TO_PLANES, TO_RADII, Tracks};

const TRACKS: usize = 9_600;
/// Number of rounds of multiply-adds, and number of chains.
const ROUNDS: usize = 20_000;
const CHAINS: usize = 12;

#[inline(always)]
fn multiply_adds<G: Gang>(g: G) -> f32 {
    let factor = F32::splat(g, 0.999_9);
    let mut sums = [F32::splat(g, 1.0); CHAINS];
    for _ in 0..black_box(ROUNDS) {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, factor);
        }
    }
    sums.iter().fold(0.0, |most, sum| sum.reduce_min(Mask::first(g, G::LANES)).max(most))
}

fn out() -> Matriplex {
    let mut out = Matriplex::default();
    out.resize(STATE, TRACKS);
    out
}

/// Returns works that take all tracks to planes or to radii, on the gang of a level and on two such gangs: one computes while
/// the other waits for its roots and divisions.
fn steps<const TO_RADIUS: bool>(level: Level, tracks: &Tracks) -> [Work<'_>; 2] {
    let (mut one, mut two) = (out(), out());
    let run_one = move || dispatch_usual!(level, g => tracks.through::<_, TO_RADIUS>(g, &mut one));
    let run_two = move || dispatch_usual!(level, g => tracks.through::<_, TO_RADIUS>(Pair::new(g), &mut two));
    [(level.to_string(), Box::new(run_one)), (format!("two of {level}"), Box::new(run_two))]
}

fn filter() {
    let mut criterion = criterion(CpuTime);
    let levels = Level::usual();
    for level in &levels {
        let mut group = criterion.benchmark_group("multiply-adds");
        group.throughput(Throughput::Elements((2 * CHAINS * ROUNDS * level.gang()) as u64));
        let work = || {
            black_box(dispatch_usual!(*level, g => multiply_adds(g)));
        };
        in_turns(&mut group, &mut [(level.to_string(), Box::new(work))]);
        group.finish();
    }
    let (planes, radii) = (Tracks::new(TRACKS, TO_PLANES), Tracks::new(TRACKS, TO_RADII));
    let planes: Vec<Work> = levels.iter().flat_map(|level| steps::<false>(*level, &planes)).collect();
    let radii: Vec<Work> = levels.iter().flat_map(|level| steps::<true>(*level, &radii)).collect();
    for (name, mut works) in [("planes", planes), ("radii", radii)] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements((TRACKS * LAYERS) as u64));
        in_turns(&mut group, &mut works);
        group.finish();
    }
    criterion.final_summary();
}

/// Returns a work on the same event twice, by threads that share it.
fn within_event(level: Level, event_threads: u32, sample: &CylinderSample) -> Work<'_> {
    let config = CylinderConfig { event_threads, ..CylinderConfig::default() };
    let engine = Engine::new(Cylinder::new(level, config).expect("a sequence"));
    let (mut workspace, mut tracks) = (engine.workspace(), Outcome::<CylinderTracks>::default());
    let run = move || {
        for _ in 0..2 {
            engine.try_run(sample.view(), &mut workspace, &mut tracks).expect("events");
        }
    };
    let threads = if event_threads == 1 { "1 thread" } else { "2 threads" };
    (format!("within an event, {threads}"), Box::new(run))
}

/// Measures the gain of a second thread for the fit of particles and for the clone engine, with separate events and within one.
fn two_threads() {
    let (level, config) = (Level::choose(None, None).expect("a level"), CylinderConfig::default());
    let mut sample = CylinderSample::default();
    let spec = "sim:cylinder,events=1,tracks=10000,seed=1".parse().expect("a simulation");
    CylinderSim::new(spec, 0, None).read(1, &mut sample.hits, &mut sample.truth);
    let engine = Engine::new(Cylinder::new(level, config.clone()).expect("a sequence"));
    let results = [0, 1].map(|_| Apart::new(CylinderTracks::default()));
    let fit = |i: usize| {
        let tracks = &mut *results[i].lock();
        for _ in 0..10 {
            tracks.clear();
            let input = CylinderInput { hits: &sample.hits, seeds: &sample.truth.particles };
            fit_particles(level, &config, input, 0..1, tracks);
        }
    };
    let workers = [0, 1].map(|_| Apart::new((engine.workspace(), Outcome::<CylinderTracks>::default())));
    let build = |i: usize| {
        let (workspace, tracks) = &mut *workers[i].lock();
        engine.try_run(sample.view(), workspace, tracks).expect("events");
    };
    let mut works: Vec<Work> = on_one_and_two("fit", &fit).into();
    works.extend(on_one_and_two("clone engine", &build));
    works.extend([1, 2].map(|event_threads| within_event(level, event_threads, &sample)));
    scaling("scaling", &mut works);
}

fn main() {
    filter();
    two_threads();
}
