//! Runs the rooms over a range of events, on the gang of a level.

use super::config::{FitConfig, LimitConfig, Preset, VeloConfig};
use super::index::Index;
use super::scratch::{Found, GROUP, VeloWorkspace};
use super::{find, fit, forwarding, paper};
use crate::Status;
use crate::event::{Column, Counters, StageClock, VeloEvent, VeloEvents, VeloTracks};
use crate::simd::{Gang, Level};
use std::ops::Range;

/// Stages of this detector, as [`Counters::stages`] counts them.
pub const STAGES: [&str; 4] = ["decode", "sort", "find", "fit"];

const SORT: usize = 1;
const FIT: usize = 3;

/// Reconstructs the events of `range` and appends them to `out`, in order. An event that cannot be
/// reconstructed gives no tracks and a [`Status`]; everything dropped is in `counters`.
///
/// Output bytes do not depend on `level`, nor on how events are cut into ranges. Memory is allocated only
/// while `workspace` and `out` still grow.
///
/// # Panics
/// When `range` is not within the events.
pub fn reconstruct(
    level: Level,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut VeloTracks,
    counters: &mut Counters,
) {
    crate::dispatch!(level, g => run(g, config, events, range, workspace, out, counters));
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut VeloTracks,
    counters: &mut Counters,
) {
    let mut clock = StageClock::start();
    // Only `best` has a search that rides through several events at once.
    let events_at_once = if config.preset == Preset::Best { GROUP } else { 1 };
    for first in range.clone().step_by(events_at_once) {
        let group = first..range.end.min(first + events_at_once);
        run_group(g, config, events, group, workspace, out, counters, &mut clock);
    }
}

/// Runs a group of events through all rooms.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn run_group<G: Gang>(
    g: G,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    numbers: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut VeloTracks,
    counters: &mut Counters,
    clock: &mut StageClock,
) {
    let VeloWorkspace { index, keys, ranks, find: scratch, paper, forwarding, path, found, group, taken } =
        workspace;
    let limits = &config.limits;
    index[0].clear();
    for (entry, number) in group.iter_mut().zip(numbers.clone()) {
        let event = events.event(number);
        let place = index[0].events();
        // Each room is a function of its own, see `find`.
        let status = match config.preset {
            Preset::Best => sort_room(g, &mut index[0], &event, limits, keys, ranks),
            Preset::Paper => paper::sort(g, &event, limits, &mut index[0], paper, [keys, ranks]),
            Preset::Forwarding => forwarding::sort(&event, limits, &mut index[0], forwarding, ranks),
        };
        *entry = (status, place);
        counters.stages[SORT].items_in += event.len() as u64;
    }
    clock.lap(&mut counters.stages[SORT]);

    let limit = limits.candidates_in_window;
    let live = group[..numbers.len()].iter().filter(|(status, _)| *status == Status::Ok).count();
    // Tracks with more than this share of their hits on others are clones: the other presets keep all tracks.
    let mut shared_hits = 1.0;
    match (config.preset, &mut found[..live]) {
        (Preset::Best, found) => {
            find::find(g, &config.best, limit, index, scratch, found, counters);
            shared_hits = config.best.shared_hits;
        }
        (Preset::Paper, [found]) => {
            paper::find(g, &config.paper, limit, &mut index[0], paper, found, counters)
        }
        (Preset::Forwarding, [found]) => {
            forwarding::find(&config.forwarding, limit, &mut index[0], forwarding, found, counters);
        }
        _ => {}
    }
    taken.set_len(index[0].hits.len());
    taken.fill(0);
    for found in &mut found[..live] {
        find::order_and_kill_clones(shared_hits, taken, found);
        counters.stages[find::STAGE].items_out += found.order.len() as u64;
    }
    counters.stages[find::STAGE].items_in += index[0].hits.len() as u64;
    clock.lap(&mut counters.stages[find::STAGE]);

    for (&(status, place), number) in group.iter().zip(numbers) {
        if status == Status::Ok {
            let found = &found[place];
            fit_room(g, &config.fit, &events.event(number), &index[0], found, path, out);
            counters.stages[FIT].items_in += found.order.len() as u64;
            counters.stages[FIT].items_out += found.order.len() as u64;
        } else {
            out.track_start.push(out.tracks() as u32);
        }
        out.status.push(status);
        counters.count_event(status);
    }
    clock.lap(&mut counters.stages[FIT]);
}

#[inline(never)]
fn sort_room<G: Gang>(
    g: G,
    index: &mut Index,
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    keys: &mut Column<u32>,
    ranks: &mut Column<u32>,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || index.sort(g, event, limits, keys, ranks),
    )
}

#[inline(never)]
fn fit_room<G: Gang>(
    g: G,
    config: &FitConfig,
    event: &VeloEvent<'_>,
    index: &Index,
    found: &Found,
    path: &mut Column<f32>,
    out: &mut VeloTracks,
) {
    g.vectorize(
        #[inline(always)]
        || fit::fit(g, config, event, index, found, path, out),
    );
}
