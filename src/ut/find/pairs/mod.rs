//! Search by pairs, for the choice `line`: each step is a loop over all tracks, hits or pairs of an event.
//!
//! ```text
//!   Velo track ------------- - - x - - - x - - - - - - x - - - x -     extended straight on
//!                      z =  plane 0      1             2       3
//!                                o-------o-------------o-------o       the nearest hits in planes 1 and 3 to the line of a
//!                               A                      C               pair, A in plane 0 and C in plane 2
//! ```
//! 1. `spans` finds, in each plane, the range of hits whose cells a track's window touches; one track per lane.
//! 2. `windows` lists those hits of the ranges that are inside the windows; one hit per lane.
//! 3. `join` forms pairs of hits in planes 0 and 2 whose line has a slope that the cuts on momentum allow and meets the
//!    Velo track at the kink, and adds the nearest hits in the other planes; one pair per lane. If no tracklet of a
//!    track has four hits, `join` also tries pairs in planes 3 and 1.
//! 4. `costs` computes the cost of each tracklet; one tracklet per lane, of any track.
//! 5. `choose` selects the tracklet of lowest cost for each track, and assigns each hit to the best track with the hit.
//! 6. `find/fit.rs` fits the chosen tracklets; one tracklet per lane.
//!
//! Hits are sorted by cell ([`UtCellHits`]), so that the search does not sort and reads ranges in whole registers.
//! Tracklets contain indices into the list of the hits in all windows. Index 0 is a missing hit with weight 0, so that
//! tracklets need no flags.

mod choose;
mod costs;
mod join;
mod spans;
mod windows;

use super::tracklets::Tracklet;
use super::{Beside, Line, SLOPE, Search, TRACKLETS, WINDOWS, fit, output, select};
use crate::event::{Column, Outcome, StageClock, Truncation, UT_PLANES, UtCellHits, VeloUtTracks};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, inlined};
use spans::Spans;
use windows::Windows;

/// Largest number of tracklets of one event; further tracks get no tracklets, and are counted.
const MOST_TRACKLETS: usize = 1 << 15;

/// Reused memory of one thread.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    selected: Selected,
    spans: Spans,
    windows: Windows,
    tracklets: Tracklets,
    chosen: Chosen,
    /// Cost of the cheapest track with each hit of the event; the last entry stands for no hit.
    cheapest: Column<f32>,
}

/// The chosen tracklets, in the order of their tracks.
#[derive(Debug, Default)]
struct Chosen {
    number: Column<u32>,
    /// Hits of the tracklets by plane, as numbers in the event; the event's number of hits stands for no hit.
    hit: Column<[u32; UT_PLANES]>,
}

/// The tracks of an event that may have hits in the UT.
#[derive(Debug, Default)]
struct Selected {
    /// Number of each track in the event.
    number: Column<u32>,
    /// x, y, tx, ty at the end of the Velo.
    line: Column<[f32; 4]>,
}

/// Hits of three or four planes that may belong to one particle.
#[derive(Debug, Default)]
struct Tracklets {
    /// Number of the selected track.
    row: Column<u32>,
    /// Indices of the hits in the list of all windows, by plane; 0 is no hit.
    places: [Column<u32>; UT_PLANES],
    cost: Column<f32>,
    /// Slope of the line through the hits alone.
    slope: Column<f32>,
    /// First tracklet of each row of the windows, and the number of all tracklets.
    start: Column<u32>,
}

/// Finds the hits in the UT of the Velo tracks of all events, see [`find`](super::find).
#[inline(always)]
pub(super) fn run<G: Gang>(
    g: G,
    search: &Search<'_>,
    hits: &UtCellHits,
    workspace: &mut Workspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    let mut clock = StageClock::start();
    for event in 0..search.velo.events() {
        let status = search.velo.status[event].and(hits.status[event]);
        if status.is_reconstructed() {
            find_windows(g, search, (hits, event), workspace, out);
            clock.lap(&mut out.counters.stages[WINDOWS]);
            find_tracklets(g, search, (hits, event), workspace, out);
            fit_tracklets(g, search, (hits, event), workspace, out);
        } else {
            out.results.track_start.push(out.results.tracks() as u32);
        }
        out.results.status.push(status);
        out.counters.count_event(status);
        clock.lap(&mut out.counters.stages[TRACKLETS]);
    }
}

