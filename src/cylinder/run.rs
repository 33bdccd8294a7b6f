//! Runs the stages over a range of events, on the gang of a level.

use super::build::{Build, Inputs, Seeded};
use super::config::{CylinderConfig, SeedSource};
use super::fit::{self, Fit, Fitted, Tracks};
use super::hit::Follow;
use super::index::Index;
use super::seeds::{EventParticles, FromVertices};
use super::threads::{Seeding, Threads};
use super::triplets::Triplets;
use crate::Status;
use crate::event::{
    CYLINDER_LAYERS, Column, CylinderEvent, CylinderInput, CylinderTracks, NO_HIT, Outcome, StageClock,
    Truncation,
};
use crate::simd::{Gang, Level, inlined, kernels, with_default_float_mode};
use std::ops::Range;

const BIN: usize = 0;
const SEED: usize = 1;
const BUILD: usize = 2;
const FIT: usize = 3;

/// Memory that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct CylinderWorkspace {
    index: Index,
    seeded: Seeded,
    build: Build,
    threads: Threads,
    tracks: Tracks,
    triplets: Triplets,
    /// Tracks of seeds from hits, before the choice among tracks that share hits.
    candidates: CylinderTracks,
    order: Vec<u32>,
    used: Column<u32>,
}

/// Reconstructs the events of `range` and appends them to `out`, in order. An event that cannot be reconstructed gets
/// no tracks, and a [`Status`] with the reason; everything dropped is counted. Each seed from truth gives one track, in
/// the order of the seeds; each seed from hits gives one track or none, and the best tracks come first.
///
/// Output bytes do not depend on `level`, nor on how events are cut into ranges.
///
/// # Panics
/// When `range` is not within the events.
pub fn reconstruct(
    level: Level,
    config: &CylinderConfig,
    input: CylinderInput<'_>,
    range: Range<usize>,
    workspace: &mut CylinderWorkspace,
    out: &mut Outcome<CylinderTracks>,
) {
    with_default_float_mode(|| run(level, config, input, range, workspace, out));
}

fn run(
    level: Level,
    config: &CylinderConfig,
    input: CylinderInput<'_>,
    range: Range<usize>,
    workspace: &mut CylinderWorkspace,
    out: &mut Outcome<CylinderTracks>,
) {
    let mut clock = StageClock::start();
    for number in range {
        let Outcome { results, counters } = &mut *out;
        let event = input.hits.event(number);
        let status = workspace.threads.bin(level, config, &event, &mut workspace.index);
        counters.stages[BIN].items_in += event.len() as u64;
        clock.lap(&mut counters.stages[BIN]);
        if status == Status::Ok {
            match config.seeds {
                SeedSource::Truth => {
                    let CylinderWorkspace { index, seeded, build, threads, tracks, .. } = workspace;
                    let seeds = EventParticles::new(input.seeds, number);
                    threads.seed(level, &Seeding { config, event: &event, index, seeds }, seeded);
                    counters.stages[SEED].items_out += seeded.good.len() as u64;
                    clock.lap(&mut counters.stages[SEED]);
                    threads.build(level, &Inputs { config, index, seeded }, build, counters, BUILD);
                    counters.stages[BUILD].items_in += seeded.good.len() as u64;
                    clock.lap(&mut counters.stages[BUILD]);
                    tracks.clear();
                    collect(index, build, 0, 0, tracks, results);
                    threads.fit(level, Fit { config, index, tracks }, results);
                }
                SeedSource::Hits => from_hits(level, config, workspace, out, &mut clock),
            }
            out.counters.stages[FIT].items_in += workspace.tracks.len() as u64;
        }
        let Outcome { results, counters } = &mut *out;
        results.track_start.push(results.tracks() as u32);
        results.status.push(status);
        counters.count_event(status);
        clock.lap(&mut counters.stages[FIT]);
    }
}

