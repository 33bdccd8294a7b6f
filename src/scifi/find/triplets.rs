//! Triplets: adds one middle hit to each pair of hits; one triplet per lane. A parabola through the three hits predicts
//! the positions of hits in the other x layers, and a step of least squares adds these hits.

use super::half::HalfHits;
use super::occupancy::Occupancy;
use super::pairs::{Chord, Pairs, Triplet};
use super::plan::Kind;
use crate::event::Column;
use crate::scifi::config::SeedPass;
use crate::scifi::index::{Layer, Nearest};
use crate::scifi::layers::X_LAYERS;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Factor on the score of a candidate with fewer than six hits.
const FEWER_HITS: f32 = 10.0;
/// Further penalty of a candidate with four hits, mm^2: its fit has one degree of freedom, and without the penalty it would
/// take hits from better candidates with more hits.
const FOUR_HITS: f32 = 2.0;
/// Weight of the score in the value by which candidates are compared; the other part of the value is the bend.
const SCORE_WEIGHT: f32 = 1_000.0;

/// Candidates in x.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Places of the hits, layer by layer; [`Index::none`](crate::scifi::index::Index::none) for a missing hit.
    pub(super) hits: [Column<u32>; X_LAYERS],
    /// The three parameters.
    pub(super) parameters: [Column<f32>; 3],
    /// Quality; smaller is better.
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

/// A parabola with a proportional cubic term.
#[derive(Clone, Copy)]
struct Parabola<G: Gang> {
    at: F32<G>,
    slope: F32<G>,
    bend: F32<G>,
}

impl<G: Gang> Parabola<G> {
    /// Returns the parabola through a triplet.
    #[inline(always)]
    fn new(g: G, kind: &Kind, chord: &Chord<G>, middle: F32<G>) -> Self {
        let value = inlined!(|value| F32::splat(g, value));
        let bend = (chord.middle - middle) * value(kind.bend_of_sagitta);
        Self {
            at: bend.neg_mul_add(value(kind.x_of_bend), chord.x),
            slope: bend.neg_mul_add(value(kind.slope_of_bend), chord.tx),
            bend,
        }
    }

    /// Returns x in a layer.
    #[inline(always)]
    fn x(&self, g: G, kind: &Kind, layer: usize) -> F32<G> {
        let x = self.slope.mul_add(F32::splat(g, kind.d[layer]), self.at);
        self.bend.mul_add(F32::splat(g, kind.bend[layer]), x)
    }
}

/// The search of one kind of triplets in one half.
pub(super) struct Search<'a> {
    pub(super) hits: HalfHits<'a>,
    pub(super) pass: &'a SeedPass,
    pub(super) kind: &'a Kind,
    /// Number of the kind.
    pub(super) number: usize,
}

impl Search<'_> {
    /// Returns the nearest hit of a layer that has hits, its distance, and whether it is within the tolerance.
    #[inline(always)]
    fn nearest<G: Gang>(
        &self,
        g: G,
        parabola: &Parabola<G>,
        (number, layer): (usize, &Layer<'_>),
    ) -> (Nearest<G>, F32<G>, Mask<G>) {
        let x = parabola.x(g, self.kind, number);
        let nearest = layer.nearest(g, x);
        let is_near = nearest.distance.lt(F32::splat(g, self.pass.x_tolerance));
        (nearest, nearest.x - x, is_near)
    }

    /// Tests the middle hits of pairs. `triplets` receives the triplets that may have enough hits in the other layers;
    /// `pairs` keeps the pairs that have another middle hit.
    #[inline(always)]
    pub(super) fn list<G: Gang>(
        &self,
        g: G,
        pairs: &mut Pairs,
        triplets: &mut Pairs,
        counts: &mut Occupancy,
    ) {
        let HalfHits { index, x, half } = self.hits;
        let end = U32::splat(g, self.hits.layer(self.kind.layers[1]).end);
        triplets.len = 0;
        triplets.reserve(pairs.len);
        let least = U32::splat(g, self.pass.min_x_hits - 3 - 1);
        let mut kept = 0;
        for at in (0..pairs.len).step_by(G::LANES) {
            let here = Mask::first(g, pairs.len - at);
            counts.add(g, here);
            let triplet = pairs.load(g, at);
            let chord = Chord::new(g, self.kind, triplet.first_x, triplet.last_x);
            let parabola = Parabola::new(g, self.kind, &chord, triplet.middle_x);
            let mut number = U32::splat(g, 0);
            for layer in self.kind.others {
                let x = parabola.x(g, self.kind, layer);
                number = number.count(index.is_marked(g, half, layer, x));
            }
            let enough = least.lt(number) & here;
            triplets.len += triplets.keep(triplets.len, &triplet, enough);
            let middle = triplet.middle + U32::splat(g, 1);
            let middle_x = F32::gather(x, middle);
            let more = middle_x.le(chord.to) & here.and_not(middle.eq(end));
            if more.any() {
                kept += pairs.keep(kept, &Triplet { middle, middle_x, ..triplet }, more);
            }
        }
        pairs.len = kept;
    }

    /// Adds hits of the other layers to triplets, and fits the candidates.
    #[inline(always)]
    pub(super) fn fit<G: Gang>(
        &self,
        g: G,
        triplets: &Pairs,
        candidates: &mut Candidates,
        counts: &mut Occupancy,
    ) {
        let kind = self.kind;
        let zero = F32::splat(g, 0.0);
        let layers = kind.others.map(|layer| self.hits.layer(layer));
        candidates.reserve(triplets.len);
        for at in (0..triplets.len).step_by(G::LANES) {
            let here = Mask::first(g, triplets.len - at);
            counts.add(g, here);
            let Triplet { first, middle, last, first_x, middle_x, last_x } = triplets.load(g, at);
            let chord = Chord::new(g, kind, first_x, last_x);
            let parabola = Parabola::new(g, kind, &chord, middle_x);
            let none = U32::splat(g, self.hits.index.none());
            let (mut others, mut distance, mut near) = ([none; 3], [zero; 3], [Mask::first(g, 0); 3]);
            let mut number = U32::splat(g, 3);
            let (mut pattern, nothing) = (U32::splat(g, 0), U32::splat(g, 0));
            // A loop, so that the code of the search is compiled only once.
            for (other, layer) in layers.iter().enumerate() {
                if layer.is_empty() {
                    continue;
                }
                let layer = (kind.others[other], layer);
                let (nearest, away, is_near) = self.nearest(g, &parabola, layer);
                others[other] = is_near.select_u(nearest.hit, none);
                distance[other] = is_near.select_f(away, zero);
                near[other] = is_near;
                number = number.count(is_near);
                pattern = pattern + is_near.select_u(U32::splat(g, 1 << other), nothing);
            }
            let enough = U32::splat(g, self.pass.min_x_hits - 1).lt(number) & here;
            if !enough.any() {
                continue;
            }
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
            let score = number.eq(U32::splat(g, 6)).select_f(score, score * F32::splat(g, FEWER_HITS));
            let score = number.lt(U32::splat(g, 5)).select_f(score + F32::splat(g, FOUR_HITS), score);
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

/// Returns the change of the parameters by the distances of the other hits.
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
