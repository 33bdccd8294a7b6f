//! The naive twin of seeds from truth, of all builders and of all fits: computes the same hit lists and states, bit by
//! bit, with loops over one seed and all hits of a layer.
//!
//! The naive twin shares only configuration and geometry with the kernels, and imports nothing from `simd/`. But it has
//! the kernels' order of operations, and of equally good hits, because both change the bits of results.

mod build;
mod fit;
mod layers;
mod refit;

use super::config::CylinderConfig;
use super::geometry::{RADII, SEED_LAYERS};
use crate::event::{CYLINDER_LAYERS, CylinderEvent, CylinderSeeds, NO_HIT};
use crate::kalman::reference::single::{State, to_radius};
use crate::kalman::{CURVATURE_PER_TESLA, FitStatus};
use layers::Layers;

pub use refit::{FittedTrack, fit_tracks};

/// A fault made on purpose, to show that tests that compare this reference with the kernels can fail.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault: the correct reference.
    None,
    /// Of two hits or branches the one with the larger chi2 wins.
    Farthest,
    /// A candidate with exactly the allowed number of holes may have one more.
    HoleAtLimit,
    /// States of given tracks are filtered, not smoothed.
    FilteredOnly,
}

/// The track of a seed.
#[derive(Debug, Clone)]
pub struct Track {
    /// Number of the hit on each layer, counted from the event's first hit, or [`NO_HIT`].
    pub hits: [u32; CYLINDER_LAYERS],
    /// The state at the innermost hit, in its output form.
    pub state: State,
    /// chi2 of the fit.
    pub chi2: f32,
    /// Status of the fit.
    pub fit: FitStatus,
}

/// Returns the tracks of the seeds `particles` of an event with status `Ok`.
pub fn reconstruct(
    fault: Fault,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    seeds: &CylinderSeeds,
    particles: std::ops::Range<usize>,
) -> Vec<Track> {
    let layers = Layers::new(&config.bins, event);
    let track = |particle: usize| {
        let mut hits: [u32; CYLINDER_LAYERS] = std::array::from_fn(|layer| seeds.hits[layer][particle]);
        hits[SEED_LAYERS..].fill(NO_HIT);
        if let Some(state) = seed(config, &layers, seeds, particle) {
            build::build(fault, config, &layers, state, &mut hits);
        }
        fit::inwards(config, &layers, hits)
    };
    particles.map(track).collect()
}

/// Fits all hits of a particle from its true vertex outwards.
pub fn fit_particle(
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    seeds: &CylinderSeeds,
    particle: usize,
) -> Track {
    let layers = Layers::new(&config.bins, event);
    let hits = std::array::from_fn(|layer| seeds.hits[layer][particle]);
    fit::Follow::from_vertex(config, &layers, seeds, particle, CYLINDER_LAYERS).finish(hits)
}

/// Returns the state of a particle's seed on the layer after the seed layers, if it has one.
fn seed(config: &CylinderConfig, layers: &Layers, seeds: &CylinderSeeds, particle: usize) -> Option<State> {
    let follow = fit::Follow::from_vertex(config, layers, seeds, particle, SEED_LAYERS);
    let (state, reached) = to_radius(&follow.state, field(config), RADII[SEED_LAYERS]);
    let complete = (0..SEED_LAYERS).all(|layer| seeds.hits[layer][particle] != NO_HIT);
    (reached && follow.reached && follow.measured && complete).then_some(state)
}

/// Returns the curvature of charge / pT = 1.
fn field(config: &CylinderConfig) -> f32 {
    CURVATURE_PER_TESLA * config.field
}