/// Reconstructs seeds from hits, block by block. Of tracks that share hits the better ones are kept, with more hits or else
/// smaller chi2.
fn from_hits(
    level: Level,
    config: &CylinderConfig,
    workspace: &mut CylinderWorkspace,
    out: &mut Outcome<CylinderTracks>,
    clock: &mut StageClock,
) {
    let Outcome { results, counters } = out;
    let CylinderWorkspace { index, seeded, build, threads, tracks, triplets, candidates, order, used } =
        workspace;
    triplets.start(index);
    tracks.clear();
    candidates.clear();
    let mut seeds = 0;
    while triplet_room(level, config, index, triplets, seeded) {
        counters.stages[SEED].items_out += seeded.good.len() as u64;
        clock.lap(&mut counters.stages[SEED]);
        threads.build(level, &Inputs { config, index, seeded }, build, counters, BUILD);
        counters.stages[BUILD].items_in += seeded.good.len() as u64;
        collect(index, build, seeds, config.seeding.min_hits as usize, tracks, candidates);
        seeds += seeded.good.len();
        clock.lap(&mut counters.stages[BUILD]);
    }
    counters.count_truncated(Truncation::CandidatesInWindow, triplets.take_cut_off());
    clock.lap(&mut counters.stages[SEED]);
    threads.fit(level, Fit { config, index, tracks }, candidates);
    order.clear();
    order.extend(0..candidates.tracks() as u32);
    let rank = |track: &u32| {
        let track = *track as usize;
        let missed = CYLINDER_LAYERS - candidates.hits_of(track).len();
        // chi2 is not negative, so that its bits have the order of its values. A track whose fit failed is kept if no
        // better track has its hits.
        (candidates.fit[track] != 0, missed, candidates.chi2[track].max(0.0).to_bits(), track)
    };
    order.sort_unstable_by_key(rank);
    used.set_len(index.source.len());
    used.fill(0);
    for &track in order.iter() {
        let hits = candidates.hits_of(track as usize);
        let shared: u32 = hits.iter().map(|hit| used[*hit as usize]).sum();
        if shared <= config.seeding.max_shared_hits {
            hits.iter().for_each(|hit| used[*hit as usize] = 1);
            results.push_from(candidates, track as usize);
        }
    }
}

/// Appends the hit lists of the built seeds with at least `min_hits` hits to `out`, and by layer to `tracks` for the
/// fit. `first` seeds came before these.
fn collect(
    index: &Index,
    build: &Build,
    first: usize,
    min_hits: usize,
    tracks: &mut Tracks,
    out: &mut CylinderTracks,
) {
    let seeds = build.hits[0].len();
    // Columns have room for all seeds first, which avoids a second pass, and are shortened at the end.
    let (mut kept, mut hits) = (tracks.len(), out.hits.len());
    let mut row = out.seed.len();
    tracks.hits.iter_mut().for_each(|column| column.set_len(kept + seeds));
    out.hits.set_len(hits + CYLINDER_LAYERS * seeds);
    out.seed.set_len(row + seeds);
    out.hit_start.set_len(row + seeds + 1);
    for seed in 0..seeds {
        let places: [u32; CYLINDER_LAYERS] = std::array::from_fn(|layer| build.hits[layer][seed]);
        if places.iter().filter(|place| **place != NO_HIT).count() < min_hits {
            continue;
        }
        for (layer, place) in places.into_iter().enumerate() {
            tracks.hits[layer][kept] = place;
            if place != NO_HIT {
                out.hits[hits] = index.source[place as usize];
                hits += 1;
            }
        }
        (kept, row) = (kept + 1, row + 1);
        out.seed[row - 1] = (first + seed) as u32;
        out.hit_start[row] = hits as u32;
    }
    tracks.hits.iter_mut().for_each(|column| column.set_len(kept));
    out.hits.set_len(hits);
    out.seed.set_len(row);
    out.hit_start.set_len(row + 1);
}

fn triplet_room(
    level: Level,
    config: &CylinderConfig,
    index: &Index,
    triplets: &mut Triplets,
    seeded: &mut Seeded,
) -> bool {
    kernels!(dispatch_isa!(level, g => triplets.next_block(g, config, index, seeded)))
}

/// Fits all hits of given particles outwards, from their true vertices with the covariance of the configuration
/// (`docs/algorithms.md`, "Cylinder: seeds from truth"), and appends the states at the last hits to `out`. The function
/// reads the columns of the events, without an index.
///
/// # Panics
/// When `range` is not within the events.
pub fn fit_particles(
    level: Level,
    config: &CylinderConfig,
    input: CylinderInput<'_>,
    range: Range<usize>,
    out: &mut CylinderTracks,
) {
    kernels!(dispatch!(level, g => fit_events(g, config, input, range, out)));
}

#[inline(always)]
fn fit_events<G: Gang>(
    g: G,
    config: &CylinderConfig,
    input: CylinderInput<'_>,
    range: Range<usize>,
    out: &mut CylinderTracks,
) {
    for number in range {
        let event = input.hits.event(number);
        let particles = EventParticles::new(input.seeds, number);
        let base = out.fit.len();
        fit::make_room(out, particles.range.len());
        fit_from_vertex(g, config, &event, particles, base, out);
        out.status.push(event.status);
    }
}

#[inline(always)]
fn fit_from_vertex<G: Gang>(
    g: G,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    particles: EventParticles<'_>,
    base: usize,
    out: &mut CylinderTracks,
) {
    let EventParticles { all: seeds, range, .. } = particles;
    let (first, end) = (range.start, range.end);
    let filters = FromVertices { config, event, seeds, layers: CYLINDER_LAYERS };
    filters.each(
        g,
        range,
        inlined!(|particle: usize, follow: Follow<G>| {
            let to = base + particle - first..base + end.min(particle + G::LANES) - first;
            fit::store(g, &Fitted::new(g, &follow), out, to);
        }),
    );
}
