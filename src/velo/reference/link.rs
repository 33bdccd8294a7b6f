//! Naive reference of `link`: finds the best triplet of every hit, links triplets that contain one another's middle
//! hits, and forms chains of links. A second pass uses wider windows for the remaining hits.

use super::find::{Finder, Line, score};
use super::join::{Track, join};
use super::{Fault, max, min, phi_turn, truncate};
use crate::event::VeloEvent;
use crate::velo::config::{BestConfig, LinkConfig, MAX_WINDOW, VeloConfig};
use crate::velo::geometry::{PAIR_HALF_DEPTH, PAIRS, pair_middle};

/// Number of bins of a turn.
const BINS: u32 = 512;

#[derive(Debug, Clone, Copy)]
struct Hit {
    position: [f32; 3],
    /// Direction from the beam axis in bins.
    turn: f32,
    bin: u32,
    /// Index in the event's columns.
    source: usize,
}

/// The best triplet around a hit: indices of its other hits in the pairs above and below.
#[derive(Debug, Clone, Copy)]
struct Triplet {
    up: usize,
    down: usize,
    score: f32,
}

/// The best triplet of each hit, by pair.
type Triplets = Vec<Vec<Option<Triplet>>>;

/// Indices of hits in consecutive pairs from `pair` down.
struct Chain {
    pair: usize,
    hits: Vec<usize>,
    score: f32,
}

impl Chain {
    fn top(&self) -> (usize, usize) {
        (self.pair, self.hits[0])
    }

    fn bottom(&self) -> (usize, usize) {
        (self.low(), self.hits[self.hits.len() - 1])
    }

    fn low(&self) -> usize {
        self.pair + 1 - self.hits.len()
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.hits.iter().enumerate().map(|(number, &hit)| (self.pair - number, hit))
    }

    /// Returns the track; `found` is its pass and number.
    fn track(&self, found: (usize, usize), pairs: &[Vec<Hit>]) -> Track {
        let hit = |(pair, place): (usize, usize)| pairs[pair][place];
        Track {
            hits: self.places().map(|place| hit(place).source).collect(),
            positions: self.places().map(|place| hit(place).position).collect(),
            pairs: [self.pair, self.low()],
            found,
        }
    }
}

/// Returns the tracks, as indices in the event's columns.
pub(super) fn find(fault: Fault, config: &VeloConfig, event: &VeloEvent<'_>) -> Vec<Vec<usize>> {
    let link = &config.link;
    let best = BestConfig {
        hit_resolution: link.hit_resolution,
        scatter_constant: link.scatter_constant,
        scatter_slope: link.scatter_slope,
        join_chi2: link.join_chi2,
        ..BestConfig::default()
    };
    let most = config.limits.candidates_in_window as usize;
    let judge = Finder { fault, config: &best, pass: &best.first, most, pairs: Vec::new() };
    let search = Search { fault, config: link, judge: &judge, most };
    let mut pairs = sort(event);
    let (mut tracks, kinks) = search.first_pass(&mut pairs);
    tracks.extend(search.second_pass(&pairs));
    let joined = if link.join_chi2 > 0.0 { link.join_pairs as usize } else { 0 };
    join(&judge, tracks, (joined, 2), &kinks)
}

/// Returns the hits of each pair by bin, in input order within a bin.
fn sort(event: &VeloEvent<'_>) -> Vec<Vec<Hit>> {
    let of_pair = |pair: usize| {
        let sources = event.module(2 * pair).chain(event.module(2 * pair + 1));
        let hit = |source: usize| {
            let position = [event.x[source], event.y[source], event.z[source]];
            let turn = 2.0 * phi_turn(position[0], position[1]).0;
            Hit { position, turn, bin: truncate(turn) % BINS, source }
        };
        let mut hits: Vec<_> = sources.map(hit).collect();
        hits.sort_by_key(|hit| hit.bin); // stable
        hits
    };
    (0..PAIRS).map(of_pair).collect()
}

/// Returns the indices of the hits in `bins` bins from `first` on, in the order of bins.
fn in_bins(hits: &[Hit], first: u32, bins: u32) -> Vec<usize> {
    let behind = |&place: &usize| (BINS + hits[place].bin - first) % BINS;
    let mut places: Vec<_> = (0..hits.len()).filter(|place| behind(place) < bins).collect();
    places.sort_by_key(behind); // stable
    places
}

