//! States of tracks: parameters to position and slopes, momentum, covariances.

use super::config::SciFiConfig;
use super::find::track::{NO_HIT, Track};
use super::gains::{Gains, InX, InY, PATTERNS, SHAPES, field_at_reference};
use super::layers::{CUBIC, LEAN, SLOPE, TILT, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, Z_STATE, bend};
use super::momentum::Momentum;
use crate::event::SciFiState;
use crate::lhcb::Bending;

/// Beyond these the field is that of the nearest place within, mm.
const MAX_X: f32 = 3000.0;
const MAX_Y: f32 = 2500.0;
/// Far from the axis the field is no weaker than this part of that on it: beyond, its expansion says nothing.
const WEAKEST: f32 = 1.0 / 3.0;

/// What states need to know of the layers.
#[derive(Debug, Clone)]
pub(super) struct States {
    /// The parameters in x give the state: x = a + distance b + bend c, tx = b + turn c.
    distance: f32,
    bend: f32,
    turn: f32,
    d: [f32; X_LAYERS],
    bends: [f32; X_LAYERS],
    gains: Gains,
    /// The magnet's field at the reference.
    field: [f32; 5],
    momentum: Momentum,
}

/// Which layers have hits.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    x: usize,
    uv: usize,
}

impl Pattern {
    pub(super) fn new(has: impl Fn(usize) -> bool) -> Self {
        let bits = |layers: std::ops::Range<usize>| {
            let first = layers.start;
            layers.fold(0, |bits, layer| bits | usize::from(has(layer)) << (layer - first))
        };
        Self { x: bits(0..X_LAYERS), uv: bits(X_LAYERS..X_LAYERS + UV_LAYERS) }
    }
}

/// A covariance by hits, and what scattering adds to it at a momentum of 1 GeV/c.
#[inline(always)]
fn sum(hits: [f32; 3], scattering: [f32; 3], qop2: f32) -> [f32; 3] {
    let part = |i: usize| scattering[i].mul_add(qop2, hits[i]);
    [part(0), part(1), part(2)]
}

impl States {
    /// For the errors that a configuration names, and a magnet.
    pub(super) fn new(config: &SciFiConfig, bending: Bending) -> Self {
        let at = Z_STATE - Z_REFERENCE;
        let turn = 2.0 * at + 3.0 * CUBIC * at * at;
        Self {
            distance: at as f32,
            bend: bend(at) as f32,
            turn: turn as f32,
            d: std::array::from_fn(|layer| (Z[layer] - Z_REFERENCE) as f32),
            bends: std::array::from_fn(|layer| bend(Z[layer] - Z_REFERENCE) as f32),
            gains: Gains::new(config.resolution.into()),
            field: field_at_reference(),
            momentum: Momentum::new(bending, config, Z_STATE as f32),
        }
    }

    /// The same with the momenta of another magnet.
    pub(super) fn with_bending(mut self, bending: Bending, config: &SciFiConfig) -> Self {
        self.momentum = Momentum::new(bending, config, Z_STATE as f32);
        self
    }

    /// Variances of the slope in x against that of a track that does not scatter: by hits, and by scattering at 1 GeV/c.
    pub(super) fn turn(&self, pattern: Pattern) -> [f32; 2] {
        self.gains.x[pattern.x].turn
    }

    /// What the search says of a track at the state's z: x, y, and their slopes.
    #[inline(always)]
    pub(super) fn searched(&self, track: &Track) -> [f32; 4] {
        let ([a, b, c], [y, ty]) = (track.x, track.y);
        let x = c.mul_add(self.bend, b.mul_add(self.distance, a));
        [x, ty.mul_add(self.distance, y), c.mul_add(self.turn, b), ty]
    }

    /// The state of a track, and the variance of its charge over momentum. The search has upright layers, fibres that are tilted a little less than they are, and one shape
    /// of the field for all; what this leaves out is put in here.
    #[inline(always)]
    pub(super) fn of(&self, track: &Track) -> (SciFiState, f32) {
        let line = self.searched(track);
        let pattern = Pattern::new(|layer| track.hits[layer] != NO_HIT);
        let in_x = &self.gains.x[pattern.x];
        let [qop, per_x0] = self.momentum.qop(line);
        let variance = self.momentum.variance(line, [qop, per_x0], in_x.origin);
        let [x, y, tx, ty] = line;
        let in_y = &self.gains.y[pattern.x * PATTERNS + pattern.uv];
        let tilt = (SLOPE[0] / TILT) as f32;
        let (y, ty) = (y * tilt, ty * tilt);
        let [dx, dtx, dy, dty] = self.by_field(track, tilt, in_x, in_y);
        let (x, tx, y, ty) = (x + dx, tx + dtx, y + dy, ty + dty);
        // All layers lean alike: a fit in their own depth is one in z, off by what y makes of it.
        let off = LEAN as f32 * y;
        let shrink = (-(LEAN as f32)).mul_add(ty, 1.0);
        let state = SciFiState {
            position: [(-off).mul_add(tx, x), (-off).mul_add(ty, y)],
            slope: [tx * shrink, ty * shrink],
            qop,
            cov_x: sum(in_x.hits, in_x.scattering, qop * qop),
            cov_y: sum(in_y.hits, in_y.scattering, qop * qop),
        };
        (state, variance)
    }

    /// What the field where the track is, in place of the search's, changes: x and its slope, y and its slope.
    #[inline(always)]
    fn by_field(&self, track: &Track, tilt: f32, in_x: &InX, in_y: &InY) -> [f32; 4] {
        let [b0, b1, slope0, second0, slope1] = self.field;
        let ([x, tx, c], [y, ty]) = (track.x, track.y.map(|value| value * tilt));
        let (x, y) = (x.clamp(-MAX_X, MAX_X), y.clamp(-MAX_Y, MAX_Y));
        let (x2, y2) = (x * x, y * y);
        // b0 + b1 x^2 - y^2 / 2 (2 b1 + b0'')
        let [w1, w2] = [x2 - y2, -0.5 * y2];
        let of = |shapes: &[f32; SHAPES]| w2.mul_add(shapes[2], w1.mul_add(shapes[1], shapes[0]));
        let weakest = WEAKEST * in_x.bend[0];
        let bend = of(&in_x.bend);
        let bend = if bend > weakest { bend } else { weakest };
        let unit = if bend > 0.0 { c / bend } else { 0.0 };
        // What bends in y: tx (ty By + Bz) - (1 + ty^2) Bx.
        let along_x = 2.0 * b1 * x * y;
        let along_y = w2.mul_add(second0, w1.mul_add(b1, b0));
        let along_z = y * slope1.mul_add(x2, slope0);
        let force = tx.mul_add(ty.mul_add(along_y, along_z), -(ty.mul_add(ty, 1.0) * along_x));
        let unit_y = unit * force / b0;
        [unit * of(&in_x.value), unit * of(&in_x.slope), unit_y * in_y.left[0], unit_y * in_y.left[1]]
    }

    /// Sum of the squared distances of the x hits to a track; `x` has that of all places.
    #[inline(always)]
    pub(super) fn chi2_x(&self, track: &Track, x: &[f32]) -> f32 {
        let [a, b, c] = track.x;
        let mut sum = 0.0f32;
        for layer in 0..X_LAYERS {
            let hit = track.hits[layer];
            if hit != NO_HIT {
                let left = x[hit as usize - 1] - c.mul_add(self.bends[layer], b.mul_add(self.d[layer], a));
                sum = left.mul_add(left, sum);
            }
        }
        sum
    }
}
