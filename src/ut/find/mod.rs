//! Find: finds hits in the UT for Velo tracks, and determines the momentum of tracks with hits.
//!
//! ```text
//!   Velo track ------------- - - - - x - - - x - - - - - - x - - - x -    extended straight on
//!                    z = 770 mm       plane 0   1            2       3
//!                                        o       o           o        o   hits: at distance d from it
//! ```
//! There are two searches. The module `pairs` is the search for the choice `line`. The search for the choices `kick`
//! and `compass` has the structure of Compass UT (IEEE Access 7, 2019, 91612):
//! - `select` selects Velo tracks that fly forward and into the UT;
//! - `windows` finds the hits of each plane that a particle of the smallest momentum can reach; one track per lane;
//! - `doublets` finds pairs of hits in planes 0 and 2, then in planes 3 and 1; one track per lane;
//! - `complete` adds the nearest hits in the other two planes and makes a first fit; one doublet of any track per lane;
//! - `choose` chooses the best tracklet of each track;
//! - `fit` computes momentum, state and quality of the best tracklets; one tracklet per lane.
//!
//! All computations use distances from the extended Velo track, which are small although coordinates are large. Results
//! do not depend on the gang: lanes are independent, and choices among lanes follow the order of the tracks.

mod attach;
mod columns;
mod errors;
mod fit;
#[cfg(feature = "cuda")]
pub(crate) mod halves;
mod output;
mod pairs;
mod select;
pub(crate) mod tracklets;

pub(crate) use attach::{Attached, Bent};

use super::config::{UtChoice, UtConfig};
use super::layout::{MIDDLE, UtLayout};
use super::store::UtStore;
use crate::Status;
use crate::event::{
    Column, Outcome, StageClock, StageCounter, Truncation, UtBatch, UtCellHits, VeloTracks, VeloUtTracks,
};
use crate::simd::varying::Mask;
use crate::simd::{Gang, Level};
use columns::{DoubletColumns, TrackColumns};
use tracklets::{Beside, Line, NONE, SLOPE, SLOT_BITS, SLOTS, Tally, Tracklet};

/// Numbers of the stages: decoding with the store, windows, tracklets.
const STORE: usize = 0;
const WINDOWS: usize = 1;
const TRACKLETS: usize = 2;

/// Memory of `find` that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct UtFindWorkspace {
    store: UtStore,
    tracks: TrackColumns,
    doublets: DoubletColumns,
    /// Doublets of the chosen tracklets, in the order of their tracks.
    chosen: Column<u32>,
    pairs: pairs::Workspace,
}

/// Input of `find`: Velo tracks and UT hits of the same events.
#[derive(Debug, Clone, Copy)]
pub struct UtFindInput<'a> {
    /// Velo tracks.
    pub velo: &'a VeloTracks,
    /// UT hits.
    pub hits: UtHitsIn<'a>,
}

/// UT hits in one of two orders; the configured `UtChoice` determines which.
#[derive(Debug, Clone, Copy)]
pub enum UtHitsIn<'a> {
    /// Hits sorted by group of sectors, for the choices `kick` and `compass`.
    Groups(&'a UtBatch),
    /// Hits sorted by cell (a quarter of a sector), for the choice `line`.
    Cells(&'a UtCellHits),
}

impl UtHitsIn<'_> {
    /// Returns the status of each event.
    pub(super) fn status(&self) -> &[Status] {
        match self {
            Self::Groups(hits) => &hits.status,
            Self::Cells(hits) => &hits.status,
        }
    }
}

/// Input and parameters of a search.
struct Search<'a> {
    config: &'a UtConfig,
    layout: &'a UtLayout,
    velo: &'a VeloTracks,
}

impl Search<'_> {
    /// Returns the parameters of the steps in `tracklets`.
    #[inline(always)]
    fn tracklets(&self) -> tracklets::Search<'_> {
        tracklets::Search { cuts: self.config.cuts(), planes: self.layout.planes() }
    }
}

impl<G: Gang> Tally<G> {
    #[inline(always)]
    fn add_to(&self, g: G, stage: &mut StageCounter) {
        stage.lanes_active += u64::from(self.active.reduce_add(Mask::first(g, G::LANES)));
        stage.lanes_total += self.steps * G::LANES as u64;
    }
}

