//! The filter's kernels on every gang: the same bits, and what the f64 reference says.
#![allow(clippy::needless_range_loop, reason = "matrices and layers")]

use peloton::dispatch_usual;
use peloton::kalman::matriplex::{Matriplex, Matrix, Symmetric};
use peloton::kalman::reference::{self, Measured, State};
use peloton::kalman::{
    CURVATURE_PER_TESLA, CylinderState, Filtered, PlaneState, from_vertex, judge, output, smooth, step,
    to_plane, to_radius, update,
};
use peloton::kalman::{FitStatus, VertexState};
use peloton::simd::varying::{F32, Mask};
use peloton::simd::{Gang, Level};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const FIELD: f32 = 3.8112 * CURVATURE_PER_TESLA;
const ITERATIONS: usize = 10;

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u8) -> Self {
        Self(Xoshiro256PlusPlus::from_seed([seed; 32]))
    }
    fn between(&mut self, low: f64, high: f64) -> f32 {
        (low + (high - low) * f64::from(self.0.next_u32()) / 4_294_967_296.0) as f32
    }
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.between(-0.5, 0.5)).sum()
    }
}

/// Columns of random vertex states, and of the hits that belong to them: azimuth, z, radius and variances per layer.
fn tracks(count: usize, seed: u8) -> (Matriplex, Vec<[[f32; 5]; 10]>) {
    let mut random = Random::new(seed);
    let mut vertices = Matriplex::default();
    vertices.resize(6 + 21 + 50, count);
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
        for i in 0..6 {
            for j in 0..=i {
                let correlation = if i == j { 1.0 } else { 0.1 };
                vertices.row_mut(6 + i * (i + 1) / 2 + j)[track] = correlation * sigma[i] * sigma[j];
            }
        }
        let mut of_track = [[0.0; 5]; 10];
        for (layer, hit) in of_track.iter_mut().enumerate() {
            let radius = 4.0 * (layer + 1) as f64 + f64::from(random.between(0.0, 0.002));
            let at = reference::step_to_radius(p.map(f64::from), f64::from(FIELD), radius, 20);
            let sigma = 0.01 / radius as f32;
            let phi = at[1].atan2(at[0]) as f32 + sigma * random.normal();
            *hit = [phi, at[2] as f32 + 0.1 * random.normal(), radius as f32, sigma * sigma, 0.01];
            for (i, value) in hit.iter().enumerate() {
                vertices.row_mut(27 + 5 * layer + i)[track] = *value;
            }
        }
        hits.push(of_track);
    }
    (vertices, hits)
}

/// What is stored of each layer: parameters and covariance as written out, then the smoothed ones, and the status.
const PER_LAYER: usize = 20 + 20;

#[inline(always)]
fn store_output<G: Gang>(g: G, out: &mut Matriplex, first: usize, lane: usize, state: &CylinderState<G>) {
    let written = output(g, state);
    out.store(first, lane, &Matrix([written.p]));
    out.store_symmetric(first + 5, lane, &written.c);
}

