//! Collects the hits that are on no track of the first pass as columns and records for the second pass. A window is
//! looked up in the table of all hits, and converted with the number of remaining hits before each hit.

use super::chains::Links;
use super::hits::{LinkHits, Span, repeat};
use crate::event::{Column, PAD};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::geometry::{PAIRS, pair_middle};

/// The remaining hits; the hits of each pair are repeated, since a window may continue past phi = 2 pi.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) x: Column<f32>,
    pub(super) y: Column<f32>,
    pub(super) z: Column<f32>,
    pub(super) turn: Column<f32>,
    pub(super) records: Column<[f32; 4]>,
    /// Index of the hit, for hits and copies.
    pub(super) home: Column<u32>,
    /// Index of the hit among all hits; not set for copies.
    pub(super) origin: Column<u32>,
    pub(super) spans: [Span; PAIRS],
    /// Look-up table of the pairs: z of the middle, mm; then, as bits, the start of the pair among all hits, its start
    /// among the remaining hits, and its number of remaining hits.
    pub(super) places: [[f32; 4]; PAIRS],
    /// Number of remaining hits before each hit (remaining or not) in its pair.
    pub(super) rank: Column<u32>,
    /// The triplets of the second pass.
    pub(super) links: Links,
}

impl Left {
    /// Lists the hits whose mark is 0.
    #[inline(always)]
    pub(super) fn collect<G: Gang>(&mut self, g: G, hits: &LinkHits, inside: &[u32]) {
        self.rank.set_len(hits.len());
        let room = 2 * hits.len() + PAIRS * (2 * PAD + 16);
        for column in [&mut self.x, &mut self.y, &mut self.z, &mut self.turn] {
            column.set_len(room);
        }
        self.home.set_len(room);
        self.origin.set_len(room);
        self.records.set_len(room);
        let mut begin = 0;
        for pair in 0..PAIRS {
            let len = self.list(g, hits.spans[pair], inside, begin);
            let span = Span { begin, len };
            self.spans[pair] = span;
            let [all, here, left] = [hits.spans[pair].begin, begin, len].map(|n| f32::from_bits(n as u32));
            self.places[pair] = [pair_middle(pair), all, here, left];
            self.copy(g, hits, span);
            begin = span.next(len.max(2 * G::LANES));
        }
        self.links.open(g, begin, &[Span::default(); PAIRS]);
        for at in (0..begin).step_by(G::LANES) {
            self.links.put_none(g, at);
        }
    }

    /// Lists the remaining hits of a pair from index `begin` on; returns their number.
    #[inline(always)]
    fn list<G: Gang>(&mut self, g: G, all: Span, inside: &[u32], begin: usize) -> usize {
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let (ranks, origins) = (self.rank.padded_mut(), &mut self.origin.padded_mut()[begin..]);
        let end = all.begin + all.len;
        let mut kept = 0;
        for at in (all.begin..end).step_by(G::LANES) {
            let left = U32::load(g, &inside[at..]).eq(zero) & Mask::first(g, end - at);
            let ones = left.select_u(one, zero);
            let (sums, _) = ones.prefix_sum();
            (sums - ones + U32::splat(g, kept as u32)).store(&mut ranks[at..]);
            let hit = U32::iota(g) + U32::splat(g, at as u32);
            kept += hit.store_packed(&mut origins[kept..], left);
        }
        ranks[end] = kept as u32;
        kept
    }

    /// Copies the listed hits of a pair.
    #[inline(always)]
    fn copy<G: Gang>(&mut self, g: G, hits: &LinkHits, span: Span) {
        let Span { begin, len } = span;
        for at in (begin..begin + len).step_by(G::LANES) {
            let record = F32::load_records(g, hits.records.padded(), &self.origin.padded()[at..]);
            F32::store_records(record, &mut self.records.padded_mut()[at..]);
            let [x, y, z, turn] = record;
            x.store(&mut self.x.padded_mut()[at..]);
            y.store(&mut self.y.padded_mut()[at..]);
            z.store(&mut self.z.padded_mut()[at..]);
            turn.store(&mut self.turn.padded_mut()[at..]);
            (U32::iota(g) + U32::splat(g, at as u32)).store(&mut self.home.padded_mut()[at..]);
        }
        for column in [&mut self.x, &mut self.y, &mut self.z] {
            repeat(g, column.padded_mut(), span);
        }
        let home = &mut self.home.padded_mut()[begin..];
        for at in (0..len).step_by(G::LANES) {
            U32::load(g, &home[at..]).store(&mut home[len + at..]);
        }
        let records: &mut [f32] = self.records.padded_mut()[begin..].as_flattened_mut();
        for at in (0..4 * len).step_by(G::LANES) {
            F32::load(g, &records[at..]).store(&mut records[4 * len + at..]);
        }
    }
}
