//! Triplets: pairs with each of their middle hits, one lane a triplet; a parabola through the three predicts the hits of
//! the other x layers, and a step of least squares takes these in.

use super::occupancy::Occupancy;
use super::pairs::{Chord, Pairs};
use super::plan::Kind;
use crate::event::Column;
use crate::scifi::config::SeedPass;
use crate::scifi::index::{Index, NO_HIT, Nearest};
use crate::scifi::layers::X_LAYERS;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// What a candidate with five hits pays.
const FIVE_HITS: f32 = 10.0;
/// Weight of the score in the value that decides between candidates; the other part is their bend.
const SCORE_WEIGHT: f32 = 1_000.0;

/// Triplets with the hits of two more layers.
#[derive(Debug, Default)]
pub(super) struct Triplets {
    hits: [Column<u32>; 5],
    len: usize,
}

/// Candidates in x.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Places of the hits, layer by layer; [`NO_HIT`] where there is none.
    pub(super) hits: [Column<u32>; X_LAYERS],
    /// The three parameters.
    pub(super) parameters: [Column<f32>; 3],
    /// Small is good.
    pub(super) value: Column<f32>,
    /// Number of the kind of triplets.
    pub(super) kind: Column<u32>,
    pub(super) len: usize,
}

impl Candidates {
    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        let len = self.len + more;
        self.hits.iter_mut().for_each(|column| column.reserve_total(len));
        self.parameters.iter_mut().for_each(|column| column.reserve_total(len));
        self.value.reserve_total(len);
        self.kind.reserve_total(len);
    }
}

/// A parabola with a cubic term in proportion.
#[derive(Clone, Copy)]
struct Parabola<G: Gang> {
    at: F32<G>,
    slope: F32<G>,
    bend: F32<G>,
}

impl<G: Gang> Parabola<G> {
    /// Through a triplet.
    #[inline(always)]
    fn new(g: G, kind: &Kind, chord: &Chord<G>, middle: F32<G>) -> Self {
        let value = |value| F32::splat(g, value);
        let bend = (chord.middle - middle) * value(kind.bend_of_sagitta);
        Self {
            at: bend.neg_mul_add(value(kind.x_of_bend), chord.x),
            slope: bend.neg_mul_add(value(kind.slope_of_bend), chord.tx),
            bend,
        }
    }

    /// x in a layer.
    #[inline(always)]
    fn x(&self, g: G, kind: &Kind, layer: usize) -> F32<G> {
        let x = self.slope.mul_add(F32::splat(g, kind.d[layer]), self.at);
        self.bend.mul_add(F32::splat(g, kind.bend[layer]), x)
    }
}

/// The search of one kind of triplets in one half.
pub(super) struct Search<'a> {
    pub(super) index: &'a Index,
    pub(super) half: usize,
    pub(super) pass: &'a SeedPass,
    pub(super) kind: &'a Kind,
    /// Number of the kind.
    pub(super) number: usize,
}

