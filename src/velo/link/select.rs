//! Chooses the chains of triplets that become tracks.

use super::chains::{Chains, Links};
use super::left::Left;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::LinkConfig;
use crate::velo::find::Kink;
use crate::velo::found::{Found, Row};

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct Select {
    /// Chains of three hits with a good score: their rows; in the second pass, bits of the score, then the row.
    weak: Column<u32>,
    ranked: Column<u64>,
    /// Whether a track has the hit, for each hit that the first pass left.
    taken: Column<u32>,
}

impl Select {
    /// Accepts the tracks of the first pass: long chains with enough hits left, then, in order, the chains of three hits with a
    /// good score whose hits are in no other track. Marks the hits of these short chains as inside.
    #[inline(always)]
    pub(super) fn accept_first<G: Gang>(
        &mut self,
        g: G,
        config: &LinkConfig,
        links: &mut Links,
        (chains, kinks): (&Chains, &[Kink]),
        found: &mut Found,
    ) {
        let count = chains.start.len();
        self.weak.reserve_total(count);
        let (three, zero) = (U32::splat(g, 3), U32::splat(g, 0));
        let good = F32::splat(g, config.weak_score);
        let (mut tracks, mut candidates) = (0, 0);
        for at in (0..count).step_by(G::LANES) {
            let lanes = Mask::first(g, count - at);
            let len = U32::load(g, &chains.len[at..]);
            let row = U32::iota(g) + U32::splat(g, (chains.first_row + at) as u32);
            tracks += row.store_packed(&mut found.tracks.padded_mut()[tracks..], three.lt(len) & lanes);
            let weak = len.eq(three) & F32::load(g, &chains.score[at..]).lt(good) & lanes;
            let top_free = U32::gather(&links.inside, U32::load(g, &chains.top[at..])).eq(zero);
            let bottom_free = U32::gather(&links.inside, U32::load(g, &chains.bottom[at..])).eq(zero);
            let free = top_free & bottom_free & weak;
            candidates += row.store_packed(&mut self.weak.padded_mut()[candidates..], free);
        }
        found.tracks.set_len(tracks);
        for &row in &self.weak.padded()[..candidates] {
            let hits = found.hits_of(row);
            if hits.iter().all(|&hit| links.inside[hit as usize] == 0) {
                hits.iter().for_each(|&hit| links.inside[hit as usize] = 1);
                found.tracks.push(row);
            }
        }
        // A chain of four hits whose two ends are in other chains has two hits left: it is no track, unless another
        // chain continues in it.
        let mut kept = 0;
        for i in 0..found.tracks.len() {
            let row = found.tracks[i];
            found.tracks[kept] = row;
            let enough = found.rows[row as usize].len >= 3 || kinks.iter().any(|kink| kink.lower == row);
            kept += usize::from(enough);
        }
        found.tracks.set_len(kept);
    }

    /// Accepts the tracks of the second pass: long chains, in order, with at most half of their hits in earlier tracks;
    /// then, the best first, chains of three hits with a good score whose hits are in no track. The hits become indices
    /// among all hits.
    pub(super) fn accept_second(
        &mut self,
        config: &LinkConfig,
        left: &Left,
        chains: &Chains,
        found: &mut Found,
    ) {
        self.taken.set_len(left.links.up.len());
        self.taken.fill(0);
        self.ranked.clear();
        let accepted = found.tracks.len();
        for number in 0..chains.start.len() {
            let row = (chains.first_row + number) as u32;
            let hits = found.hits_of(row);
            if hits.len() == 3 {
                if chains.score[number] <= config.second_weak_score {
                    self.ranked.push(u64::from(chains.score[number].to_bits()) << 32 | u64::from(row));
                }
                continue;
            }
            let held: u32 = hits.iter().map(|&hit| self.taken[hit as usize]).sum();
            if 2 * held as usize <= hits.len() {
                hits.iter().for_each(|&hit| self.taken[hit as usize] = 1);
                found.tracks.push(row);
            }
        }
        self.ranked.sort_unstable();
        for &key in self.ranked.iter() {
            let hits = found.hits_of(key as u32);
            if hits.iter().all(|&hit| self.taken[hit as usize] == 0) {
                hits.iter().for_each(|&hit| self.taken[hit as usize] = 1);
                found.tracks.push(key as u32);
            }
        }
        for &row in &found.tracks[accepted..] {
            let Row { hits, len, .. } = &mut found.rows.padded_mut()[row as usize];
            hits[..*len as usize].iter_mut().for_each(|hit| *hit = left.origin[*hit as usize]);
        }
    }
}
