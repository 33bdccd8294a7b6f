//! Seeding: triplets around the free hits of one pair. Doublets are written down first, so that every lane
//! of the search has one, whatever the number of candidates of a hit.

use super::nearest::{Line, Lines, Reach, Search};
use super::{FindScratch, Tally};
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::PassConfig;
use crate::velo::geometry::PAIRS;
use crate::velo::index::{Index, phi_bin};

/// Doublets looked at in one go: their memory stays in the first cache.
const BLOCK: usize = 1024;
/// tx^2 + ty^2 of a seed: the acceptance ends at 45 degrees.
const MAX_SLOPE2: f32 = 1.0;

/// Memory of seeding.
#[derive(Debug, Default)]
pub(super) struct SeedScratch {
    /// Free hits of the current pair: place, event, first candidate, how many.
    middle: Column<u32>,
    event: Column<u32>,
    first: Column<u32>,
    count: Column<u32>,
    /// Doublets: candidate, first as its number in the previous layer (may lie beyond its end: it goes on at
    /// the front), then as its place, and entry of `middle`.
    outer: Column<u32>,
    entry: Column<u32>,
    /// Lines of the doublets of a block that pass the cuts; `outer` and `entry` move along.
    lines: Lines,
    /// Triplets of a block.
    scores: Column<f32>,
    triplets: [Column<u32>; 3],
    open_entry: u32,
    /// The seeds of the current pair, and per hit the best seed that has it.
    seeds: Vec<Seed>,
    claim: Vec<u32>,
}

/// A triplet of places in the index, and its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed {
    pub(super) hits: [u32; 3],
    pub(super) event: u32,
    pub(super) score: f32,
}

/// Makes the seeds around pair `current` and appends them to the tracks under way.
#[inline(always)]
pub(super) fn seed<G: Gang>(
    g: G,
    search: &Search,
    pass: &PassConfig,
    index: &Index,
    scratch: &mut FindScratch,
    current: usize,
    tally: &mut Tally,
) {
    let seeds = &mut scratch.seeds;
    seeds.seeds.clear();
    seeds.list_middle_hits(g, index, current);
    let near = Cuts {
        score: pass.score,
        doca_weight: pass.doca_weight,
        window: pass.window,
        doublet_doca: pass.doublet_doca,
    };
    let gap = Cuts {
        score: pass.gap_score,
        doca_weight: pass.gap_doca_weight,
        window: pass.gap_window,
        doublet_doca: pass.gap_doublet_doca,
    };
    // (previous, next) relative to the current pair.
    let shapes = [(1, 1, near), (2, 1, gap), (1, 2, gap)];
    for &(above, below, cuts) in &shapes[..if pass.gaps { 3 } else { 1 }] {
        if current + above < PAIRS && below <= current {
            let pairs = [current + above, current - below];
            seeds.triplets(g, search, pass, cuts, index, pairs, tally);
        }
    }
    for end in [2, 0] {
        seeds.keep_best_of_each(end, index.hits.len());
    }
    start_tracks(g, index, scratch);
}

/// What a triplet must fulfil.
#[derive(Clone, Copy)]
struct Cuts {
    score: f32,
    doca_weight: f32,
    /// Half width of the window for the outer hit, in bins.
    window: u32,
    /// Largest distance of a doublet to the beam line, mm.
    doublet_doca: f32,
}

impl SeedScratch {
    #[inline(always)]
    fn list_middle_hits<G: Gang>(&mut self, g: G, index: &Index, current: usize) {
        let most: usize = (0..index.events()).map(|event| index.pair(event, current).len()).sum();
        self.middle.set_len(most);
        self.event.set_len(most);
        let (hits, middle, events) = (&index.hits[..], self.middle.padded_mut(), self.event.padded_mut());
        let mut kept = 0;
        for event in 0..index.events() {
            let range = index.pair(event, current);
            for at in range.clone().step_by(G::LANES) {
                let place = U32::iota(g) + U32::splat(g, at as u32);
                let [_, _, _, free_x] = F32::gather_records(hits, place);
                let free = free_x.eq(free_x) & Mask::first(g, range.end - at);
                U32::splat(g, event as u32).store(&mut events[kept..]);
                kept += place.store_packed(&mut middle[kept..], free);
            }
        }
        self.middle.set_len(kept);
        self.event.set_len(kept);
    }

