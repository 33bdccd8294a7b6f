//! Naive reference of `find`: two passes of forwarding and seeding, pair by pair from the largest z down.

use super::join::{Track, join};
use super::{BINS, Fault, Hit, max, min, phi_turn, window};
use crate::velo::config::{BestConfig, MAX_WINDOW, PassConfig, VeloConfig};
use crate::velo::geometry::{PAIR_HALF_DEPTH, PAIRS, pair_middle};

/// A hit by its pair and its index among the hits of the pair.
type Place = (usize, usize);

/// Largest tx^2 + ty^2 of the first doublet of a track.
const MAX_SLOPE2: f32 = 1.0;

/// A track under construction.
struct Candidate {
    hits: Vec<Place>,
    /// Line through the last two hits.
    line: Line,
    /// Number of pairs missed in a row.
    missed: u32,
    /// Score of the first triplet.
    score: f32,
}

/// The line through two hits: the second hit, the slopes, and 1 / (z of the second hit - z of the first).
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) z: f32,
    pub(super) tx: f32,
    pub(super) ty: f32,
    inverse: f32,
}

impl Line {
    pub(super) fn through(a: [f32; 3], b: [f32; 3]) -> Self {
        let inverse = 1.0 / (b[2] - a[2]);
        let (tx, ty) = ((b[0] - a[0]) * inverse, (b[1] - a[1]) * inverse);
        Self { x: b[0], y: b[1], z: b[2], tx, ty, inverse }
    }

    fn slope2(&self) -> f32 {
        self.tx.mul_add(self.tx, self.ty * self.ty)
    }
}

/// The cuts on a triplet.
#[derive(Clone, Copy)]
struct Cuts {
    window: f32,
    doublet_doca: f32,
    score: f32,
    doca_weight: f32,
}

struct Triplet {
    hits: [Place; 3],
    score: f32,
}

/// The hit nearest to a line: its index, and chi2 = distance2 / variance.
pub(super) struct Nearest {
    place: usize,
    pub(super) distance2: f32,
    pub(super) variance: f32,
}

/// Returns the tracks of both passes, as indices in the event's columns.
pub(super) fn find(fault: Fault, config: &VeloConfig, mut pairs: Vec<Vec<Hit>>) -> Vec<Vec<usize>> {
    let mut tracks = Vec::new();
    let most = config.limits.candidates_in_window as usize;
    for (number, pass) in [&config.best.first, &config.best.second].into_iter().enumerate() {
        let mut finder = Finder { fault, config: &config.best, pass, most, pairs };
        let candidates = finder.candidates();
        tracks.extend(finder.accept(number, &candidates));
        pairs = finder.pairs;
        pairs.iter_mut().for_each(|hits| hits.retain(|hit| !hit.used));
    }
    let finder = Finder { fault, config: &config.best, pass: &config.best.second, most, pairs };
    join(&finder, tracks, (1, 1), &[])
}

/// One pass over the hits of an event.
pub(super) struct Finder<'a> {
    pub(super) fault: Fault,
    pub(super) config: &'a BestConfig,
    pub(super) pass: &'a PassConfig,
    /// Largest number of candidates in a window.
    pub(super) most: usize,
    pub(super) pairs: Vec<Vec<Hit>>,
}

