//! Fit of given tracks: from hit lists to a smoothed state at each hit. `lists` packs the hits of tracks, `kernel` filters
//! outwards and smooths on the way back, one lane per track.

mod kernel;
mod lists;
mod sequence;

use super::config::CylinderConfig;
use super::seeds::EventParticles;
use crate::Status;
use crate::event::{CylinderEvent, CylinderFits, CylinderInput, Outcome, StageClock};
use crate::simd::{Gang, Level};
use kernel::Scratch;
use lists::Lists;
use std::ops::Range;

pub use sequence::{CYLINDER_FITS, CylinderFit};

pub(super) const PACK: usize = 0;
pub(super) const FIT: usize = 1;

/// Memory that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct CylinderFitWorkspace {
    lists: Lists,
    scratch: Scratch,
}

/// Fits the tracks of the events of `range` and appends the fits to `out`, in order. `input.seeds` gives the tracks by
/// their hits on each layer; its states at the vertex are ignored. A track of fewer than three hits, or with a hit
/// without valid coordinates and errors, has a [`FitStatus`](crate::kalman::FitStatus) other than `Ok`, and undefined
/// states. An event gets no tracks and the status [`Status::Corrupt`] when one of its tracks names a hit that is
/// not on its layer.
///
/// Output bytes do not depend on `level`, nor on how events are cut into ranges.
///
/// # Panics
/// When `range` is not within the events, or `level` is not a usual one ([`Level::is_usual`]).
pub fn fit_tracks(
    level: Level,
    config: &CylinderConfig,
    input: CylinderInput<'_>,
    range: Range<usize>,
    workspace: &mut CylinderFitWorkspace,
    out: &mut Outcome<CylinderFits>,
) {
    crate::simd::kernels!(dispatch_usual!(level, g => run(g, config, input, range, workspace, out)));
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    config: &CylinderConfig,
    input: CylinderInput<'_>,
    range: Range<usize>,
    workspace: &mut CylinderFitWorkspace,
    out: &mut Outcome<CylinderFits>,
) {
    let mut clock = StageClock::start();
    let CylinderFitWorkspace { lists, scratch } = workspace;
    for number in range {
        let Outcome { results, counters } = &mut *out;
        let event = input.hits.event(number);
        let tracks = EventParticles::new(input.seeds, number);
        counters.stages[PACK].items_in += tracks.range.len() as u64;
        let status = lists.pack(&event, &tracks, results);
        clock.lap(&mut counters.stages[PACK]);
        if status == Status::Ok {
            counters.stages[PACK].items_out += lists.tracks() as u64;
            counters.stages[FIT].items_in += lists.tracks() as u64;
            fit_room(g, config, &event, lists, scratch, results);
            counters.stages[FIT].items_out += lists.tracks() as u64;
        }
        results.track_start.push(results.tracks() as u32);
        results.status.push(status);
        counters.count_event(status);
        clock.lap(&mut counters.stages[FIT]);
    }
}

#[inline(never)]
fn fit_room<G: Gang>(
    g: G,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    lists: &Lists,
    scratch: &mut Scratch,
    out: &mut CylinderFits,
) {
    g.vectorize(
        #[inline(always)]
        || kernel::fit(g, config, event, lists, scratch, out),
    );
}
