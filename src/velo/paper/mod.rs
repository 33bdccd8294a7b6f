//! Search by triplet with the steps of its paper (presets `paper` and `paper-literal`): D. H. Cámpora Pérez, N.
//! Neufeld, A. Riscos Núñez, "A fast local algorithm for track reconstruction on parallel architectures", section III,
//! IEEE 8778210. The paper prints no constants; the constants come from LHCb's public code of 2019
//! (`docs/algorithms.md`, "Velo: preset `paper`").
//!
//! The search has five parts. `sort` sorts the hits of each module by phi, and `search` finds candidate windows by
//! binary search. At each pair of modules, from the largest z down, `forward` extends the tracks under construction
//! into the next pair, and `seed` forms triplets of free hits of one side around the current pair. At the end, `weak`
//! filters three-hit tracks.
//!
//! ```text
//!   module  m-2             m             m+2         (one side)
//!            h2 <- - - - - h1 - - - - - - h0          one lane a doublet (h0, h1)
//! ```
//!
//! Points that the paper leaves open follow LHCb's code of 2019. Where LHCb's code differs from the paper,
//! [`PaperConfig`](super::PaperConfig) has a switch; `paper-literal` sets all switches as in the paper. Two differences
//! from the paper do not change the tracks: windows are opened when a hit is seeded, not for every hit beforehand, and
//! doublets are listed so that lanes do not wait for the hit with the most candidates.
//!
//! Results do not depend on the gang, for the reasons given in `velo/find/mod.rs`.

mod forward;
mod scratch;
mod search;
mod seed;
mod sort;
mod weak;

use super::config::{LimitConfig, PaperConfig};
use super::find::STAGE;
use super::found::Found;
use super::geometry::PAIRS;
use super::modules::Modules;
use crate::Status;
use crate::event::{Column, Counters, StageClock, VeloEvent};
use crate::simd::Gang;

use scratch::Step;
pub(super) use scratch::{PaperScratch, Search};

/// The separately timed steps of [`find`], in the order of their numbers, as in the paper's figure 6.
pub(super) const PARTS: &[&str] = &["windows", "seeding", "forwarding", "filter"];
const WINDOWS: usize = 0;
const SEEDING: usize = 1;
const FORWARDING: usize = 2;
const FILTER: usize = 3;

/// Sorts the hits of one event. Returns a status other than `Ok` when the event cannot be reconstructed.
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
    let mut clock = StageClock::start();
    for pair in (1..PAIRS - 1).rev() {
        let next = Step { config, max_candidates, pair: pair - 1 };
        forward_step(g, &next, modules, scratch, found, counters);
        clock.lap_part(&mut counters.stages[STAGE], FORWARDING);
        let step = Step { pair, ..next };
        windows_step(g, &step, modules, scratch, counters);
        clock.lap_part(&mut counters.stages[STAGE], WINDOWS);
        seed_step(g, &step, modules, scratch, found, counters);
        clock.lap_part(&mut counters.stages[STAGE], SEEDING);
    }
    filter_step(g, config, modules, found);
    clock.lap_part(&mut counters.stages[STAGE], FILTER);
}

/// Runs [`forward::forward`] in a function of its own, see `find`.
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

/// Opens the candidate windows of a pair's hits, in a function of its own.
#[inline(never)]
fn windows_step<G: Gang>(
    g: G,
    step: &Step<'_>,
    modules: &Modules,
    scratch: &mut PaperScratch,
    counters: &mut Counters,
) {
    let PaperScratch { phi, seeds, .. } = scratch;
    g.vectorize(
        #[inline(always)]
        || seeds.open_windows(g, step, modules, phi, counters),
    );
}

/// Runs [`weak::accept`] in a function of its own.
#[inline(never)]
fn filter_step<G: Gang>(g: G, config: &PaperConfig, modules: &Modules, found: &mut Found) {
    g.vectorize(
        #[inline(always)]
        || weak::accept(g, config, modules, found),
    );
}

/// Runs [`seed::seed`] in a function of its own.
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