/// Finds UT hits for the Velo tracks of all events, and appends the tracks with hits to `out`, event by event. An event
/// that failed in an earlier step has no tracks and keeps its status. The times of the stages `ut decode` (here:
/// sorting of hits for `kick` and `compass`), `ut windows` and `ut tracklets` are added to the counters.
///
/// Output bytes do not depend on `level`. Memory is allocated only until `workspace` and `out` are large enough.
///
/// # Panics
/// Panics if hits and Velo tracks have different numbers of events, or if hits are not in the order that the configured
/// choice needs ([`UtConfig::reads_cells`]).
pub fn find(
    level: Level,
    config: &UtConfig,
    layout: &UtLayout,
    UtFindInput { velo, hits }: UtFindInput<'_>,
    workspace: &mut UtFindWorkspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    assert_eq!(velo.events(), hits.status().len(), "numbers of events of Velo tracks and of hits");
    let search = Search { config, layout, velo };
    match (config.choice, hits) {
        (UtChoice::Kick | UtChoice::Compass, UtHitsIn::Groups(hits)) => {
            crate::simd::kernels!(dispatch_gathers!(level, g => run(g, &search, hits, workspace, out)));
        }
        (UtChoice::Line, UtHitsIn::Cells(hits)) => {
            let workspace = &mut workspace.pairs;
            crate::simd::kernels!(
                dispatch_gathers!(level, g => pairs::run(g, &search, hits, workspace, out))
            );
        }
        _ => panic!("hits of the UT are not in the order that the choice `{:?}` needs", config.choice),
    }
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    search: &Search<'_>,
    hits: &UtBatch,
    workspace: &mut UtFindWorkspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    let mut clock = StageClock::start();
    for event in 0..search.velo.events() {
        let status = search.velo.status[event].and(hits.status[event]);
        if status.is_reconstructed() {
            fill_store(g, search, (hits, event), workspace);
            clock.lap(&mut out.counters.stages[STORE]);
            find_windows(g, search, event, workspace, out);
            clock.lap(&mut out.counters.stages[WINDOWS]);
            find_tracklets(g, search, workspace, out);
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
fn fill_store<G: Gang>(
    g: G,
    search: &Search<'_>,
    (hits, event): (&UtBatch, usize),
    workspace: &mut UtFindWorkspace,
) {
    g.vectorize(
        #[inline(always)]
        || workspace.store.fill(g, search.layout, hits, event),
    );
}

#[inline(never)]
fn find_windows<G: Gang>(
    g: G,
    search: &Search<'_>,
    event: usize,
    workspace: &mut UtFindWorkspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let UtFindWorkspace { store, tracks, .. } = workspace;
            let counters = &mut out.counters;
            select::select(g, search.velo, event, &mut tracks.number, &mut tracks.line);
            let mut view = tracks.view();
            let hits = store.view(search.layout);
            let (lost, tally) = tracklets::windows(g, &search.tracklets(), &hits, &mut view);
            let kept = view.kept;
            tracks.rows.set_len(kept);
            tally.add_to(g, &mut counters.stages[WINDOWS]);
            counters.count_truncated(Truncation::CandidatesInWindow, u64::from(lost));
            counters.stages[WINDOWS].items_in += tracks.number.len() as u64;
            counters.stages[WINDOWS].items_out += tracks.rows.len() as u64;
        },
    );
}

#[inline(never)]
fn find_tracklets<G: Gang>(
    g: G,
    search: &Search<'_>,
    workspace: &mut UtFindWorkspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let UtFindWorkspace { store, tracks, doublets, chosen, .. } = workspace;
            let stage = &mut out.counters.stages[TRACKLETS];
            stage.items_in += tracks.rows.len() as u64;
            let (search, hits) = (search.tracklets(), store.view(search.layout));
            let (tracks, best) = tracks.view_with_best();
            let mut found = doublets.view(tracks.kept * search.cuts.candidates as usize);
            tracklets::doublets(g, &search, &hits, &tracks, &mut found).add_to(g, stage);
            tracklets::complete(g, &search, &hits, &tracks, &mut found).add_to(g, stage);
            tracklets::choose(&search.cuts, &found, best);
            chosen.clear();
            chosen.reserve_total(tracks.kept);
            for &row in &tracks.rows[..tracks.kept] {
                let doublet = best[row as usize].doublet;
                if doublet != NONE {
                    chosen.push(doublet);
                }
            }
        },
    );
}

#[inline(never)]
fn fit_tracklets<G: Gang>(
    g: G,
    search: &Search<'_>,
    of: (&UtBatch, usize),
    workspace: &mut UtFindWorkspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let before = out.results.tracks();
            fit::fit(g, search, of, workspace, &mut out.results);
            out.counters.stages[TRACKLETS].items_out += (out.results.tracks() - before) as u64;
        },
    );
}
