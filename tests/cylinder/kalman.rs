//! The filter's kernels on every gang: the same bits, and the values of the f64 reference.
#![allow(clippy::needless_range_loop, reason = "matrices and layers")]

use crate::random::Random;
use peloton::cylinder::{CylinderConfig, CylinderInput, fit_particles};
use peloton::dispatch_usual;
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderSeeds, CylinderTracks, NO_HIT};
use peloton::kalman::matriplex::{Matriplex, Matrix, Symmetric, similarity};
use peloton::kalman::reference::{self, Measured, State, single};
use peloton::kalman::{
    CURVATURE_PER_TESLA, CylinderHit, CylinderState, Filtered, FitStatus, RadiusJacobian, VertexState,
    from_vertex, output, smooth, step, update, within_turn,
};
use peloton::simd::varying::{F32, Mask};
use peloton::simd::{Gang, Level};

const FIELD: f32 = 3.8112 * CURVATURE_PER_TESLA;
const ITERATIONS: usize = 10;

/// Columns of random vertex states, and of the hits that belong to them: azimuth, z, radius and variances per layer.
fn tracks(count: usize, seed: u8) -> (Matriplex, Vec<[[f32; 5]; 10]>) {
    let mut random = Random::new(seed);
    let mut vertices = Matriplex::default();
    vertices.resize(6 + 6 + 50, count);
    let mut hits = Vec::new();
    for track in 0..count {
        let charge = if random.between(0.0, 1.0) < 0.5 { 1.0 } else { -1.0 };
        let p = [
            0.1 * random.normal(),
            0.1 * random.normal(),
            random.normal(),
            charge / random.between(0.5, 10.0),
            random.between(-3.1, 3.1),
            random.between(0.7, 2.4),
        ];
        for (i, value) in p.iter().enumerate() {
            vertices.row_mut(i)[track] = *value;
        }
        let sigma = [0.1f32, 0.1, 1.0, 1.0, 0.5, 0.5];
        for (i, sigma) in sigma.iter().enumerate() {
            vertices.row_mut(6 + i)[track] = sigma * sigma;
        }
        let mut of_track = [[0.0; 5]; 10];
        for (layer, hit) in of_track.iter_mut().enumerate() {
            let radius = 4.0 * (layer + 1) as f64 + f64::from(random.between(0.0, 0.002));
            let at = reference::step_to_radius(p.map(f64::from), f64::from(FIELD), radius, 20);
            let sigma = 0.01 / radius as f32;
            let phi = at[1].atan2(at[0]) as f32 + sigma * random.normal();
            *hit = [phi, at[2] as f32 + 0.1 * random.normal(), radius as f32, sigma * sigma, 0.01];
            for (i, value) in hit.iter().enumerate() {
                vertices.row_mut(12 + 5 * layer + i)[track] = *value;
            }
        }
        hits.push(of_track);
    }
    (vertices, hits)
}

/// Elements of a state in a [`Matriplex`], and of one as it is written out.
const STATE: usize = 21;
const WRITTEN: usize = 20;
/// What the filter notes of each layer: the state, the parameters that a step to it gave, the step's derivatives.
const PER_LAYER: usize = STATE + 5 + 25;

/// The covariance that scattering adds to moment and slope behind each layer.
fn noise_of<G: Gang>(g: G, size: f32) -> Symmetric<G, 5> {
    Symmetric::diagonal(g, [0.0, 0.0, 0.0, 1e-3 * size, 1e-5 * size].map(|value| F32::splat(g, value)))
}

/// Filters tracks. Each kernel has a single call, in a function that is not inlined, to shorten compilation.
#[inline(never)]
fn filter<G: Gang>(g: G, tracks: &Matriplex, count: usize, size: f32, out: &mut Matriplex) {
    g.vectorize(
        #[inline(always)]
        || {
            let (field, all) = (F32::splat(g, FIELD), Mask::first(g, G::LANES));
            for lane in (0..count).step_by(G::LANES) {
                let Matrix([p, variance]): Matrix<G, 2, 6> = tracks.load(g, 0, lane);
                let vertex = VertexState { p, variance };
                let hit = hit_of(g, tracks, 0, lane);
                let started = from_vertex(g, &vertex, field, &hit, all);
                let (mut state, mut fine) = (started.state, started.reached & started.taken.sane);
                store(&state, out, 0, lane);
                for layer in 1..10 {
                    let hit = hit_of(g, tracks, layer, lane);
                    let first = PER_LAYER * layer;
                    state.c = state.c.plus(&noise_of(g, size));
                    let step = step(g, &state, field, hit.radius);
                    state.c = similarity::<RadiusJacobian, G, 5, 5>(g, &step.jacobian, &state.c);
                    (state.p, state.radius) = (step.p, hit.radius);
                    out.store(first + STATE, lane, &Matrix([step.p]));
                    out.store(first + STATE + 5, lane, &step.jacobian);
                    let residual =
                        [within_turn(g, hit.position[0] - state.p[0]), hit.position[1] - state.p[1]];
                    let v = Symmetric::diagonal(g, hit.variance);
                    let taken = update(g, &mut state.p, &mut state.c, residual, &v, all);
                    fine = fine & step.reached & taken.sane;
                    store(&state, out, first, lane);
                }
                assert!(fine.all() || count < lane + G::LANES);
            }
        },
    );
}