    /// Finds the best triplet of each middle hit; the hits that have one leave the list.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn triplets<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        pass: &PassConfig,
        cuts: Cuts,
        index: &Index,
        pairs: [usize; 2],
        tally: &mut Tally,
    ) {
        self.open_windows(g, search, cuts.window, index, pairs[0], tally);
        let first_seed = self.seeds.len();
        // The entry of `middle` whose triplets are being compared.
        self.open_entry = u32::MAX;
        for column in [&mut self.outer, &mut self.entry].into_iter().chain(&mut self.triplets) {
            column.reserve_total(BLOCK);
        }
        self.scores.reserve_total(BLOCK);
        self.lines.reserve(BLOCK);
        let (mut entry, mut filled) = (0, 0);
        while entry < self.middle.len() || filled > 0 {
            // Writes down doublets until the block is full; what a hit has left is kept for the next one.
            let (outer, entries) = (self.outer.padded_mut(), self.entry.padded_mut());
            let windows = self.first[entry..].iter_mut().zip(&mut self.count[entry..]);
            for (first, left) in windows {
                if filled + G::LANES > BLOCK {
                    break;
                }
                (U32::iota(g) + U32::splat(g, *first)).store(&mut outer[filled..]);
                U32::splat(g, entry as u32).store(&mut entries[filled..]);
                let written = (*left).min(G::LANES as u32);
                filled += written as usize;
                *first += written;
                *left -= written;
                if *left > 0 {
                    break;
                }
                entry += 1;
            }
            self.search_block(g, search, pass, cuts, index, pairs, filled, tally);
            filled = 0;
        }
        if pass.gaps {
            self.drop_seeded(first_seed);
        }
    }

    /// Takes the middle hits of the seeds from `first_seed` on out of the list; both are in order.
    fn drop_seeded(&mut self, first_seed: usize) {
        let mut seeded = self.seeds[first_seed..].iter().map(|seed| seed.hits[1]).peekable();
        let mut kept = 0;
        for entry in 0..self.middle.len() {
            let place = self.middle[entry];
            self.middle[kept] = place;
            self.event[kept] = self.event[entry];
            kept += usize::from(seeded.next_if_eq(&place).is_none());
        }
        self.middle.set_len(kept);
        self.event.set_len(kept);
    }

    /// Looks up, for each middle hit, which hits of the previous layer are in its window.
    #[inline(always)]
    fn open_windows<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        half_width: u32,
        index: &Index,
        previous: usize,
        tally: &mut Tally,
    ) {
        let hits = self.middle.len();
        self.first.set_len(hits);
        self.count.set_len(hits);
        let view = index.view();
        let (middle, events) = (self.middle.padded(), self.event.padded());
        let (first, count) = (self.first.padded_mut(), self.count.padded_mut());
        for at in (0..hits).step_by(G::LANES) {
            let lanes = Mask::first(g, hits - at);
            let place = U32::load(g, &middle[at..]);
            let event = U32::load(g, &events[at..]);
            let [x, y, _, _] = F32::gather_records(view.hits, place);
            let window = view.layer(g, event, previous).window(phi_bin(g, x, y), half_width);
            window.first.store(&mut first[at..]);
            search.limit(g, window.count, lanes, tally).store(&mut count[at..]);
        }
    }

    /// Extends a block of doublets into the next layer, and notes the best triplet of each middle hit.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn search_block<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        pass: &PassConfig,
        cuts: Cuts,
        index: &Index,
        [previous, next]: [usize; 2],
        doublets: usize,
        tally: &mut Tally,
    ) {
        let reach = Reach { used_too: false, chi2: cuts.score, scatter_slope: pass.scatter_slope };
        let view = index.view();
        let (lines, room) = self.lines.parts();
        let (middle, events) = (&self.middle[..], &self.event[..]);
        let (outers, entries) = (self.outer.padded_mut(), self.entry.padded_mut());
        let mut kept = 0;
        for at in (0..doublets).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets - at);
            let entry = U32::load(g, &entries[at..]);
            let layer = view.layer(g, U32::gather(events, entry), previous);
            let outer = layer.place(U32::load(g, &outers[at..]));
            let [_, y0, z0, free_x0] = F32::gather_records(view.hits, outer);
            let [x1, y1, z1, _] = F32::gather_records(view.hits, U32::gather(middle, entry));
            // Used hits have a free x of NaN and fail the cuts.
            let line = Line::through(g, [free_x0, y0, z0], [x1, y1, z1]);
            let slope2 = line.slope2();
            let moment = line.x * line.ty - line.y * line.tx;
            let doca2 = F32::splat(g, cuts.doublet_doca * cuts.doublet_doca);
            let good = slope2.lt(F32::splat(g, MAX_SLOPE2)) & (moment * moment).lt(doca2 * slope2) & lanes;
            line.store_packed((&mut *lines, room), kept, good);
            outer.store_packed(&mut outers[kept..], good);
            kept += entry.store_packed(&mut entries[kept..], good);
        }
        let doublets = kept;
        let [triplet_outer, triplet_entry, triplet_inner] = self.triplets.each_mut().map(Column::padded_mut);
        let scores = self.scores.padded_mut();
        kept = 0;
        for at in (0..doublets).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets - at);
            let line = Line::load(g, (lines, room), at);
            let entry = U32::load(g, &entries[at..]);
            let layer = view.layer(g, U32::gather(events, entry), next);
            let (best, found) = search.nearest(g, &layer, next, &line, reach, lanes, tally);
            let outer = U32::load(g, &outers[at..]);
            let [x0, y0, z0, _] = F32::gather_records(view.hits, outer);
            let doca = distance_to_beam(g, [x0, y0, z0], [best.x, best.y, best.z]);
            let score = doca.mul_add(F32::splat(g, cuts.doca_weight), best.distance2 / best.variance);
            let good = score.lt(F32::splat(g, cuts.score)) & found;
            outer.store_packed(&mut triplet_outer[kept..], good);
            entry.store_packed(&mut triplet_entry[kept..], good);
            best.place.store_packed(&mut triplet_inner[kept..], good);
            kept += score.store_packed(&mut scores[kept..], good);
        }
        // Triplets come in the order of the middle hits: the best of each run becomes the seed.
        for (i, &score) in scores[..kept].iter().enumerate() {
            let entry = triplet_entry[i];
            let hits = [triplet_outer[i], middle[entry as usize], triplet_inner[i]];
            let event = events[entry as usize];
            if entry != self.open_entry {
                self.open_entry = entry;
                self.seeds.push(Seed { hits, event, score });
            } else if let Some(best) = self.seeds.last_mut()
                && score < best.score
            {
                *best = Seed { hits, event, score };
            }
        }
    }

    /// Of the seeds that share their first (`end` 0) or last (2) hit only the best stays, the first of equals.
    fn keep_best_of_each(&mut self, end: usize, hits: usize) {
        if self.claim.len() < hits {
            self.claim.resize(hits, u32::MAX);
        }
        for (i, seed) in self.seeds.iter().enumerate() {
            let holder = &mut self.claim[seed.hits[end] as usize];
            if *holder == u32::MAX || seed.score < self.seeds[*holder as usize].score {
                *holder = i as u32;
            }
        }
        let mut kept = 0;
        for i in 0..self.seeds.len() {
            let seed = self.seeds[i];
            if self.claim[seed.hits[end] as usize] == i as u32 {
                self.seeds[kept] = seed;
                kept += 1;
            }
        }
        // Every held place is the end of exactly one seed that stayed.
        self.seeds.truncate(kept);
        for seed in &self.seeds {
            self.claim[seed.hits[end] as usize] = u32::MAX;
        }
    }
}

