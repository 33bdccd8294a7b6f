//! Finds triplets for middle hits with many candidates, or with candidates far in memory from the first lane's
//! candidates: tries all pairs of candidates, one middle hit per lane.

use super::candidate::{Above, Below, Best, Middle, cells, wrapped};
use super::chains::Links;
use super::hits::{LinkHits, ROW};
use super::{HIT, PAIR_SHIFT};
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::LinkConfig;
use crate::velo::find::Judge;

/// The deferred middle hits with their pairs, and memory for their candidates below.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    hits: Column<u32>,
    below: Column<f32>,
}

/// Candidates on one side: number of the first candidate in its pair, number of candidates, first index of the pair,
/// and number of hits in the pair.
struct Side<G: Gang> {
    first: U32<G>,
    count: U32<G>,
    begin: U32<G>,
    len: U32<G>,
}

impl<G: Gang> Side<G> {
    /// Returns the candidates in a pair of modules per lane, at most `max`.
    #[inline(always)]
    fn open(g: G, hits: &LinkHits, pair: U32<G>, cells: U32<G>, max: U32<G>) -> Self {
        let word = U32::gather(hits.table(), pair.shl::<{ ROW.trailing_zeros() }>() + cells);
        let window = LinkHits::window(g, word);
        let [begin, len] = [U32::gather(&hits.begins, pair), U32::gather(&hits.lens, pair)];
        Self { first: window.first, count: window.count.min(max), begin, len }
    }

    /// Returns the candidate of number `number`.
    #[inline(always)]
    fn hit(&self, g: G, hits: &LinkHits, number: u32) -> [F32<G>; 3] {
        let at = wrapped(self.first + U32::splat(g, number), self.len) + self.begin;
        let [x, y, z, _] = F32::gather_records(hits.records.padded(), at);
        [x, y, z]
    }
}

impl Deferred {
    /// Empties the list, and reserves memory for `hits` hits.
    #[inline(always)]
    pub(super) fn clear(&mut self, hits: usize) {
        self.hits.clear();
        self.hits.reserve_total(hits);
    }

    /// Appends hits, with their pairs in the bits above.
    #[inline(always)]
    pub(super) fn add<G: Gang>(&mut self, hits: U32<G>, lanes: Mask<G>) {
        let at = self.hits.len();
        let count = hits.store_packed(&mut self.hits.padded_mut()[at..], lanes);
        self.hits.set_len(at + count);
    }

    /// Finds the triplets of the listed hits.
    #[inline(always)]
    pub(super) fn search<G: Gang>(
        &mut self,
        g: G,
        config: &LinkConfig,
        judge: &Judge<G>,
        hits: &LinkHits,
        links: &mut Links,
    ) {
        let (one, max) = (U32::splat(g, 1), U32::splat(g, judge.max_candidates));
        for at in (0..self.hits.len()).step_by(G::LANES) {
            let lanes = Mask::first(g, self.hits.len() - at);
            let marked = U32::load(g, &self.hits.padded()[at..]);
            let (hit, pair) = (marked & U32::splat(g, HIT), marked.shr::<PAIR_SHIFT>());
            let [x, y, z, turn] = F32::gather_records(hits.records.padded(), hit);
            let middle = Middle { x, y, z };
            let cells = cells(g, turn);
            let above = Side::open(g, hits, pair + one, cells, max);
            let below = Side::open(g, hits, pair - one, cells, max);
            let found = self.all_pairs(g, (config, judge), (hits, lanes), middle, [&above, &below]);
            let indices =
                found.hits(g, [above.first, below.first], [above.begin, below.begin], [above.len, below.len]);
            links.scatter(hit, indices, &found, lanes);
        }
    }

    /// Returns the best of all pairs of candidates; of equally good pairs, the first by candidate above, then by
    /// candidate below.
    #[inline(always)]
    fn all_pairs<G: Gang>(
        &mut self,
        g: G,
        rule: (&LinkConfig, &Judge<G>),
        (hits, lanes): (&LinkHits, Mask<G>),
        middle: Middle<G>,
        [above, below]: [&Side<G>; 2],
    ) -> Best<G> {
        let mut belows = 0;
        loop {
            let on = U32::splat(g, belows).lt(below.count) & lanes;
            if !on.any() {
                break;
            }
            let candidate = Below::new(g, middle, below.hit(g, hits, belows), on);
            let at = belows as usize * 3 * G::LANES;
            self.below.reserve_total(at + 3 * G::LANES);
            let memory = &mut self.below.padded_mut()[at..];
            candidate.dx.store(memory);
            candidate.dy.store(&mut memory[G::LANES..]);
            candidate.dz.store(&mut memory[2 * G::LANES..]);
            belows += 1;
        }
        let mut best = Best::none(g, rule.0.score);
        let mut number = 0;
        loop {
            let on = U32::splat(g, number).lt(above.count) & lanes;
            if !on.any() {
                break;
            }
            let candidate = Above::new(g, rule, middle, above.hit(g, hits, number), on);
            let memory = self.below.padded()[..belows as usize * 3 * G::LANES].chunks_exact(3 * G::LANES);
            for (below, memory) in memory.enumerate() {
                let below_it = Below {
                    dx: F32::load(g, memory),
                    dy: F32::load(g, &memory[G::LANES..]),
                    dz: F32::load(g, &memory[2 * G::LANES..]),
                };
                best.judge(&candidate, &below_it, U32::splat(g, number << 16 | below as u32));
            }
            number += 1;
        }
        best
    }
}
