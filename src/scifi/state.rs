//! States of tracks: computes position, slopes, momentum and covariances from a track's fitted parameters.

use super::config::SciFiConfig;
use super::find::track::{NO_HIT, Track};
use super::gains::{Gains, InX, InY, PATTERNS, SHAPES, field_at_reference};
use super::layers::{CUBIC, LEAN, SLOPE, TILT, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, Z_STATE, bend};
use super::momentum::Momentum;
use crate::event::{PAD, SciFiStates, SciFiTracks};
use crate::lhcb::Bending;
use crate::simd::varying::F32;
use crate::simd::{Gang, array_of, inlined};

/// Largest |x| and |y| of the field's expansion, mm: the field beyond is the field of the nearest place within.
const MAX_X: f32 = 3000.0;
const MAX_Y: f32 = 2500.0;
/// Smallest field far from the axis, relative to the field on it: the expansion is not valid below.
const WEAKEST: f32 = 1.0 / 3.0;

/// Constants of the layers for states.
#[derive(Debug, Clone)]
pub(super) struct States {
    /// Factors from the parameters in x to the state: x = a + distance b + bend c, tx = b + turn c.
    distance: f32,
    bend: f32,
    turn: f32,
    d: [f32; X_LAYERS],
    bends: [f32; X_LAYERS],
    gains: Gains,
    /// Factor on the variance of scattering in covariances.
    scattering: f32,
    /// Terms of the magnet's field at the reference.
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

/// Parameters and tables of tracks, one column per value and one lane per track.
#[derive(Debug)]
pub(super) struct Staged([[f32; PAD]; STAGED]);

impl Default for Staged {
    fn default() -> Self {
        Self([[0.0; PAD]; STAGED])
    }
}

/// Number of columns: the parameters in x and in y, and the fields of [`InX`] and [`InY`] except the turn.
const STAGED: usize = X + 17 + 8;
const X: usize = 5;
const Y: usize = X + 17;

impl Staged {
    /// Stores a track in a lane.
    #[inline(always)]
    fn put(&mut self, lane: usize, track: &Track, in_x: &InX, in_y: &InY) {
        let mut column = 0;
        let mut put = inlined!(|values: &[f32]| {
            for &value in values {
                self.0[column][lane & (PAD - 1)] = value;
                column += 1;
            }
        });
        put(&track.x);
        put(&track.y);
        put(&in_x.hits);
        put(&in_x.scattering);
        put(&in_x.bend);
        put(&in_x.value);
        put(&in_x.slope);
        put(&in_x.origin);
        put(&in_y.hits);
        put(&in_y.scattering);
        put(&in_y.left);
    }

