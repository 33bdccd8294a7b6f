//! The best triplet of each hit: one middle hit per lane, with the hits of two bins in the pair above and in the pair
//! below.
//!
//! The hits of a gang are in the order of phi, and so are their windows: mostly the windows lie within twice as many
//! hits as the gang has lanes, and these hits are looked up in registers. Middle hits with more candidates, or far from
//! the candidates of the first lane, are deferred.

use super::chains::Links;
use super::deferred::Deferred;
use super::hits::{BINS, LinkHits, bin, cell};
use super::{NONE, PAIR_SHIFT};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, for_each, inlined};
use crate::velo::config::LinkConfig;
use crate::velo::find::Judge;
use crate::velo::geometry::PAIRS;

/// Distance from the start of a window to its hit, in bins; the window is two whole bins wide.
const HALF_WINDOW: f32 = 0.5;
/// Number of candidates on each side that are judged at once.
pub(super) const AT_ONCE: u32 = 2;

/// A middle hit per lane.
#[derive(Clone, Copy)]
pub(super) struct Middle<G: Gang> {
    pub(super) x: F32<G>,
    pub(super) y: F32<G>,
    pub(super) z: F32<G>,
}

/// The step from a candidate above to the middle hit, and the terms of the variance that depend on it.
pub(super) struct Above<G: Gang> {
    dx: F32<G>,
    dy: F32<G>,
    dz: F32<G>,
    /// Coefficients of dz^2, dz and 1 in the variance, for dz of the step below.
    square: F32<G>,
    linear: F32<G>,
    constant: F32<G>,
}

/// The step from the middle hit to a candidate below.
pub(super) struct Below<G: Gang> {
    pub(super) dx: F32<G>,
    pub(super) dy: F32<G>,
    pub(super) dz: F32<G>,
}

/// The best triplet per lane: chi2 = distance2 / variance, and the numbers of its candidates, with the candidate above
/// in the high half.
pub(super) struct Best<G: Gang> {
    pub(super) distance2: F32<G>,
    pub(super) variance: F32<G>,
    pub(super) numbers: U32<G>,
}

impl<G: Gang> Above<G> {
    /// Computes the step; dz is NaN without a candidate, which is never good.
    #[inline(always)]
    pub(super) fn new(
        g: G,
        (config, judge): (&LinkConfig, &Judge<G>),
        middle: Middle<G>,
        [x, y, z]: [F32<G>; 3],
        on: Mask<G>,
    ) -> Self {
        let (dx, dy) = (middle.x - x, middle.y - y);
        let dz = on.select_f(middle.z - z, F32::splat(g, f32::NAN));
        let across2 = dx.mul_add(dx, dy * dy);
        let dz2 = dz * dz;
        let two_hits = F32::splat(g, judge.two_hit_variances);
        let scatter = F32::splat(g, config.scatter_slope)
            .mul_add(across2, F32::splat(g, config.scatter_constant) * dz2);
        Self { dx, dy, dz, square: two_hits + scatter, linear: two_hits * dz, constant: two_hits * dz2 }
    }
}

impl<G: Gang> Below<G> {
    /// Computes the step; dz is NaN without a candidate.
    #[inline(always)]
    pub(super) fn new(g: G, middle: Middle<G>, [x, y, z]: [F32<G>; 3], on: Mask<G>) -> Self {
        let dz = on.select_f(z - middle.z, F32::splat(g, f32::NAN));
        Self { dx: x - middle.x, dy: y - middle.y, dz }
    }
}

impl<G: Gang> Best<G> {
    /// Begins without a triplet; chi2 must be below `chi2`.
    #[inline(always)]
    pub(super) fn none(g: G, chi2: f32) -> Self {
        Self { distance2: F32::splat(g, chi2), variance: F32::splat(g, 1.0), numbers: U32::splat(g, NONE) }
    }

    /// Takes a triplet if it is better. Its squared distance and its variance, both multiplied by the squared dz of the
    /// step above to avoid divisions, are the results of [`Judge::distance`](crate::velo::find::Judge::distance) for
    /// the line through the hit above and the middle hit.
    #[inline(always)]
    pub(super) fn judge(&mut self, above: &Above<G>, below: &Below<G>, numbers: U32<G>) {
        let x = above.dx.neg_mul_add(below.dz, below.dx * above.dz);
        let y = above.dy.neg_mul_add(below.dz, below.dy * above.dz);
        let distance2 = x.mul_add(x, y * y);
        let rest = above.linear.mul_add(below.dz, above.constant);
        let variance = (below.dz * below.dz).mul_add(above.square, rest);
        let better = (distance2 * self.variance).lt(self.distance2 * variance);
        self.distance2 = better.select_f(distance2, self.distance2);
        self.variance = better.select_f(variance, self.variance);
        self.numbers = better.select_u(numbers, self.numbers);
    }

    /// Returns the indices of the hits above and below, or [`NONE`]. `firsts` are the numbers of the windows' first
    /// hits in pairs that begin at `begins` and have `lens` hits.
    #[inline(always)]
    pub(super) fn hits(
        &self,
        g: G,
        firsts: [U32<G>; 2],
        begins: [U32<G>; 2],
        lens: [U32<G>; 2],
    ) -> [U32<G>; 2] {
        let none = U32::splat(g, NONE);
        let lacks = self.numbers.eq(none);
        let above = wrapped(firsts[0] + self.numbers.shr::<16>(), lens[0]) + begins[0];
        let below = wrapped(firsts[1] + (self.numbers & U32::splat(g, 0xffff)), lens[1]) + begins[1];
        [lacks.select_u(none, above), lacks.select_u(none, below)]
    }
}