#[inline(always)]
fn hit_of<G: Gang>(g: G, tracks: &Matriplex, layer: usize, lane: usize) -> CylinderHit<G> {
    let Matrix([[phi, z, radius, var_phi, var_z]]) = tracks.load(g, 12 + 5 * layer, lane);
    CylinderHit { position: [phi, z], variance: [var_phi, var_z], radius }
}

#[inline(always)]
fn store<G: Gang>(state: &CylinderState<G>, out: &mut Matriplex, first: usize, lane: usize) {
    state.radius.store(&mut out.row_mut(first)[lane..]);
    out.store(first + 1, lane, &Matrix([state.p]));
    out.store_symmetric(first + 6, lane, &state.c);
}

#[inline(always)]
fn load<G: Gang>(g: G, from: &Matriplex, first: usize, lane: usize) -> CylinderState<G> {
    let Matrix([p]) = from.load(g, first + 1, lane);
    CylinderState {
        radius: F32::load(g, &from.row(first)[lane..]),
        p,
        c: from.load_symmetric(g, first + 6, lane),
    }
}

/// Smooths the states of [`filter`], in place.
#[inline(never)]
fn smooth_back<G: Gang>(g: G, count: usize, size: f32, notes: &mut Matriplex) {
    g.vectorize(
        #[inline(always)]
        || {
            for lane in (0..count).step_by(G::LANES) {
                for layer in (0..9).rev() {
                    let (first, next) = (PER_LAYER * layer, PER_LAYER * (layer + 1));
                    let Matrix([predicted]) = notes.load(g, next + STATE, lane);
                    let filtered = Filtered {
                        state: load(g, notes, first, lane),
                        noise: noise_of(g, size),
                        jacobian: notes.load(g, next + STATE + 5, lane),
                        predicted,
                    };
                    let (smoothed, sane) = smooth(g, &filtered, &load(g, notes, next, lane));
                    assert!(sane.all() || count < lane + G::LANES);
                    store(&smoothed, notes, first, lane);
                }
            }
        },
    );
}

/// All states as they are written out.
#[inline(never)]
fn write_out<G: Gang>(g: G, count: usize, notes: &Matriplex, out: &mut Matriplex) {
    g.vectorize(
        #[inline(always)]
        || {
            for lane in (0..count).step_by(G::LANES) {
                for layer in 0..10 {
                    let written = output(g, &load(g, notes, PER_LAYER * layer, lane));
                    out.store(WRITTEN * layer, lane, &Matrix([written.p]));
                    out.store_symmetric(WRITTEN * layer + 5, lane, &written.c);
                }
            }
        },
    );
}

/// The states of the filter, and as they are written out: filtered, smoothed.
fn run(level: Level, tracks: &Matriplex, count: usize, size: f32) -> [Matriplex; 3] {
    let mut out: [Matriplex; 4] = Default::default();
    let [notes, states, filtered, smoothed] = &mut out;
    notes.resize(10 * PER_LAYER, count);
    for written in [&mut *filtered, &mut *smoothed] {
        written.resize(10 * WRITTEN, count);
    }
    dispatch_usual!(level, g => filter(g, tracks, count, size, notes));
    states.clone_from(notes);
    dispatch_usual!(level, g => smooth_back(g, count, size, notes));
    for (notes, written) in [(states, filtered), (notes, smoothed)] {
        dispatch_usual!(level, g => write_out(g, count, notes, written));
    }
    let [_, states, filtered, smoothed] = out;
    [states, filtered, smoothed]
}

/// Largest distance of the parameters in standard deviations, and of the covariances relative to them.
#[derive(Debug, Default)]
struct Worst {
    parameters: f64,
    covariance: f64,
}

