//! Link search: finds tracks in sorted hits by loops over all hits of an event at once (preset `fast`).
//!
//! The search neither forwards tracks nor marks hits while tracks are under construction. It finds the best triplet
//! around every hit, and links triplets that contain one another's middle hits; links form chains:
//!
//! ```text
//!      pair k+1    k    k-1   k-2
//!         o - - - (o) - - o            the triplet of the hit in pair k leads down to one in pair k-1,
//!                  o - - (o) - - o     whose triplet leads up to it: linked
//!         o ====== o ==== o ==== o     a chain of four hits
//! ```
//!
//! 1. `hits` sorts hits by pair and phi, with a table that gives a window of two bins in one look-up.
//! 2. `triplets` finds the best triplet around each hit; registers hold the candidates for a gang of hits.
//! 3. `chains` links triplets and follows the chains. Hits of a pair with the same hits above and below count as one.
//! 4. `ends` drops ends of chains that lie inside other chains, and joins chains that meet in one hit.
//! 5. `left` collects the hits that are on no track.
//! 6. `second` finds triplets of these hits within wide windows, by loops over the event, and forms chains of triplets.
//! 7. As in `find`, two tracks are joined if one begins a few pairs after the end of the other.
//!
//! Results do not depend on the gang: lanes are independent, steps read memory only after all their scatters, and
//! choices are made in the order of hits.

mod candidate;
mod chains;
mod deferred;
mod ends;
mod hits;
mod left;
mod second;
mod select;
mod triplets;

use super::config::{LimitConfig, LinkConfig};
use super::find::{FindCounts, JoinRule, JoinScratch, Judge};
use super::found::Found;
use crate::Status;
use crate::event::VeloEvent;
use crate::simd::Gang;

use hits::LinkHits;

/// No hit.
const NONE: u32 = u32::MAX;
/// First bit of the pair in an entry of a list of hits.
const PAIR_SHIFT: u32 = 24;
/// Mask of the bits below the pair: the index of the hit.
const HIT: u32 = (1 << PAIR_SHIFT) - 1;

/// Reused memory of the search.
#[derive(Debug, Default)]
pub(super) struct LinkScratch {
    pub(super) hits: LinkHits,
    links: chains::Links,
    deferred: deferred::Deferred,
    chains: chains::Chains,
    ends: ends::Ends,
    left: left::Left,
    second: second::Second,
    select: select::Select,
    join: JoinScratch,
}

/// Runs a stage in a function of its own, compiled for the gang.
macro_rules! stage {
    ($g:ident, $body:expr) => {{
        #[inline(never)]
        fn run<G: Gang, R>(g: G, body: impl FnOnce() -> R) -> R {
            g.vectorize(body)
        }
        run(
            $g,
            #[inline(always)]
            || $body,
        )
    }};
}

/// Sorts the hits of an event. Returns a status other than `Ok` when the event cannot be reconstructed.
#[inline(always)]
pub(super) fn sort<G: Gang>(
    g: G,
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    scratch: &mut LinkScratch,
) -> Status {
    stage!(g, scratch.hits.sort(g, event, limits))
}

/// Finds the tracks of the sorted event.
#[inline(always)]
pub(super) fn find<G: Gang>(
    g: G,
    config: &LinkConfig,
    max_candidates: u32,
    scratch: &mut LinkScratch,
    found: &mut Found,
) -> FindCounts {
    found.clear();
    let mut counts = FindCounts::default();
    let mut judge = Judge::new(g, config.hit_resolution, config.scatter_constant, max_candidates);
    let LinkScratch { hits, links, deferred, chains, ends, left, second, select, join } = scratch;
    stage!(g, {
        links.open(g, hits.len(), &hits.spans);
        deferred.clear(hits.len());
        triplets::triplets(g, config, &mut judge, hits, links, deferred);
    });
    stage!(g, deferred.search(g, config, &judge, hits, links));
    stage!(g, {
        links.find_starts(g, &hits.spans, chains);
        links.merge_twins(g, chains);
        links.mark(g, &hits.spans);
    });
    stage!(g, chains.follow(g, links, found));
    stage!(g, {
        ends.settle(g, (config, &judge), hits, (links, chains), found);
        select.accept_first(g, config, links, (chains, &ends.kinks), found);
    });
    stage!(g, left.collect(g, hits, &links.inside));
    stage!(g, second.list(g, config, &mut judge, hits, left));
    stage!(g, second.search(g, config, &mut judge, hits, left));
    stage!(g, {
        left.links.find_starts(g, &left.spans, chains);
        left.links.mark(g, &left.spans);
    });
    stage!(g, chains.follow(g, &left.links, found));
    select.accept_second(config, left, chains, found);
    if config.join_chi2 > 0.0 {
        let rule = JoinRule {
            chi2: config.join_chi2,
            scatter_slope: config.scatter_slope,
            pairs: config.join_pairs as usize,
            looks: 2,
        };
        stage!(g, join.join(g, &judge, rule, (hits.records.padded(), &ends.kinks), found));
    }
    judge.tally.add_to(g, &mut counts);
    counts
}