#[inline(always)]
fn filter_and_smooth<G: Gang>(
    g: G,
    tracks: &Matriplex,
    count: usize,
    out: &mut Matriplex,
    status: &mut [u32],
) {
    let field = F32::splat(g, FIELD);
    for lane in (0..count).step_by(G::LANES) {
        let Matrix([p]) = tracks.load(g, 0, lane);
        let vertex = VertexState { p, c: tracks.load_symmetric(g, 6, lane) };
        let all = Mask::first(g, G::LANES);
        let mut reached = all;
        let mut measured = all;
        let mut states: Vec<Filtered<G>> = Vec::new();
        let (mut state, inside) = from_vertex(g, &vertex, field, F32::load(g, &tracks.row(29)[lane..]));
        reached = reached & inside;
        for layer in 0..10 {
            let hit: [F32<G>; 5] = tracks.load::<G, 1, 5>(g, 27 + 5 * layer, lane).0[0];
            if layer > 0 {
                let from = state;
                let jacobian = step(g, &from, field, hit[2]).jacobian;
                reached = reached & to_radius(g, &mut state, field, hit[2]);
                states.push(Filtered { state: from, jacobian, predicted: state });
            }
            // These azimuths never wrap: the states begin at them.
            let residual = [hit[0] - state.p[0], hit[1] - state.p[1]];
            let turns = std::f32::consts::TAU;
            let residual = [
                F32::splat(g, 3.0)
                    .lt(residual[0].abs())
                    .select_f(residual[0] - F32::splat(g, turns) * sign(g, residual[0]), residual[0]),
                residual[1],
            ];
            let v = Symmetric::diagonal(g, [hit[3], hit[4]]);
            measured = measured & update(g, &mut state.p, &mut state.c, residual, &v, all).sane;
            store_output(g, out, PER_LAYER * layer, lane, &state);
        }
        let mut next = state;
        store_output(g, out, PER_LAYER * 9 + 20, lane, &next);
        for (layer, filtered) in states.iter().enumerate().rev() {
            let (smoothed, sane) = smooth(g, filtered, &next);
            assert!(sane.all() || count < lane + G::LANES);
            next = smoothed;
            store_output(g, out, PER_LAYER * layer + 20, lane, &next);
        }
        let code = judge(g, &output(g, &state), reached, measured);
        code.store(&mut status[lane..]);
    }
}

#[inline(always)]
fn sign<G: Gang>(g: G, x: F32<G>) -> F32<G> {
    x.lt(F32::splat(g, 0.0)).select_f(F32::splat(g, -1.0), F32::splat(g, 1.0))
}

