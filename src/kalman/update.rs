//! Adds a measurement of the first D parameters to a state.

use super::matriplex::{Cramer, Symmetric, unroll};
use crate::simd::varying::{F32, Mask};
use crate::simd::{Gang, copies};

/// Result of adding a measurement to a state.
#[derive(Clone, Copy)]
pub struct Update<G: Gang> {
    /// Squared distance of the measurement from the prediction, in standard deviations.
    pub chi2: F32<G>,
    /// Lanes in which the covariance of the residual has a positive determinant and first element; in other lanes the measurement is
    /// not used.
    pub sane: Mask<G>,
}

/// Adds a measurement of the first D of N parameters in the lanes of `lanes`: `residual` is measured minus predicted,
/// `v` the measurement's covariance. In other lanes the state does not change, bit by bit, and chi2 is 0.
///
/// With S = C_DD + V and gain K = C_D S^-1, the update is p += K residual, C -= K C_D^T. The measured rows are computed
/// as V S^-1 C, without a subtraction, so that a wide prior loses no digits there.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn update<G: Gang, const N: usize, const D: usize>(
    g: G,
    p: &mut [F32<G>; N],
    c: &mut Symmetric<G, N>,
    residual: [F32<G>; D],
    v: &Symmetric<G, D>,
    lanes: Mask<G>,
) -> Update<G>
where
    Symmetric<G, D>: Cramer<G>,
{
    let (zero, one) = (F32::splat(g, 0.0), F32::splat(g, 1.0));
    let mut s = *v;
    unroll!(I < D; {
        unroll!(J < I + 1; {
            s.0[I][J] = c.0[I][J] + v.0[I][J];
        });
    });
    let (mut inverse, determinant) = s.cramer();
    let sane = zero.lt(determinant) & zero.lt(s.0[0][0]);
    let lanes = lanes & sane;
    let mut d = residual;
    unroll!(I < D; {
        d[I] = lanes.select_f(residual[I], zero);
        unroll!(J < I + 1; {
            inverse.0[I][J] = lanes.select_f(inverse.0[I][J], zero);
        });
    });

    // S^-1 residual, chi2, and the parameters.
    let mut weighted = copies::<_, D>(zero);
    let mut chi2 = zero;
    unroll!(I < D; {
        let mut sum = inverse.at(I, 0) * d[0];
        unroll!(J < D; {
            if J > 0 {
                sum = inverse.at(I, J).mul_add(d[J], sum);
            }
        });
        weighted[I] = sum;
        chi2 = if I == 0 { d[0] * sum } else { d[I].mul_add(sum, chi2) };
    });
    unroll!(I < N; {
        unroll!(J < D; {
            p[I] = c.at(I, J).mul_add(weighted[J], p[I]);
        });
    });

    // V S^-1, or 1 in lanes without a measurement.
    let mut rest = copies::<_, D>(copies::<_, D>(zero));
    unroll!(I < D; {
        unroll!(J < D; {
            let mut sum = v.at(I, 0) * inverse.at(0, J);
            unroll!(M < D; {
                if M > 0 {
                    sum = v.at(I, M).mul_add(inverse.at(M, J), sum);
                }
            });
            rest[I][J] = lanes.select_f(sum, if I == J { one } else { zero });
        });
    });
    let old = *c;
    unroll!(I < N; {
        if I < D {
            unroll!(J < I + 1; {
                let mut sum = rest[I][0] * old.at(0, J);
                unroll!(M < D; {
                    if M > 0 {
                        sum = rest[I][M].mul_add(old.at(M, J), sum);
                    }
                });
                c.0[I][J] = sum;
            });
        } else {
            let mut gain = copies::<_, D>(zero);
            unroll!(J < D; {
                let mut sum = old.0[I][0] * inverse.at(0, J);
                unroll!(M < D; {
                    if M > 0 {
                        sum = old.0[I][M].mul_add(inverse.at(M, J), sum);
                    }
                });
                gain[J] = sum;
            });
            unroll!(J < I + 1; {
                let mut sum = old.0[I][J];
                if J < D {
                    // C_IJ of the measured column: C S^-1 V.
                    sum = old.0[I][0] * rest[J][0];
                    unroll!(M < D; {
                        if M > 0 {
                            sum = old.0[I][M].mul_add(rest[J][M], sum);
                        }
                    });
                } else {
                    unroll!(M < D; {
                        sum = gain[M].neg_mul_add(old.0[J][M], sum);
                    });
                }
                c.0[I][J] = sum;
            });
        }
    });
    Update { chi2, sane }
}
