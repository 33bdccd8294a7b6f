//! States at which filters on cylinders start: at a vertex, or at the first hits.

use super::matriplex::{Cramer, Entry, Matrix, Pattern, Symmetric, multiply, unroll};
use super::radius::{Arc, axis_of, inside};
use super::state::{CylinderState, within_turn};
use super::update::Update;
use crate::simd::math::{atan_tail, atan2, sincos};
use crate::simd::varying::{F32, Mask};
use crate::simd::{Gang, copies};

/// A state at a point: x, y, z (cm), charge / pT (c/GeV), phi and theta of the momentum (rad), with their variances.
#[derive(Clone, Copy)]
pub struct VertexState<G: Gang> {
    /// x, y, z, charge / pT, phi, theta.
    pub p: [F32<G>; 6],
    /// Variances of the parameters.
    pub variance: [F32<G>; 6],
}

/// A hit on a cylinder: independent measurements of azimuth (rad) and z (cm) at a radius.
#[derive(Clone, Copy)]
pub struct CylinderHit<G: Gang> {
    /// Azimuth, rad, and z, cm.
    pub position: [F32<G>; 2],
    /// Variances, rad^2 and cm^2.
    pub variance: [F32<G>; 2],
    /// Radius, cm.
    pub radius: F32<G>,
}

struct VertexJacobian;

impl Pattern<5, 6> for VertexJacobian {
    const ENTRIES: [[Entry; 6]; 5] = {
        use Entry::{One as I, Value as V, Zero as O};
        [[V, V, O, V, V, O], [V, V, I, V, V, V], [O, O, O, I, O, O], [V, V, O, V, V, O], [O, O, O, O, O, V]]
    };
}

/// State of a filter after its first hit.
pub struct Started<G: Gang> {
    /// State on the hit's cylinder.
    pub state: CylinderState<G>,
    /// Lanes that reach the cylinder, as in [`step`](super::step).
    pub reached: Mask<G>,
    /// Result of adding the hit.
    pub taken: Update<G>,
}

/// Returns the states where tracks from a vertex first leave the cylinder of the hit's radius, with the hit added in the
/// lanes of `has`.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn from_vertex<G: Gang>(
    g: G,
    vertex: &VertexState<G>,
    field: F32<G>,
    hit: &CylinderHit<G>,
    has: Mask<G>,
) -> Started<G> {
    let radius = hit.radius;
    let (mut p, jacobian, reached) = leave(g, &vertex.p, field, radius);
    let residual = [within_turn(g, hit.position[0] - p[0]), hit.position[1] - p[1]];
    let measured = Measured { residual, variance: hit.variance };
    let (c, taken) = first(g, &jacobian, &vertex.variance, &mut p, measured, has);
    Started { state: CylinderState { radius, p, c }, reached, taken }
}

