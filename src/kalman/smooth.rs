//! The smoother of Rauch, Tung and Striebel: what later measurements say of an earlier state.

use super::matriplex::{Dense, Matrix, Symmetric, multiply, similarity, unroll};
use super::radius::RadiusJacobian;
use super::state::CylinderState;
use crate::simd::Gang;
use crate::simd::varying::Mask;

/// One layer of a filter: the state after its measurement, and the step from there to the next layer.
#[derive(Clone, Copy)]
pub struct Filtered<G: Gang> {
    /// After the measurement.
    pub state: CylinderState<G>,
    /// The derivatives of the step to the next layer.
    pub jacobian: Matrix<G, 5, 5>,
    /// The next layer before its measurement.
    pub predicted: CylinderState<G>,
}

/// Improves the state of a layer by the smoothed state of the next one; says in which lanes the predicted
/// covariance could be inverted. In the others the filtered state stays.
///
/// With A = C F^T P^-1: p += A (p_next - p_predicted), C += A (C_next - P) A^T.
#[inline(always)]
pub fn smooth<G: Gang>(g: G, layer: &Filtered<G>, next: &CylinderState<G>) -> (CylinderState<G>, Mask<G>) {
    let (inverse, sane) = layer.predicted.c.cholesky(g);
    // A^T = P^-1 F C.
    let fc = multiply::<RadiusJacobian, G, 5, 5, 5>(g, &layer.jacobian, &layer.state.c.to_matrix());
    let transposed = multiply::<Dense, G, 5, 5, 5>(g, &inverse.to_matrix(), &fc);
    let mut gain = transposed;
    unroll!(I < 5; {
        unroll!(J < 5; {
            gain.0[I][J] = transposed.0[J][I];
        });
    });
    let mut difference = Symmetric::splat(g, 0.0);
    let mut out = layer.state;
    unroll!(I < 5; {
        unroll!(J < I + 1; {
            difference.0[I][J] = next.c.0[I][J] - layer.predicted.c.0[I][J];
        });
        unroll!(J < 5; {
            let change = next.p[J] - layer.predicted.p[J];
            out.p[I] = gain.0[I][J].mul_add(change, out.p[I]);
        });
    });
    out.c = out.c.plus(&similarity::<Dense, G, 5, 5>(g, &gain, &difference));
    unroll!(I < 5; {
        out.p[I] = sane.select_f(out.p[I], layer.state.p[I]);
        unroll!(J < I + 1; {
            out.c.0[I][J] = sane.select_f(out.c.0[I][J], layer.state.c.0[I][J]);
        });
    });
    (out, sane)
}
