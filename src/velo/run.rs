//! Runs the rooms over a range of events, on the gang of a level.

use super::config::VeloConfig;
use super::scratch::VeloWorkspace;
use super::{find, fit};
use crate::Status;
use crate::event::{Counters, StageClock, VeloEvent, VeloEvents, VeloTracks};
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
    for event in range {
        let event = events.event(event);
        let status = run_event(g, config, &event, workspace, out, counters, &mut clock);
        if status != Status::Ok {
            out.track_start.push(out.tracks() as u32);
        }
        out.status.push(status);
        counters.count_event(status);
    }
}

#[inline(always)]
fn run_event<G: Gang>(
    g: G,
    config: &VeloConfig,
    event: &VeloEvent<'_>,
    workspace: &mut VeloWorkspace,
    out: &mut VeloTracks,
    counters: &mut Counters,
    clock: &mut StageClock,
) -> Status {
    let VeloWorkspace { index, keys, ranks, find: scratch, found } = workspace;
    let status = index[0].sort(g, event, &config.limits, keys, ranks);
    counters.stages[SORT].items_in += event.len() as u64;
    clock.lap(&mut counters.stages[SORT]);
    if status != Status::Ok {
        return status;
    }
    let limit = config.limits.candidates_in_window;
    find::find(g, &config.best, limit, index, scratch, found, counters);
    find::order_and_kill_clones(config.best.shared_hits, event.len(), found);
    counters.stages[find::STAGE].items_in += event.len() as u64;
    counters.stages[find::STAGE].items_out += found.order.len() as u64;
    clock.lap(&mut counters.stages[find::STAGE]);
    fit::fit(g, &config.fit, event, &index[0], found, out);
    counters.stages[FIT].items_in += found.order.len() as u64;
    counters.stages[FIT].items_out += found.order.len() as u64;
    clock.lap(&mut counters.stages[FIT]);
    Status::Ok
}
