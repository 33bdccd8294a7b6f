//! Naive reference of the search by pairs: tries all pairs of hits, one track after another.

use super::fit::{cost, per_kick};
use super::line::{Beside, Line, MIDDLE, SLOPE};
use super::tracklets::{Tracklet, Windows};
use super::{Event, SLOTS};
use crate::event::UT_PLANES;
use crate::ut::config::UtConfig;

/// Largest number of tracklets of one event, and of one track.
const MOST_TRACKLETS: usize = 1 << 15;
const MOST_PAIRS: usize = 512;

/// Returns the smaller of two numbers, or `b` if one of them is NaN.
fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn angle(line: &Line) -> f32 {
    line.tx.mul_add(line.tx, line.ty * line.ty).sqrt()
}

/// The cuts on the pairs of a track.
struct Cuts {
    max_slope: f32,
    kink: f32,
    apart: [f32; 2],
}

impl Cuts {
    fn new(config: &UtConfig, line: &Line, per_kick: f32) -> Self {
        let of = &config.line;
        let largest =
            min(angle(line) * (1.0 / config.final_pt), 1.0 / config.final_momentum) * of.pair_margin;
        let kick = if per_kick.abs() > 1e-12 { per_kick.abs() } else { 1e-12 };
        let [constant, part, square] = of.kink;
        Self {
            max_slope: min(largest / kick, config.slope_tolerance),
            kink: MIDDLE - (line.ty * line.ty).mul_add(square, line.ty.abs().mul_add(part, constant)),
            apart: [
                of.pair_kink * of.kink_error[0],
                of.pair_kink * of.kink_error[1] * 1000.0 * per_kick.abs(),
            ],
        }
    }

    /// Returns whether a pair may belong to a particle, judged by the distance of its planes.
    fn hold(&self, first: &Beside, third: &Beside, per_span: f32) -> bool {
        let slope = (third.d - first.d) * per_span;
        let apart = slope.mul_add(self.kink - first.z, first.d);
        slope.abs() <= self.max_slope * 1.06
            && apart.abs() <= slope.abs().mul_add(self.apart[1], self.apart[0])
    }
}

impl Event<'_> {
    /// Returns the possible hits of a track in a plane, in the order of cells.
    pub(super) fn cells_window(&self, fault: bool, line: &Line, plane: usize) -> Vec<Beside> {
        let Self { config, layout, hits, starts } = self;
        let inverse_angle = min(1.0 / angle(line), 500.0);
        let momentum = config.min_pt * inverse_angle;
        let momentum = if momentum > config.min_momentum { momentum } else { config.min_momentum };
        let bin = (line.ty.abs().mul_add(100.0, 0.5) as usize).min(29);
        let factor = 1.0 / layout.tables.plane_factor[4 * bin + plane];
        let tolerance = factor * (1.0 / (4.0212e-5 * momentum)) * if fault { 0.99 } else { 1.0 };
        let y_slope = factor.abs() * config.y_tolerance_slope;
        let cells = layout.plane_cells();
        let beside = |hit: usize| {
            let z = hits.z[hit];
            let [x, y] = line.at(z);
            let d = y.mul_add(SLOPE[plane], hits.x[hit]) - x;
            let t = d.abs().mul_add(y_slope, config.y_tolerance);
            let is_near = d.abs() <= tolerance && hits.y_begin[hit] - y <= t && y - hits.y_end[hit] <= t;
            is_near.then_some(Beside { d, z, weight: hits.weight[hit], plane, hit })
        };
        let of_plane = starts[cells[plane]] as usize..starts[cells[plane + 1]] as usize;
        of_plane.filter_map(beside).take(SLOTS).collect()
    }

    /// Returns the cheapest tracklet of a track; `tried` counts the tracklets of the event.
    pub(super) fn best_pairs(&self, line: &Line, windows: &Windows, tried: &mut usize) -> Option<Tracklet> {
        let Self { config, layout, .. } = self;
        if *tried > MOST_TRACKLETS - MOST_PAIRS {
            return None;
        }
        let cuts = Cuts::new(config, line, per_kick(layout, line));
        let z = &layout.z;
        let mut best: Option<Tracklet> = None;
        for [a, c, b, d] in [[0, 2, 1, 3], [3, 1, 2, 0]] {
            let mut is_full = false;
            for first in &windows[a] {
                for third in &windows[c] {
                    let slope = (third.d - first.d) / (third.z - first.z);
                    let second = nearest(&windows[b], first, slope, config.hit_tolerance);
                    let fourth = nearest(&windows[d], third, slope, config.hit_tolerance);
                    let is_along =
                        cuts.hold(first, third, 1.0 / (z[c] - z[a])) && slope.abs() <= cuts.max_slope;
                    if !is_along || second.is_none() && fourth.is_none() {
                        continue;
                    }
                    *tried += 1;
                    is_full |= second.is_some() && fourth.is_some();
                    let mut by_plane = [None; UT_PLANES];
                    (by_plane[a], by_plane[c]) = (Some(*first), Some(*third));
                    (by_plane[b], by_plane[d]) = (second, fourth);
                    let hits: Vec<_> = by_plane.into_iter().flatten().collect();
                    let (cost, kick) = cost(config, layout, line, &hits);
                    if cost < best.as_ref().map_or(config.line.max_cost, |best| best.cost) {
                        best = Some(Tracklet { hits, cost, kick });
                    }
                }
            }
            if is_full {
                break;
            }
        }
        best
    }
}

/// Returns the hit nearest to a line through the hit `from`, by the distance without its last four bits, then by
/// number.
fn nearest(window: &[Beside], from: &Beside, slope: f32, tolerance: f32) -> Option<Beside> {
    let base = (-slope).mul_add(from.z, from.d);
    let key = |(number, hit): (usize, &Beside)| {
        let distance = slope.mul_add(hit.z, base - hit.d).abs();
        (distance.to_bits() & !15 | number as u32, *hit)
    };
    let (key, hit) = window.iter().enumerate().map(key).min_by_key(|(key, _)| *key)?;
    (f32::from_bits(key) < tolerance).then_some(hit)
}
