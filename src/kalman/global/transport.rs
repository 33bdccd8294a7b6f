//! Transport from any point to a radius in closed form, with the path formulas of `radius.rs`.

use super::{GlobalState, OnRadius};
use crate::kalman::matriplex::{Entry, Matrix, Pattern, similarity, unroll};
use crate::kalman::radius::{Arc, axis_of, inside};
use crate::simd::Gang;
use crate::simd::math::sincos;
use crate::simd::varying::{F32, Mask};

/// Structure of the derivatives of the parameters on the new radius, in axes along the radius, along r-phi and z,
/// with respect to the old parameters.
struct ToRadius;

impl Pattern<6, 6> for ToRadius {
    const ENTRIES: [[Entry; 6]; 6] = {
        use Entry::{One as I, Value as V, Zero as O};
        [
            [O, O, O, O, O, O],
            [V, V, O, V, V, O],
            [V, V, I, V, V, V],
            [O, O, O, I, O, O],
            [V, V, O, V, V, O],
            [O, O, O, O, O, I],
        ]
    };
}

/// Parameters on which the path across the axis depends: x, y, charge / pT, phi.
const BENDING: [usize; 4] = [0, 1, 3, 4];

/// Returns the states on the cylinder of radius `radius`, and the lanes that reach it, moving outwards at both ends and
/// by less than a quarter turn; in other lanes the state is undefined. `field` is the curvature for charge / pT = 1.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn global_to_radius<G: Gang>(
    g: G,
    state: &GlobalState<G>,
    field: F32<G>,
    radius: F32<G>,
) -> (OnRadius<G>, Mask<G>) {
    let [x, y, z, charge_over_pt, phi, theta] = state.p;
    let (zero, one, half) = (F32::splat(g, 0.0), F32::splat(g, 1.0), F32::splat(g, 0.5));
    let (uy, ux) = sincos(phi);
    let (sine_theta, cosine_theta) = sincos(theta);
    let slope = cosine_theta / sine_theta;
    let square = x.mul_add(x, y * y);
    let per_charge = half * field * radius.mul_add(radius, -square);
    let half_curvature = half * field * charge_over_pt;
    let curvature = half_curvature + half_curvature;
    let q = x.mul_add(uy, -(y * ux));
    let a = x.mul_add(ux, y * uy);
    let q_new = per_charge.mul_add(charge_over_pt, q);
    let a_new = axis_of(g, radius, q_new);
    let turned = half_curvature.neg_mul_add(q + q_new, one);
    let arc = Arc::new(g, (a_new - a) / turned, half_curvature);
    let x_new = arc.chord.mul_add(arc.tau.neg_mul_add(uy, ux), x);
    let y_new = arc.chord.mul_add(arc.tau.mul_add(ux, uy), y);

    let per_axis = one / a_new;
    let per_radius = one / radius;
    let steep = q_new * per_axis;
    let (cosine, sine) = (x_new * per_radius, y_new * per_radius);
    let length_by = [
        -(x_new * per_axis),
        -(y_new * per_axis),
        field * arc.across.mul_add(steep, -arc.excess),
        x.mul_add(y_new, -(y * x_new)) * per_axis,
    ];
    let along_by = [
        -cosine.mul_add(steep, sine),
        sine.neg_mul_add(steep, cosine),
        field * arc.across * per_axis * radius,
        arc.chord * per_axis * radius,
    ];
    let mut jacobian = Matrix::splat(g, 0.0);
    unroll!(I < 4; {
        jacobian.0[1][BENDING[I]] = along_by[I];
        jacobian.0[2][BENDING[I]] = slope * length_by[I];
        jacobian.0[4][BENDING[I]] = curvature * length_by[I];
    });
    jacobian.0[2][5] = -(arc.length * slope.mul_add(slope, one));
    jacobian.0[4][3] = field.mul_add(arc.length, jacobian.0[4][3]);
    jacobian.0[4][4] = one + jacobian.0[4][4];

    let p = [
        x_new,
        y_new,
        slope.mul_add(arc.length, z),
        charge_over_pt,
        curvature.mul_add(arc.length, phi),
        theta,
    ];
    let reached = inside(g, q_new, radius)
        & (q * q).lt(F32::splat(g, 0.9999) * square)
        & zero.lt(a)
        & zero.lt(x.mul_add(x_new, y * y_new))
        & zero.lt(sine_theta)
        & arc.tau.abs().lt(one)
        & zero.lt(turned);
    let c = similarity::<ToRadius, G, 6, 6>(g, &jacobian, &state.c);
    (OnRadius { p, c, direction: [cosine, sine], radius, per_radius, axis: a_new, slope }, reached)
}
