//! Smoothed states of given tracks against true particles, layer by layer.

use super::cylinder_pulls::{CylinderPulls, Moments, Pull, Resolution};
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderFits, CylinderTruth, NO_HIT};

/// Compares the states of tracks whose hits all belong to one particle with the particle's helix from its vertex.
/// If particles scatter, the helix is the true state only up to the first layer.
#[derive(Debug, Clone)]
pub struct CylinderFitPulls {
    layers: [CylinderPulls; CYLINDER_LAYERS],
    chi2: [[Moments; 2]; CYLINDER_LAYERS],
    tracks: u64,
}

/// The states at the hits of one layer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LayerPulls {
    /// Number of the layer, from 0.
    pub layer: usize,
    /// Mean chi2 of the hits in the filter, with two measured coordinates.
    pub chi2_filtered: f64,
    /// Mean chi2 of the hits to the smoothed states.
    pub chi2_smoothed: f64,
    /// Pulls of each parameter; at the last layer the states come from the filter.
    pub pulls: Vec<Pull>,
    /// Resolutions in bins of transverse momentum.
    pub resolutions: Vec<Resolution>,
}

impl CylinderFitPulls {
    /// Creates empty sums for tracks in a field, T.
    pub fn new(field: f64) -> Self {
        let layers = std::array::from_fn(|_| CylinderPulls::new(field));
        Self { layers, chi2: Default::default(), tracks: 0 }
    }

    /// Adds the tracks of one event: number `event` of `fits`, number `of_truth` of the hits and of the truth. Tracks
    /// whose fit failed do not count, nor do tracks with hits of several particles.
    pub fn event(
        &mut self,
        fits: &CylinderFits,
        event: usize,
        hits: &CylinderBatch,
        truth: &CylinderTruth,
        of_truth: usize,
    ) {
        let starts = &hits.layer_start[of_truth * CYLINDER_LAYERS..][..CYLINDER_LAYERS + 1];
        for track in fits.of_event(event).filter(|track| fits.fit[*track] == 0) {
            let owner = |hit: &u32| truth.particle_of[(starts[0] + hit) as usize];
            let list = fits.hits_of(track);
            let Some(first) = list.first().map(owner) else { continue };
            if first == NO_HIT || list.iter().any(|hit| owner(hit) != first) {
                continue;
            }
            self.tracks += 1;
            let particle = (truth.particles.start[of_truth] + first) as usize;
            let vertex = truth.particles.vertex.each_ref().map(|v| f64::from(v[particle]));
            for (at, hit) in (fits.hit_start[track] as usize..).zip(list) {
                let layer = starts.partition_point(|start| *start <= starts[0] + hit) - 1;
                let state = fits.state.each_ref().map(|column| f64::from(column[at]));
                self.layers[layer].state(state, vertex);
                let chi2 = [fits.chi2_filtered[at], fits.chi2_smoothed[at]].map(f64::from);
                let finite = chi2.into_iter().zip(&mut self.chi2[layer]).filter(|(chi2, _)| chi2.is_finite());
                finite.for_each(|(chi2, moments)| moments.add(chi2));
            }
        }
    }

    /// Returns the number of compared tracks.
    pub fn tracks(&self) -> u64 {
        self.tracks
    }

    /// Returns the results so far on the layers that have hits.
    pub fn report(&self) -> Vec<LayerPulls> {
        let layers = self.layers.iter().zip(&self.chi2).enumerate();
        let seen = layers.filter(|(_, (_, chi2))| chi2[0].n > 0);
        seen.map(|(layer, (states, [filtered, smoothed]))| LayerPulls {
            layer,
            chi2_filtered: filtered.mean(),
            chi2_smoothed: smoothed.mean(),
            pulls: states.pulls(),
            resolutions: states.resolutions(),
        })
        .collect()
    }
}
