//! Products and inverses of every size, on every gang, against dense f64.

use super::*;
use crate::dispatch_usual;
use crate::kalman::reference::{inverse, multiply as dense, transpose};
use crate::simd::{Gang, Level};

const LANES: usize = 64;

/// Lower and upper bidiagonal matrix with ones: known zeros and ones must not change results.
struct Band;

impl<const N: usize> Pattern<N, N> for Band {
    const ENTRIES: [[Entry; N]; N] = {
        let mut out = [[Entry::Zero; N]; N];
        let mut i = 0;
        while i < N {
            out[i][i] = if i % 2 == 0 { Entry::One } else { Entry::Value };
            if i > 0 {
                out[i][i - 1] = Entry::Value;
            }
            i += 1;
        }
        out
    };
}

/// Returns the results of all operations for N x N matrices: product, sparse similarity, Cholesky's inverse.
fn on_level<const N: usize>(level: Level, a: &Matriplex, c: &Matriplex) -> [Matriplex; 3] {
    let mut out: [Matriplex; 3] = std::array::from_fn(|_| {
        let mut out = Matriplex::default();
        out.resize(N * N, LANES);
        out
    });
    dispatch_usual!(level, g => run::<_, N>(g, a, c, &mut out));
    out
}

#[inline(always)]
fn run<G: Gang, const N: usize>(g: G, a: &Matriplex, c: &Matriplex, out: &mut [Matriplex; 3]) {
    for lane in (0..LANES).step_by(G::LANES) {
        let f: Matrix<G, N, N> = a.load(g, 0, lane);
        let s: Symmetric<G, N> = c.load_symmetric(g, 0, lane);
        out[0].store(0, lane, &multiply::<Dense, G, N, N, N>(g, &f, &s.to_matrix()));
        out[1].store_symmetric(0, lane, &similarity::<Band, G, N, N>(g, &f, &s));
        let (inverse, positive) = s.cholesky(g);
        assert!(positive.all());
        out[2].store_symmetric(0, lane, &inverse);
    }
}

struct Random(u64);
impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 8_388_608.0 - 1.0
    }
}

/// Returns general matrices, and symmetric ones that are clearly positive definite.
fn matrices<const N: usize>() -> (Matriplex, Matriplex) {
    let mut random = Random(N as u64);
    let (mut a, mut c) = (Matriplex::default(), Matriplex::default());
    a.resize(N * N, LANES);
    c.resize(packed(N), LANES);
    for lane in 0..LANES {
        for i in 0..N {
            for j in 0..N {
                a.row_mut(i * N + j)[lane] = random.next();
            }
            for j in 0..=i {
                c.row_mut(packed(i) + j)[lane] =
                    if i == j { 2.0 + random.next() } else { 0.4 * random.next() };
            }
        }
    }
    (a, c)
}

fn check<const N: usize>() {
    let (a, c) = matrices::<N>();
    let expected = on_level::<N>(Level::usual()[0], &a, &c);
    for level in Level::usual() {
        let found = on_level::<N>(level, &a, &c);
        for (found, expected) in found.iter().zip(&expected) {
            for element in 0..packed(N) {
                let bits =
                    |m: &Matriplex| m.row(element)[..LANES].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(found), bits(expected), "{level}, {N}");
            }
        }
    }
    for lane in 0..LANES {
        let f: [[f64; N]; N] =
            std::array::from_fn(|i| std::array::from_fn(|j| f64::from(a.row(i * N + j)[lane])));
        let s: [[f64; N]; N] = std::array::from_fn(|i| {
            std::array::from_fn(|j| f64::from(c.row(packed(i.max(j)) + i.min(j))[lane]))
        });
        let band: [[f64; N]; N] = std::array::from_fn(|i| {
            std::array::from_fn(|j| match <Band as Pattern<N, N>>::ENTRIES[i][j] {
                Entry::Zero => 0.0,
                Entry::One => 1.0,
                Entry::Value => f[i][j],
            })
        });
        let truth = [dense(&f, &s), dense(&dense(&band, &s), &transpose(&band)), inverse(&s)];
        for i in 0..N {
            for j in 0..N {
                let near = |found: f32, truth: f64| (f64::from(found) - truth).abs() < 3e-6;
                assert!(near(expected[0].row(i * N + j)[lane], truth[0][i][j]), "product {N}");
                if j <= i {
                    assert!(near(expected[1].row(packed(i) + j)[lane], truth[1][i][j]), "similarity {N}");
                    assert!(near(expected[2].row(packed(i) + j)[lane], truth[2][i][j]), "inverse {N}");
                }
            }
        }
    }
}

#[test]
fn every_size_on_every_gang() {
    check::<1>();
    check::<2>();
    check::<3>();
    check::<4>();
    check::<5>();
    check::<6>();
}

