//! Runs the stages over a range of events, on the gang of a level.

use super::config::{FitConfig, LimitConfig, Preset, VeloConfig};
use super::fit::SortedHits;
use super::found::{Found, ROW};
use super::index::{Index, SortScratch};
use super::scratch::VeloWorkspace;
use super::{find, fit, forwarding, paper};
use crate::event::{Column, Outcome, StageClock, VeloEvent, VeloEvents, VeloTracks};
use crate::simd::{Gang, Level};
use crate::{Error, Result, Status};
use std::ops::Range;

/// Hits that a track may have, at most.
const MAX_HITS: usize = ROW - 3;

const SORT: usize = 1;
const FIT: usize = 3;

/// Reconstructs the events of `range` and appends them to `out`, in order. An event that cannot be
/// reconstructed gives no tracks and a [`Status`]; everything dropped is counted.
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
    out: &mut Outcome<VeloTracks>,
) {
    crate::simd::kernels!(dispatch!(level, g => run(g, config, events, range, workspace, out)));
}

/// Fits tracks that were found elsewhere, each the positions of its hits (mm) from the largest z down, and appends
/// them to `out` as one event. Hits are named by their number among all that are given.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) naming the first track without hits, or with more than one hit in each pair
/// of modules.
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
    let Outcome { results, counters } = out;
    let VeloWorkspace { index, sort, find: scratch, modules, paper, forwarding, path, found, taken } =
        workspace;
    let (limits, max) = (&config.limits, config.limits.candidates_in_window);
    let mut clock = StageClock::start();
    for number in range {
        let event = events.event(number);
        // Each stage is a function of its own, see `find`.
        let status = match config.preset {
            Preset::Best => sort_room(g, &mut index[0], &event, limits, sort),
            Preset::Paper | Preset::PaperLiteral => {
                paper::sort(g, &event, limits, modules, paper, [&mut sort.keys, &mut sort.ranks])
            }
            Preset::Forwarding => forwarding::sort(&event, limits, modules, &mut sort.ranks),
        };
        counters.stages[SORT].items_in += event.len() as u64;
        clock.lap(&mut counters.stages[SORT]);
        if status == Status::Ok {
            // A track is a clone when more than this share of its hits is on longer ones: of `best` alone.
            let mut shared_hits = 1.0;
            match config.preset {
                Preset::Best => {
                    find::find(g, &config.best, max, index, scratch, found).add_to(counters);
                    shared_hits = config.best.shared_hits;
                }
                Preset::Paper | Preset::PaperLiteral => {
                    let search = paper::Search { config: &config.paper, max_candidates: max };
                    paper::find(g, &search, modules, paper, found, counters);
                }
                Preset::Forwarding => {
                    forwarding::find(&config.forwarding, max, modules, forwarding, found, counters);
                }
            }
            let (hits, ids) = match config.preset {
                Preset::Best => (&index[0].hits, &index[0].source),
                _ => (&modules.hits, &modules.id),
            };
            taken.set_len(hits.len());
            find::order_and_kill_clones(shared_hits, taken, found);
            counters.stages[find::STAGE].items_in += event.len() as u64;
            counters.stages[find::STAGE].items_out += found.order.len() as u64;
            clock.lap(&mut counters.stages[find::STAGE]);

            let sorted = SortedHits { hits: hits.padded(), ids: ids.padded() };
            fit_room(g, &config.fit, sorted, found, path, results);
            counters.stages[FIT].items_in += found.order.len() as u64;
            counters.stages[FIT].items_out += found.order.len() as u64;
        } else {
            results.track_start.push(results.tracks() as u32);
        }
        results.status.push(status);
        counters.count_event(status);
        clock.lap(&mut counters.stages[FIT]);
    }
}

#[inline(never)]
fn sort_room<G: Gang>(
    g: G,
    index: &mut Index,
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    scratch: &mut SortScratch,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || index.sort(g, event, limits, scratch),
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
