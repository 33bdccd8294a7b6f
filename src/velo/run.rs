//! Runs the stages of the Velo reconstruction over a range of events, on the gang of a level.

use super::config::{FitConfig, LimitConfig, Preset, VeloConfig};
use super::fit::SortedHits;
use super::found::{Found, HITS_AT, ROW};
use super::index::{EVENTS, Index, SortScratch};
use super::scratch::VeloWorkspace;
use super::{find, fit, forwarding, link, paper};
use crate::event::{Column, Outcome, StageClock, VeloEvent, VeloEvents, VeloTracks};
use crate::simd::{Gang, Level};
use crate::{Error, Result, Status};
use std::ops::Range;

/// Largest number of hits of a track.
const MAX_HITS: usize = ROW - HITS_AT;

const SORT: usize = 1;
const FIT: usize = 3;

/// Reconstructs the events of `range` and appends them to `out`, in order. An event that cannot be reconstructed has no
/// tracks, and its [`Status`] gives the reason; dropped hits and candidates are counted.
///
/// Output bytes do not depend on `level`, nor on how the events are split into ranges. Memory is allocated only until
/// `workspace` and `out` are large enough.
///
/// # Panics
/// Panics if `range` is not within the events.
pub fn reconstruct(
    level: Level,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut Outcome<VeloTracks>,
) {
    crate::simd::kernels!(dispatch_gathers!(level, g => run(g, config, events, range, workspace, out)));
}

/// Fits tracks that another program found, and appends them to `out` as one event. A track is given by the positions of
/// its hits, mm, from the largest z down. The identifier of a hit is its number among all given hits.
///
/// # Errors
/// Returns [`Error::Config`](crate::Error::Config) with the number of the first track that has no hits or too many hits
/// (the message gives the limit).
pub fn fit_tracks<Hits: AsRef<[[f32; 3]]>>(
    level: Level,
    config: &FitConfig,
    tracks: &[Hits],
    out: &mut VeloTracks,
) -> Result<()> {
    let (mut found, mut hits) = (Found::default(), Column::<[f32; 4]>::default());
    found.reserve(tracks.len());
    for (number, track) in tracks.iter().enumerate() {
        let track = track.as_ref();
        if track.is_empty() || track.len() > MAX_HITS {
            let wrong = format!("track {number} has {} hits: 1 to {MAX_HITS} can be fitted", track.len());
            return Err(Error::Config(wrong));
        }
        let row = number as u32;
        for (number_on_track, &[x, y, z]) in track.iter().enumerate() {
            let hit = hits.len() as u32;
            if number_on_track == 0 {
                found.push(&[hit], 0.0);
            } else {
                found.extend(row, hit);
            }
            hits.push([x, y, z, 0.0]);
        }
        found.order.push(row);
    }
    let ids: Column<u32> = (0..hits.len() as u32).collect();
    let mut path = Column::default();
    let sorted = SortedHits { hits: hits.padded(), ids: ids.padded() };
    crate::simd::kernels!(dispatch!(level, g => fit_room(g, config, sorted, &found, &mut path, out)));
    out.track_start.push(out.tracks() as u32);
    out.status.push(Status::Ok);
    Ok(())
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut Outcome<VeloTracks>,
) {
    match config.preset {
        Preset::Best | Preset::TwoPass => {
            let mut first = range.start;
            while first < range.end {
                let end = range.end.min(first + EVENTS);
                run_best(g, config, events, first..end, workspace, out);
                first = end;
            }
        }
        Preset::Fast => run_link(g, config, events, range, workspace, out),
        Preset::Paper | Preset::PaperLiteral | Preset::Forwarding => {
            run_others(g, config, events, range, workspace, out);
        }
    }
}

/// Runs the preset `best` over up to two events side by side.
#[inline(always)]
fn run_best<G: Gang>(
    g: G,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut Outcome<VeloTracks>,
) {
    let Outcome { results, counters } = out;
    let VeloWorkspace { index, sort, find: scratch, path, found, taken, .. } = workspace;
    let (limits, max) = (&config.limits, config.limits.candidates_in_window);
    let mut clock = StageClock::start();
    // Events beyond the limit are refused, and need no memory.
    let admitted = |number| events.event(number).len().min(limits.hits as usize);
    index[0].open(range.clone().map(admitted).sum(), max);
    let mut sorted = 0;
    // Each stage is a function of its own, see `find`.
    for (slot, number) in range.clone().enumerate() {
        let event = events.event(number);
        let status = sort_room(g, slot, &mut index[0], &event, limits, sort);
        results.status.push(status);
        counters.count_event(status);
        counters.stages[SORT].items_in += event.len() as u64;
        sorted += if status == Status::Ok { event.len() as u64 } else { 0 };
    }
    if range.len() == 1 {
        index[0].no_hits(1);
    }
    clock.lap(&mut counters.stages[SORT]);

    find::find(g, &config.best, max, index, scratch, found).add_to(counters);
    let (hits, ids) = (&index[0].hits, &index[0].source);
    taken.set_len(hits.len());
    find::order_and_kill_clones(config.best.shared_hits, taken, found);
    let of_first = found.part_events();
    counters.stages[find::STAGE].items_in += sorted;
    counters.stages[find::STAGE].items_out += found.order.len() as u64;
    clock.lap(&mut counters.stages[find::STAGE]);

    let base = results.tracks();
    let sorted = SortedHits { hits: hits.padded(), ids: ids.padded() };
    fit_room(g, &config.fit, sorted, found, path, results);
    for end in &[of_first, found.order.len()][..range.len()] {
        results.track_start.push((base + end) as u32);
    }
    counters.stages[FIT].items_in += found.order.len() as u64;
    counters.stages[FIT].items_out += found.order.len() as u64;
    clock.lap(&mut counters.stages[FIT]);
}

