//! The published form of state and measurement (Matriplex, section 2): x, y, z, charge / pT, phi and theta in one frame for
//! all tracks, a 6 x 6 covariance, and hits with three measured coordinates. `README.md` derives the formulas.
//!
//! A state that was transported to a radius varies only along the cylinder: its covariance has no part along the
//! radius. Single precision would lose this property when the variances of a start are large, and the hit's small error
//! along the radius would amplify the rounding. So transport and measurement use three axes at the hit: the radius,
//! r-phi and z. In these axes the covariance along the radius is exactly 0. Between hits it is stored for x, y, z.

mod transport;

use super::axis::MOMENT;
use super::material::scattering;
use super::matriplex::{Entry, Matrix, Pattern, Symmetric, similarity};
use super::radius::axis_of;
use super::state::{CylinderState, Output, written_angle};
use super::update::{Update, update};
use crate::simd::Gang;
use crate::simd::math::{atan2, sincos};
use crate::simd::varying::{F32, Mask};

pub use transport::global_to_radius;

/// A state in one frame for all tracks.
#[derive(Clone, Copy)]
pub struct GlobalState<G: Gang> {
    /// x, y, z (cm), charge / pT (c/GeV), phi and theta of the momentum (rad).
    pub p: [F32<G>; 6],
    /// Covariance of the parameters.
    pub c: Symmetric<G, 6>,
}

/// A hit of three measured coordinates.
#[derive(Clone, Copy)]
pub struct GlobalHit<G: Gang> {
    /// Measured x, y and z, cm.
    pub position: [F32<G>; 3],
    /// Variances along the radius of the hit, along r-phi and z, cm^2; the errors are independent.
    pub variance: [F32<G>; 3],
}

/// A state at the cylinder of a hit. The parameters are in the common frame; the covariance has axes along the radius
/// and along r-phi in place of x and y, and its first row is 0.
#[derive(Clone, Copy)]
pub struct OnRadius<G: Gang> {
    /// Parameters as in a [`GlobalState`].
    pub p: [F32<G>; 6],
    /// Covariance with axes along the radius and along r-phi in place of x and y.
    pub c: Symmetric<G, 6>,
    /// The direction of the radius, in x and y.
    direction: [F32<G>; 2],
    radius: F32<G>,
    per_radius: F32<G>,
    /// Component of the transverse direction along the radius, times the radius.
    axis: F32<G>,
    /// Cotangent of theta.
    slope: F32<G>,
}

impl<G: Gang> OnRadius<G> {
    /// Adds the scattering in a layer of `thickness` radiation lengths at the state's radius to the covariance.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn scatter(&mut self, g: G, thickness: f32) {
        let slope = self.slope;
        let charge_over_pt = self.p[3];
        let steep2 = slope.mul_add(slope, F32::splat(g, 1.0));
        let angle2 = scattering(g, charge_over_pt, steep2, self.radius / self.axis, thickness);
        let by_slope = charge_over_pt * slope;
        let c = &mut self.c;
        c.set(3, 3, c.at(3, 3) + angle2 * (by_slope * by_slope));
        c.set(4, 4, c.at(4, 4) + angle2 * steep2);
        c.set(5, 3, c.at(5, 3) - angle2 * by_slope);
        c.set(5, 5, c.at(5, 5) + angle2);
    }

    /// Adds a hit at the state's radius in the lanes of `lanes`.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn measure(&mut self, g: G, hit: &GlobalHit<G>, lanes: Mask<G>) -> Update<G> {
        let [cosine, sine] = self.direction;
        let [x, y, z] = hit.position;
        let across = cosine.mul_add(y, -(sine * x));
        let along = cosine.mul_add(x, sine * y);
        // The hit's azimuth relative to the state: its errors are along the radius of the hit.
        let (hit_sine, hit_cosine) = (across * self.per_radius, along * self.per_radius);
        let [radial, tangential, var_z] = hit.variance;
        let (sine2, cosine2) = (hit_sine * hit_sine, hit_cosine * hit_cosine);
        let mut v = Symmetric::diagonal(
            g,
            [cosine2.mul_add(radial, sine2 * tangential), sine2.mul_add(radial, cosine2 * tangential), var_z],
        );
        v.set(1, 0, hit_sine * hit_cosine * (radial - tangential));
        let residual = [along - self.radius, across, z - self.p[2]];
        // Parameters relative to the state; their change has no component along the radius.
        let mut change = [F32::splat(g, 0.0); 6];
        let taken = update(g, &mut change, &mut self.c, residual, &v, lanes);
        self.p[0] = sine.neg_mul_add(change[1], self.p[0]);
        self.p[1] = cosine.mul_add(change[1], self.p[1]);
        for i in 2..6 {
            self.p[i] = self.p[i] + change[i];
        }
        taken
    }

    /// Returns the state with its covariance in x and y instead of the axes along the radius and r-phi.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn to_global(&self) -> GlobalState<G> {
        let [cosine, sine] = self.direction;
        let mut c = self.c;
        let width = self.c.at(1, 1);
        c.set(0, 0, sine * sine * width);
        c.set(1, 0, -(sine * cosine * width));
        c.set(1, 1, cosine * cosine * width);
        for i in 2..6 {
            let with = self.c.at(i, 1);
            c.set(i, 0, -(sine * with));
            c.set(i, 1, cosine * with);
        }
        GlobalState { p: self.p, c }
    }
}

