//! Naive reference of `find/tracklets`: forms doublets, adds third and fourth hits, and chooses the best tracklet.

use super::line::{Beside, KINK, Line, MIDDLE};
use crate::event::UT_PLANES;
use crate::ut::config::{UtChoice, UtConfig};

/// Possible hits of a track in each plane.
pub(super) type Windows = [Vec<Beside>; UT_PLANES];

/// A tracklet: hits in the order of their roles, cost, and kick or slope.
pub(super) struct Tracklet {
    pub(super) hits: Vec<Beside>,
    pub(super) cost: f32,
    pub(super) kick: f32,
}

/// Returns the best tracklet of a track by the choices `kick` and `compass`.
#[inline(always)]
pub(super) fn best(config: &UtConfig, line: &Line, windows: &Windows) -> Option<Tracklet> {
    let by_compass = config.choice == UtChoice::Compass;
    let highest = 1280.0f32;
    let mut limit = highest;
    let (mut most_hits, mut best) = (3, None);
    let mut seen = 0;
    for planes in [[0, 1, 2, 3], [3, 2, 1, 0]] {
        if by_compass && seen > 0 {
            break;
        }
        for first in &windows[planes[0]] {
            for third in &windows[planes[2]] {
                let angle = (third.d - first.d) / (third.z - first.z);
                let is_along = angle.abs() <= config.slope_tolerance;
                if !is_along || seen == config.candidates {
                    continue;
                }
                let tolerance = config.hit_tolerance;
                let second = nearest(&windows[planes[1]], first, angle, tolerance);
                let fourth = nearest(&windows[planes[3]], third, angle, tolerance);
                let roles = [Some(*first), second, Some(*third), fourth];
                let hits = || roles.into_iter().flatten();
                let count = hits().count();
                if by_compass && count < 3 {
                    continue;
                }
                seen += 1;
                let (cost, kick) = fit_kick(config, line, &roles);
                let is_better = if by_compass {
                    cost < if count > most_hits { highest } else { limit } && count >= most_hits
                } else {
                    cost < limit && count >= most_hits
                };
                if is_better {
                    (limit, most_hits) = (if by_compass { cost } else { cost.trunc() }, count);
                    best = Some(Tracklet { hits: hits().collect(), cost, kick });
                }
            }
        }
    }
    best
}

/// Returns the hit nearest to the line through the hit `from` at an angle to the track.
#[inline(always)]
fn nearest(window: &[Beside], from: &Beside, angle: f32, tolerance: f32) -> Option<Beside> {
    let mut best = (tolerance, None);
    for hit in window {
        let distance = (hit.d - (hit.z - from.z).mul_add(angle, from.d)).abs();
        if distance < best.0 {
            best = (distance, Some(*hit));
        }
    }
    best.1
}

/// Removes tracks with too few hits that are on no cheaper track.
pub(super) fn remove_clones(config: &UtConfig, found: &mut Vec<(usize, Line, Tracklet)>) {
    let cheapest = |hit: usize| {
        let with = found.iter().filter(|(.., tracklet)| tracklet.hits.iter().any(|other| other.hit == hit));
        with.map(|(.., tracklet)| tracklet.cost).fold(f32::INFINITY, f32::min)
    };
    let own =
        |tracklet: &Tracklet| tracklet.hits.iter().filter(|hit| cheapest(hit.hit) == tracklet.cost).count();
    let keep: Vec<_> =
        found.iter().map(|(.., tracklet)| own(tracklet) >= config.line.own_hits as usize).collect();
    let mut keep = keep.into_iter();
    found.retain(|_| keep.next() == Some(true));
}

/// Returns chi2 per degree of freedom, and the difference of sines before and behind the kick.
#[inline(always)]
fn fit_kick(config: &UtConfig, line: &Line, roles: &[Option<Beside>; UT_PLANES]) -> (f32, f32) {
    let hits = || roles.iter().flatten();
    let lever = 0.001 * (KINK - MIDDLE);
    let per_mm = 1.0 / (KINK - line.z);
    let per_error = 1.0 / config.velo_slope_error;
    let root = per_mm * per_error;
    let velo = root * root;
    let (mut a, mut b, mut c) = (velo, velo * lever, velo * lever * lever);
    let (mut r, mut s) = (0.0f32, 0.0f32);
    for hit in hits() {
        let dz = (hit.z - MIDDLE) * 0.001;
        let cosine = [1.0, 0.996_175_3, 0.996_175_3, 1.0][hit.plane];
        let [x, _] = line.at(hit.z);
        let d = x.mul_add(1.0 - cosine, hit.d);
        let w = hit.weight;
        let wz = w * dz;
        let (wc, wzc) = (w * cosine, wz * cosine);
        (a, b, c) = (a + wc, b + wzc, wzc.mul_add(dz, c));
        (r, s) = (w.mul_add(d, r), wz.mul_add(d, s));
    }
    let scale = 1.0 / b.mul_add(-b, a * c);
    let x = b.mul_add(-s, c * r) * scale;
    let t = b.mul_add(-r, a * s) * scale;
    let bend = t.mul_add(lever, x) * per_mm;
    let pull = bend * per_error;
    let mut chi2 = pull * pull;
    for hit in hits() {
        let dz = (hit.z - MIDDLE) * 0.001;
        let rest = t.mul_add(dz, x) - hit.d;
        chi2 = (hit.weight * rest).mul_add(rest, chi2);
    }
    let sine = |t: f32| t * t.mul_add(t, 1.0).sqrt();
    let (before, behind) = (line.tx + bend, t.mul_add(0.001, line.tx));
    (chi2 / (hits().count() as f32 - 1.0), sine(before) - sine(behind))
}