impl Search<'_> {
    /// Of the other layers one may have no hit, or two.
    #[inline(always)]
    fn may_miss_two(&self) -> bool {
        self.pass.min_x_hits < 5
    }

    /// The nearest hit of one of the other layers, its distance, and whether it is near enough.
    #[inline(always)]
    fn nearest<G: Gang>(&self, g: G, parabola: &Parabola<G>, other: usize) -> (Nearest<G>, F32<G>, Mask<G>) {
        let layer = self.kind.others[other];
        let x = parabola.x(g, self.kind, layer);
        let nearest = self.index.layer(self.half, layer).nearest(g, x);
        let is_near = nearest.distance.lt(F32::splat(g, self.pass.x_tolerance));
        (nearest, nearest.x - x, is_near)
    }

    /// Looks at the middle hits of pairs, takes in two of the other layers, and leaves in `pairs` those that have another
    /// middle hit.
    #[inline(always)]
    pub(super) fn first_layers<G: Gang>(
        &self,
        g: G,
        pairs: &mut Pairs,
        triplets: &mut Triplets,
        counts: &mut Occupancy,
    ) {
        let x = self.index.x.padded();
        triplets.hits.iter_mut().for_each(|column| column.reserve_total(pairs.len));
        let mut to = triplets.hits.each_mut().map(|column| column.padded_mut());
        let (mut found, mut kept) = (0, 0);
        for at in (0..pairs.len).step_by(G::LANES) {
            let here = Mask::first(g, pairs.len - at);
            counts.add(g, here);
            let first = U32::load(g, &pairs.first.padded()[at..]);
            let last = U32::load(g, &pairs.last.padded()[at..]);
            let middle = U32::load(g, &pairs.middle.padded()[at..]);
            let chord = Chord::new(g, self.kind, F32::gather(x, first), F32::gather(x, last));
            let parabola = Parabola::new(g, self.kind, &chord, F32::gather(x, middle));
            let following = middle + U32::splat(g, 1);
            let more = F32::gather(x, following).le(chord.to) & here;
            let mut hits = [first, middle, last, first, first];
            let mut any = Mask::first(g, 0);
            // A loop, so that the search stands here once.
            for other in 0..2 {
                let (nearest, _, is_near) = self.nearest(g, &parabola, other);
                hits[3 + other] = is_near.select_u(nearest.hit, U32::splat(g, NO_HIT));
                any = any | is_near;
            }
            if self.may_miss_two() {
                any = here;
            }
            let any = any & here;
            let mut count = 0;
            for (hit, to) in hits.into_iter().zip(&mut to) {
                count = hit.store_packed(&mut to[found..], any);
            }
            found += count;
            kept += pairs.keep(kept, [first, last, following], more);
        }
        pairs.len = kept;
        triplets.len = found;
    }

    /// Takes in the last layer, and fits: the candidates of triplets.
    #[inline(always)]
    pub(super) fn last_layer<G: Gang>(
        &self,
        g: G,
        triplets: &Triplets,
        candidates: &mut Candidates,
        counts: &mut Occupancy,
    ) {
        let (x, kind) = (self.index.x.padded(), self.kind);
        let (one, zero) = (U32::splat(g, 1), F32::splat(g, 0.0));
        candidates.reserve(triplets.len);
        for at in (0..triplets.len).step_by(G::LANES) {
            let here = Mask::first(g, triplets.len - at);
            counts.add(g, here);
            let hits: [U32<G>; 5] = std::array::from_fn(
                #[inline(always)]
                |hit| U32::load(g, &triplets.hits[hit].padded()[at..]),
            );
            let [first, middle, last] = [hits[0], hits[1], hits[2]];
            let chord = Chord::new(g, kind, F32::gather(x, first), F32::gather(x, last));
            let parabola = Parabola::new(g, kind, &chord, F32::gather(x, middle));
            let (third, third_distance, third_is_near) = self.nearest(g, &parabola, 2);

            let none = U32::splat(g, NO_HIT);
            let (a_is_near, b_is_near) = (none.lt(hits[3]), none.lt(hits[4]));
            let near = [a_is_near, b_is_near, third_is_near];
            let others = [hits[3], hits[4], third_is_near.select_u(third.hit, none)];
            let a = F32::gather(x, hits[3]) - parabola.x(g, kind, kind.others[0]);
            let b = F32::gather(x, hits[4]) - parabola.x(g, kind, kind.others[1]);
            let distance = [
                a_is_near.select_f(a, zero),
                b_is_near.select_f(b, zero),
                third_is_near.select_f(third_distance, zero),
            ];
            let number = U32::splat(g, 3).count(near[0]).count(near[1]).count(near[2]);
            let enough = U32::splat(g, self.pass.min_x_hits - 1).lt(number) & here;
            if !enough.any() {
                continue;
            }
            let pattern = near[0].select_u(one, none)
                + near[1].select_u(U32::splat(g, 2), none)
                + near[2].select_u(U32::splat(g, 4), none);
            let change = change(g, kind, pattern, distance);
            let shift = Parabola { at: change[0], slope: change[1], bend: change[2] };
            let mut score = zero;
            for layer in kind.layers {
                let moved = shift.x(g, kind, layer);
                score = moved.mul_add(moved, score);
            }
            for other in 0..3 {
                let left = distance[other] - shift.x(g, kind, kind.others[other]);
                let left = near[other].select_f(left, zero);
                score = left.mul_add(left, score);
            }
            let score = number.eq(U32::splat(g, 6)).select_f(score, score * F32::splat(g, FIVE_HITS));
            let score = score + F32::splat(g, kind.offset);
            let bend = parabola.bend + shift.bend;
            let value = score.mul_add(F32::splat(g, SCORE_WEIGHT), bend.abs());

            let to = candidates.len;
            for (hit, layer) in [first, middle, last].into_iter().zip(kind.layers) {
                hit.store_packed(&mut candidates.hits[layer].padded_mut()[to..], enough);
            }
            for (hit, layer) in others.into_iter().zip(kind.others) {
                hit.store_packed(&mut candidates.hits[layer].padded_mut()[to..], enough);
            }
            let parameters = [parabola.at + shift.at, parabola.slope + shift.slope, bend];
            for (parameter, column) in parameters.into_iter().zip(&mut candidates.parameters) {
                parameter.store_packed(&mut column.padded_mut()[to..], enough);
            }
            U32::splat(g, self.number as u32).store(&mut candidates.kind.padded_mut()[to..]);
            candidates.len += value.store_packed(&mut candidates.value.padded_mut()[to..], enough);
        }
    }
}

/// How the distances of the other hits change the parameters.
#[inline(always)]
fn change<G: Gang>(g: G, kind: &Kind, pattern: U32<G>, distance: [F32<G>; 3]) -> [F32<G>; 3] {
    let entry = pattern * U32::splat(g, 3);
    let [a0, a1, a2, _] = F32::gather_records(&kind.fit, entry);
    let [b0, b1, b2, _] = F32::gather_records(&kind.fit, entry + U32::splat(g, 1));
    let [c0, c1, c2, _] = F32::gather_records(&kind.fit, entry + U32::splat(g, 2));
    let [a, b, c] = distance;
    [
        c0.mul_add(c, b0.mul_add(b, a0 * a)),
        c1.mul_add(c, b1.mul_add(b, a1 * a)),
        c2.mul_add(c, b2.mul_add(b, a2 * a)),
    ]
}
