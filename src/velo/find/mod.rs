//! Find: finds tracks in sorted hits, by triplets, in two passes (preset `best`).
//!
//! The structure follows Search by triplet (IEEE 8778210, section III). The search visits the pairs of modules once,
//! from the largest z down. At each pair, the tracks under construction are *forwarded* into the next pair, then new
//! triplets are *seeded* around the current pair. Hits of tracks are flagged and no longer used for seeds.
//!
//! ```text
//!      z  <----------------------------------------------
//!         next (k-1)       current (k)       previous (k+1)
//!             h2 <- - - - - - h1 - - - - - - - h0            one lane a doublet (h0, h1)
//!             o  <- - - - - - o - - - - - - -  o ...         one lane a track
//! ```
//!
//! Differences from the paper, and the reasons for them:
//! - The search uses pairs of modules, not modules of one side, so that a particle that crosses sides is one track.
//! - There are two passes. The first, with narrow windows, finds the tracks that point at the beam line, nine in ten.
//!   The second, with much wider windows and triplets over a gap, searches the few remaining hits. The two passes take
//!   less time than one pass with wide windows, and find fewer ghosts.
//! - Hits are judged by chi2, with scattering that grows with the slope, not by distance. The score of a triplet also
//!   grows with its distance from the beam line. Of triplets that share an outer hit, only the best remains.
//! - The line of a doublet must meet the next pair of modules on the side of the beam where the doublet's hits are,
//!   which rejects a third of all ghosts.
//! - Three-hit tracks compete for hits, the best first. Tracks that share most hits with longer tracks are dropped as
//!   clones. Two tracks are joined if one begins at the end of the other.
//!
//! Results do not depend on the gang: the lanes of a step are independent, a triplet or track takes the first of
//! equally good hits in the order of its window, and all other choices are made in order. For the same reason two
//! events can be searched side by side ([`EVENTS`](super::index::EVENTS)): a lane reads the hits of only one event.

mod forward;
mod join;
mod nearest;
mod scratch;
mod seed;
mod select;
mod shapes;
mod tally;

use super::config::BestConfig;
use super::found::Found;
use super::geometry::PAIRS;
use super::index::Index;
use crate::simd::Gang;

pub(super) use join::{JoinRule, JoinScratch, Kink};
pub(super) use nearest::{Candidates, Judge, Line, Reach, distance_to_beam};
pub(super) use scratch::FindScratch;
pub(super) use select::{order, order_and_kill_clones};
pub(super) use tally::{FindCounts, STAGE};

/// Finds the tracks of the events of the index, in both passes.
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
    // This loop and the loops below replace pairs of calls: everything is inlined, and each call would be compiled
    // again.
    for (number, pass) in [&config.first, &config.second].into_iter().enumerate() {
        if number == 1 {
            let [all, left] = index;
            left.keep_free(g, all, max_candidates, &mut scratch.keys);
        }
        let index = &mut index[number];
        let mut search = nearest::Search::new(g, config, pass, max_candidates);
        // A hit is the middle of at most one triplet, so there are no more candidates than hits.
        let first_row = found.rows.len();
        found.reserve(index.hits.len());
        scratch.active.open(index.hits.len());
        walk(g, &mut search, index, scratch, found);
        search.judge.tally.add_to(g, &mut counts);
        select::accept(pass, index, number == 1, first_row, &mut scratch.weak, found);
    }
    if config.join_chi2 > 0.0 {
        let judge = Judge::new(g, config.hit_resolution, config.scatter_constant, max_candidates);
        join_room(g, config, &judge, &index[0], &mut scratch.join, found);
    }
    counts
}

/// Joins tracks, in a function of its own like [`walk`].
#[inline(never)]
fn join_room<G: Gang>(
    g: G,
    config: &BestConfig,
    judge: &Judge<G>,
    index: &Index,
    scratch: &mut JoinScratch,
    found: &mut Found,
) {
    let rule = JoinRule { chi2: config.join_chi2, scatter_slope: config.scatter_slope, pairs: 1, looks: 1 };
    g.vectorize(
        #[inline(always)]
        || scratch.join(g, judge, rule, (index.hits.padded(), &[]), found),
    );
}

/// Visits the pairs of a pass, in a function of its own into which everything below is inlined. Without such boundaries
/// a kernel is one function of a hundred kilobytes, and compile time grows faster than the size of a function.
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
