//! Search by rows of bits: finds the tracks of an event, pass by pass (presets `best` and `fast`).

mod bits;
mod choose;
mod clones;
mod exact;
mod hits;
mod plan;
mod scan;
mod sensitivity;
mod step;
mod table;
mod uv;

use super::config::{RowsConfig, SciFiConfig};
use super::find::occupancy::Occupancy;
use super::find::track::Track;
use super::geometry::SciFiGeometry;
use super::layers::{BY_Z, HALVES, X_LAYERS, Z};
use crate::Status;
use crate::event::{Column, SciFiBatch};
use crate::simd::Gang;
use choose::ChooseScratch;
use clones::{CloneScratch, MOST};
use exact::{Candidates, exact};
use hits::RowHits;
use plan::Plan;
use scan::{Enough, Runs, ScanScratch};
pub(super) use sensitivity::{Crossings, Sensitivity, fixed_tracks};
use step::step;
use uv::{Confirmed, UvScratch};

/// Memory of the search.
#[derive(Debug, Default)]
pub(super) struct RowsScratch {
    /// Hits of the event, and hits that the previous pass left; the two are used alternately by passes.
    hits: [RowHits; 2],
    scan: ScanScratch,
    runs: [Runs; 2],
    /// Whether a candidate with enough hits has the hit in the second pivot's layer, per place: 0 or 1.
    taken: Column<u32>,
    candidates: Candidates,
    clones: CloneScratch,
    uv: UvScratch,
    confirmed: Confirmed,
    choose: ChooseScratch,
}

/// Constants of the passes, which depend on the layers.
#[derive(Debug, Clone)]
pub(super) struct Plans(Vec<Plan>);

impl Plans {
    /// Computes the plans for the layers of a detector, and a polarity of its magnet.
    pub(super) fn new(config: &RowsConfig, geometry: &SciFiGeometry, polarity: f32) -> Self {
        let z = z_of_layers(geometry);
        let tracks = fixed_tracks(&z, polarity.into());
        Self(config.passes.iter().map(|pass| Plan::new(config, pass, &z, &tracks)).collect())
    }

    /// Returns the number of passes.
    pub(super) fn passes(&self) -> usize {
        self.0.len()
    }
}

/// Returns z of the x layers at y = 0, mm: the middle of their mats there, or the nominal z where the layer is far from it.
pub(super) fn z_of_layers(geometry: &SciFiGeometry) -> Crossings {
    std::array::from_fn(|layer| {
        let number = BY_Z.iter().position(|of| *of == layer).expect("`BY_Z` has all layers");
        let ends = geometry.corners(number).flat_map(|(_, corners)| [corners[0][2], corners[1][2]]);
        let (sum, count) = ends.fold((0.0, 0), |(sum, count), z| (sum + f64::from(z), count + 1));
        let middle = sum / f64::from(count);
        if (middle - Z[layer]).abs() < FARTHEST { middle } else { Z[layer] }
    })
}

/// Largest distance of a SciFi layer from its nominal z, mm.
const FARTHEST: f64 = 100.0;

/// Configuration and plans of the search.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) config: &'a SciFiConfig,
    pub(super) plans: &'a Plans,
}

/// Counts of one pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCounts {
    pub(super) x: Occupancy,
    pub(super) uv: Occupancy,
    /// Number of runs, lines and candidates that were dropped.
    pub(super) dropped: u64,
}

/// Fewest hits of a candidate whose hit in the second pivot's layer is not used as a pivot.
const STANDS_FOR: u32 = 5;

impl RowsScratch {
    /// Copies the hits of an event. Returns the reason when it cannot.
    #[inline(always)]
    pub(super) fn fill<G: Gang>(
        &mut self,
        g: G,
        config: &SciFiConfig,
        hits: &SciFiBatch,
        event: usize,
    ) -> Status {
        self.hits[0].fill(g, config, hits, event)
    }

    /// Finds the candidates in x of a pass that are not clones. Returns their number.
    #[inline(always)]
    pub(super) fn find_x<G: Gang>(
        &mut self,
        g: G,
        Rules { config, plans }: Rules<'_>,
        number: usize,
        counts: &mut RowCounts,
    ) -> usize {
        let (plan, pass) = (&plans.0[number], &config.rows.passes[number]);
        let [most_runs, most] =
            [config.limits.triplets as usize, (config.limits.candidates as usize).min(MOST)];
        let Self { hits, scan, runs: [first, second], taken, candidates, clones, .. } = self;
        let hits = &hits[number % 2];
        candidates.len = 0;
        second.len = 0;
        taken.set_len(hits.len());
        taken.fill(0);
        let enough = Enough { two_may_miss: pass.min_x_hits < X_LAYERS as u32 - 1, inner: &plan.inner };
        for half in 0..HALVES {
            step!(g, scan.mark(g, plan, hits, half));
            first.len = 0;
            step!(g, scan.scan(g, (&plan.sets[0], enough), (hits, half), None, first));
            counts.dropped += first.cut(most_runs);
            counts.x.add_all(first.len, first.len.next_multiple_of(G::LANES));
            let before = candidates.len;
            if enough.two_may_miss {
                step!(g, exact::<G, 5, 4>(g, (plan, &plan.sets[0], pass), hits, first, candidates));
            } else {
                step!(g, exact::<G, 5, 2>(g, (plan, &plan.sets[0], pass), hits, first, candidates));
            }
            counts.dropped += candidates.cut(most);
            for at in before..candidates.len {
                let place = candidates.hits.column(plan.sets[1].pivot)[at] as usize;
                taken[place] |= u32::from(candidates.hits.column(X_LAYERS)[at] >= STANDS_FOR);
            }
            let before = second.len;
            step!(g, scan.scan(g, (&plan.sets[1], enough), (hits, half), Some(taken.padded()), second));
            counts.dropped += second.cut(before + most_runs);
        }
        counts.x.add_all(second.len, second.len.next_multiple_of(G::LANES));
        if enough.two_may_miss {
            step!(g, exact::<G, 4, 4>(g, (plan, &plan.sets[1], pass), hits, second, candidates));
        } else {
            step!(g, exact::<G, 4, 2>(g, (plan, &plan.sets[1], pass), hits, second, candidates));
        }
        counts.dropped += candidates.cut(most);
        step!(g, clones.keep_best(g, pass, hits.len(), candidates));
        candidates.len
    }

    /// Confirms the candidates in the u and v layers, chooses tracks and appends them; their hits are numbers in the event,
    /// counted from 1. Leaves the other hits to the next pass.
    #[inline(always)]
    pub(super) fn find_uv<G: Gang>(
        &mut self,
        g: G,
        Rules { config, plans }: Rules<'_>,
        number: usize,
        counts: &mut RowCounts,
        out: &mut Vec<Track>,
    ) {
        let (plan, pass) = (&plans.0[number], &config.rows.passes[number]);
        let Self { hits: [first, second], candidates, uv, confirmed, choose, .. } = self;
        let (present, next) = if number.is_multiple_of(2) { (first, second) } else { (second, first) };
        confirmed.len = 0;
        if candidates.len > 0 {
            let most = config.limits.triplets as usize;
            counts.dropped += uv.confirm(g, (plan, pass, most), present, candidates, confirmed);
            counts.uv.add_all(uv.lines(), uv.lines().next_multiple_of(G::LANES));
        }
        step!(g, choose.choose(g, &pass.choice, present, confirmed, out));
        if number + 1 < plans.passes() {
            step!(g, next.keep_free(g, present, choose.used.padded(), config.rows.outer));
        }
    }
}
