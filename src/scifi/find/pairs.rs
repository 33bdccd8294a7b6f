//! Pairs: finds pairs of a first and a last hit that have a hit at the expected middle position; one last hit per lane.

use super::cut::Cut;
use super::half::HalfHits;
use super::occupancy::Occupancy;
use super::plan::Kind;
use crate::event::Column;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Number of gangs of last hits for which room is reserved at once.
const BLOCK: usize = 64;

/// Pairs of hits as places in the index, with the middle hit under test.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) first: Column<u32>,
    pub(super) last: Column<u32>,
    pub(super) middle: Column<u32>,
    /// x of the hits, mm.
    pub(super) first_x: Column<f32>,
    pub(super) last_x: Column<f32>,
    pub(super) middle_x: Column<f32>,
    pub(super) len: usize,
}

/// The line of a pair, and the window of its middle hit.
#[derive(Clone, Copy)]
pub(super) struct Chord<G: Gang> {
    /// Slope.
    pub(super) tx: F32<G>,
    /// x at the reference, mm.
    pub(super) x: F32<G>,
    /// x in the middle layer, mm.
    pub(super) middle: F32<G>,
    /// Ends of the window in the middle layer, mm.
    pub(super) from: F32<G>,
    pub(super) to: F32<G>,
}

impl<G: Gang> Chord<G> {
    /// Returns the line through a first and a last hit.
    #[inline(always)]
    pub(super) fn new(g: G, kind: &Kind, first: F32<G>, last: F32<G>) -> Self {
        let value = inlined!(|value| F32::splat(g, value));
        let tx = (last - first) * value(kind.per_length);
        let x = tx.neg_mul_add(value(kind.first_d), first);
        let x0 = tx.neg_mul_add(value(kind.first_z), first);
        let size = x0.abs();
        let per_momentum = size * size.mul_add(value(kind.square), value(kind.linear));
        let middle = tx.mul_add(value(kind.middle_d), x);
        let far = per_momentum.mul_add(value(kind.sagitta_momentum), value(kind.sagitta));
        let near = per_momentum.mul_add(value(kind.sagitta_momentum), value(-2.0 * kind.sagitta));
        let is_left = x0.lt(value(0.0));
        Self {
            tx,
            x,
            middle,
            from: middle + is_left.select_f(-far, near),
            to: middle + is_left.select_f(-near, far),
        }
    }
}

impl Pairs {
    /// Lists the pairs of first hits in `cut` that may have a middle hit. The index must have its fine table of the middle
    /// layer.
    #[inline(always)]
    pub(super) fn list<G: Gang>(
        &mut self,
        g: G,
        hits: HalfHits<'_>,
        kind: &Kind,
        cut: &Cut,
        counts: &mut Occupancy,
    ) {
        let (x, end) = (hits.x, hits.layer(kind.layers[2]).end as usize);
        let (firsts, gangs) = cut.gangs();
        for (firsts, gangs) in firsts.chunks(BLOCK).zip(gangs.chunks(BLOCK)) {
            self.reserve(BLOCK * G::LANES);
            let (firsts_to, lasts_to) = (self.first.padded_mut(), self.last.padded_mut());
            let (first_xs_to, last_xs_to) = (self.first_x.padded_mut(), self.last_x.padded_mut());
            for (&first, &at) in firsts.iter().zip(gangs) {
                let first_x = x[first as usize];
                let centre = first_x * kind.scale;
                let (low, high) = (F32::splat(g, centre - kind.window), F32::splat(g, centre + kind.window));
                let last_x = F32::load(g, &x[at as usize..]);
                let inside = low.le(last_x) & last_x.le(high) & Mask::first(g, end - at as usize);
                counts.add(g, inside);
                let (first_place, first_x) = (U32::splat(g, first), F32::splat(g, first_x));
                let chord = Chord::new(g, kind, first_x, last_x);
                let leads = hits.index.next(g, chord.from).le(chord.to) & inside;
                let last = U32::splat(g, at) + U32::iota(g);
                first_place.store(&mut firsts_to[self.len..]);
                first_x.store(&mut first_xs_to[self.len..]);
                last_x.store_packed(&mut last_xs_to[self.len..], leads);
                self.len += last.store_packed(&mut lasts_to[self.len..], leads);
            }
        }
    }

    #[inline(always)]
    pub(super) fn reserve(&mut self, more: usize) {
        for column in [&mut self.first, &mut self.last, &mut self.middle] {
            column.reserve_total(self.len + more);
        }
        for column in [&mut self.first_x, &mut self.last_x, &mut self.middle_x] {
            column.reserve_total(self.len + more);
        }
    }

    /// Finds the first middle hit of each pair, and drops pairs that have none.
    #[inline(always)]
    pub(super) fn find_middles<G: Gang>(&mut self, g: G, hits: HalfHits<'_>, kind: &Kind) {
        let mut kept = 0;
        for at in (0..self.len).step_by(G::LANES) {
            let pair = self.load(g, at);
            let chord = Chord::new(g, kind, pair.first_x, pair.last_x);
            let (middle, middle_x) = hits.index.first_from(g, hits.x, chord.from);
            let inside = chord.from.le(middle_x) & middle_x.le(chord.to);
            let leads = inside & Mask::first(g, self.len - at);
            kept += self.keep(kept, &Triplet { middle, middle_x, ..pair }, leads);
        }
        self.len = kept;
    }

    /// Loads pairs with their middle hits.
    #[inline(always)]
    pub(super) fn load<G: Gang>(&self, g: G, at: usize) -> Triplet<G> {
        let place = inlined!(|column: &Column<u32>| U32::load(g, &column.padded()[at..]));
        let x = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
        Triplet {
            first: place(&self.first),
            middle: place(&self.middle),
            last: place(&self.last),
            first_x: x(&self.first_x),
            middle_x: x(&self.middle_x),
            last_x: x(&self.last_x),
        }
    }

    /// Stores pairs at place `at`, which must not be beyond the place from which they were loaded. Returns their number.
    #[inline(always)]
    pub(super) fn keep<G: Gang>(&mut self, at: usize, triplet: &Triplet<G>, lanes: Mask<G>) -> usize {
        let Triplet { first, middle, last, first_x, middle_x, last_x } = triplet;
        first_x.store_packed(&mut self.first_x.padded_mut()[at..], lanes);
        middle_x.store_packed(&mut self.middle_x.padded_mut()[at..], lanes);
        last_x.store_packed(&mut self.last_x.padded_mut()[at..], lanes);
        first.store_packed(&mut self.first.padded_mut()[at..], lanes);
        last.store_packed(&mut self.last.padded_mut()[at..], lanes);
        middle.store_packed(&mut self.middle.padded_mut()[at..], lanes)
    }
}

/// Pairs and middle hits, lane by lane: places in the index, and x, mm.
#[derive(Clone, Copy)]
pub(super) struct Triplet<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) middle: U32<G>,
    pub(super) last: U32<G>,
    pub(super) first_x: F32<G>,
    pub(super) middle_x: F32<G>,
    pub(super) last_x: F32<G>,
}