    /// Returns the values of the lanes, from a column on.
    #[inline(always)]
    fn get<G: Gang, const N: usize>(&self, g: G, column: usize) -> [F32<G>; N] {
        array_of!(at => F32::load(g, &self.0[column + at]))
    }
}

impl States {
    /// Computes the constants for the errors of a configuration, and a magnet.
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
            scattering: config.scattering,
            field: field_at_reference(),
            momentum: Momentum::new(bending, config, Z_STATE as f32),
        }
    }

    /// Computes momenta for another magnet.
    pub(super) fn with_bending(mut self, bending: Bending, config: &SciFiConfig) -> Self {
        self.momentum = Momentum::new(bending, config, Z_STATE as f32);
        self
    }

    /// Returns the variances of the slope in x relative to a track without scattering: by hits, and by scattering at 1 GeV/c.
    pub(super) fn turn(&self, pattern: Pattern) -> [f32; 2] {
        self.gains.x[pattern.x].turn
    }

    /// Appends the states of tracks, variances of their charge over momentum, and their states in the model of the search.
    /// The search assumes upright layers, a slightly smaller tilt of the fibres, and one shape of the field for all tracks;
    /// this function corrects for these.
    #[inline(always)]
    pub(super) fn append<G: Gang>(&self, g: G, tracks: &[Track], staged: &mut Staged, out: &mut SciFiTracks) {
        let first = out.var_qop.len();
        let SciFiStates { x, y, tx, ty, qop, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty } =
            &mut out.state;
        let lines = &mut out.searched;
        let mut columns = [
            x,
            y,
            tx,
            ty,
            qop,
            cov_xx,
            cov_xtx,
            cov_txtx,
            cov_yy,
            cov_yty,
            cov_tyty,
            &mut out.var_qop,
            &mut lines.x,
            &mut lines.y,
            &mut lines.tx,
            &mut lines.ty,
        ];
        columns.iter_mut().for_each(|column| column.set_len(first + tracks.len()));
        for (number, chunk) in tracks.chunks(G::LANES).enumerate() {
            for (lane, track) in chunk.iter().enumerate() {
                let pattern = Pattern::new(|layer| track.hits[layer] != NO_HIT);
                let in_y = &self.gains.y[pattern.x * PATTERNS + pattern.uv];
                staged.put(lane, track, &self.gains.x[pattern.x], in_y);
            }
            let values = self.of(g, staged);
            for (column, value) in columns.iter_mut().zip(values) {
                value.store(&mut column.padded_mut()[first + number * G::LANES..]);
            }
        }
        for track in tracks {
            out.chi2_x.push(track.chi2_x);
            out.chi2_y.push(track.chi2);
        }
    }

    /// Returns the columns of [`append`](Self::append) for the tracks in the lanes.
    #[inline(always)]
    fn of<G: Gang>(&self, g: G, staged: &Staged) -> [F32<G>; 16] {
        let value = inlined!(|value: f32| F32::splat(g, value));
        let [a, b, c, y, ty] = staged.get(g, 0);
        let line = [
            c.mul_add(value(self.bend), b.mul_add(value(self.distance), a)),
            ty.mul_add(value(self.distance), y),
            c.mul_add(value(self.turn), b),
            ty,
        ];
        let [qop, per_x0] = self.momentum.qop(g, line);
        let variance = self.momentum.variance(g, line, [qop, per_x0], staged.get(g, X + 15));
        let tilt = value((SLOPE[0] / TILT) as f32);
        let [dx, dtx, dy, dty] = self.by_field(g, staged, [a, b, c, y * tilt, ty * tilt]);
        let [x, y, tx, ty] = [line[0] + dx, line[1] * tilt + dy, line[2] + dtx, line[3] * tilt + dty];
        // All layers lean by the same angle: the fit is along their common depth, which differs from z by an amount
        // proportional to y.
        let off = value(LEAN as f32) * y;
        let shrink = value(-(LEAN as f32)).mul_add(ty, value(1.0));
        // Covariance by hits, and by scattering at this momentum.
        let qop2 = value(self.scattering) * (qop * qop);
        let covariance = inlined!(|column: usize| -> [F32<G>; 3] {
            let [hits, scattering] = [staged.get::<G, 3>(g, column), staged.get::<G, 3>(g, column + 3)];
            array_of!(i => scattering[i].mul_add(qop2, hits[i]))
        });
        let ([xx, xt, tt], [yy, yu, uu]) = (covariance(X), covariance(Y));
        let [position_x, position_y] = [off.neg_mul_add(tx, x), off.neg_mul_add(ty, y)];
        let [line_x, line_y, line_tx, line_ty] = line;
        [
            position_x,
            position_y,
            tx * shrink,
            ty * shrink,
            qop,
            xx,
            xt,
            tt,
            yy,
            yu,
            uu,
            variance,
            line_x,
            line_y,
            line_tx,
            line_ty,
        ]
    }

    /// Returns the corrections of x, tx, y and ty for the field at the tracks, where the search assumes one shape for
    /// all tracks.
    #[inline(always)]
    fn by_field<G: Gang>(&self, g: G, staged: &Staged, [x, tx, c, y, ty]: [F32<G>; 5]) -> [F32<G>; 4] {
        let value = inlined!(|value: f32| F32::splat(g, value));
        let [b0, b1, slope0, second0, slope1] = self.field;
        let x = x.max(value(-MAX_X)).min(value(MAX_X));
        let y = y.max(value(-MAX_Y)).min(value(MAX_Y));
        let (x2, y2) = (x * x, y * y);
        // b0 + b1 x^2 - y^2 / 2 (2 b1 + b0'')
        let [w1, w2] = [x2 - y2, value(-0.5) * y2];
        let of = inlined!(|[s0, s1, s2]: [F32<G>; SHAPES]| w2.mul_add(s2, w1.mul_add(s1, s0)));
        let shapes: [F32<G>; SHAPES] = staged.get(g, X + 6);
        let bend = of(shapes).max(value(WEAKEST) * shapes[0]);
        let zero = value(0.0);
        let unit = zero.lt(bend).select_f(c / bend, zero);
        // Force in y: tx (ty By + Bz) - (1 + ty^2) Bx.
        let along_x = value(2.0 * b1) * x * y;
        let along_y = w2.mul_add(value(second0), w1.mul_add(value(b1), value(b0)));
        let along_z = y * value(slope1).mul_add(x2, value(slope0));
        let force = tx.mul_add(ty.mul_add(along_y, along_z), -(ty.mul_add(ty, value(1.0)) * along_x));
        let unit_y = unit * force / value(b0);
        let left: [F32<G>; 2] = staged.get(g, Y + 6);
        [
            unit * of(staged.get(g, X + 9)),
            unit * of(staged.get(g, X + 12)),
            unit_y * left[0],
            unit_y * left[1],
        ]
    }

    /// Returns the sum of the squared distances of the x hits to a track; `x` has x of all places.
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
