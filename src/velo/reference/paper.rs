//! Naive reference of the preset `paper`: forwarding and seeding from the largest z down, module by module.

use super::Fault;
use super::modules::{Hit, Place, chi2, sorted, window};
use crate::event::{VELO_MODULES, VeloEvent};
use crate::velo::PaperConfig;
use crate::velo::config::VeloConfig;
use crate::velo::geometry::{MODULE_Z, PAIRS};
use std::f32::consts::{FRAC_PI_2, PI, TAU};

/// A track under construction, and the number of pairs missed in a row.
struct Track {
    hits: Vec<Place>,
    missed: u32,
}

/// Returns the tracks as indices in the event's columns.
pub(super) fn find(fault: Fault, config: &VeloConfig, event: &VeloEvent<'_>) -> Vec<Vec<usize>> {
    let modules = (0..VELO_MODULES).map(|module| sorted(event, module, |x, y| phi(module, x, y))).collect();
    let most = config.limits.candidates_in_window as usize;
    let mut finder = Finder { fault, config: &config.paper, most, modules };
    let mut tracks = Vec::new();
    for pair in (1..PAIRS - 1).rev() {
        finder.forward(pair - 1, &mut tracks);
        for module in [2 * pair, 2 * pair + 1] {
            for middle in 0..finder.modules[module].len() {
                let triplet = finder.triplet((module, middle));
                tracks.extend(triplet.map(|hits| Track { hits: hits.to_vec(), missed: 0 }));
            }
        }
    }
    tracks.retain(|track| track.hits.len() > 3 || finder.is_good_triplet(&track.hits));
    tracks.iter().map(|track| track.hits.iter().map(|&place| finder.hit(place).source).collect()).collect()
}

struct Finder<'a> {
    fault: Fault,
    config: &'a PaperConfig,
    /// Largest number of candidates in a window.
    most: usize,
    modules: Vec<Vec<Hit>>,
}

impl Finder<'_> {
    fn hit(&self, (module, place): Place) -> Hit {
        self.modules[module][place]
    }

    /// Returns the places of a module's hits within `half` of `phi`.
    fn around(&self, module: usize, phi: f32, half: f32) -> Vec<Place> {
        let (low, high) = (phi - half, phi + half);
        window(&self.modules, module, self.most, |phi| low <= phi && phi < high)
    }

    /// Looks for the next hit of each track; hits are used from then on, but may be taken again.
    fn forward(&mut self, pair: usize, tracks: &mut [Track]) {
        let followed = |track: &&mut Track| track.missed <= self.config.skipped_pairs;
        let mut used = Vec::new();
        for track in tracks.iter_mut().filter(followed) {
            if let Some(place) = self.next_hit(&track.hits, pair) {
                track.hits.push(place);
                track.missed = 0;
                used.extend_from_slice(&track.hits);
            } else {
                track.missed += 1;
            }
        }
        used.into_iter().for_each(|(module, place)| self.modules[module][place].used = true);
    }

    /// Returns the hit of a pair that is nearest to a track.
    fn next_hit(&self, hits: &[Place], pair: usize) -> Option<Place> {
        let [a, b] = [hits.len() - 2, hits.len() - 1].map(|last| self.hit(hits[last]));
        let inverse = 1.0 / (b.z - a.z);
        let (tx, ty) = ((b.x - a.x) * inverse, (b.y - a.y) * inverse);
        let by_angle = self.config.forward_by_angle;
        let most = if by_angle { self.config.forward_angle2 } else { self.config.forward_scatter };
        let mut best = (most, None);
        for module in [2 * pair, 2 * pair + 1] {
            let dz = MODULE_Z[module] as f32 - b.z;
            let phi = phi(module, tx.mul_add(dz, b.x), ty.mul_add(dz, b.y));
            for place in self.around(module, phi, self.config.forward_window) {
                let hit = self.hit(place);
                let dz = hit.z - b.z;
                let scatter = scatter(a, b, hit);
                let measure = if by_angle { scatter / (dz * dz) } else { scatter };
                if self.fault.better(measure, best.0) {
                    best = (measure, Some(place));
                }
            }
        }
        best.1
    }

    /// Returns the best triplet of free hits around a hit.
    fn triplet(&self, middle: Place) -> Option<[Place; 3]> {
        let (module, hit) = (middle.0, self.hit(middle));
        let half = hit.z.abs().mul_add(self.config.seed_window_slope, self.config.seed_window);
        let by_fit = self.config.seed_by_fit;
        let most = if by_fit { self.config.seed_residuals() } else { self.config.seed_scatter };
        let mut best = (most, None);
        for outer in self.around(module + 2, hit.key, half) {
            for inner in self.around(module - 2, hit.key, half) {
                let [a, c] = [outer, inner].map(|place| self.hit(place));
                let measure = if by_fit { residuals(a, hit, c) } else { scatter(a, hit, c) };
                let free = [outer, middle, inner].iter().all(|&place| !self.hit(place).used);
                if free && self.fault.better(measure, best.0) {
                    best = (measure, Some([outer, middle, inner]));
                }
            }
        }
        best.1
    }

    fn is_good_triplet(&self, hits: &[Place]) -> bool {
        let hits: Vec<Hit> = hits.iter().map(|&place| self.hit(place)).collect();
        hits.iter().all(|hit| !hit.used) && chi2(&hits, self.config.weak_weight) < self.config.weak_chi2
    }
}

/// Returns the squared distance of `hit` from the line through `a` and `b`, mm^2.
pub(super) fn scatter(a: Hit, b: Hit, hit: Hit) -> f32 {
    let inverse = 1.0 / (b.z - a.z);
    let (tx, ty) = ((b.x - a.x) * inverse, (b.y - a.y) * inverse);
    let dz = hit.z - b.z;
    let (dx, dy) = (tx.mul_add(dz, b.x) - hit.x, ty.mul_add(dz, b.y) - hit.y);
    dx.mul_add(dx, dy * dy)
}

/// Returns the sum of the squared residuals of the least-squares line through three hits, mm^2: the squared distance of
/// the last hit from the line of the first two, divided by (1 + r)^2 + r^2 + 1, with r = dz to the last hit / dz of the
/// first two.
pub(super) fn residuals(a: Hit, b: Hit, hit: Hit) -> f32 {
    let r = (hit.z - b.z) * (1.0 / (b.z - a.z));
    scatter(a, b, hit) / r.mul_add(r, (r + 1.0).mul_add(r + 1.0, 1.0))
}

/// Returns the angle around the beam, rad: 0..2 pi in even modules, -pi..pi in odd modules.
fn phi(module: usize, x: f32, y: f32) -> f32 {
    let phi = atan2(y, x);
    if module.is_multiple_of(2) && phi < 0.0 { phi + TAU } else { phi }
}

/// Returns the angle of (x, y), by the same polynomial as the kernels: a library's arctangent differs in the last bits.
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
    // Differences between pi/2 and pi and their f32 constants.
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
