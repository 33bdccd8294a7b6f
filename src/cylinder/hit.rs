//! Hits of tracks, one track per lane, as input of the Kalman filter.

use crate::event::{Column, CylinderEvent, NO_HIT};
use crate::kalman::matriplex::Symmetric;
use crate::kalman::{
    CylinderHit, CylinderState, FitStatus, Output, Started, judge, output, scatter, to_radius, update,
    within_turn,
};
use crate::simd::math::atan2;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, prefetch};

/// Returns the hits of an event at `index`; lanes without a hit get another hit of the event.
#[inline(always)]
pub(super) fn gather_hit<G: Gang>(event: &CylinderEvent<'_>, index: U32<G>) -> CylinderHit<G> {
    let columns = [event.x, event.y, event.z, event.var_rphi, event.var_z];
    let [x, y, z, var_rphi, var_z] = F32::gather_columns(columns, index);
    polar(index.g, [x, y, z], var_rphi, var_z)
}

/// One hit of each track of a gang, and the lanes that have one.
///
/// The hits of tracks are scattered in memory. A filter reads each hit one step before it needs it, and so waits less for
/// memory.
#[derive(Clone, Copy)]
pub(super) struct Hits<G: Gang> {
    pub hit: CylinderHit<G>,
    pub has: Mask<G>,
}

impl<G: Gang> Hits<G> {
    /// Reads a gang of hits of an event; the indices of the hits are the values of `indices` from `at` on.
    #[inline(always)]
    pub fn read(g: G, event: &CylinderEvent<'_>, indices: &Column<u32>, at: usize) -> Self {
        let index = load_ahead(g, indices, at);
        Self { hit: gather_hit(event, index), has: is_hit(g, index) }
    }
}

/// Returns the values of a column from `at` on, and prefetches values of a later gang.
#[inline(always)]
pub(super) fn load_ahead<G: Gang>(g: G, column: &Column<u32>, at: usize) -> U32<G> {
    prefetch_later::<G, _>(column, at);
    U32::load(g, &column.padded()[at..])
}

/// Prefetches the values of a gang after the one at `at`: a CPU does not prefetch so many columns by itself.
#[inline(always)]
pub(super) fn prefetch_later<G: Gang, T>(column: &[T], at: usize) {
    prefetch(column, (at + 4 * G::LANES) as u32);
}

/// Creates a hit from x, y, z and the variances along r-phi and z.
#[inline(always)]
pub(crate) fn polar<G: Gang>(
    g: G,
    [x, y, z]: [F32<G>; 3],
    var_rphi: F32<G>,
    var_z: F32<G>,
) -> CylinderHit<G> {
    let square = x.mul_add(x, y * y);
    let var_phi = var_rphi / square.max(F32::splat(g, f32::MIN_POSITIVE));
    CylinderHit { position: [atan2(y, x), z], variance: [var_phi, var_z], radius: square.sqrt() }
}

/// Returns the lanes with a usable hit: off the axis, with errors, and with finite values.
#[inline(always)]
pub(crate) fn is_usable<G: Gang>(g: G, hit: &CylinderHit<G>) -> Mask<G> {
    let (zero, infinite) = (F32::splat(g, 0.0), F32::splat(g, f32::INFINITY));
    zero.lt(hit.radius)
        & hit.radius.lt(infinite)
        & hit.position[1].abs().lt(infinite)
        & zero.lt(hit.variance[0])
        & hit.variance[0].lt(infinite)
        & zero.lt(hit.variance[1])
        & hit.variance[1].lt(infinite)
}

/// Returns the lanes whose variances along r-phi and z, in the input, are valid.
#[inline(always)]
pub(crate) fn has_errors<G: Gang>(g: G, variances: [F32<G>; 2]) -> Mask<G> {
    let (zero, infinite) = (F32::splat(g, 0.0), F32::splat(g, f32::INFINITY));
    let [rphi, z] = variances;
    zero.lt(rphi) & rphi.lt(infinite) & zero.lt(z) & z.lt(infinite)
}