fn run(level: Level, tracks: &Matriplex, count: usize) -> (Matriplex, Vec<u32>) {
    let mut out = Matriplex::default();
    out.resize(10 * PER_LAYER, count);
    let mut status = vec![0; count + 64];
    dispatch_usual!(level, g => filter_and_smooth(g, tracks, count, &mut out, &mut status));
    (out, status)
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

#[test]
fn filter_and_smoother_are_those_of_the_reference() {
    const TRACKS: usize = 300;
    let (vertices, hits) = tracks(TRACKS, 1);
    let levels = Level::usual();
    let (expected, status) = run(levels[0], &vertices, TRACKS);
    for level in levels {
        let (found, _) = run(level, &vertices, TRACKS);
        for element in 0..10 * PER_LAYER {
            for track in 0..TRACKS {
                let bits = [&found, &expected].map(|m| m.row(element)[track].to_bits());
                assert_eq!(bits[0], bits[1], "{level}: value {element} of track {track}");
            }
        }
    }
    assert!(status[..TRACKS].iter().all(|code| *code == FitStatus::Ok as u32));
    let (mut filtered, mut smoothed) = (Worst::default(), Worst::default());
    for (track, hits) in hits.iter().enumerate() {
        let vertex: [f64; 6] = std::array::from_fn(|i| f64::from(vertices.row(i)[track]));
        let c = std::array::from_fn(|i: usize| {
            std::array::from_fn(|j: usize| {
                let (i, j) = (i.max(j), i.min(j));
                f64::from(vertices.row(6 + i * (i + 1) / 2 + j)[track])
            })
        });
        let measured = hits.map(|hit| Measured {
            radius: f64::from(hit[2]),
            position: [f64::from(hit[0]), f64::from(hit[1])],
            variance: [f64::from(hit[3]), f64::from(hit[4])],
        });
        let field = f64::from(FIELD);
        let mut state = reference::from_vertex(vertex, &c, field, measured[0].radius, ITERATIONS);
        let mut chain = Vec::new();
        for (layer, hit) in measured.iter().enumerate() {
            if layer > 0 {
                let from = state;
                state = reference::to_radius(&state, field, hit.radius, ITERATIONS);
                chain.push((from, state));
            }
            (state, _) = reference::update(&state, hit);
            filtered.compare(&expected, PER_LAYER * layer, track, &state);
        }
        for (layer, (from, predicted)) in chain.iter().enumerate().rev() {
            state = reference::smooth(from, field, predicted, &state, ITERATIONS);
            // Nearest to a start of which little is known, single precision does not hold the difference of covariances.
            if layer >= 2 {
                smoothed.compare(&expected, PER_LAYER * layer + 20, track, &state);
            }
        }
    }
    println!("filter {filtered:?}, smoother {smoothed:?}");
    assert!(filtered.parameters < 0.03 && filtered.covariance < 0.01, "{filtered:?}");
    assert!(smoothed.parameters < 0.05 && smoothed.covariance < 0.1, "{smoothed:?}");
}

#[inline(always)]
fn through_planes<G: Gang>(g: G, from: &Matriplex, count: usize, out: &mut Matriplex) {
    for lane in (0..count).step_by(G::LANES) {
        let Matrix([p]) = from.load(g, 0, lane);
        let mut state = PlaneState { z: F32::splat(g, 0.0), p, c: from.load_symmetric(g, 5, lane) };
        let fine = to_plane(g, &mut state, F32::splat(g, FIELD), F32::splat(g, 50.0));
        assert!(fine.all() || count < lane + G::LANES);
        out.store(0, lane, &Matrix([state.p]));
        out.store_symmetric(5, lane, &state.c);
    }
}

/// A helix at another z, in f64.
fn at_plane([x, y, k, phi, slope]: [f64; 5], z: f64) -> [f64; 5] {
    let h = f64::from(FIELD) * k;
    let end = phi + h * z / slope;
    [x + (end.sin() - phi.sin()) / h, y - (end.cos() - phi.cos()) / h, k, end, slope]
}

#[test]
fn planes_are_those_of_the_helix() {
    const TRACKS: usize = 200;
    let mut random = Random::new(2);
    let mut from = Matriplex::default();
    from.resize(20, TRACKS);
    let sigma = [0.1f32, 0.2, 0.05, 0.01, 0.02];
    for track in 0..TRACKS {
        let turned = if track % 2 == 0 { 0.3 } else { 20.0 };
        let p = [random.normal(), random.normal(), random.between(0.1, 2.0), random.between(-3.0, 3.0)];
        let slope = 50.0 / random.between(2.0, 10.0 * turned);
        for (i, value) in p.iter().chain([&slope]).enumerate() {
            from.row_mut(i)[track] = *value;
            for j in 0..=i {
                from.row_mut(5 + i * (i + 1) / 2 + j)[track] = if i == j { sigma[i] * sigma[i] } else { 0.0 };
            }
        }
    }
    let run = |level: Level| {
        let mut out = Matriplex::default();
        out.resize(20, TRACKS);
        dispatch_usual!(level, g => through_planes(g, &from, TRACKS, &mut out));
        out
    };
    let expected = run(Level::usual()[0]);
    for level in Level::usual() {
        let found = run(level);
        for element in 0..20 {
            assert_eq!(
                found.row(element)[..TRACKS].iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                expected.row(element)[..TRACKS].iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                "{level}"
            );
        }
    }
    for track in 0..TRACKS {
        let p: [f64; 5] = std::array::from_fn(|i| f64::from(from.row(i)[track]));
        let truth = at_plane(p, 50.0);
        let mut f = [[0.0; 5]; 5];
        for j in 0..5 {
            let (mut above, mut below) = (p, p);
            above[j] += 1e-6;
            below[j] -= 1e-6;
            let (above, below) = (at_plane(above, 50.0), at_plane(below, 50.0));
            (0..5).for_each(|i| f[i][j] = (above[i] - below[i]) / 2e-6);
        }
        for i in 0..5 {
            let found = f64::from(expected.row(i)[track]);
            assert!((found - truth[i]).abs() < 1e-4 * (1.0 + truth[i].abs()), "{found} {}", truth[i]);
            for j in 0..=i {
                let c = |i: usize, j: usize| {
                    (0..5).map(|k| f[i][k] * f[j][k] * f64::from(sigma[k]).powi(2)).sum::<f64>()
                };
                let found = f64::from(expected.row(5 + i * (i + 1) / 2 + j)[track]);
                let wrong = (found - c(i, j)).abs() / (c(i, i) * c(j, j)).sqrt();
                assert!(wrong < 1e-3, "covariance {i} {j}: {found} {}", c(i, j));
            }
        }
    }
}

#[inline(always)]
fn three_dimensions<G: Gang>(g: G, c: [[f32; 6]; 6], v: [[f32; 3]; 3], out: &mut [f32; 6 + 36]) -> f32 {
    let all = Mask::first(g, G::LANES);
    let mut p = [F32::splat(g, 1.0); 6];
    let mut covariance = Symmetric::<G, 6>::splat(g, 0.0);
    let mut variance = Symmetric::<G, 3>::splat(g, 0.0);
    for i in 0..6 {
        (0..=i).for_each(|j| covariance.set(i, j, F32::splat(g, c[i][j])));
    }
    for i in 0..3 {
        (0..=i).for_each(|j| variance.set(i, j, F32::splat(g, v[i][j])));
    }
    let residual = [0.3, -0.2, 0.5].map(|value| F32::splat(g, value));
    let taken = update(g, &mut p, &mut covariance, residual, &variance, all);
    assert!(taken.sane.all());
    let mut lanes = [0.0; 64];
    for i in 0..6 {
        p[i].store(&mut lanes);
        out[i] = lanes[0];
        for j in 0..6 {
            covariance.at(i, j).store(&mut lanes);
            out[6 + 6 * i + j] = lanes[0];
        }
    }
    taken.chi2.store(&mut lanes);
    lanes[0]
}

#[test]
fn three_measured_dimensions_of_six() {
    let mut random = Random::new(3);
    // A random product A A^T + 1.
    let a: [[f32; 6]; 6] = std::array::from_fn(|_| std::array::from_fn(|_| random.between(-1.0, 1.0)));
    let c: [[f32; 6]; 6] = std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..6).map(|k| a[i][k] * a[j][k]).sum::<f32>() + f32::from(u8::from(i == j)))
    });
    let v = [[0.5, 0.1, 0.0], [0.1, 0.4, -0.1], [0.0, -0.1, 0.3]];
    let (c64, v64) = (c.map(|row| row.map(f64::from)), v.map(|row| row.map(f64::from)));
    let s: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| c64[i][j] + v64[i][j]));
    let weight = reference::inverse(&s);
    let d = [0.3, -0.2, 0.5];
    let mut chi2 = 0.0;
    let mut expected = [0.0; 6 + 36];
    for i in 0..6 {
        let gain: [f64; 3] = std::array::from_fn(|k| (0..3).map(|l| c64[i][l] * weight[l][k]).sum());
        expected[i] = 1.0 + (0..3).map(|k| gain[k] * d[k]).sum::<f64>();
        for j in 0..6 {
            expected[6 + 6 * i + j] = c64[i][j] - (0..3).map(|k| gain[k] * c64[k][j]).sum::<f64>();
        }
    }
    for i in 0..3 {
        chi2 += (0..3).map(|j| d[i] * weight[i][j] * d[j]).sum::<f64>();
    }
    for level in Level::usual() {
        let mut out = [0.0; 6 + 36];
        let found = dispatch_usual!(level, g => three_dimensions(g, c, v.map(|row| row.map(|x: f64| x as f32)), &mut out));
        assert!((f64::from(found) - chi2).abs() < 1e-5, "{level}: {found} {chi2}");
        for (found, expected) in out.iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{level}: {found} {expected}");
        }
    }
}