/// Structure of the derivatives of x, y, z, charge / pT, phi, theta with respect to the parameters on a cylinder.
struct FromCylinder;

impl Pattern<6, 5> for FromCylinder {
    const ENTRIES: [[Entry; 5]; 6] = {
        use Entry::{One as I, Value as V, Zero as O};
        [[V, O, O, O, O], [V, O, O, O, O], [O, I, O, O, O], [O, O, I, O, O], [I, O, O, V, O], [O, O, O, O, V]]
    };
}

impl<G: Gang> GlobalState<G> {
    /// Converts a state on a cylinder and its covariance.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn from_cylinder(g: G, state: &CylinderState<G>) -> Self {
        let [azimuth, z, charge_over_pt, moment, slope] = state.p;
        let one = F32::splat(g, 1.0);
        let (sine, cosine) = sincos(azimuth);
        let (x, y) = (state.radius * cosine, state.radius * sine);
        let axis = axis_of(g, state.radius, moment);
        let mut jacobian = Matrix::splat(g, 0.0);
        jacobian.0[0][0] = -y;
        jacobian.0[1][0] = x;
        jacobian.0[4][MOMENT] = one / axis;
        jacobian.0[5][4] = -(one / slope.mul_add(slope, one));
        Self {
            p: [x, y, z, charge_over_pt, azimuth + atan2(moment, axis), atan2(one, slope)],
            c: similarity::<FromCylinder, G, 6, 5>(g, &jacobian, &state.c),
        }
    }

    /// Returns this state in the lanes of `lanes`, and `other` in the other lanes.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn select(&self, lanes: Mask<G>, other: &Self) -> Self {
        let mut out = *other;
        for i in 0..6 {
            out.p[i] = lanes.select_f(self.p[i], other.p[i]);
            for j in 0..=i {
                out.c.set(i, j, lanes.select_f(self.c.at(i, j), other.c.at(i, j)));
            }
        }
        out
    }

    /// Returns the state in its output form, with the covariance of r-phi, and the radius of the state.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn output(&self, g: G) -> (Output<G>, F32<G>) {
        let [x, y, z, charge_over_pt, phi, theta] = self.p;
        let radius = x.mul_add(x, y * y).sqrt();
        let (cosine, sine) = (x / radius, y / radius);
        let c = &self.c;
        // The row of the covariance along r-phi.
        let mut row = [F32::splat(g, 0.0); 6];
        for j in 0..6 {
            row[j] = cosine.mul_add(c.at(1, j), -(sine * c.at(0, j)));
        }
        let mut out = Symmetric::splat(g, 0.0);
        out.set(0, 0, cosine.mul_add(row[1], -(sine * row[0])));
        for i in 1..5 {
            out.set(i, 0, row[i + 1]);
            for j in 1..=i {
                out.set(i, j, c.at(i + 1, j + 1));
            }
        }
        let p = [atan2(y, x), z, charge_over_pt, written_angle(g, phi), theta];
        (Output { p, c: out }, radius)
    }
}
