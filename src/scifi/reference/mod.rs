//! The naive twin of the search for tracks: scalar, by linear scans, and nothing of the kernels' own.
//!
//! [`find`] gives the tracks of one event in the order of the kernels, with the same bits in every number but the
//! covariances, which it works out in f64.

mod choice;
mod passes;
mod states;
mod uv;
mod x;

use super::config::SciFiConfig;
use crate::event::{SCIFI_ZONES, SciFiBatch};
use states::state;

/// z of the x layers, mm, and their zones in the lower half.
const X_Z: [f64; 6] = [7826.106, 8035.9048, 8508.1064, 8717.9043, 9193.1064, 9402.9043];
const X_ZONE: [usize; 6] = [0, 6, 8, 14, 16, 22];
/// The same of u and v layers in the order of the search, and dx/dy of their fibres.
const UV_Z: [f64; 6] = [8577.8691, 7895.9189, 9333.041, 8648.1543, 9262.9824, 7966.1035];
const UV_ZONE: [usize; 6] = [10, 2, 20, 12, 18, 4];
const UV_SLOPE: [f64; 6] = [0.086, 0.086, -0.086, -0.086, 0.086, -0.086];

/// z from the reference, and the same squared with its cubic part.
fn distance(z: f64) -> f64 {
    z - 8520.0
}

fn bend(z: f64) -> f64 {
    distance(z) * distance(z) * (1.0 - 0.00028 * distance(z))
}

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
type Hits = Vec<(f32, usize)>;

/// A hit of a track: its place in the layer; none when the layer is missed.
type Place = Option<usize>;

/// The tracks of one event, of which all hits are finite and in order.
pub fn find(config: &SciFiConfig, polarity: f32, hits: &SciFiBatch, event: usize) -> Vec<ReferenceTrack> {
    let all = hits.of_event(event);
    let mut zones: Vec<Hits> = (0..SCIFI_ZONES)
        .map(|zone| hits.of_zone(event, zone).map(|hit| (hits.x[hit], hit - all.start)).collect())
        .collect();
    let mut tracks = Vec::new();
    let x_of = |hit: usize| hits.x[all.start + hit];
    for found in passes::all(config, &mut zones, x_of) {
        let mut ids: Vec<(f64, u32)> = Vec::new();
        for (layers, z) in [(&found.x_hits, X_Z), (&found.uv_hits, UV_Z)] {
            let of = layers.iter().zip(z).filter_map(|(hit, z)| Some((z, hits.id[all.start + (*hit)?])));
            ids.extend(of);
        }
        ids.sort_by(|a, b| a.0.total_cmp(&b.0));
        tracks.push(ReferenceTrack {
            hits: ids.into_iter().map(|(_, id)| id).collect(),
            ..state(&found, f64::from(config.resolution), polarity, x_of)
        });
    }
    tracks
}
