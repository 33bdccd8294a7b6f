//! Several candidates a seed: the clone engine, and the standard builder that copies.
//!
//! Seeds are taken in chunks. On a layer all candidates of the chunk's seeds, back to back, go through the lanes: what
//! their last branch took is taken in, they are carried to the layer, and the hits of their windows are noted as
//! branches. These are compared in one loop, whatever seed they are of; the best of each seed become the candidates of
//! the next layer.
//!
//! The clone engine keeps notes (parent, hit) and copies a state when a survivor is next loaded: its parent's state is
//! gathered. The standard builder makes a full copy of the state for every branch, with the hit taken in, and again
//! for every survivor. Both do the same arithmetic on the same numbers.

use super::branches::{Best, Branches, Key, Note};
use super::search::{Windows, search};
use super::states::States;
use super::{CHUNK, Inputs, Seeded, take_hit};
use crate::cylinder::config::{Builder, CylinderConfig};
use crate::cylinder::geometry::{RADII, SEED_LAYERS};
use crate::cylinder::index::Index;
use crate::event::{CYLINDER_LAYERS, Column, NO_HIT, StageCounter};
use crate::kalman::{CURVATURE_PER_TESLA, scatter, to_radius, within_turn};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// A candidate with too many holes: it is kept and not followed.
const STOPPED: u32 = u32::MAX - 1;

/// A candidate after one layer.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Candidate {
    /// The candidate before this layer.
    parent: u32,
    /// What it took here: a position in the sorted index, [`NO_HIT`], or [`STOPPED`].
    hit: u32,
    /// Layers without a hit so far.
    holes: u32,
    /// Layers missed, stopped ones counted.
    missed: u32,
    chi2: f32,
    /// Where its state is: a lane of the layer's states.
    state: u32,
    /// The seed, a number in the chunk.
    seed: u32,
}

/// The candidates after one layer, seed by seed; of a seed those that were followed to this layer come best first.
#[derive(Debug, Default)]
struct Candidates {
    /// First candidate of each seed, and the end.
    start: Column<u32>,
    all: Column<Candidate>,
}

impl Candidates {
    fn of(&self, seed: usize) -> Range<usize> {
        self.start[seed] as usize..self.start[seed + 1] as usize
    }
}