#[inline(never)]
fn find_windows<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, event): (&UtCellHits, usize),
    workspace: &mut Workspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let Workspace { selected: Selected { number, line }, spans, windows, .. } = workspace;
            let counters = &mut out.counters;
            select::select(g, search.velo, event, number, line);
            spans::spans(g, search, hits.cells_of(event), line, spans);
            let lost =
                windows::windows(g, search, (hits, line, spans), windows, &mut counters.stages[WINDOWS]);
            counters.count_truncated(Truncation::CandidatesInWindow, lost);
            counters.stages[WINDOWS].items_in += number.len() as u64;
            counters.stages[WINDOWS].items_out += windows.rows.len() as u64;
        },
    );
}

#[inline(never)]
fn find_tracklets<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, event): (&UtCellHits, usize),
    workspace: &mut Workspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let Workspace { selected, spans, windows, tracklets, .. } = workspace;
            let counters = &mut out.counters;
            counters.stages[TRACKLETS].items_in += windows.rows.len() as u64;
            let lost = join::join(g, search, (spans, windows), tracklets, &mut counters.stages[TRACKLETS]);
            counters.count_truncated(Truncation::CandidatesInWindow, lost);
            costs::costs(g, search, (hits, selected, spans, windows), tracklets);
            choose::choose(g, &search.config.line, hits.of_event(event), workspace);
        },
    );
}

#[inline(never)]
fn fit_tracklets<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, event): (&UtCellHits, usize),
    workspace: &mut Workspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let Workspace { selected, spans, windows, tracklets, chosen, .. } = workspace;
            let out_tracks = &mut out.results;
            let before = out_tracks.tracks();
            let (first, none) = (hits.of_event(event).start, hits.of_event(event).len());
            let ids_of = &hits.id[first..];
            let mut ids = inlined!(|at: usize, out: &mut [u32]| {
                let mut count = 0;
                for number in chosen.hit[at] {
                    // An entry for no hit is overwritten by the next hit.
                    out[count] = ids_of.get(number as usize).copied().unwrap_or(0);
                    count += usize::from((number as usize) < none);
                }
                count
            });
            for at in (0..chosen.number.len()).step_by(G::LANES) {
                let lanes = Mask::first(g, chosen.number.len() - at);
                let number = lanes.select_u(U32::load(g, &chosen.number.padded()[at..]), U32::splat(g, 0));
                let [first, second, third, fourth] =
                    tracklets.places.each_ref().map(|places| places.padded());
                let columns = [tracklets.row.padded(), first, second, third, fourth];
                let [row, first, second, third, fourth] = U32::gather_columns(columns, number);
                let places = [first, second, third, fourth];
                let tracklet = windows.tracklet(g, hits, places);
                let slope = F32::gather(tracklets.slope.padded(), number);
                let track = spans.track(g, search, selected, row);
                let fitted = track.fit_line(g, search, &tracklet, slope);
                let good = lanes & fit::is_sane(g, &fitted);
                let number = U32::gather(&selected.number, row);
                let fitted = output::Fitted { at, number, good, ..fitted };
                output::append(g, search, event, &fitted, &mut ids, out_tracks);
            }
            out_tracks.track_start.push(out_tracks.tracks() as u32);
            out.counters.stages[TRACKLETS].items_out += (out.results.tracks() - before) as u64;
        },
    );
}

impl Windows {
    /// Returns the tracklets of the hits at the indices `places`, one per lane.
    #[inline(always)]
    fn tracklet<G: Gang>(&self, g: G, hits: &UtCellHits, places: [U32<G>; UT_PLANES]) -> Tracklet<G> {
        let zero = F32::splat(g, 0.0);
        let has: [_; UT_PLANES] = array_of!(plane => U32::splat(g, 0).lt(places[plane]));
        let found: [_; UT_PLANES] = array_of!(plane => {
            let columns = [self.d.padded(), self.z.padded(), bytemuck::cast_slice(self.hit.padded())];
            let [d, z, hit] = F32::gather_columns(columns, places[plane]);
            let weight = F32::gather(&hits.weight, hit.to_bits());
            (Beside { d, z }, has[plane].select_f(weight, zero))
        });
        Tracklet {
            hits: array_of!(plane => found[plane].0),
            slope: array_of!(plane => F32::splat(g, SLOPE[plane])),
            weight: array_of!(plane => found[plane].1),
            four: has[0] & has[1] & has[2] & has[3],
        }
    }
}

impl Spans {
    /// Returns the values of tracks for the fit.
    #[inline(always)]
    fn track<G: Gang>(&self, g: G, search: &Search<'_>, selected: &Selected, row: U32<G>) -> fit::Track<G> {
        let line = Line::gather(g, selected.line.padded(), row, search.layout.velo_z);
        fit::Track::with(g, line, F32::gather(&self.per_kick, row))
    }
}
