//! Several candidates a seed: the clone engine, and the standard builder that copies.
//!
//! Seeds are taken in chunks. On a layer all candidates of the chunk's seeds, back to back, go through the lanes: what
//! their last branch took is taken in, they are carried to the layer, and the hits of their windows are noted as
//! branches. Then, seed by seed, the best branches become the candidates of the next layer.
//!
//! The clone engine keeps notes (parent, hit) and copies a state when a survivor is next loaded: its parent's state is
//! gathered. The standard builder makes a full copy of the state for every branch, with the hit taken in, and again
//! for every survivor. Both do the same arithmetic on the same numbers.

use super::branches::{Best, Branches, Note, Survivor, key};
use super::search::{Windows, search};
use super::{CHUNK, ELEMENTS, Inputs, Seeded, gather_state, store_state, take_hit};
use crate::cylinder::config::{Builder, CylinderConfig};
use crate::cylinder::geometry::{RADII, SEED_LAYERS};
use crate::cylinder::index::Index;
use crate::event::{CYLINDER_LAYERS, Column, NO_HIT, StageCounter};
use crate::kalman::matriplex::Matriplex;
use crate::kalman::{CURVATURE_PER_TESLA, scatter, to_radius, within_turn};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// A branch without a hit.
const NONE: u32 = u32::MAX;
/// A candidate with too many holes: it is kept and not followed.
const STOPPED: u32 = u32::MAX - 1;

/// A candidate after one layer; the fields are the columns of [`Candidates`].
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    parent: u32,
    hit: u32,
    holes: u32,
    missed: u32,
    chi2: f32,
    state: u32,
}

/// The candidates after one layer, seed by seed.
#[derive(Debug, Default)]
struct Candidates {
    /// First candidate of each seed, and the end.
    start: Column<u32>,
    /// The candidate before this layer.
    parent: Column<u32>,
    /// What it took here: a position in the sorted index, [`NO_HIT`], or [`STOPPED`].
    hit: Column<u32>,
    /// Layers without a hit so far.
    holes: Column<u32>,
    /// Layers missed, stopped ones counted.
    missed: Column<u32>,
    chi2: Column<f32>,
    /// Where its state is: a lane of the layer's states.
    state: Column<u32>,
}

impl Candidates {
    fn clear(&mut self) {
        self.start.clear();
        for column in [&mut self.parent, &mut self.hit, &mut self.holes, &mut self.missed, &mut self.state] {
            column.clear();
        }
        self.chi2.clear();
    }

    fn push(&mut self, one: Candidate) {
        self.parent.push(one.parent);
        self.hit.push(one.hit);
        self.holes.push(one.holes);
        self.missed.push(one.missed);
        self.chi2.push(one.chi2);
        self.state.push(one.state);
    }

    fn of(&self, seed: usize) -> std::ops::Range<usize> {
        self.start[seed] as usize..self.start[seed + 1] as usize
    }
}

/// Reused memory.
#[derive(Debug, Default)]
pub(super) struct Combinatorial {
    /// Candidates before the first layer, and after each.
    layers: [Candidates; CYLINDER_LAYERS - SEED_LAYERS + 1],
    /// States of the lanes on the layer before, and on this one.
    states: [Matriplex; 2],
    /// States of the branches, and of the survivors: of the standard builder alone.
    copies: Matriplex,
    branches: Branches,
    /// The candidates that are followed: their number, where their state is, the hit to take in, their chi2.
    live: Column<u32>,
    from: Column<u32>,
    hit: Column<u32>,
    chi2: Column<f32>,
}

impl Combinatorial {
    /// The hits of the best candidate of each seed at `range` of their order into `out`; returns how many candidates windows
    /// could not hold.
    #[inline(always)]
    pub fn build<G: Gang>(
        &mut self,
        g: G,
        from: &Inputs<'_>,
        range: Range<usize>,
        out: &mut [Column<u32>; CYLINDER_LAYERS],
        counter: &mut StageCounter,
    ) -> u64 {
        let Inputs { config, index, seeded } = *from;
        let mut lost = 0;
        let max_candidates = config.build.candidates as usize;
        let lanes = CHUNK * max_candidates;
        self.states.iter_mut().for_each(|states| states.resize(ELEMENTS, lanes));
        let standard = config.builder == Builder::Standard;
        for first in range.clone().step_by(CHUNK) {
            let chunk = &seeded.order[first..range.end.min(first + CHUNK)];
            self.start(seeded, chunk);
            for layer in SEED_LAYERS..CYLINDER_LAYERS {
                self.list_live(layer - SEED_LAYERS);
                self.branches.start(self.live.len(), config.build.hits_in_window as usize);
                self.follow(g, from, layer, counter);
                lost += self.branches.by_candidate();
                if standard {
                    self.copy_branches(g, config, index, layer);
                }
                self.select(config, layer - SEED_LAYERS, chunk.len());
                if standard {
                    self.copy_survivors(g, config, layer);
                }
                self.states.swap(0, 1);
            }
            self.trace_back(config, chunk, out);
        }
        lost
    }