/// Distance of closest approach to the beam axis of the line through two hits, mm.
#[inline(always)]
fn distance_to_beam<G: Gang>(g: G, a: [F32<G>; 3], b: [F32<G>; 3]) -> F32<G> {
    let inverse = F32::splat(g, 1.0) / (b[2] - a[2]);
    let (tx, ty) = ((b[0] - a[0]) * inverse, (b[1] - a[1]) * inverse);
    let slope2 = tx.mul_add(tx, ty.mul_add(ty, F32::splat(g, 1e-9)));
    (a[0] * ty - a[1] * tx).abs() / slope2.sqrt()
}

/// Seeds become tracks under way; their line is that of the last two hits.
#[inline(always)]
fn start_tracks<G: Gang>(g: G, index: &Index, scratch: &mut FindScratch) {
    let FindScratch { seeds, rows, active, .. } = scratch;
    let (inner, middle, event) = (&mut seeds.first, &mut seeds.middle, &mut seeds.event);
    inner.set_len(seeds.seeds.len());
    event.set_len(seeds.seeds.len());
    middle.set_len(seeds.seeds.len());
    let first_row = rows.count() as u32;
    for (i, seed) in seeds.seeds.iter().enumerate() {
        rows.push(&seed.hits, seed.event, seed.score);
        event[i] = seed.event;
        middle[i] = seed.hits[1];
        inner[i] = seed.hits[2];
    }
    for at in (0..seeds.seeds.len()).step_by(G::LANES) {
        let [x1, y1, z1, _] = F32::gather_records(&index.hits, U32::load(g, &middle.padded()[at..]));
        let [x2, y2, z2, _] = F32::gather_records(&index.hits, U32::load(g, &inner.padded()[at..]));
        let line = Line::through(g, [x1, y1, z1], [x2, y2, z2]);
        let to = active.len + at;
        line.store_packed(active.lines.parts(), to, Mask::first(g, G::LANES));
        let row = U32::iota(g) + U32::splat(g, first_row + at as u32);
        row.store(&mut active.row.padded_mut()[to..]);
        U32::splat(g, 0).store(&mut active.missed.padded_mut()[to..]);
        U32::load(g, &event.padded()[at..]).store(&mut active.event.padded_mut()[to..]);
    }
    active.len += seeds.seeds.len();
}
