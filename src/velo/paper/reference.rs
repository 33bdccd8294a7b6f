//! The preset `paper` written down naively, hit by hit and without lanes: what its search must find, bit for bit.

use super::PaperConfig;
use crate::event::{VELO_MODULES, VeloEvent};
use crate::velo::geometry::{MODULE_Z, PAIRS};
use std::f32::consts::{FRAC_PI_2, PI, TAU};

/// A sorted hit.
#[derive(Clone, Copy)]
struct Hit {
    phi: f32,
    x: f32,
    y: f32,
    z: f32,
    id: u32,
    used: bool,
}

/// A track under way: modules and places of its hits, and pairs missed in a row.
struct Track {
    hits: Vec<(usize, usize)>,
    missed: u32,
    followed: bool,
}

type Modules = Vec<Vec<Hit>>;

/// The tracks of an event that can be reconstructed, as lists of hit names, longest first. A window holds at
/// most `max_candidates` hits. With `planted_fault` one comparison is the wrong way round, so that tests can
/// show that they would see it.
pub fn find(
    config: &PaperConfig,
    max_candidates: u32,
    event: &VeloEvent<'_>,
    planted_fault: bool,
) -> Vec<Vec<u32>> {
    let limit = max_candidates as usize;
    let mut modules: Modules = (0..VELO_MODULES).map(|module| sorted(event, module)).collect();
    let mut tracks: Vec<Track> = Vec::new();
    for pair in (1..PAIRS - 1).rev() {
        let steps: Vec<_> = tracks
            .iter()
            .map(|track| track.followed.then(|| next_hit(config, limit, &modules, track, pair - 1)).flatten())
            .collect();
        for (track, hit) in tracks.iter_mut().zip(steps) {
            if let Some(hit) = hit {
                track.hits.push(hit);
                track.missed = 0;
                track.hits.iter().for_each(|&(module, place)| modules[module][place].used = true);
            } else {
                track.missed += 1;
                track.followed &= track.missed <= config.skipped_pairs;
            }
        }
        for module in [2 * pair, 2 * pair + 1] {
            for middle in 0..modules[module].len() {
                if let Some(hits) = triplet(config, limit, &modules, module, middle, planted_fault) {
                    tracks.push(Track { hits, missed: 0, followed: true });
                }
            }
        }
    }
    tracks.retain(|track| {
        let hits: Vec<Hit> = track.hits.iter().map(|&(module, place)| modules[module][place]).collect();
        hits.len() > 3 || (hits.iter().all(|hit| !hit.used) && chi2(config, &hits) < config.weak_chi2)
    });
    tracks.sort_by_key(|track| std::cmp::Reverse(track.hits.len()));
    let names = |track: &Track| track.hits.iter().map(|&(module, place)| modules[module][place].id).collect();
    tracks.iter().map(names).collect()
}

/// The hits of a module by phi, then input order.
fn sorted(event: &VeloEvent<'_>, module: usize) -> Vec<Hit> {
    let hit = |i: usize| {
        let (x, y, z, id) = (event.x[i], event.y[i], event.z[i], event.id[i]);
        Hit { phi: phi(module, x, y), x, y, z, id, used: false }
    };
    let mut hits: Vec<Hit> = event.module(module).map(hit).collect();
    hits.sort_by(|a, b| a.phi.total_cmp(&b.phi));
    hits
}

/// The places of a module's hits around `phi`.
fn window(module: &[Hit], phi: f32, half: f32, limit: usize) -> Vec<usize> {
    let (low, high) = (phi - half, phi + half);
    (0..module.len()).filter(|&i| low <= module[i].phi && module[i].phi < high).take(limit).collect()
}

/// Squared distance of `hit` from the line through `a` and `b`, mm^2.
fn scatter(a: Hit, b: Hit, hit: Hit) -> f32 {
    let inverse = 1.0 / (b.z - a.z);
    let (tx, ty) = ((b.x - a.x) * inverse, (b.y - a.y) * inverse);
    let dz = hit.z - b.z;
    let (dx, dy) = (tx.mul_add(dz, b.x) - hit.x, ty.mul_add(dz, b.y) - hit.y);
    dx.mul_add(dx, dy * dy)
}

