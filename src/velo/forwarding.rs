//! The sequential track forwarding that Search by triplet was measured against (preset `forwarding`; the
//! paper's section II.A): pairs of free hits in neighbouring modules of one side, each followed at once as far
//! as it goes. A track of four hits takes them from all pairs that come later, so nothing can run in parallel.
//!
//! It is the baseline of measurements and therefore plain scalar code. Sums and products are not fused, so that
//! the code gives the same bits for whatever instructions it is compiled.

use super::config::LimitConfig;
use super::find::Tally;
use super::geometry::MODULE_Z;
use super::index::{Index, check_sizes, why_not_sane};
use super::paper::{arrange, three_hit_chi2};
use super::scratch::Found;
use crate::Status;
use crate::event::{Column, Counters, VELO_MODULES, VeloEvent};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Parameters of the preset `forwarding`. The paper prints none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardingConfig {
    /// Largest |dx/dz| and |dy/dz| of a pair of hits, no unit (ALGORITHMS.md 12.1).
    pub slope: f32,
    /// Largest squared distance of a hit from the extrapolated track, mm^2 (ALGORITHMS.md 12.2).
    pub scatter: f32,
    /// Modules of its side in a row a track may miss (no unit; the paper's section II.A).
    pub skipped_modules: u32,
    /// Largest chi2 per degree of freedom of a track that ends with three hits (no unit).
    pub weak_chi2: f32,
    /// Weight of a hit in that chi2, 1/mm^2: 12 / (55 um)^2, the variance of a flat distribution over a pixel.
    pub weak_weight: f32,
}

impl Default for ForwardingConfig {
    fn default() -> Self {
        Self { slope: 0.4, scatter: 0.1, skipped_modules: 1, weak_chi2: 20.0, weak_weight: 3966.94 }
    }
}

/// Memory of the preset.
#[derive(Debug)]
pub(super) struct ForwardingScratch {
    start: [u32; VELO_MODULES + 1],
    /// Tracks of three hits, and their chi2.
    weak: Vec<(f32, [u32; 3])>,
}

impl Default for ForwardingScratch {
    fn default() -> Self {
        Self { start: [0; VELO_MODULES + 1], weak: Vec::new() }
    }
}

/// Hits of a track: at most one in each module of a side.
struct Track {
    hits: [u32; VELO_MODULES / 2],
    len: usize,
}

/// Sorts the hits of an event by (module, x, input order) into `index`.
///
/// The status tells when the event is not one that can be reconstructed.
pub(super) fn sort(
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    index: &mut Index,
    scratch: &mut ForwardingScratch,
    order: &mut Column<u32>,
) -> Status {
    let status = check_sizes(event, limits);
    if status != Status::Ok {
        return status;
    }
    let inside = |column: &[f32]| column.iter().all(|value| value.abs() <= limits.coordinate);
    if !(inside(event.x) && inside(event.y) && inside(event.z)) {
        return why_not_sane(event);
    }
    index.resize(event.len());
    order.set_len(event.len());
    scratch.start.copy_from_slice(event.module_start);
    scratch.start.iter_mut().for_each(|start| *start -= event.module_start[0]);
    for module in 0..VELO_MODULES {
        let range = event.module(module);
        let (x, order) = (&event.x[range.clone()], &mut order[range.clone()]);
        order.iter_mut().enumerate().for_each(|(place, hit)| *hit = place as u32);
        order.sort_unstable_by(|&a, &b| x[a as usize].total_cmp(&x[b as usize]).then(a.cmp(&b)));
        arrange(index, event, range, order);
    }
    Status::Ok
}

/// The hits of a module with |x - middle| <= reach, given where the module's hits are.
fn window(index: &Index, module: Range<usize>, middle: f32, reach: f32) -> Range<usize> {
    let hits = &index.hits[module.clone()];
    let first = hits.partition_point(|hit| hit[0] < middle - reach);
    let count = hits[first..].iter().take_while(|hit| hit[0] <= middle + reach).count();
    module.start + first..module.start + first + count
}

/// One event's search.
struct Forwarding<'a> {
    config: &'a ForwardingConfig,
    max_candidates: usize,
    index: &'a mut Index,
    start: &'a [u32; VELO_MODULES + 1],
    tally: Tally,
}

