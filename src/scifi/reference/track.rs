//! Hits and tracks.

/// A track of the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceTrack {
    /// LHCbIDs of its hits, from the smallest z up.
    pub hits: Vec<u32>,
    /// x and y at z = 9,410 mm, mm.
    pub position: [f32; 2],
    /// dx/dz and dy/dz there.
    pub slope: [f32; 2],
    /// Charge over momentum, c/GeV.
    pub qop: f32,
    /// Sums of the squared distances in x and in y, mm^2.
    pub chi2: [f32; 2],
    /// Variance of x, covariance with its slope, variance of the slope; then those of y.
    pub covariance: [[f64; 3]; 2],
}

/// Hits of a layer: x, and its number in the event.
pub(super) type Hits = Vec<(f32, usize)>;

/// A hit of a track: its place in the layer; none when the layer is missed.
pub(super) type Place = Option<usize>;

/// A track: its hits, by their numbers in the event, and its parameters.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) x_hits: [Option<usize>; 6],
    pub(super) uv_hits: [Option<usize>; 6],
    pub(super) x: [f32; 3],
    pub(super) y: [f32; 2],
    pub(super) chi2: f32,
}

impl Found {
    /// Whether it has this hit.
    pub(super) fn has(&self, hit: usize) -> bool {
        self.x_hits.contains(&Some(hit)) || self.uv_hits.contains(&Some(hit))
    }
}