impl Finder<'_> {
    fn hit(&self, (pair, place): Place) -> &Hit {
        &self.pairs[pair][place]
    }

    fn use_hit(&mut self, (pair, place): Place) {
        self.pairs[pair][place].used = true;
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        // Indices in `candidates` of the tracks that are still followed.
        let mut active = Vec::new();
        for current in (1..PAIRS - 1).rev() {
            self.forward(current - 1, &mut candidates, &mut active);
            for triplet in self.triplets(current) {
                let [_, middle, inner] = triplet.hits.map(|place| self.hit(place).position());
                let line = Line::through(middle, inner);
                active.push(candidates.len());
                let (hits, score) = (triplet.hits.to_vec(), triplet.score);
                candidates.push(Candidate { hits, line, missed: 0, score });
            }
        }
        candidates
    }

    /// Returns the candidates with four hits or more; then, the best first, the candidates with three hits, a good
    /// score and free hits.
    fn accept(&mut self, pass: usize, candidates: &[Candidate]) -> Vec<Track> {
        let (long, mut weak): (Vec<_>, Vec<_>) =
            candidates.iter().enumerate().partition(|(_, track)| track.hits.len() > 3);
        weak.retain(|(_, track)| track.score < self.pass.weak_score);
        weak.sort_by(|(_, a), (_, b)| a.score.total_cmp(&b.score)); // stable
        let mut accepted = long;
        for (number, track) in weak {
            if track.hits.iter().all(|&place| !self.hit(place).used) {
                track.hits.iter().for_each(|&place| self.use_hit(place));
                accepted.push((number, track));
            }
        }
        let whole = |(number, track): (usize, &Candidate)| Track {
            hits: track.hits.iter().map(|&place| self.hit(place).source).collect(),
            positions: track.hits.iter().map(|&place| self.hit(place).position()).collect(),
            pairs: [track.hits[0].0, track.hits[track.hits.len() - 1].0],
            found: (pass, number),
        };
        accepted.into_iter().map(whole).collect()
    }

    /// Looks for the next hit of each active candidate; used hits may be taken again.
    fn forward(&mut self, pair: usize, candidates: &mut [Candidate], active: &mut Vec<usize>) {
        let BestConfig { forward_chi2, scatter_slope, skipped_pairs, .. } = *self.config;
        active.retain(|&number| {
            let track = &mut candidates[number];
            // A triplet over a gap may end in this pair.
            if track.line.z <= pair_middle(pair) + PAIR_HALF_DEPTH {
                return track.missed <= skipped_pairs;
            }
            // A track that points where no hits can be never comes back.
            let (point, reach) = self.meeting(pair, &track.line, forward_chi2, scatter_slope);
            if !self.can_have_hits(self.config.forward_inner_radius, point, reach) {
                return false;
            }
            let Some(nearest) = self.nearest(pair, &track.line, true, forward_chi2, scatter_slope) else {
                track.missed += 1;
                return track.missed <= skipped_pairs;
            };
            let place = (pair, nearest.place);
            let last = [track.line.x, track.line.y, track.line.z];
            track.line = Line::through(last, self.hit(place).position());
            track.hits.push(place);
            track.missed = 0;
            track.hits.iter().for_each(|&place| self.use_hit(place));
            true
        });
    }

    /// Returns the triplets around a pair: the best of each middle hit, then of each inner hit, then of each outer hit.
    fn triplets(&self, current: usize) -> Vec<Triplet> {
        let pass = self.pass;
        let near = Cuts {
            window: pass.window,
            doublet_doca: pass.doublet_doca,
            score: pass.score,
            doca_weight: pass.doca_weight,
        };
        let gap = Cuts {
            window: pass.gap_window,
            doublet_doca: pass.gap_doublet_doca,
            score: pass.gap_score,
            doca_weight: pass.gap_doca_weight,
        };
        // Pairs from the outer to the middle hit, pairs from there to the inner hit, and cuts.
        let shapes =
            if pass.gaps { vec![(1, 1, near), (2, 1, gap), (1, 2, gap)] } else { vec![(1, 1, near)] };
        let places = 0..self.pairs[current].len();
        let mut middle: Vec<_> = places.filter(|&place| !self.pairs[current][place].used).collect();
        let mut triplets = Vec::new();
        for (above, below, cuts) in shapes {
            if current + above >= PAIRS || below > current {
                continue;
            }
            // A middle hit with a triplet of one shape gets no triplet of the next shapes.
            middle.retain(|&place| {
                let best = self.best_triplet(current + above, (current, place), current - below, cuts);
                let found = best.is_some();
                triplets.extend(best);
                !found
            });
        }
        best_of_each(best_of_each(triplets, 2), 0)
    }

    /// Returns the triplet with the smallest score around a middle hit; of equally good triplets, the first.
    fn best_triplet(&self, above: usize, middle: Place, below: usize, cuts: Cuts) -> Option<Triplet> {
        let h1 = self.hit(middle).position();
        let turn = phi_turn(h1[0], h1[1]).0;
        let mut best: Option<Triplet> = None;
        for outer in window(&self.pairs[above], turn, cuts.window).into_iter().take(self.most) {
            let h0 = self.pairs[above][outer];
            let line = Line::through(h0.position(), h1);
            let (slope2, moment) = (line.slope2(), line.x * line.ty - line.y * line.tx);
            let doca2 = cuts.doublet_doca * cuts.doublet_doca;
            if h0.used || !(slope2 < MAX_SLOPE2 && moment * moment < doca2 * slope2) {
                continue;
            }
            // A line that crosses to the other side of the beam is a ghost.
            let ([x, y], _) = self.meeting(below, &line, cuts.score, self.pass.scatter_slope);
            let same_side = x.mul_add(line.x, y * line.y) > 0.0;
            if !same_side {
                continue;
            }
            let nearest = self.nearest(below, &line, false, cuts.score, self.pass.scatter_slope);
            let Some(nearest) = nearest else { continue };
            let inner = (below, nearest.place);
            let score = score(cuts.doca_weight, &nearest, h0.position(), self.hit(inner).position());
            if score < cuts.score && best.as_ref().is_none_or(|best| score < best.score) {
                best = Some(Triplet { hits: [(above, outer), middle, inner], score });
            }
        }
        best
    }

    /// Returns the point where a line meets the middle of a pair, and the distance from it of a hit with this chi2.
    pub(super) fn meeting(&self, pair: usize, line: &Line, chi2: f32, scatter_slope: f32) -> ([f32; 2], f32) {
        let to_pair = pair_middle(pair) - line.z;
        let reach = (chi2 * self.variance(line, scatter_slope, to_pair)).sqrt();
        ([line.tx.mul_add(to_pair, line.x), line.ty.mul_add(to_pair, line.y)], reach)
    }

    /// Returns the variance of the distance between a line and a hit at `dz` from the line's last hit.
    fn variance(&self, line: &Line, scatter_slope: f32, dz: f32) -> f32 {
        let two_hit_variances = 2.0 * (self.config.hit_resolution * self.config.hit_resolution);
        let scatter = line.slope2().mul_add(scatter_slope, self.config.scatter_constant);
        let r = dz * line.inverse;
        (r.mul_add(r, r) + 1.0).mul_add(two_hit_variances, scatter * (dz * dz))
    }

    /// Returns whether there can be a hit within `reach` of a point.
    fn can_have_hits(&self, inner_radius: f32, [x, y]: [f32; 2], reach: f32) -> bool {
        let hole = max(inner_radius - reach, 0.0);
        let edge = self.config.outer_radius + reach;
        let radius2 = x.mul_add(x, y * y);
        hole * hole <= radius2 && radius2 <= edge * edge
    }

    /// Returns the squared distance of a hit from a line, and its variance.
    pub(super) fn distance(
        &self,
        place: usize,
        [x, y, z]: [f32; 3],
        line: &Line,
        scatter_slope: f32,
    ) -> Nearest {
        let dz = z - line.z;
        let (dx, dy) = (line.tx.mul_add(dz, line.x) - x, line.ty.mul_add(dz, line.y) - y);
        let variance = self.variance(line, scatter_slope, dz);
        Nearest { place, distance2: dx.mul_add(dx, dy * dy), variance }
    }

    /// Returns the hit with the smallest chi2 below `chi2` around a line; of equally good hits, the first in the
    /// window.
    fn nearest(
        &self,
        pair: usize,
        line: &Line,
        used_too: bool,
        chi2: f32,
        scatter_slope: f32,
    ) -> Option<Nearest> {
        let ([x, y], reach) = self.meeting(pair, line, chi2, scatter_slope);
        let BestConfig { inner_radius, forward_inner_radius, .. } = *self.config;
        let inner_radius = if used_too { forward_inner_radius } else { inner_radius };
        if !self.can_have_hits(inner_radius, [x, y], reach) {
            return None;
        }
        // The window allows for the distance of the hit, and for the turn of the line within the pair's depth.
        let turn = (x * line.ty - y * line.tx).abs() * PAIR_HALF_DEPTH;
        let (middle, scale) = phi_turn(x, y);
        let half = (turn.mul_add(scale, reach) * scale) * (BINS as f32 / 4.0);
        let half = min(half, MAX_WINDOW as f32);
        let mut best = Nearest { place: usize::MAX, distance2: chi2, variance: 1.0 };
        for place in window(&self.pairs[pair], middle, half).into_iter().take(self.most) {
            let hit = self.pairs[pair][place];
            if hit.used && !used_too {
                continue;
            }
            let next = self.distance(place, hit.position(), line, scatter_slope);
            let (this, other) = (next.distance2 * best.variance, best.distance2 * next.variance);
            if self.fault.better(this, other) {
                best = next;
            }
        }
        (best.place != usize::MAX).then_some(best)
    }
}