/// Returns the parameters on the cylinder, their derivatives, and the lanes that get there.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
fn leave<G: Gang>(
    g: G,
    vertex: &[F32<G>; 6],
    field: F32<G>,
    radius: F32<G>,
) -> ([F32<G>; 5], Matrix<G, 5, 6>, Mask<G>) {
    let [x, y, z, charge_over_pt, phi, theta] = *vertex;
    let (zero, one, half) = (F32::splat(g, 0.0), F32::splat(g, 1.0), F32::splat(g, 0.5));
    let (uy, ux) = sincos(phi);
    let (sine, cosine) = sincos(theta);
    let slope = cosine / sine;
    let square = x.mul_add(x, y * y);
    let per_charge = half * field * radius.mul_add(radius, -square);
    let half_curvature = half * field * charge_over_pt;
    let q = y.neg_mul_add(ux, x * uy);
    let a = x.mul_add(ux, y * uy);
    let q_new = per_charge.mul_add(charge_over_pt, q);
    let a_new = axis_of(g, radius, q_new);
    let turned = half_curvature.neg_mul_add(q + q_new, one);
    let arc = Arc::new(g, (a_new - a) / turned, half_curvature);
    let x_new = arc.chord.mul_add(arc.tau.neg_mul_add(uy, ux), x);
    let y_new = arc.chord.mul_add(arc.tau.mul_add(ux, uy), y);

    let per_axis = one / a_new;
    let steep = q_new * per_axis;
    let per_square = one / (radius * radius);
    let length_by_phi = y.neg_mul_add(x_new, x * y_new) * per_axis;
    let curvature = half_curvature + half_curvature;
    let mut jacobian = Matrix::splat(g, 0.0);
    let length_by = [
        -(x_new * per_axis),
        -(y_new * per_axis),
        field * arc.across.mul_add(steep, -arc.excess),
        length_by_phi,
    ];
    jacobian.0[4][5] = -slope.mul_add(slope, one);
    jacobian.0[0][0] = -(x_new.mul_add(steep, y_new) * per_square);
    jacobian.0[0][1] = y_new.neg_mul_add(steep, x_new) * per_square;
    jacobian.0[0][3] = field * arc.across * per_axis;
    jacobian.0[0][4] = arc.chord * per_axis;
    jacobian.0[1][0] = slope * length_by[0];
    jacobian.0[1][1] = slope * length_by[1];
    jacobian.0[1][3] = slope * length_by[2];
    jacobian.0[1][4] = slope * length_by[3];
    jacobian.0[1][5] = arc.length * jacobian.0[4][5];
    jacobian.0[3][0] = curvature.neg_mul_add(x, uy);
    jacobian.0[3][1] = -curvature.mul_add(y, ux);
    jacobian.0[3][3] = per_charge;
    jacobian.0[3][4] = a;

    let reached =
        inside(g, q_new, radius) & square.lt(radius * radius) & arc.tau.abs().lt(one) & zero.lt(turned);
    let p = [atan2(y_new, x_new), slope.mul_add(arc.length, z), charge_over_pt, q_new, slope];
    (p, jacobian, reached)
}

/// A hit on a cylinder: its residuals in azimuth and z, and the variances.
struct Measured<G: Gang> {
    residual: [F32<G>; 2],
    variance: [F32<G>; 2],
}

/// Adds the first hit. Returns the covariance of the five parameters after the hit, from the derivatives F of the
/// parameters and the variances before.
///
/// A start may have hardly any information about a direction, and the large variance of this direction would dominate the
/// covariance before the hit; so that covariance is never computed. With gain K and L = (1 - K H) F the covariance after
/// the hit is L C L^T + K V K^T, a sum of squares.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
fn first<G: Gang>(
    g: G,
    f: &Matrix<G, 5, 6>,
    before: &[F32<G>; 6],
    p: &mut [F32<G>; 5],
    Measured { residual, variance: v }: Measured<G>,
    lanes: Mask<G>,
) -> (Symmetric<G, 5>, Update<G>) {
    let (zero, one) = (F32::splat(g, 0.0), F32::splat(g, 1.0));
    // C F^T of the measured rows, and F C F^T of these for all parameters.
    let mut measured = Matrix::<G, 6, 2>::splat(g, 0.0);
    unroll!(M < 6; {
        unroll!(A < 2; {
            measured.0[M][A] = before[M] * element::<G, A, M>(g, f);
        });
    });
    let with = multiply::<VertexJacobian, G, 5, 6, 2>(g, f, &measured).0;
    let s = Symmetric([[with[0][0] + v[0], zero], [with[1][0], with[1][1] + v[1]]]);
    let (weight, determinant) = s.cramer();
    let sane = zero.lt(determinant) & zero.lt(s.0[0][0]);
    let lanes = lanes & sane;
    let d = [lanes.select_f(residual[0], zero), lanes.select_f(residual[1], zero)];
    let off = lanes.select_f(weight.0[1][0], zero);
    let w = [[lanes.select_f(weight.0[0][0], zero), off], [off, lanes.select_f(weight.0[1][1], zero)]];
    let weighted = [w[0][1].mul_add(d[1], w[0][0] * d[0]), w[1][1].mul_add(d[1], w[1][0] * d[0])];
    let chi2 = d[1].mul_add(weighted[1], d[0] * weighted[0]);

    let mut gain: [[_; 2]; 5] = copies(copies(zero));
    let mut l: [[_; 6]; 5] = copies(copies(zero));
    unroll!(I < 5; {
        p[I] = with[I][1].mul_add(weighted[1], with[I][0].mul_add(weighted[0], p[I]));
        unroll!(A < 2; {
            gain[I][A] = with[I][1].mul_add(w[1][A], with[I][0] * w[0][A]);
        });
        unroll!(M < 6; {
            let (first, second) = (element::<G, 0, M>(g, f), element::<G, 1, M>(g, f));
            l[I][M] = if I < 2 {
                // In these rows 1 - K H is V S^-1.
                let unit = if I == 0 { [one, zero] } else { [zero, one] };
                let rest = [
                    lanes.select_f(v[I] * w[I][0], unit[0]),
                    lanes.select_f(v[I] * w[I][1], unit[1]),
                ];
                rest[1].mul_add(second, rest[0] * first)
            } else {
                let whole = element::<G, I, M>(g, f);
                gain[I][1].neg_mul_add(second, gain[I][0].neg_mul_add(first, whole))
            };
        });
    });
    let mut c = Symmetric::splat(g, 0.0);
    unroll!(I < 5; {
        unroll!(J < I + 1; {
            let mut sum = (gain[I][0] * v[0]) * gain[J][0];
            sum = (gain[I][1] * v[1]).mul_add(gain[J][1], sum);
            unroll!(M < 6; {
                sum = (l[I][M] * before[M]).mul_add(l[J][M], sum);
            });
            c.0[I][J] = sum;
        });
    });
    (c, Update { chi2, sane })
}

