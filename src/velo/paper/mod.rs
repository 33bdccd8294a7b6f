//! Search by triplet by the steps of its paper (preset `paper`): D. H. Cámpora Pérez, N. Neufeld, A. Riscos Núñez,
//! "A fast local algorithm for track reconstruction on parallel architectures", section III, IEEE 8778210. The paper
//! prints no constants; those here are of LHCb's public code of 2019 (`docs/algorithms.md`, "Velo: preset `paper`").
//!
//! Its five parts: sort by phi per module (`sort`), candidate windows by binary search (`search`), and then, from
//! the largest z down, at each pair of modules: *forward* the tracks under way into the next pair (`forward`),
//! *seed* triplets of free hits of one side around the current pair (`seed`); at the end the filter of
//! three-hit tracks (`weak`).
//!
//! ```text
//!   module  m-2             m             m+2         (one side)
//!            h2 <- - - - - h1 - - - - - - h0          one lane a doublet (h0, h1)
//! ```
//!
//! Where the paper leaves open what is done, it is done as in [`PaperConfig`](super::PaperConfig)'s source. Two things are laid out
//! differently and give the same tracks: windows are opened when a hit is seeded and not for every hit
//! beforehand, and doublets are listed so that lanes do not wait for the hit with the most candidates.
//!
//! Results do not depend on the gang, for the reasons given in `find`.

mod forward;
mod scratch;
mod search;
mod seed;
mod sort;
mod weak;

use super::config::LimitConfig;
use super::found::Found;
use super::geometry::PAIRS;
use super::modules::Modules;
use crate::Status;
use crate::event::{Column, Counters, VeloEvent};
use crate::simd::Gang;

use scratch::Step;
pub(super) use scratch::{PaperScratch, Search};

/// Sorts the hits of one event. The status says when the event cannot be reconstructed.
#[inline(never)]
pub(super) fn sort<G: Gang>(
    g: G,
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    modules: &mut Modules,
    scratch: &mut PaperScratch,
    keys: [&mut Column<u32>; 2],
) -> Status {
    g.vectorize(
        #[inline(always)]
        || sort::sort(g, event, limits, modules, scratch, keys),
    )
}

/// Finds the tracks of one event.
#[inline(always)]
pub(super) fn find<G: Gang>(
    g: G,
    search: &Search<'_>,
    modules: &mut Modules,
    scratch: &mut PaperScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    found.clear();
    scratch.active.set_len(0);
    let Search { config, max_candidates } = *search;
    for pair in (1..PAIRS - 1).rev() {
        let next = Step { config, max_candidates, pair: pair - 1 };
        forward_step(g, &next, modules, scratch, found, counters);
        seed_step(g, &Step { pair, ..next }, modules, scratch, found, counters);
    }
    weak::accept(config, modules, found);
}

/// [`forward::forward`] as a function of its own, see `find`.
#[inline(never)]
fn forward_step<G: Gang>(
    g: G,
    step: &Step<'_>,
    modules: &mut Modules,
    scratch: &mut PaperScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    g.vectorize(
        #[inline(always)]
        || forward::forward(g, step, modules, scratch, found, counters),
    );
}

/// [`seed::seed`] as a function of its own.
#[inline(never)]
fn seed_step<G: Gang>(
    g: G,
    step: &Step<'_>,
    modules: &Modules,
    scratch: &mut PaperScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    g.vectorize(
        #[inline(always)]
        || seed::seed(g, step, modules, scratch, found, counters),
    );
}