/// Runs the preset `fast` event by event.
#[inline(always)]
fn run_link<G: Gang>(
    g: G,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut Outcome<VeloTracks>,
) {
    let Outcome { results, counters } = out;
    let VeloWorkspace { link: scratch, path, found, .. } = workspace;
    let (limits, max) = (&config.limits, config.limits.candidates_in_window);
    let mut clock = StageClock::start();
    for number in range {
        let event = events.event(number);
        let status = link::sort(g, &event, limits, scratch);
        results.status.push(status);
        counters.count_event(status);
        counters.stages[SORT].items_in += event.len() as u64;
        clock.lap(&mut counters.stages[SORT]);
        if status == Status::Ok {
            link::find(g, &config.link, max, scratch, found).add_to(counters);
            find::order(found);
            counters.stages[find::STAGE].items_in += event.len() as u64;
            counters.stages[find::STAGE].items_out += found.order.len() as u64;
            clock.lap(&mut counters.stages[find::STAGE]);

            let hits = &scratch.hits;
            let sorted = SortedHits { hits: hits.records.padded(), ids: hits.source.padded() };
            fit_room(g, &config.fit, sorted, found, path, results);
            counters.stages[FIT].items_in += found.order.len() as u64;
            counters.stages[FIT].items_out += found.order.len() as u64;
        }
        results.track_start.push(results.tracks() as u32);
        clock.lap(&mut counters.stages[FIT]);
    }
}

/// Runs the presets `paper` and `forwarding` event by event.
#[inline(always)]
fn run_others<G: Gang>(
    g: G,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    workspace: &mut VeloWorkspace,
    out: &mut Outcome<VeloTracks>,
) {
    let Outcome { results, counters } = out;
    let VeloWorkspace { sort, modules, paper, forwarding, path, found, taken, .. } = workspace;
    let (limits, max) = (&config.limits, config.limits.candidates_in_window);
    let is_forwarding = config.preset == Preset::Forwarding;
    let mut clock = StageClock::start();
    for number in range {
        let event = events.event(number);
        let status = if is_forwarding {
            forwarding::sort(&event, limits, modules, &mut sort.ranks)
        } else {
            paper::sort(g, &event, limits, modules, paper, [&mut sort.keys, &mut sort.ranks])
        };
        counters.stages[SORT].items_in += event.len() as u64;
        clock.lap(&mut counters.stages[SORT]);
        if status == Status::Ok {
            if is_forwarding {
                forwarding::find(&config.forwarding, max, modules, forwarding, found, counters);
            } else {
                let search = paper::Search { config: &config.paper, max_candidates: max };
                paper::find(g, &search, modules, paper, found, counters);
            }
            taken.set_len(modules.hits.len());
            // A track is a clone when more than this share of its hits is on longer tracks; with 1.0 no track is a
            // clone.
            find::order_and_kill_clones(1.0, taken, found);
            counters.stages[find::STAGE].items_in += event.len() as u64;
            counters.stages[find::STAGE].items_out += found.order.len() as u64;
            clock.lap(&mut counters.stages[find::STAGE]);

            let sorted = SortedHits { hits: modules.hits.padded(), ids: modules.id.padded() };
            fit_room(g, &config.fit, sorted, found, path, results);
            counters.stages[FIT].items_in += found.order.len() as u64;
            counters.stages[FIT].items_out += found.order.len() as u64;
        }
        results.track_start.push(results.tracks() as u32);
        results.status.push(status);
        counters.count_event(status);
        clock.lap(&mut counters.stages[FIT]);
    }
}

#[inline(never)]
fn sort_room<G: Gang>(
    g: G,
    slot: usize,
    index: &mut Index,
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    scratch: &mut SortScratch,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || index.sort(g, slot, event, limits, scratch),
    )
}

#[inline(never)]
fn fit_room<G: Gang>(
    g: G,
    config: &FitConfig,
    sorted: SortedHits<'_>,
    found: &Found,
    path: &mut Column<f32>,
    out: &mut VeloTracks,
) {
    g.vectorize(
        #[inline(always)]
        || fit::fit(g, config, sorted, found, path, out),
    );
}