#[inline(always)]
fn hostile_tracks<G: Gang>(g: G, input: &Matriplex, count: usize, out: &mut Matriplex, status: &mut [u32]) {
    let field = F32::splat(g, FIELD);
    for lane in (0..count).step_by(G::LANES) {
        let Matrix([p]) = input.load::<G, 1, 6>(g, 0, lane);
        let squares = p.map(|value| value * value);
        let vertex = VertexState { p, c: Symmetric::diagonal(g, squares) };
        let (mut state, mut reached) = from_vertex(g, &vertex, field, F32::splat(g, 4.0));
        let all = Mask::first(g, G::LANES);
        let mut measured = all;
        for layer in 0..6 {
            let hit: [F32<G>; 4] = input.load::<G, 1, 4>(g, 6 + 4 * layer, lane).0[0];
            reached = reached & to_radius(g, &mut state, field, F32::splat(g, 4.0 * (layer + 1) as f32));
            let residual = [hit[0], hit[1]];
            let v = Symmetric::diagonal(g, [hit[2], hit[3]]);
            measured = measured & update(g, &mut state.p, &mut state.c, residual, &v, all).sane;
        }
        let written = output(g, &state);
        judge(g, &written, reached, measured).store(&mut status[lane..]);
        out.store(0, lane, &Matrix([written.p]));
        out.store_symmetric(5, lane, &written.c);
    }
}

