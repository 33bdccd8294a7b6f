//! All passes over the halves of an event.

use super::choice::choose;
use super::layers::{UV_ZONE, X_ZONE};
use super::track::{Found, Hits};
use super::uv::confirm;
use super::x::{self, CandidateX};
use crate::scifi::config::SciFiConfig;

/// The tracks of an event, given the hits of its zones; `x_of` knows the x of a hit.
pub(super) fn all(
    config: &SciFiConfig,
    zones: &mut [Hits],
    x_of: impl Fn(usize) -> f32 + Copy,
) -> Vec<Found> {
    let mut all = Vec::new();
    for pass in &config.passes {
        let mut tracks = Vec::new();
        for half in 0..2 {
            let x_layers = X_ZONE.map(|zone| zones[zone + half].as_slice());
            let uv_layers = UV_ZONE.map(|zone| zones[zone + half].as_slice());
            let candidates = x::without_clones(pass, x::candidates(pass, &x_layers));
            for candidate in candidates {
                if let Some(confirmed) = confirm(pass, half == 1, &uv_layers, &candidate) {
                    let CandidateX { hits, parameters, .. } = candidate;
                    let number = |layers: &[&[(f32, usize)]; 6], hits: [Option<usize>; 6]| {
                        std::array::from_fn(|layer| hits[layer].map(|hit| layers[layer][hit].1))
                    };
                    tracks.push(Found {
                        x_hits: number(&x_layers, hits),
                        uv_hits: number(&uv_layers, confirmed.hits),
                        x: parameters,
                        y: confirmed.y,
                        chi2: confirmed.chi2,
                        crowd: 0,
                    });
                }
            }
        }
        let crowd = tracks.len();
        tracks.iter_mut().for_each(|track| track.crowd = crowd);
        if let Some(choice) = &pass.choice {
            tracks = choose(choice, tracks, x_of);
            let used = |hit: usize| tracks.iter().any(|track: &Found| track.has(hit));
            zones.iter_mut().for_each(|zone| zone.retain(|(_, hit)| !used(*hit)));
        }
        all.extend(tracks);
    }
    all
}