    /// One candidate a seed.
    fn start(&mut self, seeded: &Seeded, chunk: &[u32]) {
        let candidates = &mut self.layers[0];
        candidates.clear();
        for (lane, &seed) in chunk.iter().enumerate() {
            candidates.start.push(lane as u32);
            let good = seeded.good[seed as usize] > 0;
            let hit = if good { NO_HIT } else { STOPPED };
            candidates.push(Candidate { hit, state: seed, ..Candidate::default() });
        }
        candidates.start.push(chunk.len() as u32);
    }

    /// The candidates that are followed, back to back.
    fn list_live(&mut self, step: usize) {
        let candidates = &self.layers[step];
        for column in [&mut self.live, &mut self.from, &mut self.hit] {
            column.set_len(candidates.hit.len());
        }
        self.chi2.set_len(candidates.hit.len());
        let mut live = 0;
        for (i, &hit) in candidates.hit.iter().enumerate() {
            self.live[live] = i as u32;
            self.from[live] = candidates.state[i];
            self.hit[live] = hit;
            self.chi2[live] = candidates.chi2[i];
            live += usize::from(hit != STOPPED);
        }
        for column in [&mut self.live, &mut self.from, &mut self.hit] {
            column.set_len(live);
        }
        self.chi2.set_len(live);
    }

    /// Takes in, carries on, searches: all candidates through the lanes.
    #[inline(always)]
    fn follow<G: Gang>(
        &mut self,
        g: G,
        &Inputs { config, index, seeded }: &Inputs<'_>,
        layer: usize,
        counter: &mut StageCounter,
    ) {
        let standard = config.builder == Builder::Standard;
        let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
        let is_first = layer == SEED_LAYERS;
        let windows = Windows { config: &config.build, layer: index.layer(layer) };
        let [before, now] = &mut self.states;
        for at in (0..self.live.len()).step_by(G::LANES) {
            let mut lanes = Mask::first(g, self.live.len() - at);
            let from = U32::load(g, &self.from.padded()[at..]);
            // Seeds come on the first radius.
            let (source, radius) =
                if is_first { (&seeded.states, RADII[layer]) } else { (&*before, RADII[layer - 1]) };
            let mut state = gather_state(g, source, from, radius);
            if !is_first {
                if !standard {
                    take_hit(g, config, index, &mut state, U32::load(g, &self.hit.padded()[at..]));
                }
                lanes = lanes & to_radius(g, &mut state, field, F32::splat(g, RADII[layer]));
            }
            state.p[0] = within_turn(g, state.p[0]);
            store_state(now, &state, at);
            let lane = U32::iota(g) + U32::splat(g, at as u32);
            let chi2 = F32::load(g, &self.chi2.padded()[at..]);
            let mut note = Note { to: &mut self.branches, lane, chi2 };
            search(g, &windows, &state, lanes, &mut note, counter);
        }
    }

    /// The standard builder's copies: the state of each branch with its hit taken in.
    #[inline(always)]
    fn copy_branches<G: Gang>(&mut self, g: G, config: &CylinderConfig, index: &Index, layer: usize) {
        let branches = self.branches.lane.len();
        self.copies.resize(ELEMENTS, branches);
        for at in (0..branches).step_by(G::LANES) {
            let lane = U32::load(g, &self.branches.lane.padded()[at..]);
            let mut state = gather_state(g, &self.states[1], lane, RADII[layer]);
            take_hit(g, config, index, &mut state, U32::load(g, &self.branches.hit.padded()[at..]));
            store_state(&mut self.copies, &state, at);
        }
    }

