//! Sequential track forwarding, the baseline of the paper on Search by triplet (preset `forwarding`; section II.A):
//! each pair of free hits in neighbouring modules of one side is extended at once to a whole track. Later pairs cannot
//! use the hits of a track of four or more hits, so nothing can run in parallel.
//!
//! The section leaves some points open, which are decided as follows. The first two hits are on one side; later hits
//! are on either side, and the side of the previous hit is searched first. "Two consecutive modules on the same side"
//! without a hit are two pairs. Of three-hit tracks that share hits, the straightest remains.
//!
//! The preset is a baseline for measurements and therefore plain scalar code. Sums and products are not fused, so that
//! the code gives the same bits with any instruction set.

use super::config::{ForwardingConfig, LimitConfig};
use super::found::Found;
use super::geometry::{MODULE_Z, PAIRS};
use super::index::{check_sizes, status_of_bad_hits};
use super::modules::Modules;
use crate::Status;
use crate::event::{Column, Counters, Truncation, VELO_MODULES, VeloEvent};
use std::ops::Range;

/// Memory of the preset.
#[derive(Debug, Default)]
pub(super) struct ForwardingScratch {
    weak: Vec<Weak>,
}

/// A track of three hits: its chi2, its number in the order of finding, and its hits.
type Weak = (f32, u32, [u32; 3]);

/// A track under construction: at most one hit in each pair of modules.
struct Track {
    hits: [u32; PAIRS],
    len: usize,
}

/// The line through the last two hits of a track: the position of the last hit, mm, and the slopes.
struct Line {
    x: f32,
    y: f32,
    z: f32,
    tx: f32,
    ty: f32,
}

/// Sorts the hits of an event by (module, x, input order). Returns a status other than `Ok` when the event cannot be
/// reconstructed.
pub(super) fn sort(
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    modules: &mut Modules,
    order: &mut Column<u32>,
) -> Status {
    let status = check_sizes(event, limits);
    if status != Status::Ok {
        return status;
    }
    let inside = |column: &[f32]| column.iter().all(|value| value.abs() <= limits.coordinate);
    if !(inside(event.x) && inside(event.y) && inside(event.z)) {
        return status_of_bad_hits(event);
    }
    modules.open(event);
    order.set_len(event.len());
    for module in 0..VELO_MODULES {
        let range = event.module(module);
        let (x, order) = (&event.x[range.clone()], &mut order[range]);
        order.iter_mut().enumerate().for_each(|(place, hit)| *hit = place as u32);
        order.sort_unstable_by(|&a, &b| x[a as usize].total_cmp(&x[b as usize]).then(a.cmp(&b)));
        modules.arrange(event, module, order);
    }
    Status::Ok
}

/// The search in one event.
struct Forwarding<'a> {
    config: &'a ForwardingConfig,
    max_candidates: usize,
    /// Largest distance of a hit from the extrapolated track, mm.
    reach: f32,
    modules: &'a mut Modules,
    /// Candidates that were not looked at.
    cut_short: u64,
}

/// Finds the tracks of one event.
pub(super) fn find(
    config: &ForwardingConfig,
    max_candidates: u32,
    modules: &mut Modules,
    ForwardingScratch { weak }: &mut ForwardingScratch,
    found: &mut Found,
    counters: &mut Counters,
) {
    found.clear();
    weak.clear();
    let (max_candidates, reach) = (max_candidates as usize, config.scatter.sqrt());
    let mut search = Forwarding { config, max_candidates, reach, modules, cut_short: 0 };
    for module in (2..VELO_MODULES).rev() {
        for first in search.modules.range(module) {
            search.follow_pairs(module, first as u32, weak, found);
        }
    }
    // The straightest track takes its hits first.
    weak.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, _, hits) in weak.iter() {
        search.take(hits, found);
    }
    counters.count_truncated(Truncation::CandidatesInWindow, search.cut_short);
}

