//! The smoother: improves an earlier state with later measurements.

use super::matriplex::{Dense, Matrix, Symmetric, multiply, similarity, unroll};
use super::radius::RadiusJacobian;
use super::state::CylinderState;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask};

/// One layer of a filter: the state after its measurement, the covariance that scattering adds in the layer, and the
/// step to the next layer.
#[derive(Clone, Copy)]
pub struct Filtered<G: Gang> {
    /// State after the measurement.
    pub state: CylinderState<G>,
    /// Covariance that scattering added; zero for none.
    pub noise: Symmetric<G, 5>,
    /// The derivatives of the step to the next layer.
    pub jacobian: Matrix<G, 5, 5>,
    /// The parameters predicted for the next layer.
    pub predicted: [F32<G>; 5],
}

/// Improves the state of a layer with the smoothed state of the next layer. Returns the smoothed state, and the lanes
/// whose covariance with noise is positive definite; other lanes get the filtered state.
///
/// This is the smoother of Rauch, Tung and Striebel, written as sums of squares: the original C + A (C_next - P) A^T is
/// a small difference of large numbers where the covariance is large. Without noise, the gain A is the inverse of the
/// step F, and F^-1 has the structure of F. With noise Q after the measurement, R = Q (C + Q)^-1 and B = 1 - R, the
/// result is C_smoothed = B (F^-1 C_next F^-T + Q) B^T + R C R^T.
#[inline(always)]
pub fn smooth<G: Gang>(g: G, layer: &Filtered<G>, next: &CylinderState<G>) -> (CylinderState<G>, Mask<G>) {
    let (c, noise) = (&layer.state.c, &layer.noise);
    let back = inverse(g, &layer.jacobian);
    let (weight, sane) = c.plus(noise).cholesky(g);
    let r = multiply::<Dense, G, 5, 5, 5>(g, &noise.to_matrix(), &weight.to_matrix());
    let mut b = Matrix::splat(g, 0.0);
    let mut change = Matrix::<G, 5, 1>::splat(g, 0.0);
    unroll!(I < 5; {
        change.0[I][0] = next.p[I] - layer.predicted[I];
        unroll!(J < 5; {
            b.0[I][J] = -r.0[I][J];
        });
        b.0[I][I] = F32::splat(g, 1.0) - r.0[I][I];
    });
    let change = multiply::<RadiusJacobian, G, 5, 5, 1>(g, &back, &change);
    let change = multiply::<Dense, G, 5, 5, 1>(g, &b, &change);
    let behind = similarity::<RadiusJacobian, G, 5, 5>(g, &back, &next.c).plus(noise);
    let smoothed = similarity::<Dense, G, 5, 5>(g, &b, &behind).plus(&similarity::<Dense, G, 5, 5>(g, &r, c));
    let mut out = layer.state;
    unroll!(I < 5; {
        out.p[I] = sane.select_f(out.p[I] + change.0[I][0], out.p[I]);
        unroll!(J < I + 1; {
            out.c.0[I][J] = sane.select_f(smoothed.0[I][J], out.c.0[I][J]);
        });
    });
    (out, sane)
}

/// Smooths like [`smooth`] without scattering, and so without weights: the smoothed state is the next state transported
/// back by the inverse of the step, C_smoothed = F^-1 C_next F^-T. The covariance and the noise of `layer` are ignored.
#[inline(always)]
pub fn carry_back<G: Gang>(g: G, layer: &Filtered<G>, next: &CylinderState<G>) -> CylinderState<G> {
    let back = inverse(g, &layer.jacobian);
    let mut change = Matrix::<G, 5, 1>::splat(g, 0.0);
    unroll!(I < 5; {
        change.0[I][0] = next.p[I] - layer.predicted[I];
    });
    let change = multiply::<RadiusJacobian, G, 5, 5, 1>(g, &back, &change);
    let mut out = layer.state;
    out.c = similarity::<RadiusJacobian, G, 5, 5>(g, &back, &next.c);
    unroll!(I < 5; {
        out.p[I] = out.p[I] + change.0[I][0];
    });
    out
}

/// Returns the inverse of a step, which has the same structure.
#[inline(always)]
fn inverse<G: Gang>(g: G, f: &Matrix<G, 5, 5>) -> Matrix<G, 5, 5> {
    let mut out = Matrix::splat(g, 0.0);
    out.0[0][2] = f.0[0][3].mul_add(f.0[3][2], -f.0[0][2]);
    out.0[0][3] = -f.0[0][3];
    out.0[1][2] = f.0[1][3].mul_add(f.0[3][2], -f.0[1][2]);
    out.0[1][3] = -f.0[1][3];
    out.0[1][4] = -f.0[1][4];
    out.0[3][2] = -f.0[3][2];
    out
}
