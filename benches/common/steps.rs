//! Steps of the Kalman filter over tracks in memory, for two benches.

use peloton::kalman::matriplex::{Matriplex, Matrix, Symmetric};
use peloton::kalman::{CURVATURE_PER_TESLA, CylinderState, PlaneState, to_plane, to_radius, update};
use peloton::simd::Gang;
use peloton::simd::varying::{F32, Mask};

/// Layers that each track goes through.
pub const LAYERS: usize = 20;
/// Elements of a stored state: its radius or z, five parameters, 15 covariances.
pub const STATE: usize = 21;
const FIELD: f32 = 3.8112 * CURVATURE_PER_TESLA;
/// Middle values of the parameters for tracks to planes and to radii.
pub const TO_PLANES: [f32; 5] = [0.1, 0.1, 0.5, 0.3, 1.5];
pub const TO_RADII: [f32; 5] = [0.1, 0.1, 0.5, 0.1, 0.5];

/// Starting states, and two measurements for each layer.
pub struct Tracks {
    states: Matriplex,
    hits: Matriplex,
    count: usize,
}

impl Tracks {
    /// Makes `count` tracks around the given parameters; `count` is a multiple of every gang's lanes.
    pub fn new(count: usize, first: [f32; 5]) -> Self {
        let (mut states, mut hits) = (Matriplex::default(), Matriplex::default());
        states.resize(STATE, count);
        hits.resize(2 * LAYERS, count);
        let mut bits = 1u32;
        let mut random = || {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (bits >> 8) as f32 / 16_777_216.0 - 0.5
        };
        for track in 0..count {
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
        Self { states, hits, count }
    }

    /// Takes all tracks through all layers, to radii or to planes.
    #[inline(always)]
    pub fn through<G: Gang, const TO_RADIUS: bool>(&self, g: G, out: &mut Matriplex) {
        let field = F32::splat(g, FIELD);
        let v = Symmetric::diagonal(g, [F32::splat(g, 1e-4), F32::splat(g, 1e-2)]);
        let all = Mask::first(g, G::LANES);
        for lane in (0..self.count).step_by(G::LANES) {
            let mut state = CylinderState::load(g, &self.states, lane);
            for layer in 0..LAYERS {
                let to = F32::splat(g, 4.0 + 1.8 * (layer + 1) as f32);
                if TO_RADIUS {
                    to_radius(g, &mut state, field, to);
                } else {
                    let mut plane = PlaneState { z: state.radius, p: state.p, c: state.c };
                    to_plane(g, &mut plane, field, to);
                    state = CylinderState { radius: plane.z, p: plane.p, c: plane.c };
                }
                let Matrix([residual]) = self.hits.load::<G, 1, 2>(g, 2 * layer, lane);
                update(g, &mut state.p, &mut state.c, residual, &v, all);
            }
            state.store(out, lane);
        }
    }
}
