//! Single kernels of the filter on every gang: planes, measurements of three dimensions, the helix through three hits.
#![allow(clippy::needless_range_loop, reason = "matrices")]

use crate::random::Random;
use peloton::dispatch_usual;
use peloton::kalman::layouts::{Layout, Products};
use peloton::kalman::matriplex::{Matriplex, Matrix, Symmetric};
use peloton::kalman::{CURVATURE_PER_TESLA, PlaneState, from_three_hits, reference, to_plane, update};
use peloton::simd::varying::{F32, Mask};
use peloton::simd::{Gang, Level};

const FIELD: f32 = 3.8112 * CURVATURE_PER_TESLA;

#[inline(always)]
fn start_at_hits<G: Gang>(g: G, hits: [[f32; 3]; 3], out: &mut [f32; 5]) {
    let hits = hits.map(|hit| hit.map(|value| F32::splat(g, value)));
    let state = from_three_hits(g, hits, F32::splat(g, FIELD), [F32::splat(g, 1.0); 5]);
    let mut lanes = [0.0; 64];
    for (value, out) in state.p.iter().zip(out) {
        value.store(&mut lanes);
        *out = lanes[0];
    }
}

#[test]
fn three_hits_make_a_helix() {
    let mut random = Random::new(5);
    for level in Level::usual() {
        for _ in 0..50 {
            let slope = random.between(-1.0, 1.0);
            let p =
                [0.1, -0.05, 0.5, random.between(-2.0, 2.0), random.between(-3.0, 3.0), (1.0 / slope).atan()];
            let at = [4.0, 20.0, 40.0].map(|radius| {
                (radius, reference::step_to_radius(p.map(f64::from), f64::from(FIELD), radius, 30))
            });
            let hits = at.map(|(radius, p)| [p[1].atan2(p[0]) as f32, p[2] as f32, radius as f32]);
            let mut found = [0.0; 5];
            dispatch_usual!(level, g => start_at_hits(g, hits, &mut found));
            let first = at[0].1;
            let moment = first[0] * first[4].sin() - first[1] * first[4].cos();
            let expected = [first[1].atan2(first[0]), first[2], first[3], moment, 1.0 / first[5].tan()];
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (f64::from(*found) - expected).abs() < 2e-4 * (1.0 + expected.abs()),
                    "{found} {expected}"
                );
            }
        }
    }
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

/// Products of the factors that [`Products`] has, as they are in the array: left factor times right factor, in f64.
#[test]
fn products_are_the_same_in_every_layout() {
    let bits = |products: &Products, count: usize| -> Vec<u32> {
        (0..count).flat_map(|pair| products.product(pair)).map(f32::to_bits).collect()
    };
    for level in Level::supported() {
        for count in [1, 17, 130, 600] {
            let layouts = [1, 16, 100, 256, usize::MAX].map(Layout::Matriplex);
            let mut plain = Products::new(level, Layout::Array, count);
            assert!(bits(&plain, count).iter().all(|bits| *bits == 0), "zeros before");
            plain.multiply();
            for pair in 0..count {
                let [a, b] = plain.factors(pair).map(|factor| factor.map(f64::from));
                for (element, found) in plain.product(pair).into_iter().enumerate() {
                    let (i, j) = (element / 6, element % 6);
                    let exact: f64 = (0..6).map(|k| a[6 * i + k] * b[6 * k + j]).sum();
                    assert!((f64::from(found) - exact).abs() < 1e-6, "pair {pair}: {found} {exact}");
                }
            }
            let expected = bits(&plain, count);
            for layout in layouts.into_iter().chain([Layout::ArrayInLanes]) {
                let mut products = Products::new(level, layout, count);
                assert_eq!(products.factors(count - 1), plain.factors(count - 1), "{layout:?}");
                products.multiply();
                assert!(bits(&products, count) == expected, "{level}, {layout:?}, {count} pairs");
            }
        }
    }
}
