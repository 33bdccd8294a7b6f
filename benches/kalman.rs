//! Steps of the filter on tracks in memory: transport and update with two measured dimensions, 9,600 tracks through
//! 20 layers, to planes of z and to radii. CPU time of the thread, least of many passes, for the usual gang of each level
//! and for two of them side by side; beside it a loop of multiply-adds in registers, the most that the core can do. `cargo bench --bench kalman`.
//!
//! `-- scaling` shows what a second thread gains, for the fit of particles, for the clone engine and for a loop in
//! registers.
#![allow(clippy::needless_range_loop, reason = "matrices and layers")]

mod common;

use common::{free_gain, now, wall};
use peloton::cylinder::{CylinderConfig, CylinderInput, CylinderWorkspace, fit_particles, reconstruct};
use peloton::dispatch_usual;
use peloton::event::{CylinderBatch, CylinderTracks, CylinderTruth, Outcome};
use peloton::kalman::matriplex::{Matriplex, Matrix, Symmetric};
use peloton::kalman::{CURVATURE_PER_TESLA, CylinderState, PlaneState, to_plane, to_radius, update};
use peloton::simd::varying::{F32, Mask};
use peloton::simd::{Gang, Level, Pair};
use peloton_sim::CylinderSim;
use std::hint::black_box;
use std::sync::Mutex;

const TRACKS: usize = 9_600;
const LAYERS: usize = 20;
const FIELD: f32 = 3.8112 * CURVATURE_PER_TESLA;

/// Floating-point operations of a step: the multiply-adds (two each), additions, products, divisions and roots in the
/// machine code of the loops below (avx512 x 16).
const FLOP: [f64; 2] = [327.0, 298.0];

/// Starting states, and two measurements a layer.
struct Tracks {
    states: Matriplex,
    hits: Matriplex,
}

fn tracks(first: [f32; 5]) -> Tracks {
    let (mut states, mut hits) = (Matriplex::default(), Matriplex::default());
    states.resize(21, TRACKS);
    hits.resize(2 * LAYERS, TRACKS);
    let mut bits = 1u32;
    let mut random = || {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (bits >> 8) as f32 / 16_777_216.0 - 0.5
    };
    for track in 0..TRACKS {
        states.row_mut(0)[track] = 4.0;
        for (i, value) in first.iter().enumerate() {
            states.row_mut(1 + i)[track] = value * (1.0 + 0.2 * random());
            for j in 0..=i {
                states.row_mut(6 + i * (i + 1) / 2 + j)[track] = if i == j { 0.01 } else { 0.0 };
            }
        }
        for element in 0..2 * LAYERS {
            hits.row_mut(element)[track] = 0.01 * random();
        }
    }
    Tracks { states, hits }
}

#[inline(always)]
fn through<G: Gang, const TO_RADIUS: bool>(g: G, tracks: &Tracks, out: &mut Matriplex) {
    let field = F32::splat(g, FIELD);
    let v = Symmetric::diagonal(g, [F32::splat(g, 1e-4), F32::splat(g, 1e-2)]);
    let all = Mask::first(g, G::LANES);
    for lane in (0..TRACKS).step_by(G::LANES) {
        let mut state = CylinderState::load(g, &tracks.states, lane);
        for layer in 0..LAYERS {
            let to = F32::splat(g, 4.0 + 1.8 * (layer + 1) as f32);
            if TO_RADIUS {
                to_radius(g, &mut state, field, to);
            } else {
                let mut plane = PlaneState { z: state.radius, p: state.p, c: state.c };
                to_plane(g, &mut plane, field, to);
                state = CylinderState { radius: plane.z, p: plane.p, c: plane.c };
            }
            let Matrix([residual]) = tracks.hits.load::<G, 1, 2>(g, 2 * layer, lane);
            update(g, &mut state.p, &mut state.c, residual, &v, all);
        }
        state.store(out, lane);
    }
}

#[inline(always)]
fn multiply_adds<G: Gang>(g: G, rounds: usize) -> f32 {
    let factor = F32::splat(g, 0.999_9);
    let mut sums = [F32::splat(g, 1.0); 12];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, factor);
        }
    }
    sums.iter().fold(0.0, |max, sum| sum.reduce_min(Mask::first(g, G::LANES)).max(max))
}

