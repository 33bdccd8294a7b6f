//! [`NormalPair`]: two normally distributed random numbers, computed in full precision or approximately.

use std::f64::consts::TAU;
use std::sync::LazyLock;

/// Two uniform numbers in [0, 1), from which two normal numbers are computed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NormalPair {
    pub radius: f64,
    pub turn: f64,
}

/// Number of intervals of the tables: nodes minus one.
const STEPS: usize = 1024;

/// Tables at the nodes: `sqrt(-2 log(1 - u))`; cosine and sine of the turn.
pub(super) struct NormalTables {
    radius: [f64; STEPS + 1],
    turn: [[f64; 2]; STEPS + 1],
}

static TABLES: LazyLock<NormalTables> = LazyLock::new(|| {
    let at = |i: usize| i as f64 / STEPS as f64;
    NormalTables {
        // The last node, which is infinite, is not used.
        radius: std::array::from_fn(|i| (-2.0 * libm::log(1.0 - at(i.min(STEPS - 1)))).sqrt()),
        turn: std::array::from_fn(|i| {
            let (sin, cos) = libm::sincos(TAU * at(i));
            [cos, sin]
        }),
    }
});

impl NormalTables {
    pub fn get() -> &'static Self {
        &TABLES
    }
}

impl NormalPair {
    /// Largest absolute error of the numbers of [`NormalPair::rough`].
    pub const ROUGH: f64 = 0.002;

    /// Returns the two normal numbers in full precision (Box and Muller).
    pub fn exact(self) -> [f64; 2] {
        let radius = (-2.0 * libm::log(1.0 - self.radius)).sqrt();
        // Gives the same bits as `sin` and `cos`, which would reduce the angle twice.
        let (sin, cos) = libm::sincos(TAU * self.turn);
        [radius * cos, radius * sin]
    }

    /// Interpolates the two normal numbers in tables, in a tenth of the time; both are NaN where a table is too coarse.
    pub fn rough(self, NormalTables { radius, turn }: &NormalTables) -> [f64; 2] {
        // The tables are too coarse at both ends: the root is steep at the beginning, the logarithm at the end.
        if !(1.0 / STEPS as f64..1.0 - 1.0 / 64.0).contains(&self.radius) {
            return [f64::NAN; 2];
        }
        let place = |u: f64| {
            let u = u * STEPS as f64;
            let node = (u as usize).min(STEPS - 1);
            (node, u - node as f64)
        };
        let (node, part) = place(self.radius);
        let length = radius[node] + part * (radius[node + 1] - radius[node]);
        let (node, part) = place(self.turn);
        let ([cos, sin], [next_cos, next_sin]) = (turn[node], turn[node + 1]);
        [length * (cos + part * (next_cos - cos)), length * (sin + part * (next_sin - sin))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn rough_numbers_are_as_near_as_promised() {
        let mut random = Random::new(3, 9);
        let edges = (0..=STEPS).flat_map(|i| {
            let node = i as f64 / STEPS as f64;
            [node, node.next_up(), node.next_down(), node + 0.25 / STEPS as f64, node + 0.5 / STEPS as f64]
        });
        let edges: Vec<f64> = edges.filter(|u| (0.0..1.0).contains(u)).collect();
        let mut pairs: Vec<NormalPair> = (0..300_000).map(|_| random.normal_pair()).collect();
        pairs.extend(edges.iter().map(|&radius| NormalPair { radius, turn: 0.125 }));
        pairs.extend(edges.iter().map(|&turn| NormalPair { radius: 0.98, turn }));
        let (mut none, mut worst) = (0, 0.0f64);
        for pair in &pairs {
            let rough = pair.rough(NormalTables::get());
            if rough[0].is_nan() {
                none += 1;
                continue;
            }
            let exact = pair.exact();
            worst = worst.max((rough[0] - exact[0]).abs()).max((rough[1] - exact[1]).abs());
        }
        assert!(worst < 0.8 * NormalPair::ROUGH, "{worst}");
        assert!(none < pairs.len() / 40, "{none} of {} without", pairs.len());
    }
}