impl Worst {
    fn compare(&mut self, out: &Matriplex, first: usize, track: usize, truth: &State) {
        let of = |i: usize| f64::from(out.row(first + i)[track]);
        let truth = reference::written(truth);
        let scale = |i: usize| if i == 0 { truth.radius } else { 1.0 };
        for i in 0..5 {
            let sigma = truth.c[i][i].sqrt() / scale(i);
            let mut difference = of(i) - truth.p[i];
            if i == 0 || i == 3 {
                difference = reference::turn(difference);
            }
            self.parameters = self.parameters.max(difference.abs() / sigma);
            for j in 0..=i {
                let expected = truth.c[i][j];
                let size = (truth.c[i][i] * truth.c[j][j]).sqrt();
                let wrong = (of(5 + i * (i + 1) / 2 + j) - expected).abs() / size;
                self.covariance = self.covariance.max(wrong);
            }
        }
    }
}

/// Filters one track by the naive twin in f32; its states must be equal to the kernels' states, bit by bit.
fn compare_with_twin(
    states: &Matriplex,
    track: usize,
    vertices: &Matriplex,
    hits: &[[f32; 5]; 10],
    size: f32,
) {
    let [p, before] = [0, 6].map(|first: usize| std::array::from_fn(|i| vertices.row(first + i)[track]));
    let hits = hits.map(|[phi, z, radius, var_phi, var_z]| single::Hit {
        position: [phi, z],
        variance: [var_phi, var_z],
        radius,
    });
    let (mut state, mut fine, (_, sane)) =
        single::from_vertex(p, before, FIELD, hits[0].radius, Some(&hits[0]));
    fine &= sane;
    for (layer, hit) in hits.iter().enumerate() {
        if layer > 0 {
            (state.c[3][3], state.c[4][4]) = (state.c[3][3] + 1e-3 * size, state.c[4][4] + 1e-5 * size);
            let (there, reached) = single::to_radius(&state, FIELD, hit.radius);
            (state, fine) = (there, fine && reached);
            fine &= single::update(&mut state, Some(hit)).1;
        }
        let packed = (0..5).flat_map(|i| state.c[i][..=i].to_vec());
        let expected: Vec<f32> = state.p.into_iter().chain(packed).collect();
        for (i, expected) in expected.iter().enumerate() {
            let found = states.row(PER_LAYER * layer + 1 + i)[track];
            assert_eq!(found.to_bits(), expected.to_bits(), "track {track}, layer {layer}, value {i}");
        }
    }
    assert!(fine);
}

#[test]
fn filter_and_smoother_are_those_of_the_references() {
    const TRACKS: usize = 300;
    let (vertices, hits) = tracks(TRACKS, 1);
    for size in [0.0, 1.0] {
        let levels = Level::usual();
        let expected = run(levels[0], &vertices, TRACKS, size);
        for level in levels {
            for (found, expected) in run(level, &vertices, TRACKS, size)[1..].iter().zip(&expected[1..]) {
                for (element, track) in
                    (0..10 * WRITTEN).flat_map(|e| (0..TRACKS).map(move |track| (e, track)))
                {
                    let [found, expected] = [found, expected].map(|m| m.row(element)[track].to_bits());
                    assert_eq!(found, expected, "{level}: value {element} of track {track}");
                }
            }
        }
        let [states, filtered, smoothed] = &expected;
        let mut worst = [Worst::default(), Worst::default()];
        for (track, hits) in hits.iter().enumerate() {
            compare_with_twin(states, track, &vertices, hits, size);
            let (in_order, back) = filter_in_f64(&vertices, track, hits, f64::from(size));
            for layer in 0..10 {
                worst[0].compare(filtered, WRITTEN * layer, track, &in_order[layer]);
                worst[1].compare(smoothed, WRITTEN * layer, track, &back[layer]);
            }
        }
        println!("noise {size}: filter {:?}, smoother {:?}", worst[0], worst[1]);
        for worst in worst {
            assert!(worst.parameters < 0.01 && worst.covariance < 0.001, "{worst:?}");
        }
    }
}

/// The states of all layers by the reference, filtered and smoothed.
fn filter_in_f64(
    vertices: &Matriplex,
    track: usize,
    hits: &[[f32; 5]; 10],
    size: f64,
) -> ([State; 10], [State; 10]) {
    let vertex: [f64; 6] = std::array::from_fn(|i| f64::from(vertices.row(i)[track]));
    let variance = |i: usize| f64::from(vertices.row(6 + i)[track]);
    let c = std::array::from_fn(|i| std::array::from_fn(|j| if i == j { variance(i) } else { 0.0 }));
    let measured = hits.map(|hit| Measured {
        radius: f64::from(hit[2]),
        position: [f64::from(hit[0]), f64::from(hit[1])],
        variance: [f64::from(hit[3]), f64::from(hit[4])],
    });
    let field = f64::from(FIELD);
    let start = reference::from_vertex(vertex, &c, field, measured[0].radius, ITERATIONS);
    let (mut predicted, mut filtered) = ([start; 10], [start; 10]);
    for (layer, hit) in measured.iter().enumerate() {
        if layer > 0 {
            let mut from = filtered[layer - 1];
            (from.c[3][3], from.c[4][4]) = (from.c[3][3] + 1e-3 * size, from.c[4][4] + 1e-5 * size);
            predicted[layer] = reference::to_radius(&from, field, hit.radius, ITERATIONS);
        }
        (filtered[layer], _) = reference::update(&predicted[layer], hit);
    }
    let mut smoothed = filtered;
    for layer in (0..9).rev() {
        let (next, there) = (&smoothed[layer + 1], &predicted[layer + 1]);
        smoothed[layer] = reference::smooth(&filtered[layer], field, there, next, ITERATIONS);
    }
    (filtered, smoothed)
}