/// Returns an element of the derivatives, known at compile time or not.
#[inline(always)]
fn element<G: Gang, const I: usize, const M: usize>(g: G, f: &Matrix<G, 5, 6>) -> F32<G> {
    match VertexJacobian::ENTRIES[I][M] {
        Entry::Zero => F32::splat(g, 0.0),
        Entry::One => F32::splat(g, 1.0),
        Entry::Value => f.0[I][M],
    }
}

/// Azimuths, z and radii of three hits of a track, innermost first.
pub type ThreeHits<G> = [[F32<G>; 3]; 3];

/// Returns a hit in the frame in which `first` is the origin and x points outwards there.
#[inline(always)]
fn in_frame<G: Gang>(first: [F32<G>; 3], hit: [F32<G>; 3]) -> [F32<G>; 2] {
    let (sine, cosine) = sincos(hit[0] - first[0]);
    [hit[2].mul_add(cosine, -first[2]), hit[2] * sine]
}

#[inline(always)]
fn norm2<G: Gang>(v: [F32<G>; 2]) -> F32<G> {
    v[0].mul_add(v[0], v[1] * v[1])
}

/// Returns the state at the first of three hits (azimuth, z, radius each) on the helix through them, with a diagonal
/// covariance `prior`. Lanes whose hits cannot be on an outward-going track get a state that reaches no other radius.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn from_three_hits<G: Gang>(
    g: G,
    hits: ThreeHits<G>,
    field: F32<G>,
    prior: [F32<G>; 5],
) -> CylinderState<G> {
    let (one, half) = (F32::splat(g, 1.0), F32::splat(g, 0.5));
    let [[azimuth, z, r], middle, last] = hits;
    let (near, far) = (in_frame(hits[0], middle), in_frame(hits[0], last));
    let cross = near[1].neg_mul_add(far[0], near[0] * far[1]);
    let between = [far[0] - near[0], far[1] - near[1]];
    let (near2, far2) = (norm2(near), norm2(far));
    // The curvature is four times the area of the triangle over the product of its sides.
    let curvature = (cross + cross) / (near2 * far2 * norm2(between)).sqrt();
    // The direction at the first hit is the direction of the chord to the last hit, rotated back by half the turn.
    let half_chord = half * far2.sqrt();
    let sine = curvature * half_chord;
    let cosine = axis_of(g, one, sine);
    let sideways = sine.neg_mul_add(far[0], cosine * far[1]) / (half_chord + half_chord);
    let square = sine * sine;
    // asin(s) / s for half turns well below a quarter.
    let tangent2 = square / (one - square).max(F32::splat(g, 0.5));
    let length = (half_chord + half_chord) * tangent2.mul_add(atan_tail(tangent2), one) / cosine;
    let slope = (last[1] - z) / length;
    let p = [azimuth, z, curvature / field, r * sideways, slope];
    CylinderState { radius: r, p, c: Symmetric::diagonal(g, prior) }
}
