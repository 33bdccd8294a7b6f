//! Find: tracks from sorted hits, by triplets, in two passes (preset `best`).
//!
//! The structure is that of Search by triplet (IEEE 8778210, section III): the pairs of modules are visited
//! once, from the largest z down, and at each step the tracks under way are *forwarded* into the next pair,
//! then new triplets are *seeded* around the current one; hits of tracks are flagged and seed no more.
//!
//! ```text
//!      z  <----------------------------------------------
//!         next (k-1)       current (k)       previous (k+1)
//!             h2 <- - - - - - h1 - - - - - - - h0            one lane a doublet (h0, h1)
//!             o  <- - - - - - o - - - - - - -  o ...         one lane a track
//! ```
//!
//! What differs from the paper, and why:
//! - Pairs instead of modules of one side: particles that cross sides stay whole.
//! - Two passes. The first, with narrow windows, takes the nine tracks in ten that point at the beam line
//!   and its hits with them; the second, with windows many times as wide and triplets over a gap, looks at the few
//!   hits that are left. Both cost less than one pass with wide windows, and find fewer ghosts.
//! - chi2 with a scattering term that grows with the slope, not a fixed distance; a triplet also pays for its
//!   distance to the beam line. Of triplets that share an outer hit only the best lives.
//! - Three-hit tracks compete for hits, best first; tracks that share most hits with longer ones are clones.
//!
//! Results do not depend on the gang: within a step no lane sees what another one does, a triplet or track
//! takes the first of equally good hits in the order of its window, and everything else is decided in order.

mod forward;
mod nearest;
mod seed;
mod select;

use super::config::BestConfig;
use super::geometry::PAIRS;
use super::index::Index;
use super::scratch::Found;
use crate::event::{Column, Counters, PAD, StageCounter, Truncation};
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};

pub(super) use select::order_and_kill_clones;

/// Index of this stage in the counters.
pub(super) const STAGE: usize = 2;
/// Capacity for the hits of a track: one per pair, rounded up.
pub(super) const ROW: usize = 32;

/// Reused memory of this stage.
#[derive(Debug, Default)]
pub(super) struct FindScratch {
    active: Active,
    seeds: seed::SeedScratch,
    /// Tracks that the current step extends, and by which hit.
    extended: Column<u32>,
    extended_by: Column<u32>,
    /// Weak tracks: bits of the score, then the row.
    weak: Column<u64>,
    /// Bins of the hits that are left of a pair.
    keys: Column<u32>,
}

/// The tracks that are still followed, as columns: line through the last two hits, row, and pairs missed in a
/// row; then the windows of the current step.
#[derive(Debug, Default)]
struct Active {
    /// The six columns of the lines, each of `room` values.
    lines: Column<f32>,
    room: usize,
    row: Column<u32>,
    missed: Column<u32>,
    first: Column<u32>,
    count: Column<u32>,
    len: usize,
}

impl Active {
    /// No tracks, and capacity for so many.
    fn open(&mut self, tracks: usize) {
        self.len = 0;
        self.room = self.room.max(tracks + PAD);
        self.lines.reserve_total(6 * self.room);
        for column in [&mut self.row, &mut self.missed, &mut self.first, &mut self.count] {
            column.reserve_total(tracks);
        }
    }
}

/// Cuts a piece of memory into the columns of lines.
#[inline(always)]
fn columns_of_lines(memory: &mut [f32], room: usize) -> nearest::Lines<'_> {
    let (x, rest) = memory.split_at_mut(room);
    let (y, rest) = rest.split_at_mut(room);
    let (z, rest) = rest.split_at_mut(room);
    let (tx, rest) = rest.split_at_mut(room);
    let (ty, rest) = rest.split_at_mut(room);
    [x, y, z, tx, ty, &mut rest[..room]]
}

/// What the search loops did, for the counters.
struct Tally<G: Gang> {
    /// Hits looked at, per lane.
    active: U32<G>,
    /// Vectors of hits looked at.
    vectors: u64,
    cut_short: u64,
}

impl<G: Gang> Tally<G> {
    fn new(g: G) -> Self {
        Self { active: U32::splat(g, 0), vectors: 0, cut_short: 0 }
    }

    /// Counts a search of `steps` vectors, with so many hits per lane.
    #[inline(always)]
    fn add(&mut self, count: U32<G>, steps: u32) {
        self.active = self.active + count;
        self.vectors += u64::from(steps);
    }

    fn add_to(&self, g: G, counts: &mut FindCounts) {
        counts.lanes_active += u64::from(self.active.reduce_add(Mask::first(g, G::LANES)));
        counts.lanes_total += self.vectors * G::LANES as u64;
        counts.cut_short += self.cut_short;
    }
}

/// What the searches of an event did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FindCounts {
    lanes_active: u64,
    lanes_total: u64,
    cut_short: u64,
}

impl FindCounts {
    /// Adds them to the counters of the stage.
    pub(super) fn add_to(self, counters: &mut Counters) {
        let stage: &mut StageCounter = &mut counters.stages[STAGE];
        stage.lanes_active += self.lanes_active;
        stage.lanes_total += self.lanes_total;
        if self.cut_short > 0 {
            counters.count_truncated(Truncation::CandidatesInWindow, self.cut_short);
        }
    }
}

/// Finds the tracks of an event, in both passes.
#[inline(always)]
pub(super) fn find<G: Gang>(
    g: G,
    config: &BestConfig,
    max_candidates: u32,
    index: &mut [Index; 2],
    scratch: &mut FindScratch,
    found: &mut Found,
) -> FindCounts {
    found.clear();
    let mut counts = FindCounts::default();
    // Loops and not two calls, here and below: everything is inlined, and code that stands once compiles once.
    for (number, pass) in [&config.first, &config.second].into_iter().enumerate() {
        if number == 1 {
            let [all, left] = index;
            left.keep_free(g, all, max_candidates, &mut scratch.keys);
        }
        let index = &mut index[number];
        let mut search = nearest::Search::new(g, config, pass, max_candidates);
        // A hit is the middle of one triplet at most, so there are no more candidates than hits.
        let first_row = found.rows.len();
        found.reserve(index.hits.len());
        scratch.active.open(index.hits.len());
        walk(g, &mut search, index, scratch, found);
        search.tally.add_to(g, &mut counts);
        select::accept(pass, index, number == 1, first_row, &mut scratch.weak, found);
    }
    counts
}

/// Visits the pairs of a pass, as a function of its own: everything below is inlined into it, and without such
/// seams a kernel is one function of a hundred kilobytes, whose compile time grows faster than its size.
#[inline(never)]
fn walk<G: Gang>(
    g: G,
    search: &mut nearest::Search<'_, G>,
    index: &mut Index,
    scratch: &mut FindScratch,
    found: &mut Found,
) {
    g.vectorize(
        #[inline(always)]
        || {
            for current in (1..PAIRS - 1).rev() {
                forward::forward(g, search, index, scratch, found, current - 1);
                seed::seed(g, search, index, scratch, found, current);
            }
        },
    );
}
