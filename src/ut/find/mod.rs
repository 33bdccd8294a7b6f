//! Find: hits in the UT for Velo tracks, and with them their momentum.
//!
//! ```text
//!   Velo track ------------- - - - - x - - - x - - - - - - x - - - x -    extended straight on
//!                    z = 770 mm       plane 0   1            2       3
//!                                        o       o           o        o   hits: at distance d from it
//! ```
//! Two searches: the search of the choice `line` is in `pairs`. The choices `kick` and `compass` have the structure
//! of Compass UT (IEEE Access 7, 2019, 91612):
//! - `select`: tracks that fly forward and into the UT;
//! - `windows`: hits of each plane beside a track, as far as its momentum may bend it; a lane a track;
//! - `doublets`: pairs of hits in planes 0 and 2, then in 3 and 1; a lane a track;
//! - `complete`: nearest hits in the other two planes and a first fit; a lane a doublet, for all tracks together;
//! - `choose`: the best tracklet of each track;
//! - `fit`: momentum, state and quality of these; a lane a tracklet.
//!
//! Everything is computed in distances from the Velo track, which are small where coordinates are large. Results do
//! not depend on the gang: lanes do not see one another, and choices among their results are made in order.

mod attach;
mod choose;
mod complete;
mod doublets;
mod errors;
mod fit;
mod output;
mod pairs;
mod select;
mod tracklet;
mod windows;

pub(crate) use attach::{Attached, Bent};

use super::config::{UtChoice, UtConfig};
use super::layout::{MIDDLE, UtLayout};
use super::store::UtStore;
use crate::Status;
use crate::event::{
    Column, Outcome, StageClock, StageCounter, Truncation, UT_PLANES, UtBatch, UtCellHits, VeloTracks,
    VeloUtTracks,
};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, Level};
use bytemuck::{Pod, Zeroable};

/// Hits of one plane that are tried for a track at most: more are counted as dropped.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 4;
/// Stands for a hit that is not there.
const NONE: u32 = u32::MAX;

/// Slope dx/dy of the strips in each plane.
const SLOPE: [f32; UT_PLANES] = super::geometry::STRIP_SLOPE;
/// Where the magnet's kick is put in the first fit, mm.
const KINK: f32 = 1780.0;
/// Tracklets with a larger chi2 per degree of freedom are no candidates.
const MAX_CHI2: f32 = 1280.0;

/// Stages: decoding with the store, windows, tracklets.
const STORE: usize = 0;
const WINDOWS: usize = 1;
const TRACKLETS: usize = 2;

/// Reused memory of one thread.
#[derive(Debug, Default)]
pub struct UtFindWorkspace {
    store: UtStore,
    tracks: Tracks,
    doublets: Doublets,
    best: Column<Best>,
    /// Doublets of the tracklets that were chosen, in the order of their tracks.
    chosen: Column<u32>,
    pairs: pairs::Workspace,
}

/// The tracks of an event that may have hits in the UT.
#[derive(Debug, Default)]
struct Tracks {
    /// Number of each in the event.
    number: Column<u32>,
    /// x, y, tx, ty at the end of the Velo.
    line: Column<[f32; 4]>,
    /// Per track and plane: hits of the store, [`SLOTS`] each, and how many there are.
    slots: Column<u32>,
    counts: Column<u32>,
    /// Those with hits in three planes.
    rows: Column<u32>,
}

/// Pairs of hits of tracks, and what they were completed to. Hits are in the order of their roles: first and third,
/// which make the pair, have second and fourth between and behind them.
#[derive(Debug, Default)]
struct Doublets {
    row: Column<u32>,
    /// 1 where the first hit is in the last plane.
    backward: Column<u32>,
    hits: [Column<u32>; UT_PLANES],
    /// How many hits there are.
    count: Column<u32>,
    /// chi2 per degree of freedom, and the difference of the sines of the angles before and behind the kick.
    chi2: Column<f32>,
    kick: Column<f32>,
    len: usize,
}

/// The best tracklet of a track so far.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Best {
    chi2: f32,
    hits: u32,
    doublet: u32,
}

/// Events with their intermediate results: Velo tracks, and hits of the UT.
#[derive(Debug, Clone, Copy)]
pub struct UtFindInput<'a> {
    /// Velo tracks.
    pub velo: &'a VeloTracks,
    /// Hits of the same events.
    pub hits: UtHitsIn<'a>,
}