impl Forwarding<'_> {
    /// Returns the indices of a module's hits with |x - middle| <= reach.
    fn window(&self, module: usize, middle: f32, reach: f32) -> Range<usize> {
        let module = self.modules.range(module);
        let hits = &self.modules.hits[module.clone()];
        let first = hits.partition_point(|hit| hit[0] < middle - reach);
        let inside = |hit: &&[f32; 4]| hit[0] <= middle + reach;
        // Mostly there are so few that counting is faster than another search.
        let few = hits[first..].iter().take(self.max_candidates).take_while(inside).count();
        let mut end = first + few;
        if few == self.max_candidates {
            end += hits[end..].partition_point(|hit| inside(&hit));
        }
        module.start + first..module.start + end
    }

    /// Follows all pairs of one hit of `module` and free hits of the next module of its side, until the hit is
    /// on a track.
    fn follow_pairs(&mut self, module: usize, first: u32, weak: &mut Vec<Weak>, found: &mut Found) {
        let [x, y, _, _] = self.modules.hits[first as usize];
        let reach = self.config.slope * (MODULE_Z[module] - MODULE_Z[module - 2]) as f32;
        let mut candidates = 0;
        for second in self.window(module - 2, x, reach) {
            if !self.modules.is_free(first) {
                return;
            }
            let compatible = (self.modules.hits[second][1] - y).abs() <= reach;
            let second = second as u32;
            if !(compatible && self.modules.is_free(second)) {
                continue;
            }
            candidates += 1;
            if candidates > self.max_candidates {
                self.cut_short += 1;
                continue;
            }
            let track = self.follow(module, [first, second]);
            match track.hits[..track.len] {
                [_, _] => {}
                [a, b, c] => {
                    let chi2 = self.modules.three_hit_chi2([a, b, c], self.config.weak_weight);
                    if chi2 < self.config.weak_chi2 {
                        weak.push((chi2, weak.len() as u32, [a, b, c]));
                    }
                }
                _ => self.take(&track.hits[..track.len], found),
            }
        }
    }

    /// Follows a pair whose first hit is in `module` down to the lowest pair of modules, until too many in a row
    /// have no hit. The side of the last hit is looked at first, then the other one.
    fn follow(&mut self, module: usize, doublet: [u32; 2]) -> Track {
        let mut track = Track { hits: [0; PAIRS], len: 2 };
        track.hits[..2].copy_from_slice(&doublet);
        let mut line = self.line(doublet);
        let (mut side, mut missed) = (module % 2, 0);
        for pair in (0..module / 2 - 1).rev() {
            let modules = [2 * pair + side, 2 * pair + 1 - side];
            let next = modules.into_iter().find_map(|module| Some((module, self.nearest(&line, module)?)));
            if let Some((module, hit)) = next {
                line = self.line([track.hits[track.len - 1], hit]);
                track.hits[track.len] = hit;
                track.len += 1;
                (side, missed) = (module % 2, 0);
            } else if missed == self.config.skipped_modules {
                break;
            } else {
                missed += 1;
            }
        }
        track
    }

    /// Returns the line from one hit to another.
    fn line(&self, [a, b]: [u32; 2]) -> Line {
        let [x0, y0, z0, _] = self.modules.hits[a as usize];
        let [x, y, z, _] = self.modules.hits[b as usize];
        Line { x, y, z, tx: (x - x0) / (z - z0), ty: (y - y0) / (z - z0) }
    }

    /// Returns the free hit of a module that is nearest to a line; of equally near hits, the first.
    fn nearest(&mut self, line: &Line, module: usize) -> Option<u32> {
        let middle = line.x + line.tx * (MODULE_Z[module] as f32 - line.z);
        // Hits lie up to 0.581 mm before and behind the nominal z of their module; 1 mm times the slope allows for
        // this.
        let window = self.window(module, middle, self.reach + line.tx.abs());
        if window.len() > self.max_candidates {
            self.cut_short += (window.len() - self.max_candidates) as u64;
        }
        let mut best = (self.config.scatter, None);
        for hit in window.take(self.max_candidates) {
            let [_, y, z, free_x] = self.modules.hits[hit];
            let dx = line.x + line.tx * (z - line.z) - free_x;
            let dy = line.y + line.ty * (z - line.z) - y;
            // The second x of a used hit is NaN, which is never less.
            let scatter = dx * dx + dy * dy;
            if scatter < best.0 {
                best = (scatter, Some(hit as u32));
            }
        }
        best.1
    }

    /// Makes a track of hits that are all free.
    fn take(&mut self, hits: &[u32], found: &mut Found) {
        if hits.iter().all(|&hit| self.modules.is_free(hit)) {
            let row = found.rows.len() as u32;
            found.reserve(1);
            found.push(&[], 0.0);
            for &hit in hits {
                self.modules.mark_used(hit);
                found.extend(row, hit);
            }
            found.tracks.push(row);
        }
    }
}