/// Returns only the best of the triplets that share their hit `end`; of equally good triplets, the first.
fn best_of_each(triplets: Vec<Triplet>, end: usize) -> Vec<Triplet> {
    let beaten = |number: usize| {
        let this = &triplets[number];
        triplets.iter().enumerate().any(|(other_number, other)| {
            let better = other.score < this.score || (other.score == this.score && other_number < number);
            other.hits[end] == this.hits[end] && better
        })
    };
    let stays: Vec<_> = (0..triplets.len()).map(|number| !beaten(number)).collect();
    triplets.into_iter().zip(stays).filter_map(|(triplet, stays)| stays.then_some(triplet)).collect()
}

/// Returns the score of a triplet: chi2 of its inner hit plus a weight times its distance from the beam.
pub(super) fn score(doca_weight: f32, inner: &Nearest, h0: [f32; 3], h2: [f32; 3]) -> f32 {
    distance_to_beam(h0, h2).mul_add(doca_weight, inner.distance2 / inner.variance)
}

/// Returns the score in a pass of a triplet of hits, in the order from outer to inner.
pub(super) fn triplet_score(
    config: &BestConfig,
    pass: &PassConfig,
    doca_weight: f32,
    [h0, h1, h2]: [[f32; 3]; 3],
) -> f32 {
    let finder = Finder { fault: Fault::None, config, pass, most: 0, pairs: Vec::new() };
    let inner = finder.distance(0, h2, &Line::through(h0, h1), pass.scatter_slope);
    score(doca_weight, &inner, h0, h2)
}

/// Returns the distance of closest approach between the beam axis and the line through two hits, mm.
fn distance_to_beam(a: [f32; 3], b: [f32; 3]) -> f32 {
    let line = Line::through(a, b);
    let slope2 = line.tx.mul_add(line.tx, line.ty.mul_add(line.ty, 1e-9));
    (a[0] * line.ty - a[1] * line.tx).abs() / slope2.sqrt()
}