/// Fits a million tracks of all kinds: every fit with the status ok has sound values.
#[test]
fn nothing_that_is_no_state_leaves_unflagged() {
    const TRACKS: usize = 1_000_000;
    const BATCH: usize = 10_000;
    let mut random = Random::new(4);
    let mut counts = [0u64; FitStatus::ALL.len()];
    let level = Level::choose(None, None).unwrap();
    let mut out = CylinderTracks::default();
    for batch in 0..TRACKS / BATCH {
        let (mut hits, mut seeds) = (CylinderBatch::default(), CylinderSeeds::default());
        for track in 0..BATCH {
            let wild = match (track + batch) % 10 {
                // Looping and grazing tracks, no momentum, no direction, nonsense.
                0 => [1.0, 1.0, 1.0, 30.0, 3.0, 1.5],
                1 => [3.9, 3.9, 1.0, 2.0, 3.0, 0.5],
                2 => [0.1, 0.1, 1.0, f32::INFINITY, 3.0, 1.0],
                3 => [0.1, 0.1, 1.0, 1e30, 3.0, 1.0],
                4 => [0.1, 0.1, 1.0, 1.0, 3.0, 1e-7],
                5 => [f32::NAN, 0.1, 1.0, 1.0, 3.0, 1.0],
                6 => [0.0, 0.0, 0.0, 0.0, 3.0, 1.0],
                _ => [0.1, 0.1, 1.0, 2.0, 3.1, 2.0],
            };
            let vertex =
                wild.map(|size| if size.is_finite() { size * random.between(-1.0, 1.0) } else { size });
            let on = |layer: usize| if layer < 6 { (layer * BATCH + track) as u32 } else { NO_HIT };
            seeds.push(vertex, std::array::from_fn(on));
        }
        for layer in 0..CYLINDER_LAYERS {
            for track in 0..if layer < 6 { BATCH } else { 0 } {
                let tiny = if track % 97 == 0 { 0.0 } else { 1.0 };
                let (radius, phi) = (4.0 * (layer + 1) as f32, 0.01 * random.normal());
                let position = [radius * phi.cos(), radius * phi.sin(), random.normal()];
                hits.push(position, [0.0, 1e-6 * radius * radius * tiny, 1e-2 * tiny]);
            }
            hits.end_layer();
        }
        hits.end_event(peloton::Status::Ok);
        seeds.end_event();
        out.clear();
        let input = CylinderInput { hits: &hits, seeds: &seeds };
        fit_particles(level, &CylinderConfig::default(), input, 0..1, &mut out);
        for track in 0..BATCH {
            counts[usize::from(out.fit[track])] += 1;
            if out.fit[track] == FitStatus::Ok as u8 {
                must_be_a_state(std::array::from_fn(|i| f64::from(out.state[1 + i][track])));
            }
        }
    }
    println!("{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), TRACKS as u64);
    let [fine, not_reached, ..] = counts;
    assert!(fine > 100_000 && not_reached > 100_000, "{counts:?}");
}

fn must_be_a_state(values: [f64; 20]) {
    assert!(values.iter().all(|value| value.is_finite()));
    let c = |i: usize, j: usize| values[5 + i * (i + 1) / 2 + j];
    let sigma: [f64; 5] = std::array::from_fn(|i| c(i, i).sqrt());
    assert!(sigma.iter().all(|sigma| *sigma > 0.0));
    // Cholesky decomposition of the correlations plus a small number: no eigenvalue is below minus this number.
    let mut l = [[0.0f64; 5]; 5];
    for i in 0..5 {
        for j in 0..=i {
            let mut sum = c(i, j) / sigma[i] / sigma[j];
            sum += if i == j { 2e-5 } else { 0.0 };
            sum -= (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            assert!(i != j || sum > 0.0);
            l[i][j] = if i == j { sum.sqrt() } else { sum / l[j][j] };
        }
    }
}
