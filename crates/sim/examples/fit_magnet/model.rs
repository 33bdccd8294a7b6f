//! The field model of `peloton::lhcb::magnet` with adjustable weights for the fit; the library's weights are constants.

/// First knot, distance of knots, mm, and number of pieces, as there.
const FIRST: f64 = -600.0;
const STEP: f64 = 300.0;
const PIECES: usize = 36;
/// Change of slope per mm, T and inverse GeV/c.
const CURVATURE: f64 = 0.299_792_458e-3;
/// Longest step of a particle, and steps of a sum, mm.
const LONGEST: f64 = 130.0;
const SUM_STEPS: f64 = 60.0;
/// Change of a weight that gives a numerical derivative.
pub const CHANGE: f64 = 1e-4;

/// The weights of both splines of the field, alternating.
#[derive(Clone)]
pub struct Model {
    pub weights: Vec<f64>,
}

/// A field that rises and falls along z, to begin with (the nominal dipole of before).
fn first_guess(z: f64) -> f64 {
    let edge = |distance: f64| 1.0 / (1.0 + libm::exp(-distance));
    let tail = (z - 927.3) / 706.1;
    1.4393 * edge((z - 3573.7) / 502.4) * edge((6408.5 - z) / 1044.3) + 0.0275 * libm::exp(-tail * tail)
}

impl Model {
    pub fn start() -> Self {
        let weight = |at: usize| first_guess(FIRST + (at as f64 - 1.0) * STEP);
        Self { weights: (0..PIECES + 3).flat_map(|at| [weight(at), 0.0]).collect() }
    }

    /// Returns the components of the field at a position (mm), T.
    pub fn at(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let way = (z - FIRST) / STEP;
        if !(0.0..PIECES as f64).contains(&way) {
            return [0.0; 3];
        }
        let (piece, t) = (way as usize, way.fract());
        let s = 1.0 - t;
        let value =
            [s * s * s, 3.0 * t * t * t - 6.0 * t * t + 4.0, 3.0 * s * s * s - 6.0 * s * s + 4.0, t * t * t];
        let slope = [-s * s, 3.0 * t * t - 4.0 * t, -(3.0 * s * s - 4.0 * s), t * t];
        let bend = [s, 3.0 * t - 2.0, 3.0 * s - 2.0, t];
        let sum = |of: [f64; 4], term: usize| {
            (0..4).map(|i| of[i] * self.weights[2 * (piece + i) + term]).sum::<f64>()
        };
        let both = |of: [f64; 4], scale: f64| [sum(of, 0) * scale, sum(of, 1) * scale * 1e-6];
        let ([b0, b1], [d0, d1]) = (both(value, 1.0 / 6.0), both(slope, 0.5 / STEP));
        let [e0, e1] = both(bend, 1.0 / (STEP * STEP));
        let second = 2.0 * b1 + e0 + e1 * x * x;
        [y * 2.0 * b1 * x, b0 + b1 * x * x - 0.5 * y * y * second, y * (d0 + d1 * x * x)]
    }

    /// Propagates a particle (x, y, slopes; `qop` in c/GeV) from one z to another, with the magnet's polarity down.
    pub fn fly(&self, start: [f64; 4], [from, to]: [f64; 2], qop: f64) -> [f64; 4] {
        let steps = ((to - from) / LONGEST).ceil();
        let h = (to - from) / steps;
        let slope = |[x, y, tx, ty]: [f64; 4], z: f64| {
            let [bx, by, bz] = self.at([x, y, z]);
            let bend = -CURVATURE * qop * (1.0 + tx * tx + ty * ty).sqrt();
            let (along_x, along_y) = (tx * bx + bz, ty * by + bz);
            [
                tx,
                ty,
                bend * (ty * along_x - (1.0 + tx * tx) * by),
                bend * ((1.0 + ty * ty) * bx - tx * along_y),
            ]
        };
        let add = |a: [f64; 4], b: [f64; 4], h: f64| std::array::from_fn(|i| a[i] + h * b[i]);
        let (mut state, mut z) = (start, from);
        for _ in 0..steps as usize {
            let one = slope(state, z);
            let two = slope(add(state, one, 0.5 * h), z + 0.5 * h);
            let three = slope(add(state, two, 0.5 * h), z + 0.5 * h);
            let four = slope(add(state, three, h), z + h);
            state =
                std::array::from_fn(|i| state[i] + h / 6.0 * (one[i] + 2.0 * (two[i] + three[i]) + four[i]));
            z += h;
        }
        state
    }

    /// Integrates the field component that bends along x, times `weight`, on a straight path in the plane x = 0.
    pub fn sideways(&self, ty: f64, origin: f64, [from, to]: [f64; 2], weight: impl Fn(f64) -> f64) -> f64 {
        let step = (to - from) / SUM_STEPS;
        let at = |i: usize| {
            let z = from + step * (i as f64 + 0.5);
            let [_, by, bz] = self.at([0.0, ty * (z - origin), z]);
            (by - ty * bz) * weight(z)
        };
        step * (0..SUM_STEPS as usize).map(at).sum::<f64>()
    }

    /// Appends residuals that make the splines smooth, 0 at both ends, and independent of x where there are no data.
    pub fn roughness(&self, strength: f64, all: &mut Vec<f64>) {
        for term in 0..2 {
            // In units of what b1 adds where particles are furthest out.
            let reach = |at: usize| {
                let z = FIRST + (at as f64 - 1.0) * STEP;
                (0.42e-3 * z).clamp(0.25, 3.3).powi(2 * term)
            };
            let weight = |at: usize| self.weights[2 * at + term as usize] * reach(at);
            for at in 0..PIECES {
                let third = weight(at + 3) - 3.0 * weight(at + 2) + 3.0 * weight(at + 1) - weight(at);
                all.push(strength * third / 0.01);
            }
            all.extend([0, 1, PIECES + 1, PIECES + 2].map(|at| strength * weight(at) / 0.03));
            if term == 1 {
                all.extend((0..PIECES + 3).map(|at| strength * weight(at) / 0.2));
            }
        }
    }
}
