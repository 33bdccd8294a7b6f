//! Hits and tracks of the naive reference of the search.

use super::layers::{X_Z, bend, distance};
use crate::scifi::weights::FEATURES;

/// A track that the naive reference of the search finds.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceTrack {
    /// LHCbIDs of the track's hits, in rising order of z.
    pub hits: Vec<u32>,
    /// x and y at z = 9,410 mm, mm.
    pub position: [f32; 2],
    /// dx/dz and dy/dz at z = 9,410 mm.
    pub slope: [f32; 2],
    /// x and y, mm, dx/dz and dy/dz at z = 9,410 mm as the search fits them, without later corrections.
    pub searched: [f32; 4],
    /// Charge over momentum, c/GeV.
    pub qop: f32,
    /// Variance of charge over momentum, (c/GeV)^2.
    pub var_qop: f64,
    /// Sums of the squared distances of hits from the track in x and in y, mm^2.
    pub chi2: [f32; 2],
    /// Inputs of the classifier that accepts or rejects tracks.
    pub features: [f32; FEATURES],
    /// Variance of x, covariance of x and dx/dz, variance of dx/dz; then the same for y and dy/dz.
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
    /// Sums of the squared distances of the hits in x, and in y, mm^2.
    pub(super) chi2_x: f32,
    pub(super) chi2: f32,
    /// Number of tracks that its pass finds before the choice.
    pub(super) crowd: usize,
}

impl Found {
    /// Returns whether the track has this hit.
    pub(super) fn has(&self, hit: usize) -> bool {
        self.x_hits.contains(&Some(hit)) || self.uv_hits.contains(&Some(hit))
    }

    /// Returns the sum of the squared distances of the x hits to the track; `x_of` returns the x of a hit.
    pub(super) fn distances(&self, x_of: impl Fn(usize) -> f32) -> f32 {
        let [a, b, c] = self.x;
        let mut chi2 = 0.0f32;
        for (z, hit) in X_Z.into_iter().zip(self.x_hits) {
            if let Some(hit) = hit {
                let left = x_of(hit) - c.mul_add(bend(z) as f32, b.mul_add(distance(z) as f32, a));
                chi2 = left.mul_add(left, chi2);
            }
        }
        chi2
    }
}
