//! The Kalman filter on lanes: lane l of every value belongs to track l.
//!
//! [`matriplex`] is the linear algebra. A track is a state with covariance on a cylinder around the z axis
//! ([`CylinderState`], [`to_radius`]) or on a plane of constant z ([`PlaneState`], [`to_plane`]); the field is uniform
//! and parallel to z. [`update`] adds a measurement of the first 1 to 3 parameters, [`judge`] finds faults of a fitted state,
//! [`smooth`] improves the states of a filter with later measurements, and [`mod@reference`] is the naive twin in f64.
//! `README.md` in this folder derives the formulas.
//!
//! Units are cm, GeV/c, T.

#![allow(
    clippy::absurd_extreme_comparisons,
    clippy::needless_range_loop,
    clippy::out_of_bounds_indexing,
    reason = "matrices: rows and columns are numbers, and loops are written out with constants"
)]

mod global;
pub mod layouts;
mod material;
pub mod matriplex;
mod plane;
mod radius;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod sanity;
mod smooth;
mod start;
mod state;
mod update;

pub use global::{GlobalHit, GlobalState, OnRadius, global_to_radius};
pub use material::{noise, scatter};
pub use plane::{PlaneState, to_plane};
pub use radius::{RadiusJacobian, Step, step, to_radius};
pub use sanity::{FitStatus, judge};
pub use smooth::{Filtered, carry_back, smooth};
pub use start::{CylinderHit, Started, VertexState, from_three_hits, from_vertex};
pub use state::{CylinderState, Output, axis, output, within_turn};
pub use update::{Update, update};

/// Curvature (1/cm) of a track of charge / pT = 1 / (GeV/c) in a field of 1 T along z. The constant is negative because
/// positive charges turn to the right.
pub const CURVATURE_PER_TESLA: f32 = -0.002_997_924_6;