/// A million tracks of all kinds: what is said to be fine is.
#[test]
fn nothing_that_is_no_state_leaves_unflagged() {
    const TRACKS: usize = 1_000_000;
    const BATCH: usize = 10_000;
    let mut random = Random::new(4);
    let mut counts = [0u64; FitStatus::ALL.len()];
    let (mut input, mut out) = (Matriplex::default(), Matriplex::default());
    input.resize(6 + 24, BATCH);
    out.resize(20, BATCH);
    let mut status = vec![0; BATCH + 64];
    let level = Level::choose(None, None).unwrap();
    for batch in 0..TRACKS / BATCH {
        for track in 0..BATCH {
            let wild = match (track + batch) % 10 {
                // Looping and grazing ones, no momentum, no direction, nonsense.
                0 => [1.0, 1.0, 1.0, 30.0, 3.0, 1.5],
                1 => [3.9, 3.9, 1.0, 2.0, 3.0, 0.5],
                2 => [0.1, 0.1, 1.0, f32::INFINITY, 3.0, 1.0],
                3 => [0.1, 0.1, 1.0, 1e30, 3.0, 1.0],
                4 => [0.1, 0.1, 1.0, 1.0, 3.0, 1e-7],
                5 => [f32::NAN, 0.1, 1.0, 1.0, 3.0, 1.0],
                6 => [0.0, 0.0, 0.0, 0.0, 3.0, 1.0],
                _ => [0.1, 0.1, 1.0, 2.0, 3.1, 2.0],
            };
            for (i, size) in wild.iter().enumerate() {
                let value = if size.is_finite() { size * random.between(-1.0, 1.0) } else { *size };
                input.row_mut(i)[track] = value;
            }
            for layer in 0..6 {
                let tiny = if track % 97 == 0 { 0.0 } else { 1.0 };
                let hit = [0.01 * random.normal(), random.normal(), 1e-6 * tiny, 1e-2 * tiny];
                (0..4).for_each(|i| input.row_mut(6 + 4 * layer + i)[track] = hit[i]);
            }
        }
        dispatch_usual!(level, g => hostile_tracks(g, &input, BATCH, &mut out, &mut status));
        for track in 0..BATCH {
            counts[status[track] as usize] += 1;
            if status[track] != FitStatus::Ok as u32 {
                continue;
            }
            let of = |i: usize| f64::from(out.row(i)[track]);
            assert!((0..20).all(|i| of(i).is_finite()), "{track}");
            let sigma: [f64; 5] = std::array::from_fn(|i| of(5 + i * (i + 1) / 2 + i).sqrt());
            assert!(sigma.iter().all(|sigma| *sigma > 0.0));
            // Cholesky of the correlations plus a little: no eigenvalue below minus that.
            let mut l = [[0.0f64; 5]; 5];
            for i in 0..5 {
                for j in 0..=i {
                    let mut sum = of(5 + i * (i + 1) / 2 + j) / sigma[i] / sigma[j];
                    sum += if i == j { 2e-5 } else { 0.0 };
                    sum -= (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
                    assert!(i != j || sum > 0.0, "{track}");
                    l[i][j] = if i == j { sum.sqrt() } else { sum / l[j][j] };
                }
            }
        }
    }
    println!("{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), TRACKS as u64);
    let [fine, not_reached, ..] = counts;
    assert!(fine > 100_000 && not_reached > 100_000, "{counts:?}");
}