/// Finds the tracks of one event.
pub(super) fn find(
    config: &ForwardingConfig,
    max_candidates: u32,
    index: &mut Index,
    scratch: &mut ForwardingScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    let ForwardingScratch { start, weak } = scratch;
    found.clear();
    weak.clear();
    let max_candidates = max_candidates as usize;
    let mut search = Forwarding { config, max_candidates, index, start, tally: Tally::default() };
    for module in (2..VELO_MODULES).rev() {
        for first in search.module(module) {
            search.follow_pairs(module, first as u32, weak, found);
        }
    }
    // The straightest chooses first.
    weak.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, hits) in weak.iter() {
        search.take(hits, found);
    }
    search.tally.add_to(counters);
}

impl Forwarding<'_> {
    fn module(&self, module: usize) -> Range<usize> {
        self.start[module] as usize..self.start[module + 1] as usize
    }

    /// Follows all pairs of one hit of `module` and free hits of the next module of its side, until the hit is
    /// on a track.
    fn follow_pairs(
        &mut self,
        module: usize,
        first: u32,
        weak: &mut Vec<(f32, [u32; 3])>,
        found: &mut Found,
    ) {
        let [x0, y0, _, _] = self.index.hits[first as usize];
        let reach = self.config.slope * (MODULE_Z[module] - MODULE_Z[module - 2]) as f32;
        let mut candidates = 0;
        for second in window(self.index, self.module(module - 2), x0, reach) {
            if !self.index.is_free(first as usize) {
                return;
            }
            let compatible = (self.index.hits[second][1] - y0).abs() <= reach;
            if !(compatible && self.index.is_free(second)) {
                continue;
            }
            candidates += 1;
            if candidates > self.max_candidates {
                self.tally.cut_short(1);
                continue;
            }
            let track = self.follow(module, [first, second as u32]);
            match track.hits[..track.len] {
                [_, _] => {}
                [a, b, c] => {
                    let hits = [a, b, c].map(|hit| self.index.hits[hit as usize]);
                    let chi2 = three_hit_chi2(hits, self.config.weak_weight);
                    if chi2 < self.config.weak_chi2 {
                        weak.push((chi2, [a, b, c]));
                    }
                }
                _ => self.take(&track.hits[..track.len], found),
            }
        }
    }

    /// Follows a pair whose first hit is in `module` over the rest of the side.
    fn follow(&mut self, module: usize, pair: [u32; 2]) -> Track {
        let mut track = Track { hits: [0; VELO_MODULES / 2], len: 2 };
        track.hits[..2].copy_from_slice(&pair);
        let mut missed = 0;
        for module in (0..module.saturating_sub(3)).rev().step_by(2) {
            if let Some(hit) = self.nearest(&track, module) {
                track.hits[track.len] = hit;
                track.len += 1;
                missed = 0;
            } else if missed == self.config.skipped_modules {
                break;
            } else {
                missed += 1;
            }
        }
        track
    }

    /// The free hit of a module that is nearest to a track, the first of equals.
    fn nearest(&mut self, track: &Track, module: usize) -> Option<u32> {
        let [a, b] = [track.hits[track.len - 2], track.hits[track.len - 1]];
        let [x0, y0, z0, _] = self.index.hits[a as usize];
        let [x1, y1, z1, _] = self.index.hits[b as usize];
        let (tx, ty) = ((x1 - x0) / (z1 - z0), (y1 - y0) / (z1 - z0));
        let x = x1 + tx * (MODULE_Z[module] as f32 - z1);
        // Hits lie a little before and behind the nominal z of their module; one step wider takes that in.
        let reach = self.config.scatter.sqrt() + tx.abs();
        let window = window(self.index, self.module(module), x, reach);
        if window.len() > self.max_candidates {
            self.tally.cut_short((window.len() - self.max_candidates) as u64);
        }
        let mut best = (self.config.scatter, None);
        for hit in window.take(self.max_candidates) {
            let [x, y, z, _] = self.index.hits[hit];
            let dx = x1 + tx * (z - z1) - x;
            let dy = y1 + ty * (z - z1) - y;
            let scatter = dx * dx + dy * dy;
            if scatter < best.0 && self.index.is_free(hit) {
                best = (scatter, Some(hit as u32));
            }
        }
        best.1
    }

    /// Makes free hits a track; nothing when a track has one of them.
    fn take(&mut self, hits: &[u32], found: &mut Found) {
        if hits.iter().all(|&hit| self.index.is_free(hit as usize)) {
            hits.iter().for_each(|&hit| self.index.mark_used(hit as usize));
            found.hits.extend_from_slice(hits);
            found.end_track();
        }
    }
}