/// The best triplet of free hits around a hit.
fn triplet(
    config: &PaperConfig,
    limit: usize,
    modules: &Modules,
    module: usize,
    middle: usize,
    planted_fault: bool,
) -> Option<Vec<(usize, usize)>> {
    let hit = modules[module][middle];
    let half = hit.z.abs().mul_add(config.seed_window_slope, config.seed_window);
    let (above, below) = (&modules[module + 2], &modules[module - 2]);
    let mut best = (config.seed_scatter, None);
    for outer in window(above, hit.phi, half, limit) {
        for inner in window(below, hit.phi, half, limit) {
            if hit.used || above[outer].used || below[inner].used {
                continue;
            }
            let scatter = scatter(above[outer], hit, below[inner]);
            let better = best.1.is_none() || (scatter < best.0) != planted_fault;
            if better && scatter < config.seed_scatter {
                best = (scatter, Some(vec![(module + 2, outer), (module, middle), (module - 2, inner)]));
            }
        }
    }
    best.1
}

/// The hit of a pair that is nearest to a track, used or not.
fn next_hit(
    config: &PaperConfig,
    limit: usize,
    modules: &Modules,
    track: &Track,
    pair: usize,
) -> Option<(usize, usize)> {
    let [.., a, b] = track.hits[..] else { return None };
    let [a, b] = [a, b].map(|(module, place)| modules[module][place]);
    let inverse = 1.0 / (b.z - a.z);
    let (tx, ty) = ((b.x - a.x) * inverse, (b.y - a.y) * inverse);
    let mut best = (config.forward_scatter, None);
    for module in [2 * pair, 2 * pair + 1] {
        let dz = MODULE_Z[module] as f32 - b.z;
        let phi = phi(module, tx.mul_add(dz, b.x), ty.mul_add(dz, b.y));
        for place in window(&modules[module], phi, config.forward_window, limit) {
            let scatter = scatter(a, b, modules[module][place]);
            if scatter < best.0 {
                best = (scatter, Some((module, place)));
            }
        }
    }
    best.1
}

/// chi2 per degree of freedom of the least-squares line through three hits.
fn chi2(config: &PaperConfig, hits: &[Hit]) -> f32 {
    let mean = |value: fn(&Hit) -> f32| (value(&hits[0]) + value(&hits[1]) + value(&hits[2])) / 3.0;
    let (x, y, z) = (mean(|hit| hit.x), mean(|hit| hit.y), mean(|hit| hit.z));
    let sum = |term: &dyn Fn(&Hit) -> f32| hits.iter().fold(0.0, |sum, hit| sum + term(hit));
    let zz = sum(&|hit| (hit.z - z) * (hit.z - z));
    let tx = sum(&|hit| (hit.z - z) * (hit.x - x)) / zz;
    let ty = sum(&|hit| (hit.z - z) * (hit.y - y)) / zz;
    sum(&|hit| {
        let dx = (hit.x - x) - tx * (hit.z - z);
        let dy = (hit.y - y) - ty * (hit.z - z);
        config.weak_weight * (dx * dx + dy * dy)
    }) / 2.0
}

/// Angle around the beam, rad: 0..2 pi in even modules, -pi..pi in odd ones.
fn phi(module: usize, x: f32, y: f32) -> f32 {
    let phi = atan2(y, x);
    if module.is_multiple_of(2) && phi < 0.0 { phi + TAU } else { phi }
}

/// The angle of (x, y), by the polynomial of the lanes: a library's arctangent has other last bits.
fn atan2(y: f32, x: f32) -> f32 {
    const P: [f32; 9] = [
        -0.333_333,
        0.199_985_48,
        -0.142_642_42,
        0.109_521_85,
        -0.084_034_49,
        0.057_957_58,
        -0.031_177_83,
        0.010_914_599,
        -0.001_793_620_3,
    ];
    // What the f32 constants leave out of pi/2 and pi.
    const FRAC_PI_2_REST: f32 = -4.371_139e-8;
    const PI_REST: f32 = -8.742_278e-8;
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ax < ay;
    let ratio = match (ax == ay, steep) {
        (true, _) if ax > 0.0 => 1.0,
        (true, _) => 0.0,
        (_, true) => ax / ay,
        (_, false) => ay / ax,
    };
    let square = ratio * ratio;
    let polynomial = P.iter().rev().copied().reduce(|sum, c| sum.mul_add(square, c)).unwrap_or(0.0);
    let angle = (ratio * square).mul_add(polynomial, ratio);
    let left = x.is_sign_negative();
    let angle = match (steep, left) {
        (true, false) => FRAC_PI_2 + (-angle + FRAC_PI_2_REST),
        (true, true) => FRAC_PI_2 + (angle + FRAC_PI_2_REST),
        (false, true) => PI + (-angle + PI_REST),
        (false, false) => angle,
    };
    if y.is_sign_negative() { -angle.abs() } else { angle }
}