/// Wraps a number of a hit in a pair of `len` hits, which may be up to `len` too large.
#[inline(always)]
pub(super) fn wrapped<G: Gang>(number: U32<G>, len: U32<G>) -> U32<G> {
    number.min(number - len)
}

/// Returns the cells of the windows around hits with the directions `turn`.
#[inline(always)]
pub(super) fn cells<G: Gang>(g: G, turn: F32<G>) -> U32<G> {
    cell(g, bin(g, turn + F32::splat(g, BINS as f32 - HALF_WINDOW)))
}

/// Finds the triplets of all hits but those that are deferred.
#[inline(always)]
pub(super) fn triplets<G: Gang>(
    g: G,
    config: &LinkConfig,
    judge: &mut Judge<G>,
    hits: &LinkHits,
    links: &mut Links,
    deferred: &mut Deferred,
) {
    for pair in (1..PAIRS - 1).rev() {
        of_pair(g, config, judge, (hits, pair), links, deferred);
    }
}

#[inline(always)]
fn of_pair<G: Gang>(
    g: G,
    config: &LinkConfig,
    judge: &mut Judge<G>,
    (hits, pair): (&LinkHits, usize),
    links: &mut Links,
    deferred: &mut Deferred,
) {
    let spans = [pair + 1, pair - 1].map(|pair| hits.spans[pair]);
    let rows = [hits.row(pair + 1), hits.row(pair - 1)];
    let begins = [U32::splat(g, spans[0].begin as u32), U32::splat(g, spans[1].begin as u32)];
    let lens = [U32::splat(g, spans[0].len as u32), U32::splat(g, spans[1].len as u32)];
    let (zero, few) = (U32::splat(g, 0), U32::splat(g, AT_ONCE));
    let near = U32::splat(g, 2 * G::LANES as u32 - AT_ONCE + 1);
    let span = hits.spans[pair];
    for i in (span.begin..span.begin + span.len).step_by(G::LANES) {
        let lanes = Mask::first(g, span.begin + span.len - i);
        let middle = Middle {
            x: F32::load(g, &hits.x[i..]),
            y: F32::load(g, &hits.y[i..]),
            z: F32::load(g, &hits.z[i..]),
        };
        let cells = cells(g, F32::load(g, &hits.turn[i..]));
        let above = LinkHits::window(g, U32::gather(rows[0], cells));
        let below = LinkHits::window(g, U32::gather(rows[1], cells));
        let both = zero.lt(above.count) & zero.lt(below.count) & lanes;
        let counts = [judge.limit(g, above.count, both), judge.limit(g, below.count, both)];
        // Windows are counted from the window of the first lane.
        let at_first = cell_of(hits.turn[i]);
        let from = [rows[0][at_first] & 0xffff, rows[1][at_first] & 0xffff];
        let near_above = wrapped_back(above.first - U32::splat(g, from[0]), lens[0]);
        let near_below = wrapped_back(below.first - U32::splat(g, from[1]), lens[1]);
        let now =
            counts[0].max(counts[1]).lt(few + U32::splat(g, 1)) & near_above.max(near_below).lt(near) & both;
        let later = both.and_not(now);
        deferred.add(U32::iota(g) + U32::splat(g, i as u32 | (pair as u32) << PAIR_SHIFT), later);
        let outer = spans[0].begin + from[0] as usize;
        let inner = spans[1].begin + from[1] as usize;
        let look_up = inlined!(|from: usize, at: U32<G>| {
            let (x, y, z) = (&hits.x[from..], &hits.y[from..], &hits.z[from..]);
            [F32::look_up(x, at), F32::look_up(y, at), F32::look_up(z, at)]
        });
        let below_of = inlined!(|number: u32| {
            let on = U32::splat(g, number).lt(counts[1]) & now;
            Below::new(g, middle, look_up(inner, near_below + U32::splat(g, number)), on)
        });
        let (first, second) = (below_of(0), below_of(1));
        let mut best = Best::none(g, config.score);
        for_each!(number < 2 => {
            let number = number as u32;
            let on = U32::splat(g, number).lt(counts[0]) & now;
            let candidate = look_up(outer, near_above + U32::splat(g, number));
            let above = Above::new(g, (config, judge), middle, candidate, on);
            best.judge(&above, &first, U32::splat(g, number << 16));
            best.judge(&above, &second, U32::splat(g, number << 16 | 1));
        });
        links.put(i, best.hits(g, [above.first, below.first], begins, lens), &best);
    }
}

/// Wraps a difference of two numbers in a pair of `len` hits, which may be below 0.
#[inline(always)]
fn wrapped_back<G: Gang>(difference: U32<G>, len: U32<G>) -> U32<G> {
    difference.min(difference + len)
}

/// Returns the cell of the window around a hit with the direction `turn`.
#[inline(always)]
fn cell_of(turn: f32) -> usize {
    let bin = (turn + (BINS as f32 - HALF_WINDOW)) as u32 % BINS;
    (bin / 2 + bin % 2 * (BINS / 2)) as usize
}
