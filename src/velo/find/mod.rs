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
//!   and its hits with them; the second, with windows ten times as wide and triplets over a gap, looks at the few
//!   hits that are left. Both cost less than one pass with wide windows, and find fewer ghosts.
//! - chi2 with a scattering term that grows with the slope, not a fixed distance; a triplet also pays for its
//!   distance to the beam line. Of triplets that share an outer hit only the best lives.
//! - Three-hit tracks compete for hits, best first; tracks that share most hits with longer ones are clones.
//!
//! A gang rides through a group of events at once, each lane in its own: a step of one event is too short to
//! fill lanes, and too full of dependences to fill the time between them.
//!
//! Results do not depend on the gang or the group: within a step no lane sees what another one does, a triplet or track
//! takes the first of equally good hits in the order of its window, and everything else is decided in order.

mod forward;
mod nearest;
mod seed;
mod select;

use super::config::{BestConfig, PassConfig};
use super::geometry::PAIRS;
use super::index::Index;
use super::scratch::Found;
use crate::event::{Column, Counters, StageCounter, Truncation};
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};

pub(super) use nearest::Line;
pub(super) use select::order_and_kill_clones;

/// Index of this stage in the counters.
pub(super) const STAGE: usize = 2;
/// Room for the hits of a track: one per pair, rounded up.
const ROW: usize = 32;

/// A track under construction: its row of hits (places in the index), and its last doublet as a line.
#[derive(Debug, Default)]
pub(super) struct FindScratch {
    rows: Rows,
    active: Active,
    seeds: seed::SeedScratch,
    /// Tracks that the current step extends, and by which hit.
    extended: Column<u32>,
    extended_by: Column<u32>,
    weak: Vec<(f32, u32)>,
}

/// Hit lists of all candidates of a pass.
#[derive(Debug, Default)]
pub(super) struct Rows {
    hits: Column<u32>,
    len: Vec<u32>,
    event: Vec<u32>,
    /// Score of the triplet each began with.
    score: Vec<f32>,
}

/// The tracks that are still followed, as columns: line through the last two hits, row, and pairs missed in a
/// row.
#[derive(Debug, Default)]
struct Active {
    lines: nearest::Lines,
    row: Column<u32>,
    event: Column<u32>,
    missed: Column<u32>,
    len: usize,
}

impl Active {
    fn reserve(&mut self, tracks: usize) {
        self.lines.reserve(tracks);
        self.row.reserve_total(tracks);
        self.event.reserve_total(tracks);
        self.missed.reserve_total(tracks);
    }
}

impl Rows {
    pub(super) fn clear(&mut self) {
        self.len.clear();
        self.event.clear();
        self.score.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.len.len()
    }

    pub(super) fn push(&mut self, triplet: &[u32; 3], event: u32, score: f32) {
        let row = self.count();
        self.hits.set_len((row + 1) * ROW);
        self.hits[row * ROW..row * ROW + 3].copy_from_slice(triplet);
        self.len.push(3);
        self.event.push(event);
        self.score.push(score);
    }

    /// Adds a hit to a track and marks its hits as used.
    pub(super) fn extend(&mut self, row: u32, hit: u32, index: &mut Index) {
        let row = row as usize;
        let len = self.len[row] as usize;
        self.hits[row * ROW + len] = hit;
        self.len[row] += 1;
        index.mark_used(hit as usize);
        if len == 3 {
            for i in 0..3 {
                index.mark_used(self.hits[row * ROW + i] as usize);
            }
        }
    }

    pub(super) fn hits(&self, row: usize) -> &[u32] {
        &self.hits[row * ROW..row * ROW + self.len[row] as usize]
    }
}

/// What the search loops did, for the counters.
#[derive(Default)]
pub(super) struct Tally {
    lanes_active: u64,
    lanes_total: u64,
    cut_short: u64,
}

impl Tally {
    /// Counts one step of a search in which the lanes `on` are at work.
    #[inline(always)]
    pub(super) fn count_lanes<G: Gang>(&mut self, on: Mask<G>) {
        self.lanes_active += on.count() as u64;
        self.lanes_total += G::LANES as u64;
    }

    /// Cuts windows down to `most` hits, and counts what is cut off.
    #[inline(always)]
    pub(super) fn limit<G: Gang>(&mut self, g: G, count: U32<G>, most: u32, lanes: Mask<G>) -> U32<G> {
        let most = U32::splat(g, most);
        if (most.lt(count) & lanes).any() {
            self.cut_short(u64::from((count - count.min(most)).reduce_add(lanes)));
        }
        count.min(most)
    }

    /// Counts candidates that were not looked at.
    #[inline(always)]
    pub(super) fn cut_short(&mut self, candidates: u64) {
        self.cut_short += candidates;
    }

    pub(super) fn add_to(&self, counters: &mut Counters) {
        let stage: &mut StageCounter = &mut counters.stages[STAGE];
        stage.lanes_active += self.lanes_active;
        stage.lanes_total += self.lanes_total;
        if self.cut_short > 0 {
            counters.count_truncated(Truncation::CandidatesInWindow, self.cut_short);
        }
    }
}

/// Finds the tracks of a group of events, in both passes; `found` has one entry per event.
#[inline(always)]
pub(super) fn find<G: Gang>(
    g: G,
    config: &BestConfig,
    max_candidates: u32,
    index: &mut [Index; 2],
    scratch: &mut FindScratch,
    found: &mut [Found],
    counters: &mut Counters,
) {
    found.iter_mut().for_each(Found::clear);
    let mut tally = Tally::default();
    // Loops and not two calls, here and below: everything is inlined, and code that stands once compiles once.
    for (number, pass) in [&config.first, &config.second].into_iter().enumerate() {
        if number == 1 {
            let [all, left] = index;
            left.keep_free(g, all);
        }
        let index = &mut index[number];
        let search = nearest::Search::new(config, max_candidates);
        scratch.rows.clear();
        scratch.active.len = 0;
        // A hit is the middle of one triplet at most, so there are no more candidates than hits.
        scratch.active.reserve(index.hits.len());
        for current in (1..PAIRS - 1).rev() {
            forward_step(g, &search, config, index, scratch, current - 1, &mut tally);
            seed_step(g, &search, pass, index, scratch, current, &mut tally);
        }
        select::accept(pass, index, number == 1, &scratch.rows, &mut scratch.weak, found);
    }
    tally.add_to(counters);
}

/// [`forward::forward`] as a function of its own. Everything below is inlined into it; without such seams a
/// kernel is one function of a hundred kilobytes, and compile time grows faster than size.
#[inline(never)]
fn forward_step<G: Gang>(
    g: G,
    search: &nearest::Search,
    config: &BestConfig,
    index: &mut Index,
    scratch: &mut FindScratch,
    pair: usize,
    tally: &mut Tally,
) {
    g.vectorize(
        #[inline(always)]
        || forward::forward(g, search, config, index, scratch, pair, tally),
    );
}

/// [`seed::seed`] as a function of its own.
#[inline(never)]
fn seed_step<G: Gang>(
    g: G,
    search: &nearest::Search,
    pass: &PassConfig,
    index: &Index,
    scratch: &mut FindScratch,
    current: usize,
    tally: &mut Tally,
) {
    g.vectorize(
        #[inline(always)]
        || seed::seed(g, search, pass, index, scratch, current, tally),
    );
}
