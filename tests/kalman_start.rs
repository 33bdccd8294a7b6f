//! The helix through three hits.

use peloton::dispatch_usual;
use peloton::kalman::{CURVATURE_PER_TESLA, from_three_hits, reference};
use peloton::simd::varying::F32;
use peloton::simd::{Gang, Level};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const FIELD: f32 = 3.8112 * CURVATURE_PER_TESLA;

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u8) -> Self {
        Self(Xoshiro256PlusPlus::from_seed([seed; 32]))
    }
    fn between(&mut self, low: f64, high: f64) -> f32 {
        (low + (high - low) * f64::from(self.0.next_u32()) / 4_294_967_296.0) as f32
    }
}

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
