//! Compares smoothed states of given tracks with true particles, layer by layer.

use super::cylinder_pulls::{CylinderPulls, Moments, Pull, Resolution};
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderFits, CylinderTruth, NO_HIT};

/// Compares smoothed states with the helix of a particle from its vertex, for tracks whose hits all belong to the
/// particle. If particles scatter, the helix is the true path only up to the first layer.
#[derive(Debug, Clone)]
pub struct CylinderFitPulls {
    layers: [CylinderPulls; CYLINDER_LAYERS],
    chi2: [[Moments; 2]; CYLINDER_LAYERS],
    tracks: u64,
}

/// Pulls and resolutions of the states at the hits of one layer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LayerPulls {
    /// Number of the layer, from 0.
    pub layer: usize,
    /// Mean chi2 of a hit, which has two coordinates, when the filter adds the hit to a track.
    pub chi2_filtered: f64,
    /// Mean chi2 of the distance between a hit and the smoothed state.
    pub chi2_smoothed: f64,
    /// Pulls of each parameter; in the last layer, smoothed states equal filtered states.
    pub pulls: Vec<Pull>,
    /// Resolutions in bins of transverse momentum.
    pub resolutions: Vec<Resolution>,
}

impl CylinderFitPulls {
    /// Creates a comparison without tracks; `field` is the magnetic field, T.
    pub fn new(field: f64) -> Self {
        let layers = std::array::from_fn(|_| CylinderPulls::new(field));
        Self { layers, chi2: Default::default(), tracks: 0 }
    }

    /// Adds the tracks of one event, which has the index `event` in `fits`, and `of_truth` in `hits` and `truth`.
    /// Tracks with a failed fit or with hits of several particles are ignored.
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

    /// Returns the results so far for each layer with hits.
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
