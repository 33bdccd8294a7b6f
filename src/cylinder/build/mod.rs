//! Build: from seeds to hit lists, layer by layer outwards.

mod best_hit;
mod branches;
mod combinatorial;
pub(crate) mod search;
mod states;

use super::config::{Builder, CylinderConfig};
use super::geometry::{RADII, SEED_LAYERS};
use super::hit::is_hit;
use super::index::Index;
use crate::event::{CYLINDER_LAYERS, Column, Counters, Truncation};
use crate::kalman::matriplex::Symmetric;
use crate::kalman::{CylinderState, scatter, update, within_turn};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use combinatorial::Combinatorial;
use states::States;
use std::ops::Range;

/// Number of seeds that are built together: their candidates' states fit in the second-level cache, and gangs are full.
pub(super) const CHUNK: usize = 64;

/// Seeds with their states on the layer behind the seed layers.
#[derive(Debug, Default)]
pub(super) struct Seeded {
    /// Parameters and covariance of each seed.
    states: States,
    /// 1 for a seed with a valid state, otherwise 0.
    pub good: Column<u32>,
    /// Numbers of the seeds in order of azimuth, so that neighbouring lanes search among the same hits.
    pub order: Column<u32>,
    /// Hits of each seed: positions in the sorted index, layer by layer.
    pub hits: [Column<u32>; SEED_LAYERS],
    count: Column<u32>,
}

impl Seeded {
    /// Reserves memory.
    pub fn resize(&mut self, seeds: usize) {
        self.states.resize(seeds);
        self.good.set_len(seeds);
        self.order.set_len(seeds);
        self.hits.iter_mut().for_each(|column| column.set_len(seeds));
    }

    /// Copies the seeds of `range` from `other`.
    pub fn take(&mut self, other: &Self, range: Range<usize>) {
        self.states.take(&other.states, range.clone());
        self.good[range.clone()].copy_from_slice(&other.good[range.clone()]);
        for (column, from) in self.hits.iter_mut().zip(&other.hits) {
            column[range.clone()].copy_from_slice(&from[range.clone()]);
        }
    }

    #[inline(always)]
    pub fn store<G: Gang>(&mut self, state: &CylinderState<G>, lane: usize) {
        self.states.store(state, lane);
    }

    #[inline(always)]
    fn gather<G: Gang>(&self, g: G, seed: U32<G>) -> CylinderState<G> {
        self.states.gather(g, seed, RADII[SEED_LAYERS])
    }

    #[inline(always)]
    fn is_good<G: Gang>(&self, seed: U32<G>) -> Mask<G> {
        U32::splat(seed.g, 0).lt(U32::gather(&self.good, seed))
    }

    /// Sorts the seeds by azimuth, with a counting sort.
    pub fn sort(&mut self) {
        const BINS: usize = 1024;
        let bin = |azimuth: f32| {
            let turns = azimuth * (1.0 / std::f32::consts::TAU) + 4.0;
            ((turns - turns.floor()) * BINS as f32) as usize % BINS
        };
        self.count.set_len(BINS);
        self.count.fill(0);
        self.states.azimuths().for_each(|azimuth| self.count[bin(azimuth)] += 1);
        let mut start = 0;
        for count in self.count.iter_mut() {
            (*count, start) = (start, start + *count);
        }
        for (seed, azimuth) in self.states.azimuths().enumerate() {
            let place = &mut self.count[bin(azimuth)];
            self.order[*place as usize] = seed as u32;
            *place += 1;
        }
    }
}

/// Adds hits of the sorted index, in the lanes that have one; all lanes cross the layer.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
fn take_hit<G: Gang>(
    g: G,
    config: &CylinderConfig,
    index: &Index,
    state: &mut CylinderState<G>,
    hit: U32<G>,
) {
    let record = F32::gather_records(index.hits.padded(), hit);
    take_record(g, state, record, is_hit(g, hit));
    if config.material > 0.0 {
        scatter(g, state, config.material);
    }
}

/// Adds hits (azimuth, z, their variances) to states at the hits' radius, in the lanes that have one.
#[inline(always)]
pub(crate) fn take_record<G: Gang>(
    g: G,
    state: &mut CylinderState<G>,
    [phi, z, var_phi, var_z]: [F32<G>; 4],
    has: Mask<G>,
) {
    let residual = [within_turn(g, phi - state.p[0]), z - state.p[1]];
    let v = Symmetric::diagonal(g, [var_phi, var_z]);
    update(g, &mut state.p, &mut state.c, residual, &v, has);
}

/// Input of the builders.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub config: &'a CylinderConfig,
    pub index: &'a Index,
    pub seeded: &'a Seeded,
}

/// Reused memory of the builders, and their results.
#[derive(Debug, Default)]
pub(super) struct Build {
    combinatorial: Combinatorial,
    /// The hit of each seed on each layer, a position in the sorted index, or `NO_HIT`.
    pub hits: [Column<u32>; CYLINDER_LAYERS],
}

impl Build {
    /// Reserves memory for the results, and writes the seeds' own hits to them.
    pub fn start(&mut self, seeded: &Seeded) {
        let seeds = seeded.good.len();
        self.hits.iter_mut().for_each(|column| column.set_len(seeds));
        for layer in 0..SEED_LAYERS {
            self.hits[layer].copy_from_slice(&seeded.hits[layer]);
        }
    }

    /// Builds tracks from the seeds `seeded.order[range]`; `range` begins at the start of a chunk.
    #[inline(always)]
    pub fn run<G: Gang>(
        &mut self,
        g: G,
        from: &Inputs<'_>,
        range: Range<usize>,
        counters: &mut Counters,
        stage: usize,
    ) {
        let stage_counter = &mut counters.stages[stage];
        match from.config.builder {
            Builder::BestHit => best_hit::build(g, from, range, &mut self.hits, stage_counter),
            Builder::Standard | Builder::CloneEngine => {
                let lost = self.combinatorial.build(g, from, range, &mut self.hits, stage_counter);
                counters.count_truncated(Truncation::CandidatesInWindow, lost);
            }
        }
    }

    /// Copies the hits of the seeds `seeded.order[range]` from `other`.
    pub fn take(&mut self, other: &Self, seeded: &Seeded, range: Range<usize>) {
        for layer in SEED_LAYERS..CYLINDER_LAYERS {
            for &seed in &seeded.order[range.clone()] {
                self.hits[layer][seed as usize] = other.hits[layer][seed as usize];
            }
        }
    }
}