    /// The standard builder's copies: the state of each survivor, from its branch or, without a hit, its parent.
    #[inline(always)]
    fn copy_survivors<G: Gang>(&mut self, g: G, config: &CylinderConfig, layer: usize) {
        let candidates = &mut self.layers[layer - SEED_LAYERS + 1];
        let count = candidates.state.len();
        let [to, from] = &mut self.states;
        for at in (0..count).step_by(G::LANES) {
            let source = U32::load(g, &candidates.state.padded()[at..]);
            let is_branch = U32::load(g, &candidates.hit.padded()[at..]).lt(U32::splat(g, STOPPED));
            // The index of a branch goes on behind the lanes.
            let branch = is_branch.select_u(source - U32::splat(g, self.live.len() as u32), source);
            let mut parent = gather_state(g, from, source, RADII[layer]);
            if config.material > 0.0 {
                scatter(g, &mut parent, config.material);
            }
            let mut state = gather_state(g, &self.copies, branch, RADII[layer]);
            for i in 0..5 {
                state.p[i] = is_branch.select_f(state.p[i], parent.p[i]);
                for j in 0..=i {
                    state.c.set(i, j, is_branch.select_f(state.c.at(i, j), parent.c.at(i, j)));
                }
            }
            store_state(to, &state, at);
        }
        for (lane, state) in candidates.state.iter_mut().enumerate() {
            *state = lane as u32;
        }
        // `now` is what the next layer finds as `before`.
        self.states.swap(0, 1);
    }

    /// The candidates of the next layer.
    fn select(&mut self, config: &CylinderConfig, step: usize, seeds: usize) {
        let (build, standard) = (&config.build, config.builder == Builder::Standard);
        let lanes = self.live.len();
        let (before, after) = self.layers.split_at_mut(step + 1);
        let (before, after) = (&before[step], &mut after[0]);
        after.clear();
        let mut best = Best::new(build.candidates as usize);
        let mut lane = 0;
        for seed in 0..seeds {
            after.start.push(after.hit.len() as u32);
            best.clear();
            let range = before.of(seed);
            for candidate in range.clone() {
                if lane == lanes || self.live[lane] as usize != candidate {
                    continue;
                }
                let (missed, rank) = (before.missed[candidate], candidate - range.start);
                for (ordinal, &branch) in self.branches.of(lane).iter().enumerate() {
                    let chi2 = self.branches.chi2[branch as usize];
                    let key = key(missed, chi2, build.hole_penalty, rank, ordinal);
                    best.offer(key, Survivor { lane: lane as u32, branch });
                }
                let key = key(missed + 1, before.chi2[candidate], build.hole_penalty, rank, 255);
                best.offer(key, Survivor { lane: lane as u32, branch: NONE });
                lane += 1;
            }
            for survivor in best.survivors() {
                let parent = self.live[survivor.lane as usize] as usize;
                let (holes, missed) = (before.holes[parent], before.missed[parent]);
                if survivor.branch == NONE {
                    let hit = if holes < build.holes { NO_HIT } else { STOPPED };
                    after.push(Candidate {
                        parent: parent as u32,
                        hit,
                        holes: holes + 1,
                        missed: missed + 1,
                        chi2: before.chi2[parent],
                        state: survivor.lane,
                    });
                } else {
                    let branch = survivor.branch as usize;
                    let state = if standard { (lanes + branch) as u32 } else { survivor.lane };
                    let (hit, chi2) = (self.branches.hit[branch], self.branches.chi2[branch]);
                    after.push(Candidate { parent: parent as u32, hit, holes, missed, chi2, state });
                }
            }
            // Candidates that stopped earlier fill what is left of the list.
            let room = (build.candidates as usize).saturating_sub(best.survivors().len());
            for stopped in range.filter(|candidate| before.hit[*candidate] == STOPPED).take(room) {
                let (holes, missed) = (before.holes[stopped], before.missed[stopped]);
                after.push(Candidate {
                    parent: stopped as u32,
                    hit: STOPPED,
                    holes,
                    missed: missed + 1,
                    chi2: before.chi2[stopped],
                    state: 0,
                });
            }
        }
        after.start.push(after.hit.len() as u32);
    }

    /// The hits of each seed's best candidate.
    fn trace_back(
        &mut self,
        config: &CylinderConfig,
        chunk: &[u32],
        out: &mut [Column<u32>; CYLINDER_LAYERS],
    ) {
        let steps = CYLINDER_LAYERS - SEED_LAYERS;
        let last = &self.layers[steps];
        let penalty = config.build.hole_penalty;
        for (lane, &seed) in chunk.iter().enumerate() {
            let range = last.of(lane);
            let rank = |candidate: &usize| {
                key(last.missed[*candidate], last.chi2[*candidate], penalty, candidate - range.start, 0)
            };
            let mut candidate = range.clone().min_by_key(rank).unwrap_or(range.start);
            for step in (1..=steps).rev() {
                let hit = self.layers[step].hit[candidate];
                out[SEED_LAYERS + step - 1][seed as usize] = if hit == STOPPED { NO_HIT } else { hit };
                candidate = self.layers[step].parent[candidate] as usize;
            }
        }
    }
}