/// Returns the lanes with a hit; hit lists contain [`NO_HIT`] for a missing hit.
#[inline(always)]
pub(super) fn is_hit<G: Gang>(g: G, index: U32<G>) -> Mask<G> {
    !index.eq(U32::splat(g, NO_HIT))
}

/// State of a filter that follows hits.
pub(crate) struct Follow<G: Gang> {
    pub state: CylinderState<G>,
    /// Lanes whose tracks have reached the radius of every hit so far.
    pub reached: Mask<G>,
    /// Lanes whose residuals all had a valid covariance.
    pub measured: Mask<G>,
    pub chi2: F32<G>,
    /// Radiation lengths of a layer.
    material: f32,
    /// Whether the filter runs from outside in: a layer then scatters before its hit is added.
    inwards: bool,
}

impl<G: Gang> Follow<G> {
    /// Starts a filter that goes inwards, from a state to which no hit was added yet.
    #[inline(always)]
    pub fn inwards(g: G, state: CylinderState<G>, reached: Mask<G>, material: f32) -> Self {
        let (measured, chi2) = (Mask::first(g, G::LANES), F32::splat(g, 0.0));
        Self { state, reached, measured, chi2, material, inwards: true }
    }

    /// Continues a filter outwards after its first hit; only the lanes `has` have a first hit.
    #[inline(always)]
    pub fn behind_first(g: G, started: Started<G>, has: Mask<G>, material: f32) -> Self {
        let Started { state, reached, taken } = started;
        let (measured, chi2) = (taken.sane | !has, taken.chi2);
        let mut out = Self { state, reached, measured, chi2, material, inwards: false };
        if material > 0.0 {
            out.scatter(g, has);
        }
        out
    }

    /// Transports the state to the radius of the hit and adds the hit, in the lanes `has`.
    #[inline(always)]
    pub fn take(&mut self, g: G, field: F32<G>, hit: &CylinderHit<G>, has: Mask<G>) {
        let radius = has.select_f(hit.radius, self.state.radius);
        let reached = to_radius(g, &mut self.state, field, radius);
        self.reached = self.reached & (reached | !has);
        if self.material > 0.0 && self.inwards {
            self.scatter(g, has);
        }
        self.measure(g, hit, has);
        if self.material > 0.0 && !self.inwards {
            self.scatter(g, has);
        }
    }

    #[inline(always)]
    fn scatter(&mut self, g: G, lanes: Mask<G>) {
        let mut scattered = self.state;
        scatter(g, &mut scattered, self.material);
        for i in 0..5 {
            for j in 0..=i {
                let value = lanes.select_f(scattered.c.at(i, j), self.state.c.at(i, j));
                self.state.c.set(i, j, value);
            }
        }
    }

    /// Adds the hit to the state at the hit's radius.
    #[inline(always)]
    fn measure(&mut self, g: G, hit: &CylinderHit<G>, has: Mask<G>) {
        let residual = [within_turn(g, hit.position[0] - self.state.p[0]), hit.position[1] - self.state.p[1]];
        let v = Symmetric::diagonal(g, hit.variance);
        let taken = update(g, &mut self.state.p, &mut self.state.c, residual, &v, has);
        self.measured = self.measured & (taken.sane | !has);
        self.chi2 = self.chi2 + taken.chi2;
    }

    /// Returns the state in its output form, with its status.
    #[inline(always)]
    pub fn finish(&self, g: G) -> (Output<G>, U32<G>) {
        let state = output(g, &self.state);
        let status = judged(g, &state, self.reached, self.measured, self.chi2);
        (state, status)
    }
}

/// Returns the status of a state in its output form.
#[inline(always)]
pub(super) fn judged<G: Gang>(
    g: G,
    state: &Output<G>,
    reached: Mask<G>,
    measured: Mask<G>,
    chi2: F32<G>,
) -> U32<G> {
    let status = judge(g, state, reached, measured);
    // A chi2 is a sum of squares: any other value means that the state is no longer valid.
    let sane = F32::splat(g, -1.0).lt(chi2) & chi2.lt(F32::splat(g, f32::INFINITY));
    let fine = status.eq(U32::splat(g, FitStatus::Ok as u32));
    (fine.and_not(sane)).select_u(U32::splat(g, FitStatus::NotFinite as u32), status)
}