/// Hits in the order of a choice.
#[derive(Debug, Clone, Copy)]
pub enum UtHitsIn<'a> {
    /// By group of sectors: for the choices `kick` and `compass`.
    Groups(&'a UtBatch),
    /// By cell: for the choice `line`.
    Cells(&'a UtCellHits),
}

impl UtHitsIn<'_> {
    /// What became of each event.
    pub(super) fn status(&self) -> &[Status] {
        match self {
            Self::Groups(hits) => &hits.status,
            Self::Cells(hits) => &hits.status,
        }
    }
}

/// What is searched, and how.
struct Search<'a> {
    config: &'a UtConfig,
    layout: &'a UtLayout,
    velo: &'a VeloTracks,
}

/// What the lanes of a loop did.
struct Tally<G: Gang> {
    active: U32<G>,
    steps: u64,
}

impl<G: Gang> Tally<G> {
    fn new(g: G) -> Self {
        Self { active: U32::splat(g, 0), steps: 0 }
    }

    /// Counts a step with work in some lanes.
    #[inline(always)]
    fn step(&mut self, on: Mask<G>) {
        self.active = self.active.count(on);
        self.steps += 1;
    }

    #[inline(always)]
    fn add_to(&self, g: G, stage: &mut StageCounter) {
        stage.lanes_active += u64::from(self.active.reduce_add(Mask::first(g, G::LANES)));
        stage.lanes_total += self.steps * G::LANES as u64;
    }
}

/// Straight lines of Velo tracks, a lane each.
#[derive(Clone, Copy)]
struct Line<G: Gang> {
    x: F32<G>,
    y: F32<G>,
    tx: F32<G>,
    ty: F32<G>,
    z: F32<G>,
}

impl<G: Gang> Line<G> {
    #[inline(always)]
    fn gather(g: G, lines: &Column<[f32; 4]>, row: U32<G>, z: f32) -> Self {
        let [x, y, tx, ty] = F32::gather_records(lines.padded(), row);
        Self { x, y, tx, ty, z: F32::splat(g, z) }
    }

    /// x and y at some z.
    #[inline(always)]
    fn at(&self, z: F32<G>) -> [F32<G>; 2] {
        let dz = z - self.z;
        [dz.mul_add(self.tx, self.x), dz.mul_add(self.ty, self.y)]
    }
}

/// Hits, by how far in x they are from a line.
#[derive(Clone, Copy)]
struct Beside<G: Gang> {
    d: F32<G>,
    z: F32<G>,
}

impl<G: Gang> Beside<G> {
    #[inline(always)]
    fn gather(store: &UtStore, hit: U32<G>, line: &Line<G>, slope: F32<G>) -> Self {
        let [x0, z, ..] = F32::gather_records(store.hits.padded(), hit);
        let [x, y] = line.at(z);
        Self { d: y.mul_add(slope, x0) - x, z }
    }

    #[inline(always)]
    fn select(self, lanes: Mask<G>, other: Self) -> Self {
        Self { d: lanes.select_f(self.d, other.d), z: lanes.select_f(self.z, other.z) }
    }
}

/// Finds the hits in the UT of the Velo tracks of all events, and appends the tracks with hits to `out`, event by
/// event. An event that failed before has no tracks and keeps its status. The stages are `ut decode`, which includes
/// the store where there is one, `ut windows` and `ut tracklets`.
///
/// Output bytes do not depend on `level`. Memory is allocated only while `workspace` and `out` still grow.
///
/// # Panics
/// When there are not as many events of hits as of Velo tracks, or hits are in the order of another choice
/// ([`UtConfig::reads_cells`]).
pub fn find(
    level: Level,
    config: &UtConfig,
    layout: &UtLayout,
    UtFindInput { velo, hits }: UtFindInput<'_>,
    workspace: &mut UtFindWorkspace,
    out: &mut Outcome<VeloUtTracks>,
) {
    assert_eq!(velo.events(), hits.status().len(), "events of Velo tracks and of hits");
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
            choose::choose(search.config, workspace);
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
            let lost = windows::windows(g, search, store, tracks, &mut counters.stages[WINDOWS]);
            counters.count_truncated(Truncation::CandidatesInWindow, lost);
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
            let UtFindWorkspace { store, tracks, doublets, .. } = workspace;
            let stage = &mut out.counters.stages[TRACKLETS];
            doublets::doublets(g, search, store, tracks, doublets).add_to(g, stage);
            complete::complete(g, search, store, tracks, doublets).add_to(g, stage);
            stage.items_in += tracks.rows.len() as u64;
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
