//! Checks that find faults of a fitted state.

use super::matriplex::unroll;
use super::state::Output;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Status of the fit of a track. The numbers are part of the interface and never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum FitStatus {
    /// The state has a valid covariance.
    Ok = 0,
    /// The track does not reach a radius, or only at its turning point, for example because its momentum is too small.
    NotReached = 1,
    /// A parameter or an element of the covariance is NaN or infinite.
    NotFinite = 2,
    /// A variance is not positive.
    Variance = 3,
    /// The correlation matrix has an eigenvalue below -1e-5, which is more than a rounding error.
    Indefinite = 4,
    /// Charge / pT is absurd: a transverse momentum of less than 1 keV/c.
    Momentum = 5,
    /// The covariance of a residual was not positive definite, for example because a measurement had no errors.
    Measurement = 6,
}

impl FitStatus {
    /// All statuses, in the order of their codes.
    pub const ALL: [FitStatus; 7] = [
        FitStatus::Ok,
        FitStatus::NotReached,
        FitStatus::NotFinite,
        FitStatus::Variance,
        FitStatus::Indefinite,
        FitStatus::Momentum,
        FitStatus::Measurement,
    ];

    /// Returns the name in tables and counters.
    pub fn name(self) -> &'static str {
        match self {
            FitStatus::Ok => "ok",
            FitStatus::NotReached => "not_reached",
            FitStatus::NotFinite => "not_finite",
            FitStatus::Variance => "variance",
            FitStatus::Indefinite => "indefinite",
            FitStatus::Momentum => "momentum",
            FitStatus::Measurement => "measurement",
        }
    }
}

/// Largest |charge / pT|, c/GeV.
const MOST_CURVED: f32 = 1e6;
/// Largest size of a negative eigenvalue of the correlation matrix that is a rounding error; added to its diagonal.
const EPSILON: f32 = 1e-5;

#[inline(always)]
fn code<G: Gang>(g: G, status: FitStatus) -> U32<G> {
    U32::splat(g, status as u32)
}

/// Returns the code of [`FitStatus`] of each lane, given the lanes that reached all radii and the lanes whose residuals all
/// had a valid covariance. Checks the five parameters of a state at fixed radius, and returns the gravest fault.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn judge<G: Gang>(g: G, state: &Output<G>, reached: Mask<G>, measured: Mask<G>) -> U32<G> {
    let zero = F32::splat(g, 0.0);
    // The sum is 0 unless a value is NaN or infinite.
    let mut sum = zero;
    let mut positive = reached | !reached;
    unroll!(I < 5; {
        sum = (state.p[I] * zero) + sum;
        unroll!(J < I + 1; {
            sum = (state.c.0[I][J] * zero) + sum;
        });
        positive = positive & zero.lt(state.c.0[I][I]);
    });
    let finite = sum.eq(zero);
    let definite = state.c.is_definite(g, 1.0 + EPSILON);
    let momentum = state.p[2].abs().lt(F32::splat(g, MOST_CURVED));
    let found = momentum.select_u(code(g, FitStatus::Ok), code(g, FitStatus::Momentum));
    let found = definite.select_u(found, code(g, FitStatus::Indefinite));
    let found = positive.select_u(found, code(g, FitStatus::Variance));
    let found = finite.select_u(found, code(g, FitStatus::NotFinite));
    let found = measured.select_u(found, code(g, FitStatus::Measurement));
    reached.select_u(found, code(g, FitStatus::NotReached))
}
