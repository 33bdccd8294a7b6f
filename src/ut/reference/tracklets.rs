//! Doublets, third and fourth hits, and the best of them.

use super::{Beside, KINK, Line, MIDDLE};
use crate::ut::config::UtConfig;

/// The hits of a track's best tracklet, in the order of their roles, and its kick.
pub(super) fn best(config: &UtConfig, line: &Line, windows: &[Vec<Beside>]) -> Option<(Vec<Beside>, f32)> {
    let (mut best_chi2, mut most_hits, mut best) = (1280.0f32, 3, None);
    let mut seen = 0;
    for planes in [[0, 1, 2, 3], [3, 2, 1, 0]] {
        for first in &windows[planes[0]] {
            for third in &windows[planes[2]] {
                let angle = (third.d - first.d) / (third.z - first.z);
                let is_along = angle.abs() <= config.slope_tolerance;
                if !is_along || seen == config.candidates {
                    continue;
                }
                seen += 1;
                let near = |plane: usize, from: &Beside| {
                    let mut best = (config.hit_tolerance, None);
                    for hit in &windows[plane] {
                        let distance = (hit.d - (hit.z - from.z).mul_add(angle, from.d)).abs();
                        if distance < best.0 {
                            best = (distance, Some(*hit));
                        }
                    }
                    best.1
                };
                let roles = [Some(*first), near(planes[1], first), Some(*third), near(planes[3], third)];
                let hits: Vec<_> = roles.into_iter().flatten().collect();
                let (chi2, kick) = fit_kick(config, line, &hits);
                if chi2 < best_chi2 && hits.len() >= most_hits {
                    (best_chi2, most_hits) = (chi2.trunc(), hits.len());
                    best = Some((hits, kick));
                }
            }
        }
    }
    best
}

/// chi2 per degree of freedom, and the difference of sines before and behind the kick.
fn fit_kick(config: &UtConfig, line: &Line, hits: &[Beside]) -> (f32, f32) {
    let lever = 0.001 * (KINK - MIDDLE);
    let per_mm = 1.0 / (KINK - line.z);
    let per_error = 1.0 / config.velo_slope_error;
    let root = per_mm * per_error;
    let velo = root * root;
    let (mut a, mut b, mut c) = (velo, velo * lever, velo * lever * lever);
    let (mut r, mut s) = (0.0f32, 0.0f32);
    for hit in hits {
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
    for hit in hits {
        let dz = (hit.z - MIDDLE) * 0.001;
        let rest = t.mul_add(dz, x) - hit.d;
        chi2 = (hit.weight * rest).mul_add(rest, chi2);
    }
    let sine = |t: f32| t * t.mul_add(t, 1.0).sqrt();
    let (before, behind) = (line.tx + bend, t.mul_add(0.001, line.tx));
    (chi2 / (hits.len() as f32 - 1.0), sine(before) - sine(behind))
}