/// Reused memory.
#[derive(Debug, Default)]
pub(super) struct Combinatorial {
    /// Candidates before the first layer, and after each.
    layers: [Candidates; CYLINDER_LAYERS - SEED_LAYERS + 1],
    /// States of the lanes on the layer before, and on this one.
    states: [States; 2],
    /// States of the branches, and of the survivors: of the standard builder alone.
    copies: States,
    branches: Branches,
    best: Best,
    /// The candidates that are followed: their number, where their state is, the hit to take in, their chi2.
    live: Column<u32>,
    from: Column<u32>,
    hit: Column<u32>,
    chi2: Column<f32>,
    /// The lane of each candidate that is followed.
    lane_of: Column<u32>,
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
        self.states.iter_mut().for_each(|states| states.resize(lanes));
        let standard = config.builder == Builder::Standard;
        for first in range.clone().step_by(CHUNK) {
            let chunk = &seeded.order[first..range.end.min(first + CHUNK)];
            self.start(seeded, chunk);
            for layer in SEED_LAYERS..CYLINDER_LAYERS {
                self.list_live(layer - SEED_LAYERS);
                self.follow(g, from, layer, counter);
                if standard {
                    self.copy_branches(g, config, index, layer);
                }
                lost += self.compare(config, layer - SEED_LAYERS, chunk.len());
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
        candidates.start.clear();
        candidates.all.clear();
        for (lane, &seed) in chunk.iter().enumerate() {
            candidates.start.push(lane as u32);
            let good = seeded.good[seed as usize] > 0;
            let hit = if good { NO_HIT } else { STOPPED };
            candidates.all.push(Candidate { hit, state: seed, seed: lane as u32, ..Candidate::default() });
        }
        candidates.start.push(chunk.len() as u32);
    }

    /// The candidates that are followed, back to back.
    fn list_live(&mut self, step: usize) {
        let candidates = &self.layers[step].all;
        let count = candidates.len();
        for column in [&mut self.live, &mut self.from, &mut self.hit, &mut self.lane_of] {
            column.set_len(count);
        }
        self.chi2.set_len(count);
        let lane_of = &mut self.lane_of[..count];
        let (numbers, from) = (&mut self.live[..count], &mut self.from[..count]);
        let (hits, chi2) = (&mut self.hit[..count], &mut self.chi2[..count]);
        let mut live = 0;
        for (i, candidate) in candidates.iter().enumerate() {
            numbers[live] = i as u32;
            from[live] = candidate.state;
            hits[live] = candidate.hit;
            chi2[live] = candidate.chi2;
            lane_of[i] = live as u32;
            live += usize::from(candidate.hit != STOPPED);
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
        self.branches.start(self.live.len(), config.build.hits_in_window);
        for at in (0..self.live.len()).step_by(G::LANES) {
            let mut lanes = Mask::first(g, self.live.len() - at);
            let from = U32::load(g, &self.from.padded()[at..]);
            // Seeds come on the first radius.
            let (source, radius) =
                if is_first { (&seeded.states, RADII[layer]) } else { (&*before, RADII[layer - 1]) };
            let mut state = source.gather(g, from, radius);
            if !is_first {
                if !standard {
                    take_hit(g, config, index, &mut state, U32::load(g, &self.hit.padded()[at..]));
                }
                lanes = lanes & to_radius(g, &mut state, field, F32::splat(g, RADII[layer]));
            }
            state.p[0] = within_turn(g, state.p[0]);
            now.store(&state, at);
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
        self.copies.resize(branches);
        for at in (0..branches).step_by(G::LANES) {
            let lane = U32::load(g, &self.branches.lane.padded()[at..]);
            let mut state = self.states[1].gather(g, lane, RADII[layer]);
            take_hit(g, config, index, &mut state, U32::load(g, &self.branches.hit.padded()[at..]));
            self.copies.store(&state, at);
        }
    }

    /// The standard builder's copies: the state of each survivor, from its branch or, without a hit, its parent.
    #[inline(always)]
    fn copy_survivors<G: Gang>(&mut self, g: G, config: &CylinderConfig, layer: usize) {
        let candidates = &mut self.layers[layer - SEED_LAYERS + 1].all;
        let count = candidates.len();
        // What was live before this layer is written down in the candidates by now.
        let live = self.live.len() as u32;
        let (sources, hits) = (&mut self.from, &mut self.hit);
        sources.set_len(count);
        hits.set_len(count);
        for (lane, candidate) in candidates.iter_mut().enumerate() {
            (sources[lane], hits[lane]) = (candidate.state, candidate.hit);
            candidate.state = lane as u32;
        }
        let [to, from] = &mut self.states;
        for at in (0..count).step_by(G::LANES) {
            let source = U32::load(g, &sources.padded()[at..]);
            let is_branch = U32::load(g, &hits.padded()[at..]).lt(U32::splat(g, STOPPED));
            // The index of a branch goes on behind the lanes.
            let branch = is_branch.select_u(source - U32::splat(g, live), source);
            let mut parent = from.gather(g, source, RADII[layer]);
            if config.material > 0.0 {
                scatter(g, &mut parent, config.material);
            }
            let mut state = self.copies.gather(g, branch, RADII[layer]);
            for i in 0..5 {
                state.p[i] = is_branch.select_f(state.p[i], parent.p[i]);
                for j in 0..=i {
                    state.c.set(i, j, is_branch.select_f(state.c.at(i, j), parent.c.at(i, j)));
                }
            }
            to.store(&state, at);
        }
        // `now` is what the next layer finds as `before`.
        self.states.swap(0, 1);
    }

    /// Finds the best branches of each seed; returns how many more branches than a window may give there were.
    fn compare(&mut self, config: &CylinderConfig, step: usize, seeds: usize) -> u64 {
        let (build, penalty) = (&config.build, config.build.hole_penalty);
        let Candidates { start, all } = &self.layers[step];
        let live = &self.live[..];
        self.best.start(seeds, build.candidates as usize);
        let lost = self.branches.visit(inlined!(|lane, order, chi2| {
            let number = live[lane as usize];
            let Candidate { missed, seed, .. } = all[number as usize];
            let rank = number - start[seed as usize];
            self.best.offer(seed, Key::new(missed, chi2, penalty, rank, Some(order)));
        }));
        for &number in live {
            let Candidate { missed, chi2, seed, .. } = all[number as usize];
            let rank = number - start[seed as usize];
            self.best.offer(seed, Key::new(missed + 1, chi2, penalty, rank, None));
        }
        lost
    }

    /// The best branches of each seed become the candidates of the next layer.
    fn select(&mut self, config: &CylinderConfig, step: usize, seeds: usize) {
        let (build, standard) = (&config.build, config.builder == Builder::Standard);
        let max = build.candidates as usize;
        let lanes = self.live.len();
        let (before, after) = self.layers.split_at_mut(step + 1);
        let (before, after) = (&before[step], &mut after[0]);
        let candidates = &before.all[..];
        after.start.set_len(seeds + 1);
        after.all.set_len(seeds * max);
        let (hits, all_chi2) = (&self.branches.hit[..], &self.branches.chi2[..]);
        let mut count = 0;
        for seed in 0..seeds {
            let first = count;
            after.start[seed] = first as u32;
            let range = before.of(seed);
            for key in self.best.of(seed) {
                let parent = range.start + key.candidate();
                let lane = self.lane_of[parent];
                let from = candidates[parent];
                let holes = from.holes;
                let without = if holes < build.holes { NO_HIT } else { STOPPED };
                let next = Candidate { parent: parent as u32, state: lane, ..from };
                after.all[count] = match key.order() {
                    Some(order) => {
                        let branch = self.branches.number(lane, order);
                        let state = if standard { (lanes + branch) as u32 } else { lane };
                        Candidate { hit: hits[branch], chi2: all_chi2[branch], state, ..next }
                    }
                    None => Candidate { hit: without, holes: holes + 1, missed: from.missed + 1, ..next },
                };
                count += 1;
            }
            // Candidates that stopped earlier fill what is left of the list.
            let room = max - (count - first);
            let is_stopped = |number: &usize| candidates[*number].hit == STOPPED;
            for stopped in range.filter(is_stopped).take(room) {
                let Candidate { missed, .. } = candidates[stopped];
                let (parent, missed) = (stopped as u32, missed + 1);
                after.all[count] = Candidate { parent, missed, state: 0, ..candidates[stopped] };
                count += 1;
            }
        }
        after.start[seeds] = count as u32;
        after.all.set_len(count);
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
            let key = |number: &usize| {
                let Candidate { missed, chi2, .. } = last.all[*number];
                Key::new(missed, chi2, penalty, (number - range.start) as u32, None)
            };
            let mut candidate = range.clone().min_by_key(key).unwrap_or(range.start);
            for step in (1..=steps).rev() {
                let Candidate { hit, parent, .. } = self.layers[step].all[candidate];
                out[SEED_LAYERS + step - 1][seed as usize] = if hit == STOPPED { NO_HIT } else { hit };
                candidate = parent as usize;
            }
        }
    }
}
