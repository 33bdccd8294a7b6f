//! The builders with several candidates per seed: the clone engine, and the standard builder, which copies states.
//!
//! Seeds are processed in chunks. On a layer all candidates of the chunk's seeds go through the lanes one after
//! another: the builder adds the hit of a candidate's last branch, transports the candidate to the layer, and notes the
//! hits in its window as branches. One loop compares the branches of all seeds; the best branches of each seed become
//! the candidates of the next layer.
//!
//! The clone engine stores only the parent and the hit of a branch, and gathers the parent's state when a surviving
//! branch is next loaded. The standard builder copies the full state for every branch, adds the hit, and copies the
//! states of the surviving branches again. The two builders do the same arithmetic on the same numbers.

use super::branches::{BRANCH_BITS, Best, Branches, Key, NO_BRANCH, Note};
use super::search::{Windows, search};
use super::states::States;
use super::{CHUNK, Inputs, Seeded, take_hit};
use crate::cylinder::config::{Builder, CylinderConfig};
use crate::cylinder::geometry::{RADII, SEED_LAYERS};
use crate::cylinder::index::Index;
use crate::event::{CYLINDER_LAYERS, Column, NO_HIT, StageCounter};
use crate::kalman::{CURVATURE_PER_TESLA, scatter, to_radius, within_turn};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

/// A candidate with too many holes: it is kept and not followed.
const STOPPED: u32 = u32::MAX - 1;
/// Stands for a branch: the candidate has stopped and stays unchanged.
const STAYS: u32 = NO_BRANCH - 1;

/// Combines a candidate of the previous layer and its branch in one number.
#[inline(always)]
fn picked_of(candidate: usize, branch: u32) -> u32 {
    (candidate as u32) << BRANCH_BITS | branch
}

/// The candidates after one layer, seed by seed; for each seed, candidates that were followed to this layer come first, in
/// rising order of [`Key`].
#[derive(Debug, Default)]
struct Candidates {
    /// First candidate of each seed, and the end.
    start: Column<u32>,
    /// Number of the candidate on the previous layer.
    parent: Column<u32>,
    /// Hit of the candidate on this layer: a position in the sorted index, [`NO_HIT`], or [`STOPPED`].
    hit: Column<u32>,
    /// Layers without a hit so far.
    holes: Column<u32>,
    /// Layers missed so far, including layers after a stop.
    missed: Column<u32>,
    chi2: Column<f32>,
    /// Position of its state: a lane of the layer's states.
    state: Column<u32>,
    /// The seed, a number in the chunk, and the candidate's rank among the candidates of the seed.
    seed: Column<u32>,
    rank: Column<u32>,
}

impl Candidates {
    #[inline(always)]
    fn of(&self, seed: usize) -> Range<usize> {
        self.start[seed] as usize..self.start[seed + 1] as usize
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.hit.len()
    }

    /// Sets the number of candidates; the values of new ones are arbitrary.
    fn set_len(&mut self, len: usize) {
        let Self { start: _, parent, hit, holes, missed, chi2, state, seed, rank } = self;
        for column in [parent, hit, holes, missed, state, seed, rank] {
            column.set_len(len);
        }
        chi2.set_len(len);
    }
}

/// Reused memory.
#[derive(Debug, Default)]
pub(super) struct Combinatorial {
    /// Candidates before the first layer, and after each.
    layers: [Candidates; CYLINDER_LAYERS - SEED_LAYERS + 1],
    /// States of the lanes on the layer before, and on this one.
    states: [States; 2],
    /// States of the branches, and of the survivors; only for the standard builder.
    copies: States,
    branches: Branches,
    best: Best,
    /// The candidates that are followed: position of their state, the hit to add, their chi2, and further values by which
    /// their branches are compared.
    from: Column<u32>,
    hit: Column<u32>,
    chi2: Column<f32>,
    seed: Column<u32>,
    rank: Column<u32>,
    missed: Column<u32>,
    /// The branches that become candidates, seed by seed.
    picked: Column<u32>,
    /// The lane of each candidate that is followed.
    lane_of: Column<u32>,
}

