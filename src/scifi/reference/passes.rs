//! Runs the search by triplets or by rows of bits on the hits of the lower and the upper half of the SciFi.

use super::choice::choose;
use super::layers::{UV_ZONE, X_ZONE};
use super::track::{Found, Hits, Place};
use super::uv::{Confirmed, confirm};
use super::x::{self, CandidateX};
use super::{rows, rows_uv};
use crate::scifi::config::{RowsConfig, SeedPass};
use crate::scifi::geometry::SciFiGeometry;
use crate::scifi::rows::{fixed_tracks, z_of_layers};

/// Returns the numbers in the event of the hits in layers.
fn numbers(layers: &[rows::Layer<'_>; 6], hits: [Place; 6]) -> [Option<usize>; 6] {
    std::array::from_fn(|layer| hits[layer].map(|hit| layers[layer][hit].1))
}

/// Finds tracks by triplets, given the hits of an event's zones; `x_of` returns the x of a hit.
pub(super) fn triplets(pass: &SeedPass, zones: &[Hits], x_of: impl Fn(usize) -> f32 + Copy) -> Vec<Found> {
    let mut tracks = Vec::new();
    for half in 0..2 {
        let x_layers = X_ZONE.map(|zone| zones[zone + half].as_slice());
        let uv_layers = UV_ZONE.map(|zone| zones[zone + half].as_slice());
        for candidate in x::without_clones(pass, x::candidates(pass, &x_layers)) {
            if let Some(Confirmed { hits: uv_hits, y, chi2 }) =
                confirm(pass, half == 1, &uv_layers, &candidate)
            {
                let CandidateX { hits, parameters, .. } = candidate;
                let (x_hits, uv_hits) = (numbers(&x_layers, hits), numbers(&uv_layers, uv_hits));
                let found = Found { x_hits, uv_hits, x: parameters, y, chi2_x: 0.0, chi2, crowd: 0 };
                tracks.push(Found { chi2_x: found.distances(x_of), ..found });
            }
        }
    }
    tracks
}

/// Finds tracks by rows of bits, pass by pass.
pub(super) fn by_rows(
    config: &RowsConfig,
    (geometry, polarity): (&SciFiGeometry, f32),
    zones: &mut [Hits],
) -> Vec<Found> {
    let z = z_of_layers(geometry);
    let fixed = fixed_tracks(&z, polarity.into());
    let mut all = Vec::new();
    for pass in &config.passes {
        let x_layers = [0, 1].map(|half| X_ZONE.map(|zone| zones[zone + half].as_slice()));
        let uv_layers = [0, 1].map(|half| UV_ZONE.map(|zone| zones[zone + half].as_slice()));
        let candidates = rows::candidates(config, pass, (&z, &fixed), &x_layers);
        let confirmed = rows::without_clones(pass, &candidates).into_iter().filter_map(|candidate| {
            let (x_layers, uv_layers) = (&x_layers[candidate.half], &uv_layers[candidate.half]);
            let Confirmed { hits, y, chi2 } = rows_uv::confirm(pass, uv_layers, &candidate)?;
            let (x_hits, uv_hits) = (numbers(x_layers, candidate.hits), numbers(uv_layers, hits));
            let (x, chi2_x) = (candidate.parameters, candidate.chi2);
            Some(Found { x_hits, uv_hits, x, y, chi2_x, chi2, crowd: 0 })
        });
        let mut tracks: Vec<_> = confirmed.collect();
        let crowd = tracks.len();
        tracks.iter_mut().for_each(|track| track.crowd = crowd);
        let tracks = choose(&pass.choice, tracks);
        let used = |hit: usize| tracks.iter().any(|track: &Found| track.has(hit));
        zones.iter_mut().for_each(|zone| zone.retain(|(_, hit)| !used(*hit)));
        all.extend(tracks);
    }
    all
}