/// Returns the indices of the hits in the bins from `turn - half` to `turn + half`.
fn around(hits: &[Hit], turn: f32, half: f32) -> Vec<usize> {
    let turn = turn + BINS as f32;
    let (first, end) = (truncate(turn - half) % BINS, truncate(turn + half).wrapping_add(1) % BINS);
    in_bins(hits, first, (BINS + end - first) % BINS)
}

struct Search<'a> {
    fault: Fault,
    config: &'a LinkConfig,
    judge: &'a Finder<'a>,
    /// Largest number of candidates in a window.
    most: usize,
}

impl Search<'_> {
    /// Returns the tracks, and the pairs of tracks to join; leaves in `pairs` the hits that are on no track.
    fn first_pass(&self, pairs: &mut [Vec<Hit>]) -> (Vec<Track>, Vec<(usize, usize)>) {
        let mut triplets = no_triplets(pairs);
        for pair in 1..PAIRS - 1 {
            triplets[pair] = pairs[pair].iter().map(|hit| self.best_triplet(pairs, pair, hit)).collect();
        }
        let is_linked = |triplets: &Triplets, (pair, hit): (usize, usize)| {
            leads_up(triplets, pair, hit) || leads_down(triplets, pair, hit)
        };
        merge_twins(&mut triplets);
        let mut chains = chains(&triplets);
        let inside = |place| is_linked(&triplets, place);
        let (long, weak): (Vec<_>, Vec<_>) =
            (0..chains.len()).partition(|&number| chains[number].hits.len() > 3);
        let mut used: Vec<(usize, usize)> = Vec::new();
        used.extend(long.iter().flat_map(|&number| [chains[number].top(), chains[number].bottom()]));
        for (pair, hits) in pairs.iter().enumerate() {
            used.extend((0..hits.len()).map(|hit| (pair, hit)).filter(|&place| inside(place)));
        }
        let kinks = self.settle_ends(pairs, &mut chains, &long, inside);
        let mut accepted: Vec<_> = long
            .into_iter()
            .filter(|number| {
                chains[*number].hits.len() >= 3 || kinks.iter().any(|(_, lower)| lower == number)
            })
            .collect();
        for number in weak {
            let free = chains[number].places().all(|place| !used.contains(&place));
            if free && chains[number].score < self.config.weak_score {
                used.extend(chains[number].places());
                accepted.push(number);
            }
        }
        let tracks = accepted.iter().map(|&number| chains[number].track((0, number), pairs)).collect();
        for (pair, hits) in pairs.iter_mut().enumerate() {
            let mut place = 0..;
            hits.retain(|_| !used.contains(&(pair, place.next().expect("a place"))));
        }
        let number_of = |chain| accepted.iter().position(|&number| number == chain).expect("a track");
        (tracks, kinks.into_iter().map(|(upper, lower)| (number_of(upper), number_of(lower))).collect())
    }

    /// Drops the ends of long chains that are inside other chains, or that a later chain has, too, and the upper ends
    /// where another chain ends. Returns the pairs of chains to join.
    fn settle_ends(
        &self,
        pairs: &[Vec<Hit>],
        chains: &mut [Chain],
        long: &[usize],
        inside: impl Fn((usize, usize)) -> bool,
    ) -> Vec<(usize, usize)> {
        let ends: Vec<_> = long.iter().map(|&n| (n, chains[n].top(), chains[n].bottom())).collect();
        let last_top = |place| ends.iter().rev().find(|end| end.1 == place).map(|end| end.0);
        let last_bottom = |place| ends.iter().rev().find(|end| end.2 == place).map(|end| end.0);
        let position = |(pair, place): (usize, usize)| pairs[pair][place].position;
        // Computed before any end is dropped.
        let kink = |&(number, top, _): &(usize, _, _)| {
            let upper = last_bottom(top).filter(|_| last_top(top) == Some(number) && !inside(top))?;
            let before = chains[upper].places().nth(chains[upper].hits.len() - 2).expect("four hits");
            let second = chains[number].places().nth(1).expect("four hits");
            let line = Line::through(position(before), position(top));
            let next = self.judge.distance(0, position(second), &line, self.config.scatter_slope);
            Some((upper, number, next.distance2 < self.config.join_chi2 * next.variance))
        };
        let kinks: Vec<_> = ends.iter().filter_map(kink).collect();
        for &(number, top, bottom) in &ends {
            let chain = &mut chains[number];
            if inside(bottom) || last_bottom(bottom) != Some(number) {
                chain.hits.pop();
            }
            let at_other = kinks.iter().any(|kink| kink.1 == number);
            if inside(top) || last_top(top) != Some(number) || at_other {
                chain.hits.remove(0);
                chain.pair -= 1;
            }
        }
        kinks.into_iter().filter_map(|(upper, lower, one)| one.then_some((upper, lower))).collect()
    }

    /// Returns the best triplet with hits in the two bins around a hit; of equally good triplets, the first. Squared
    /// distance and variance are from the line through the outer hit and this hit, times their squared dz.
    fn best_triplet(&self, pairs: &[Vec<Hit>], pair: usize, hit: &Hit) -> Option<Triplet> {
        let [x, y, z] = hit.position;
        let (slope, constant) = (self.config.scatter_slope, self.config.scatter_constant);
        let two_hits = 2.0 * (self.config.hit_resolution * self.config.hit_resolution);
        let first = truncate(hit.turn + (BINS as f32 - 0.5)) % BINS;
        let [ups, downs] = [pair + 1, pair - 1].map(|pair| in_bins(&pairs[pair], first, 2));
        let (mut best, mut chi2, mut unit) = (None, self.config.score, 1.0f32);
        for &up in ups.iter().take(self.most) {
            let [x0, y0, z0] = pairs[pair + 1][up].position;
            let (dx, dy, dz) = (x - x0, y - y0, z - z0);
            let dz2 = dz * dz;
            let scatter = slope.mul_add(dx.mul_add(dx, dy * dy), constant * dz2);
            let (square, linear, rest) = (two_hits + scatter, two_hits * dz, two_hits * dz2);
            for &down in downs.iter().take(self.most) {
                let [x2, y2, z2] = pairs[pair - 1][down].position;
                let (ex, ey, ez) = (x2 - x, y2 - y, z2 - z);
                let (off_x, off_y) = ((-dx).mul_add(ez, ex * dz), (-dy).mul_add(ez, ey * dz));
                let distance2 = off_x.mul_add(off_x, off_y * off_y);
                let variance = (ez * ez).mul_add(square, linear.mul_add(ez, rest));
                if self.fault.better(distance2 * unit, chi2 * variance) {
                    (chi2, unit) = (distance2, variance);
                    best = Some((up, down));
                }
            }
        }
        best.map(|(up, down)| Triplet { up, down, score: chi2 / unit })
    }

    fn second_pass(&self, pairs: &[Vec<Hit>]) -> Vec<Track> {
        let mut triplets = no_triplets(pairs);
        for pair in 1..PAIRS - 1 {
            triplets[pair] = pairs[pair].iter().map(|hit| self.best_wide(pairs, pair, hit)).collect();
        }
        let chains = chains(&triplets);
        let mut used: Vec<(usize, usize)> = Vec::new();
        let (long, mut weak): (Vec<_>, Vec<_>) =
            (0..chains.len()).partition(|&number| chains[number].hits.len() > 3);
        let mut accepted = Vec::new();
        for number in long {
            let places: Vec<_> = chains[number].places().collect();
            if 2 * places.iter().filter(|place| used.contains(place)).count() <= places.len() {
                used.extend(places);
                accepted.push(number);
            }
        }
        weak.retain(|&number| chains[number].score <= self.config.second_weak_score);
        weak.sort_by(|&a, &b| chains[a].score.total_cmp(&chains[b].score)); // stable
        for number in weak {
            if chains[number].places().all(|place| !used.contains(&place)) {
                used.extend(chains[number].places());
                accepted.push(number);
            }
        }
        accepted.iter().map(|&number| chains[number].track((1, number), pairs)).collect()
    }

    /// Returns the best triplet of the second pass.
    fn best_wide(&self, pairs: &[Vec<Hit>], pair: usize, hit: &Hit) -> Option<Triplet> {
        let config = self.config;
        let [x, y, z] = hit.position;
        let finer = BINS as f32 / 256.0;
        let ratio = (pair_middle(pair - 1) - pair_middle(pair)) / (pair_middle(pair) - pair_middle(pair + 1));
        let doca2 = config.second_doublet_doca * config.second_doublet_doca;
        let mut best: Option<Triplet> = None;
        let window = around(&pairs[pair + 1], hit.turn, config.second_window * finer);
        if pairs[pair - 1].is_empty() {
            return None;
        }
        for up in window.into_iter().take(self.most) {
            let outer = pairs[pair + 1][up].position;
            let (dx, dy, dz) = (x - outer[0], y - outer[1], z - outer[2]);
            let (across2, along) = (dx.mul_add(dx, dy * dy), x.mul_add(dx, y * dy));
            let moment = (-y).mul_add(dx, x * dy);
            let same_side = 0.0 < ratio.mul_add(along, x.mul_add(x, y * y));
            if !(moment * moment < doca2 * across2 && across2 < dz * dz && same_side) {
                continue;
            }
            let line = Line::through(outer, hit.position);
            let Some(down) = self.nearest(&pairs[pair - 1], pair - 1, &line) else { continue };
            let inner = pairs[pair - 1][down].position;
            let near = self.judge.distance(down, inner, &line, config.scatter_slope);
            let score = score(config.second_doca_weight, &near, outer, inner);
            if score < config.second_score && best.is_none_or(|best| score < best.score) {
                best = Some(Triplet { up, down, score });
            }
        }
        best
    }

    /// Returns the hit nearest to a line; of equally near hits, the first in the window.
    fn nearest(&self, hits: &[Hit], pair: usize, line: &Line) -> Option<usize> {
        let config = self.config;
        let ([x, y], reach) = self.judge.meeting(pair, line, config.second_score, config.scatter_slope);
        let turn = (x * line.ty - y * line.tx).abs() * PAIR_HALF_DEPTH;
        let scale = 1.0 / max(x.abs() + y.abs(), 1e-30);
        let middle = 2.0 * phi_turn(x, y).0;
        let half = (turn.mul_add(scale, reach) * scale) * (BINS as f32 / 4.0);
        let half = min(half, MAX_WINDOW as f32 * (BINS as f32 / 256.0));
        let (mut best, mut chi2, mut unit) = (None, config.second_score, 1.0);
        for place in around(hits, middle, half).into_iter().take(self.most) {
            let next = self.judge.distance(place, hits[place].position, line, config.scatter_slope);
            if self.fault.better(next.distance2 * unit, chi2 * next.variance) {
                (best, chi2, unit) = (Some(place), next.distance2, next.variance);
            }
        }
        best
    }
}

