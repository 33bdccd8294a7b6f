//! Naive reference of the search for tracks, for tests: scalar code with linear scans, independent of the kernels.
//!
//! [`find`] returns the tracks of one event in the order of the kernels, with the same bits in hits and fitted
//! parameters. Covariances and field corrections are computed in f64 ([`Fit`]), so states agree within rounding errors.

mod choice;
mod fit_f64;
mod layers;
mod passes;
mod rows;
mod rows_uv;
mod states;
mod track;
mod uv;
mod x;

use super::config::{SciFiConfig, SciFiPreset};
use super::geometry::SciFiGeometry;
use crate::event::{SCIFI_ZONES, SciFiBatch};
use crate::lhcb::Bending;
pub use fit_f64::{Fit, FittedTrack};
use layers::{UV_Z, X_Z};
use states::state;
use track::Hits;
pub use track::ReferenceTrack;

/// Finds the tracks of one event, given the detector and its magnet. Hits must be finite and sorted by zone and x.
pub fn find(
    config: &SciFiConfig,
    (geometry, bending): (&SciFiGeometry, &Bending),
    hits: &SciFiBatch,
    event: usize,
) -> Vec<ReferenceTrack> {
    let all = hits.of_event(event);
    let mut zones: Vec<Hits> = (0..SCIFI_ZONES)
        .map(|zone| hits.of_zone(event, zone).map(|hit| (hits.x[hit], hit - all.start)).collect())
        .collect();
    let mut tracks = Vec::new();
    let x_of = |hit: usize| hits.x[all.start + hit];
    let found = match config.preset {
        SciFiPreset::Hlt1 => passes::triplets(&config.hlt1, &zones, x_of),
        SciFiPreset::Best | SciFiPreset::Fast => {
            passes::by_rows(&config.rows, (geometry, bending.polarity), &mut zones)
        }
    };
    for found in found {
        let mut ids: Vec<(f64, u32)> = Vec::new();
        for (layers, z) in [(&found.x_hits, X_Z), (&found.uv_hits, UV_Z)] {
            let of = layers.iter().zip(z).filter_map(|(hit, z)| Some((z, hits.id[all.start + (*hit)?])));
            ids.extend(of);
        }
        ids.sort_by(|a, b| a.0.total_cmp(&b.0));
        tracks.push(ReferenceTrack {
            hits: ids.into_iter().map(|(_, id)| id).collect(),
            ..state(&found, config, bending)
        });
    }
    tracks
}
