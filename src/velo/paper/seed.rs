//! Track seeding: finds the best triplet around each free hit of a pair of modules, with all three hits on one side.

use super::scratch::{Active, PaperScratch, Step};
use super::search::{Best, Candidates, Line, Measure, Window, limit, window};
use crate::event::{Column, Counters};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::PaperConfig;
use crate::velo::found::Found;
use crate::velo::modules::Modules;

/// Memory of seeding.
#[derive(Debug, Default)]
pub(super) struct SeedScratch {
    /// Free hits of the current pair with candidates on both ends: index, and the windows of the outer ([0])
    /// and of the inner hit ([1]).
    middle: Column<u32>,
    first: [Column<u32>; 2],
    count: [Column<u32>; 2],
    /// Doublets: index of the outer hit, and entry of `middle`.
    outer: Column<u32>,
    entry: Column<u32>,
    /// Triplets: outer hit, entry of `middle`, and inner hit; and their measures.
    triplets: [Column<u32>; 3],
    scatter: Column<f32>,
}

/// Makes the seeds around `pair`, whose windows are open, and appends them to the active tracks.
#[inline(always)]
pub(super) fn seed<G: Gang>(
    g: G,
    step: &Step<'_>,
    modules: &Modules,
    scratch: &mut PaperScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    let PaperScratch { seeds, active, .. } = scratch;
    let doublets = seeds.list_doublets(modules);
    let triplets = seeds.find_inner(g, step.config, modules, doublets, counters);
    let SeedScratch { middle, triplets: [outer, entry, inner], scatter, .. } = seeds;
    found.reserve(triplets);
    let mut at = 0;
    while at < triplets {
        let same = entry[at];
        let mut best = at;
        while at < triplets && entry[at] == same {
            if scatter[at] < scatter[best] {
                best = at;
            }
            at += 1;
        }
        let triplet = [outer[best], middle[same as usize], inner[best]];
        active.push(triplet, found.rows.len() as u32);
        found.push(&triplet, scatter[best]);
    }
}

impl SeedScratch {
    /// Lists the free hits of a pair that have candidates in the modules before and after, with the windows.
    #[inline(always)]
    pub(super) fn open_windows<G: Gang>(
        &mut self,
        g: G,
        step: &Step<'_>,
        modules: &Modules,
        phi: &[f32],
        counters: &mut Counters,
    ) {
        let Step { config, max_candidates, pair } = *step;
        let mut listed = 0;
        for module in [2 * pair, 2 * pair + 1] {
            let range = modules.range(module);
            // Behind the existing entries: first all free hits, then the free hits that have candidates.
            self.middle.reserve_total(listed + range.len());
            for column in self.first.iter_mut().chain(&mut self.count) {
                column.reserve_total(listed + range.len());
            }
            let mut free_end = listed;
            for at in range.clone().step_by(G::LANES) {
                let lanes = Mask::first(g, range.end - at);
                let index = U32::iota(g) + U32::splat(g, at as u32);
                let [_, _, _, free] = F32::gather_records(&modules.hits, index);
                free_end +=
                    index.store_packed(&mut self.middle.padded_mut()[free_end..], free.eq(free) & lanes);
            }
            for at in (listed..free_end).step_by(G::LANES) {
                let lanes = Mask::first(g, free_end - at);
                let index = U32::load(g, &self.middle.padded()[at..]);
                let [_, _, z, _] = F32::gather_records(&modules.hits, index);
                let middle = F32::gather(phi, index);
                let slope = F32::splat(g, config.seed_window_slope);
                let half = z.abs().mul_add(slope, F32::splat(g, config.seed_window));
                let zero = U32::splat(g, 0);
                let mut windows = [zero; 2].map(|zero| Window { first: zero, count: zero });
                for (outer, module) in windows.iter_mut().zip([module + 2, module - 2]) {
                    *outer = window(g, phi, modules.range(module), middle, half);
                }
                let both = zero.lt(windows[0].count) & zero.lt(windows[1].count) & lanes;
                index.store_packed(&mut self.middle.padded_mut()[listed..], both);
                for (end, window) in windows.into_iter().enumerate() {
                    let count = limit(g, window.count, max_candidates, both, counters);
                    window.first.store_packed(&mut self.first[end].padded_mut()[listed..], both);
                    count.store_packed(&mut self.count[end].padded_mut()[listed..], both);
                }
                listed += both.count();
            }
        }
        self.middle.set_len(listed);
        self.first.iter_mut().chain(&mut self.count).for_each(|column| column.set_len(listed));
    }

    /// Lists the doublets of the listed hits with the free hits of their outer windows; returns their number.
    #[inline(always)]
    fn list_doublets(&mut self, modules: &Modules) -> usize {
        let mut listed = 0;
        for entry in 0..self.middle.len() {
            let (first, count) = (self.first[0][entry], self.count[0][entry]);
            self.outer.set_len(listed + count as usize);
            self.entry.set_len(listed + count as usize);
            for outer in first..first + count {
                self.outer[listed] = outer;
                self.entry[listed] = entry as u32;
                listed += usize::from(modules.is_free(outer));
            }
        }
        listed
    }

    /// Finds the inner hit of each doublet, one doublet per lane; returns the number of triplets.
    #[inline(always)]
    fn find_inner<G: Gang>(
        &mut self,
        g: G,
        config: &PaperConfig,
        modules: &Modules,
        doublets: usize,
        counters: &mut Counters,
    ) -> usize {
        self.triplets.iter_mut().for_each(|column| column.set_len(doublets));
        self.scatter.set_len(doublets);
        let (measure, max) = if config.seed_by_fit {
            (Measure::Fit, config.seed_residuals())
        } else {
            (Measure::Distance, config.seed_scatter)
        };
        let mut listed = 0;
        for at in (0..doublets).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets - at);
            let outer = U32::load(g, &self.outer.padded()[at..]);
            let entry = U32::load(g, &self.entry.padded()[at..]);
            let line = Line::through(g, &modules.hits, outer, U32::gather(&self.middle, entry));
            let window = Window {
                first: U32::gather(&self.first[1], entry),
                count: U32::gather(&self.count[1], entry),
            };
            let mut best = Best::none(g, max);
            let hits = Candidates { hits: &modules.hits, x_column: 3, measure, window };
            best.improve(g, &hits, &line, lanes, counters);
            for (value, column) in [outer, entry, best.index].into_iter().zip(&mut self.triplets) {
                value.store_packed(&mut column.padded_mut()[listed..], best.found);
            }
            listed += best.scatter.store_packed(&mut self.scatter.padded_mut()[listed..], best.found);
        }
        listed
    }
}

impl Active {
    #[inline(always)]
    fn push(&mut self, triplet: [u32; 3], row: u32) {
        let len = self.row.len();
        self.set_len(len + 1);
        self.before[len] = triplet[1];
        self.last[len] = triplet[2];
        self.row[len] = row;
        self.missed[len] = 0;
    }
}
