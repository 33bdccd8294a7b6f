//! Find: the hybrid seeding of LHCb's first trigger stage, with parameters in `config`. It searches the lower and the
//! upper half for tracks in x layers, and then adds hits of u and v layers.
//!
//! ```text
//!   pairs      first and last hit of particles from near the origin        one lane per last hit
//!   middles    pairs with a hit where a particle of that charge bends to   one lane per pair
//!   triplets   parabola; may there be hits in two other x layers?          one lane per triplet
//!   fit        nearest hits of these layers, a step of least squares       one lane per triplet that may have them
//!   clones     of candidates that share hits the best ones are kept        in order
//!   confirm    each first u (or v) hit of a track is a trial: y / z gives  one lane per trial of a track
//!              the places of the next hits
//! ```
//!
//! Lists of candidates grow as needed, up to the limits of the configuration, which no real event reaches. Candidates
//! beyond the limits, as in an event with all hits in one place, are dropped and counted.
//!
//! Results do not depend on the gang: every list is in the order of its input, or is sorted where elements are chosen.

mod clones;
mod confirm;
mod cut;
mod half;
pub(super) mod occupancy;
mod pairs;
pub(super) mod plan;
pub(super) mod track;
mod triplets;

use super::config::{LimitConfig, SeedPass};
use super::index::Index;
use super::layers::X_LAYERS;
use crate::event::Column;
use crate::simd::Gang;
use clones::CloneScratch;
use confirm::{ConfirmScratch, Half, NONE};
use cut::Cut;
pub(super) use half::HalfHits;
use occupancy::Occupancy;
use pairs::Pairs;
use plan::Kind;
use track::{NO_HIT, Track};
use triplets::{Candidates, Search};

/// Number of first hits whose pairs are processed together.
const FIRSTS: usize = 512;

/// Memory of the search.
#[derive(Debug, Default)]
pub(super) struct FindScratch {
    cut: Cut,
    pairs: Pairs,
    triplets: Pairs,
    candidates: Candidates,
    clones: CloneScratch,
    tracks: Column<u32>,
    confirm: ConfirmScratch,
}

/// Counts of one pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassCounts {
    pub(super) x: Occupancy,
    pub(super) uv: Occupancy,
    /// Number of triplets and candidates that were dropped.
    pub(super) dropped: u64,
}

/// Configuration and input of one pass.
#[derive(Clone, Copy)]
pub(super) struct PassRules<'a> {
    pub(super) pass: &'a SeedPass,
    pub(super) kinds: &'a [Kind],
    pub(super) limits: &'a LimitConfig,
    /// x of the event's hits, mm.
    pub(super) event_x: &'a [f32],
}

impl FindScratch {
    /// Finds the candidates in x of a half that are not clones. Returns their number.
    #[inline(always)]
    pub(super) fn find_x<G: Gang>(
        &mut self,
        g: G,
        PassRules { pass, kinds, limits, event_x }: PassRules<'_>,
        index: &mut Index,
        half: usize,
        counts: &mut PassCounts,
    ) -> usize {
        let Self { cut, pairs, triplets, candidates, clones, tracks, .. } = self;
        candidates.len = 0;
        for (number, kind) in kinds.iter().enumerate() {
            index.look_closely(g, event_x, half, kind.layers[1]);
            let hits = HalfHits::new(index, event_x, half);
            let search = Search { hits, pass, kind, number };
            let first = hits.layer(kind.layers[0]);
            let mut looked_at = 0;
            for begin in (first.begin..first.end).step_by(FIRSTS) {
                pairs.len = 0;
                let firsts = begin..first.end.min(begin + FIRSTS as u32);
                cut.list(g, hits, kind, firsts);
                pairs.list(g, hits, kind, cut, &mut counts.x);
                pairs.find_middles(g, hits, kind);
                while pairs.len > 0 {
                    // This limit is far above real detectors; it bounds the work for hostile events.
                    let left = (limits.triplets as usize).saturating_sub(looked_at);
                    counts.dropped += pairs.len.saturating_sub(left) as u64;
                    pairs.len = pairs.len.min(left);
                    looked_at += pairs.len;
                    search.list(g, pairs, triplets, &mut counts.x);
                    search.fit(g, triplets, candidates, &mut counts.x);
                    let most = limits.candidates as usize;
                    counts.dropped += candidates.len.saturating_sub(most) as u64;
                    candidates.len = candidates.len.min(most);
                }
            }
        }
        clones.keep_best(g, HalfHits::new(index, event_x, half), pass, candidates, tracks);
        tracks.len()
    }

    /// Confirms the candidates in the u and v layers, and appends the tracks.
    #[inline(always)]
    pub(super) fn find_uv<G: Gang>(
        &mut self,
        g: G,
        pass: &SeedPass,
        hits: HalfHits<'_>,
        counts: &mut PassCounts,
        out: &mut Vec<Track>,
    ) {
        let Self { candidates, tracks, confirm, .. } = self;
        confirm.confirm(g, &Half { hits, pass, candidates, tracks }, &mut counts.uv);
        let found = &confirm.confirmed;
        for (track, &candidate) in tracks.iter().enumerate() {
            let winner = found.winner[track];
            if winner == NONE {
                continue;
            }
            let (candidate, winner) = (candidate as usize, winner as usize);
            let place = |layer: usize| match layer.checked_sub(X_LAYERS) {
                None => candidates.hits[layer].padded()[candidate],
                Some(layer) => found.hits[layer][winner],
            };
            let hit = |layer: usize| match place(layer) {
                place if place == hits.index.none() => NO_HIT,
                place => place + 1,
            };
            out.push(Track {
                hits: std::array::from_fn(hit),
                x: candidates.parameters.each_ref().map(|column| column.padded()[candidate]),
                y: [found.y[winner], found.slope[winner]],
                chi2_x: 0.0,
                chi2: found.chi2[winner],
            });
        }
    }
}
