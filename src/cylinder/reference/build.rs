//! The builder that takes the best hit, and the combinatorial builder that copies candidates.

use super::layers::{Layers, Placed};
use super::{Fault, field};
use crate::cylinder::config::{Builder, CylinderConfig};
use crate::cylinder::geometry::{RADII, SEED_LAYERS};
use crate::event::{CYLINDER_LAYERS, NO_HIT};
use crate::kalman::reference::single::{State, scatter, to_radius, update, within_turn};

/// Returns the hits behind a seed that has this state on the first layer after the seed layers.
pub(super) fn build(
    fault: Fault,
    config: &CylinderConfig,
    layers: &Layers,
    state: State,
    hits: &mut [u32; CYLINDER_LAYERS],
) {
    match config.builder {
        Builder::BestHit => best_hit(fault, config, layers, state, hits),
        Builder::Standard | Builder::CloneEngine => combinatorial(fault, config, layers, state, hits),
    }
}

/// Transports a state to a layer, with its azimuth within a turn. Returns whether it gets there.
fn carry(config: &CylinderConfig, state: &State, layer: usize) -> (State, bool) {
    let (mut state, mut reached) = (*state, true);
    if layer > SEED_LAYERS {
        (state, reached) = to_radius(&state, field(config), RADII[layer]);
    }
    state.p[0] = within_turn(state.p[0]);
    (state, reached)
}

fn take(config: &CylinderConfig, state: &mut State, hit: Option<&Placed>) {
    update(state, hit.map(|placed| &placed.hit));
    if config.material > 0.0 {
        scatter(state, config.material);
    }
}

/// Returns the hits with chi2 below the cut in the window of a state on their layer, with their chi2.
fn found(config: &CylinderConfig, layers: &Layers, layer: usize, state: &State) -> Vec<(f32, Placed)> {
    let (build, c) = (&config.build, &state.c);
    let half = |variance: f32, limit: f32| {
        let width = build.window * variance.sqrt();
        if width < limit { width } else { limit }
    };
    let half = [half(c[0][0], build.window_phi), half(c[1][1], build.window_z)];
    if !(0.0 <= half[0] && 0.0 <= half[1] && state.p[0].abs() < 4.0) {
        return Vec::new();
    }
    let with_chi2 = |placed: Placed| {
        let [phi, z] = placed.hit.position;
        let (d_phi, d_z) = (within_turn(phi - state.p[0]), z - state.p[1]);
        let [s00, s11] = [c[0][0] + placed.hit.variance[0], c[1][1] + placed.hit.variance[1]];
        let determinant = (-c[1][0]).mul_add(c[1][0], s00 * s11);
        let cross = c[1][0] * d_phi * d_z;
        let sum = d_phi.mul_add(d_phi * s11, d_z * d_z * s00) - (cross + cross);
        (sum / determinant, placed)
    };
    let window = layers.window(layer, state, half).map(with_chi2);
    window.filter(|(chi2, _)| *chi2 < build.chi2 && 0.0 <= *chi2).collect()
}

fn best_hit(
    fault: Fault,
    config: &CylinderConfig,
    layers: &Layers,
    mut state: State,
    hits: &mut [u32; CYLINDER_LAYERS],
) {
    for (layer, taken) in hits.iter_mut().enumerate().skip(SEED_LAYERS) {
        let reached;
        (state, reached) = carry(config, &state, layer);
        if !reached {
            return;
        }
        let mut best: Option<(f32, Placed)> = None;
        for (chi2, placed) in found(config, layers, layer, &state) {
            let better = best.is_none_or(|(least, _)| (chi2 < least) != (fault == Fault::Farthest));
            best = if better { Some((chi2, placed)) } else { best };
        }
        let best = best.map(|(_, placed)| placed);
        take(config, &mut state, best.as_ref());
        *taken = best.map_or(NO_HIT, |placed| placed.source);
    }
}

#[derive(Clone)]
struct Candidate {
    state: State,
    /// Whether the candidate is followed: it has not passed too many layers without a hit.
    live: bool,
    hits: [u32; CYLINDER_LAYERS],
    holes: u32,
    missed: u32,
    chi2: f32,
}

/// Returns the cost by which candidates are ordered, smaller first, as bits: chi2 is not negative.
fn cost(fault: Fault, config: &CylinderConfig, missed: u32, chi2: f32) -> (u32, u32) {
    let penalty = config.build.hole_penalty;
    let (first, cost) =
        if penalty > 0.0 { (0, penalty.mul_add(missed as f32, chi2)) } else { (missed, chi2) };
    (first, if fault == Fault::Farthest { !cost.to_bits() } else { cost.to_bits() })
}

fn combinatorial(
    fault: Fault,
    config: &CylinderConfig,
    layers: &Layers,
    state: State,
    hits: &mut [u32; CYLINDER_LAYERS],
) {
    let build = &config.build;
    let cost = |missed: u32, chi2: f32| cost(fault, config, missed, chi2);
    let first = Candidate { state, live: true, hits: *hits, holes: 0, missed: 0, chi2: 0.0 };
    let mut candidates = vec![first];
    for layer in SEED_LAYERS..CYLINDER_LAYERS {
        let mut branches = Vec::new();
        for (rank, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| candidate.live) {
            let (state, reached) = carry(config, &candidate.state, layer);
            let mut found = if reached { found(config, layers, layer, &state) } else { Vec::new() };
            found.truncate(build.hits_in_window as usize);
            for (order, (chi2, placed)) in found.into_iter().enumerate() {
                let mut branch = Candidate { state, chi2: candidate.chi2 + chi2, ..candidate.clone() };
                take(config, &mut branch.state, Some(&placed));
                branch.hits[layer] = placed.source;
                branches.push(((cost(branch.missed, branch.chi2), rank, order), branch));
            }
            let limit = build.holes + u32::from(fault == Fault::HoleAtLimit);
            let mut branch = Candidate { state, live: candidate.holes < limit, ..candidate.clone() };
            take(config, &mut branch.state, None);
            (branch.holes, branch.missed) = (branch.holes + 1, branch.missed + 1);
            branches.push(((cost(branch.missed, branch.chi2), rank, usize::MAX), branch));
        }
        branches.sort_by_key(|(key, _)| *key);
        branches.truncate(build.candidates as usize);
        // Candidates that stopped earlier fill the rest of the list.
        let mut next: Vec<Candidate> = branches.into_iter().map(|(_, branch)| branch).collect();
        let stopped = candidates.into_iter().filter(|candidate| !candidate.live);
        let room = build.candidates as usize - next.len();
        next.extend(stopped.map(|stopped| Candidate { missed: stopped.missed + 1, ..stopped }).take(room));
        candidates = next;
    }
    let best = candidates.iter().min_by_key(|candidate| cost(candidate.missed, candidate.chi2));
    *hits = best.map_or(*hits, |best| best.hits);
}