impl Combinatorial {
    /// Writes the hits of the best candidate of each seed in `seeded.order[range]` to `out`. Returns the number of branches
    /// that were dropped.
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
                self.list_live(g, layer - SEED_LAYERS);
                self.follow(g, from, layer, counter);
                if standard {
                    self.copy_branches(g, config, index, layer);
                }
                lost += self.branches.lost;
                self.compare(config, chunk.len());
                self.pick(config, layer - SEED_LAYERS, chunk.len());
                self.select(g, config, layer - SEED_LAYERS);
                if standard {
                    self.copy_survivors(g, config, layer);
                }
                self.states.swap(0, 1);
            }
            self.trace_back(config, chunk, out);
        }
        lost
    }

    /// Starts with one candidate per seed.
    fn start(&mut self, seeded: &Seeded, chunk: &[u32]) {
        let candidates = &mut self.layers[0];
        candidates.start.set_len(chunk.len() + 1);
        candidates.set_len(chunk.len());
        for (lane, &seed) in chunk.iter().enumerate() {
            candidates.start[lane] = lane as u32;
            let good = seeded.good[seed as usize] > 0;
            candidates.hit[lane] = if good { NO_HIT } else { STOPPED };
            (candidates.state[lane], candidates.seed[lane]) = (seed, lane as u32);
        }
        candidates.start[chunk.len()] = chunk.len() as u32;
        let Candidates { parent, holes, missed, rank, .. } = candidates;
        [parent, holes, missed, rank].into_iter().for_each(|column| column.fill(0));
        candidates.chi2.fill(0.0);
    }

    /// Lists the candidates that are followed, without gaps.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    fn list_live<G: Gang>(&mut self, g: G, step: usize) {
        let candidates = &self.layers[step];
        let count = candidates.len();
        let Self { from, hit, chi2, seed, rank, missed, lane_of, .. } = self;
        let Candidates { hit: hits, state, seed: seeds, rank: ranks, missed: all_missed, .. } = candidates;
        let columns = [(from, state), (hit, hits), (seed, seeds), (rank, ranks), (missed, all_missed)];
        let mut columns = columns.map(|(to, all)| {
            to.set_len(count);
            (to, all)
        });
        chi2.set_len(count);
        lane_of.set_len(count);
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let mut live = 0;
        for at in (0..count).step_by(G::LANES) {
            let is_stopped = U32::load(g, &hits.padded()[at..]).eq(U32::splat(g, STOPPED));
            let is_live = Mask::first(g, count - at) & !is_stopped;
            let live_here = is_live.select_u(one, zero);
            let lane = live_here.prefix_sum().0 - live_here + U32::splat(g, live as u32);
            lane.store(&mut lane_of.padded_mut()[at..]);
            for (to, all) in &mut columns {
                U32::load(g, &all.padded()[at..]).store_packed(&mut to.padded_mut()[live..], is_live);
            }
            let all_chi2 = F32::load(g, &candidates.chi2.padded()[at..]);
            live += all_chi2.store_packed(&mut chi2.padded_mut()[live..], is_live);
        }
        columns.into_iter().for_each(|(to, _)| to.set_len(live));
        chi2.set_len(live);
    }

    /// Adds the hits of all candidates, transports the candidates to the layer, and searches for hits there.
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
        self.branches.start();
        for at in (0..self.from.len()).step_by(G::LANES) {
            let mut lanes = Mask::first(g, self.from.len() - at);
            let from = U32::load(g, &self.from.padded()[at..]);
            // The states of seeds are already on the first radius.
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
            let mut note = Note::new(&mut self.branches, lane, chi2, config.build.hits_in_window);
            search(g, &windows, &state, lanes, &mut note, counter);
        }
    }

    /// Copies states for the standard builder: the state of each branch with its hit added.
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

    /// Copies states for the standard builder: the state of each survivor, from its branch or, without a hit, from its parent.
    #[inline(always)]
    fn copy_survivors<G: Gang>(&mut self, g: G, config: &CylinderConfig, layer: usize) {
        let candidates = &mut self.layers[layer - SEED_LAYERS + 1];
        let count = candidates.len();
        // The candidates already contain everything about the previous live ones, so that `from` and `hit` are reused.
        let live = self.from.len() as u32;
        let (sources, hits) = (&mut self.from, &mut self.hit);
        sources.set_len(count);
        hits.set_len(count);
        sources.copy_from_slice(&candidates.state);
        hits.copy_from_slice(&candidates.hit);
        candidates.state.iter_mut().zip(0..).for_each(|(state, lane)| *state = lane);
        let [to, from] = &mut self.states;
        for at in (0..count).step_by(G::LANES) {
            let source = U32::load(g, &sources.padded()[at..]);
            let is_branch = U32::load(g, &hits.padded()[at..]).lt(U32::splat(g, STOPPED));
            // Branches are numbered after the lanes.
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
        // The next layer reads these states as `before`.
        self.states.swap(0, 1);
    }

    /// Finds the best branches of each seed. Not inlined, because for AVX2 the compiler would vectorise these 64-bit min
    /// and max operations into code that takes three times as long.
    #[inline(never)]
    fn compare(&mut self, config: &CylinderConfig, seeds: usize) {
        let (build, penalty) = (&config.build, config.build.hole_penalty);
        let Self { best, branches, chi2, seed, rank, missed, .. } = self;
        best.start(seeds, build.candidates as usize);
        let branches = branches.lane.iter().zip(branches.chi2.iter());
        for (number, (&lane, &chi2)) in (0..).zip(branches) {
            let lane = lane as usize;
            best.offer(seed[lane], Key::new(missed[lane], chi2, penalty, rank[lane], number));
        }
        for ((&seed, &rank), (&missed, &chi2)) in
            seed.iter().zip(rank.iter()).zip(missed.iter().zip(chi2.iter()))
        {
            best.offer(seed, Key::new(missed + 1, chi2, penalty, rank, NO_BRANCH));
        }
    }

    /// Lists the best branches of each seed and, where there is room, its candidates that stopped earlier.
    #[inline(never)]
    fn pick(&mut self, config: &CylinderConfig, step: usize, seeds: usize) {
        let max = config.build.candidates as usize;
        let has_stopped = self.from.len() < self.layers[step].len();
        let (before, after) = self.layers.split_at_mut(step + 1);
        let (before, after) = (&before[step], &mut after[0]);
        after.start.set_len(seeds + 1);
        // All positions of a seed are written; the next seed begins after the last branch and overwrites the rest.
        after.set_len((seeds + 1) * max);
        self.picked.set_len((seeds + 1) * max);
        let mut count = 0;
        for seed in 0..seeds {
            after.start[seed] = count as u32;
            let (range, places) = (before.of(seed), count..count + max);
            let to = self.picked[places.clone()].iter_mut().zip(&mut after.seed[places.clone()]);
            let to = to.zip(&mut after.rank[places]);
            let mut picked = 0;
            for ((key, rank), ((pick, seed_of), rank_of)) in self.best.of(seed).zip(0..).zip(to) {
                *pick = picked_of(range.start + key.candidate(), key.branch());
                (*seed_of, *rank_of) = (seed as u32, rank);
                picked += usize::from(key != Key::LAST);
            }
            count += picked;
            if has_stopped {
                let is_stopped = |number: &usize| before.hit[*number] == STOPPED;
                for stopped in range.filter(is_stopped).take(max - picked) {
                    self.picked[count] = picked_of(stopped, STAYS);
                    (after.seed[count], after.rank[count]) = (seed as u32, picked as u32);
                    (count, picked) = (count + 1, picked + 1);
                }
            }
        }
        after.start[seeds] = count as u32;
        after.set_len(count);
    }

    /// Turns the picked branches into the candidates of the next layer.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    fn select<G: Gang>(&mut self, g: G, config: &CylinderConfig, step: usize) {
        let standard = config.builder == Builder::Standard;
        let (before, after) = self.layers.split_at_mut(step + 1);
        let (before, after) = (&before[step], &mut after[0]);
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let lanes = U32::splat(g, self.from.len() as u32);
        let (max_holes, stopped) = (U32::splat(g, config.build.holes), U32::splat(g, STOPPED));
        for at in (0..after.len()).step_by(G::LANES) {
            let picked = U32::load(g, &self.picked.padded()[at..]);
            let parent = picked.shr::<BRANCH_BITS>();
            let branch = picked & U32::splat(g, NO_BRANCH);
            let (stays, has_hit) = (branch.eq(U32::splat(g, STAYS)), branch.lt(U32::splat(g, STAYS)));
            let holes = U32::gather(&before.holes, parent);
            let without =
                stays.select_u(stopped, holes.lt(max_holes).select_u(U32::splat(g, NO_HIT), stopped));
            let hit = has_hit.select_u(U32::gather(&self.branches.hit, branch), without);
            let chi2 = F32::gather(&before.chi2, parent);
            let chi2 = has_hit.select_f(F32::gather(&self.branches.chi2, branch), chi2);
            let missed = U32::gather(&before.missed, parent) + has_hit.select_u(zero, one);
            let lane = stays.select_u(zero, U32::gather(&self.lane_of, parent));
            let state = if standard { has_hit.select_u(lanes + branch, lane) } else { lane };
            parent.store(&mut after.parent.padded_mut()[at..]);
            hit.store(&mut after.hit.padded_mut()[at..]);
            (holes + (has_hit | stays).select_u(zero, one)).store(&mut after.holes.padded_mut()[at..]);
            missed.store(&mut after.missed.padded_mut()[at..]);
            chi2.store(&mut after.chi2.padded_mut()[at..]);
            state.store(&mut after.state.padded_mut()[at..]);
        }
    }

    /// Writes the hits of each seed's best candidate.
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
                let (missed, chi2) = (last.missed[*number], last.chi2[*number]);
                Key::new(missed, chi2, penalty, (number - range.start) as u32, NO_BRANCH)
            };
            let mut candidate = range.clone().min_by_key(key).unwrap_or(range.start);
            for step in (1..=steps).rev() {
                let hit = self.layers[step].hit[candidate];
                out[SEED_LAYERS + step - 1][seed as usize] = if hit == STOPPED { NO_HIT } else { hit };
                candidate = self.layers[step].parent[candidate] as usize;
            }
        }
    }
}