/// Least CPU time of several runs, s.
fn least(times: usize, mut work: impl FnMut()) -> f64 {
    let timed = (0..times).map(|_| {
        let start = now();
        work();
        now() - start
    });
    timed.fold(f64::INFINITY, f64::min) * 1e-9
}

/// What one thread needs.
#[derive(Default)]
struct Worker {
    workspace: CylinderWorkspace,
    outcome: Outcome<CylinderTracks>,
}

/// What a second thread gains: for a loop in registers, for the fit of particles, and for the clone engine.
fn two_threads(rounds: usize) {
    let (level, config) = (Level::choose(None, None).expect("a level"), CylinderConfig::default());
    let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    let spec = "sim:cylinder,events=1,tracks=10000,seed=1".parse().expect("a simulation");
    CylinderSim::new(spec, 0, None).read(1, &mut hits, &mut truth);
    let input = CylinderInput { hits: &hits, seeds: &truth.particles };
    let workers = [Mutex::new(Worker::default()), Mutex::new(Worker::default())];
    let fit = |i: usize| {
        let worker = &mut *workers[i].lock().expect("no panic");
        for _ in 0..40 {
            worker.outcome.clear();
            fit_particles(level, &config, input, 0..1, &mut worker.outcome.results);
        }
    };
    let build = |i: usize| {
        let Worker { workspace, outcome } = &mut *workers[i].lock().expect("no panic");
        for _ in 0..3 {
            outcome.clear();
            reconstruct(level, &config, input, 0..1, workspace, outcome);
        }
    };
    // Rounds of one and two threads take turns: a noisy machine is noisy to both.
    let mut least = [[f64::INFINITY; 2]; 2];
    let free = free_gain(rounds);
    for _ in 0..rounds {
        let works: [&(dyn Fn(usize) + Sync); 2] = [&fit, &build];
        for (least, work) in least.iter_mut().zip(works) {
            least[0] = least[0].min(wall(1, 1, |_| (0..2).for_each(work)));
            least[1] = least[1].min(wall(1, 2, work));
        }
    }
    for (name, [one, two]) in ["fit", "clone engine"].iter().zip(least) {
        let gain = one / two;
        println!(
            "two threads over one, {level}: registers {free:.3}, {name} {gain:.3} ({:.3} of it)",
            gain / free
        );
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "scaling") {
        return two_threads(if std::env::args().any(|argument| argument == "--test") { 1 } else { 12 });
    }
    let passes = if std::env::args().any(|argument| argument == "--test") { 2 } else { 100 };
    let planes = tracks([0.1, 0.1, 0.5, 0.3, 1.5]);
    let radii = tracks([0.1, 0.1, 0.5, 0.1, 0.5]);
    let mut out = Matriplex::default();
    out.resize(21, TRACKS);
    let steps = (TRACKS * LAYERS) as f64 / 1e6;
    for level in Level::usual() {
        let rounds = 200_000;
        let peak = least(passes.min(20), || {
            black_box(dispatch_usual!(level, g => multiply_adds(g, black_box(rounds))));
        });
        let peak = 2.0 * 12.0 * (rounds * level.gang()) as f64 / peak / 1e9;
        println!("{level}: multiply-adds {peak:.0} GFLOP/s");
        let print = |gang: usize, times: [f64; 2]| {
            let rates = times.map(|time| steps / time);
            let share = |i: usize| 100.0 * rates[i] * 1e6 * FLOP[i] / 1e9 / peak;
            println!(
                "  x {gang}: planes {:.1}, radii {:.1} million steps/s: {:.0} %, {:.0} %",
                rates[0],
                rates[1],
                share(0),
                share(1)
            );
        };
        let one = [
            least(passes, || dispatch_usual!(level, g => through::<_, false>(g, &planes, &mut out))),
            least(passes, || dispatch_usual!(level, g => through::<_, true>(g, &radii, &mut out))),
        ];
        print(level.gang(), one);
        // Two groups of tracks side by side: one computes while the other waits for its roots and divisions.
        let two = [
            least(
                passes,
                || dispatch_usual!(level, g => through::<_, false>(Pair::new(g), &planes, &mut out)),
            ),
            least(passes, || dispatch_usual!(level, g => through::<_, true>(Pair::new(g), &radii, &mut out))),
        ];
        print(2 * level.gang(), two);
        black_box(&out);
    }
}