#[inline(always)]
fn cramer_against_cholesky<G: Gang, const N: usize>(g: G, c: &Matriplex) -> f32
where
    Symmetric<G, N>: Cramer<G>,
{
    let mut worst = 0.0f32;
    for lane in (0..LANES).step_by(G::LANES) {
        let s: Symmetric<G, N> = c.load_symmetric(g, 0, lane);
        let (cramer, determinant) = s.cramer();
        let (cholesky, _) = s.cholesky(g);
        let mut values = [0.0; 64];
        determinant.store(&mut values);
        assert!(values[..G::LANES].iter().all(|d| *d > 0.5));
        for i in 0..N {
            for j in 0..=i {
                (cramer.0[i][j] - cholesky.0[i][j]).abs().store(&mut values);
                worst = values[..G::LANES].iter().fold(worst, |a, b| a.max(*b));
            }
        }
    }
    worst
}

#[test]
fn cramer_is_cholesky() {
    for level in Level::usual() {
        let worst = dispatch_usual!(level, g => [
            cramer_against_cholesky::<_, 1>(g, &matrices::<1>().1),
            cramer_against_cholesky::<_, 2>(g, &matrices::<2>().1),
            cramer_against_cholesky::<_, 3>(g, &matrices::<3>().1),
        ]);
        assert!(worst.iter().all(|worst| *worst < 2e-6), "{level}: {worst:?}");
    }
}

/// Returns the smallest pivot of L D L^T, up to the first that is not positive.
fn smallest_pivot<const N: usize>(mut a: [[f64; N]; N]) -> f64 {
    let mut smallest = f64::INFINITY;
    for j in 0..N {
        smallest = smallest.min(a[j][j]);
        if a[j][j] <= 0.0 {
            break;
        }
        let row = a[j];
        for line in &mut a[j + 1..] {
            let share = line[j] / row[j];
            for (value, above) in line.iter_mut().zip(row) {
                *value -= share * above;
            }
        }
    }
    smallest
}

#[test]
fn definite_is_what_f64_says() {
    const N: usize = 5;
    let (mut random, mut matrices, mut expected) = (Random(7), Matriplex::default(), vec![]);
    matrices.resize(N * N, 4000);
    let mut lane = 0;
    while lane < 4000 {
        let mut a = [[0.0; N]; N];
        for i in 0..N {
            for j in 0..=i {
                let value = if i == j { 1.0 + random.next() } else { 0.5 * random.next() };
                (a[i][j], a[j][i]) = (value, value);
            }
        }
        let pivot = smallest_pivot(a.map(|row| row.map(f64::from)));
        // A pivot nearer to 0 depends on rounding.
        if pivot.abs() > 1e-3 {
            for (element, value) in (0..).zip((0..N).flat_map(|i| a[i][..=i].to_vec())) {
                matrices.row_mut(element)[lane] = value;
            }
            expected.push(pivot > 0.0);
            lane += 1;
        }
    }
    fn found<G: Gang>(g: G, matrices: &Matriplex) -> Vec<bool> {
        let gangs = (0..4000).step_by(G::LANES);
        gangs
            .flat_map(|at| {
                let bits = matrices.load_symmetric::<G, N>(g, 0, at).is_definite(g, 1.0).bits();
                (0..G::LANES).map(move |lane| bits >> lane & 1 == 1)
            })
            .collect()
    }
    let definite = expected.iter().filter(|definite| **definite).count();
    assert!((500..3500).contains(&definite), "{definite} of 4000 are definite");
    for level in Level::usual() {
        assert_eq!(dispatch_usual!(level, g => found(g, &matrices)), expected, "{level}");
    }
}

#[test]
fn what_is_not_positive_definite_is_said_to_be() {
    fn positive<G: Gang>(g: G) -> u64 {
        let mut s = Symmetric::<G, 3>::splat(g, 0.9);
        for i in 0..3 {
            s.set(i, i, crate::simd::varying::F32::splat(g, 1.0));
        }
        let good = s.factor(g).1.bits() & s.is_definite(g, 1.0).bits();
        s.set(0, 2, crate::simd::varying::F32::splat(g, -0.9));
        good & !s.factor(g).1.bits() & !s.is_definite(g, 1.0).bits()
    }
    /// A matrix of ones is singular: growing its diagonal makes it definite.
    fn singular<G: Gang>(g: G) -> u64 {
        let ones = Symmetric::<G, 3>::splat(g, 1.0);
        ones.is_definite(g, 1.0 + 1e-5).bits() & !ones.is_definite(g, 1.0).bits()
    }
    for level in Level::usual() {
        assert_eq!(dispatch_usual!(level, g => positive(g)).count_ones() as usize, level.gang());
        assert_eq!(dispatch_usual!(level, g => singular(g)).count_ones() as usize, level.gang());
    }
}
