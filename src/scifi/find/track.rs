//! [`Track`]: a track during the search, with hits, parameters and chi2.

use crate::scifi::layers::{UV_LAYERS, X_LAYERS};

/// Stands for a missing hit.
pub(in crate::scifi) const NO_HIT: u32 = 0;

/// A track as the search finds it.
#[derive(Debug, Clone, Copy)]
pub(in crate::scifi) struct Track {
    /// Places of the hits in the index, counted from 1, x layers first; [`NO_HIT`] for a missing hit.
    pub(in crate::scifi) hits: [u32; X_LAYERS + UV_LAYERS],
    /// The three parameters in x.
    pub(in crate::scifi) x: [f32; 3],
    /// y at the reference, mm, and slope.
    pub(in crate::scifi) y: [f32; 2],
    /// Sum of the squared distances of the x hits, mm^2.
    pub(in crate::scifi) chi2_x: f32,
    /// Sum of the squared distances in y, mm^2.
    pub(in crate::scifi) chi2: f32,
}