fn no_triplets(pairs: &[Vec<Hit>]) -> Triplets {
    pairs.iter().map(|hits| vec![None; hits.len()]).collect()
}

/// Returns whether the triplet of the hit above leads down to this hit.
fn leads_up(triplets: &Triplets, pair: usize, hit: usize) -> bool {
    triplets[pair][hit].is_some_and(|this| triplets[pair + 1][this.up].is_some_and(|above| above.down == hit))
}

/// Returns whether the triplet of the hit below leads up to this hit.
fn leads_down(triplets: &Triplets, pair: usize, hit: usize) -> bool {
    triplets[pair][hit].is_some_and(|this| triplets[pair - 1][this.down].is_some_and(|below| below.up == hit))
}

/// Returns the starts of chains.
fn starts(triplets: &Triplets) -> Vec<(usize, usize)> {
    let of_pair = |pair: usize| (0..triplets[pair].len()).map(move |hit| (pair, hit));
    let all = (1..PAIRS - 1).rev().flat_map(of_pair);
    all.filter(|&(pair, hit)| triplets[pair][hit].is_some() && !leads_up(triplets, pair, hit)).collect()
}

/// Drops the start of a chain if another hit of its pair has the same hits above and below, and is linked to the hit
/// above.
fn merge_twins(triplets: &mut Triplets) {
    let twin = |&(pair, hit): &(usize, usize)| {
        let this = triplets[pair][hit]?;
        let twin = triplets[pair + 1][this.up]?.down;
        let other = triplets[pair][twin]?;
        (other.up == this.up && other.down == this.down).then_some((pair, hit, twin, this.down))
    };
    let twins: Vec<_> = starts(triplets).iter().filter_map(twin).collect();
    for (pair, hit, twin, below) in twins {
        triplets[pair][hit] = None;
        if let Some(below) = &mut triplets[pair - 1][below]
            && below.up == hit
        {
            below.up = twin;
        }
    }
}

/// Returns the chains of links, in the order of their starts.
fn chains(triplets: &Triplets) -> Vec<Chain> {
    let chain = |(pair, hit): (usize, usize)| {
        let first = triplets[pair][hit].expect("a chain starts at a triplet");
        let mut hits = vec![first.up, hit, first.down];
        let mut at = pair;
        while leads_down(triplets, at, hits[hits.len() - 2]) {
            at -= 1;
            hits.push(triplets[at][hits[hits.len() - 1]].expect("a link leads to a triplet").down);
        }
        Chain { pair: pair + 1, hits, score: first.score }
    };
    starts(triplets).into_iter().map(chain).collect()
}
