//! Seeding: triplets around the free hits of one pair. Doublets are written down first, so that every lane
//! of the search has one, whatever the number of candidates of a hit.

use super::nearest::{Line, Lines, Reach, Search};
use super::{FindScratch, Tally};
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::PassConfig;
use crate::velo::geometry::PAIRS;
use crate::velo::index::{Binning, Index, Layer};

/// Doublets looked at in one go: their memory stays in the first cache.
const BLOCK: usize = 512;
/// tx^2 + ty^2 of a seed: the acceptance ends at 45 degrees.
const MAX_SLOPE2: f32 = 1.0;

/// Memory of seeding.
#[derive(Debug, Default)]
pub(super) struct SeedScratch {
    /// Free hits of the current pair: place, direction in bins, and the table's cells of the window for the
    /// outer hit.
    middle: Column<u32>,
    turn: Column<f32>,
    from: Column<u32>,
    to: Column<u32>,
    /// Outer hits of the current middle hit that are written down already.
    written: u32,
    doublets: Doublets,
    triplets: Triplets,
    /// The middle hit whose triplets are being compared.
    open_middle: u32,
    /// The seeds of the current pair, and per hit the best seed that has it.
    seeds: Vec<Seed>,
    claim: Vec<u32>,
}

/// A block of doublets: outer and middle hit; then those that pass the cuts, with their lines and windows.
#[derive(Debug, Default)]
struct Doublets {
    outer: Column<u32>,
    middle: Column<u32>,
    lines: Lines,
    first: Column<u32>,
    count: Column<u32>,
    len: usize,
}

/// The triplets of a block.
#[derive(Debug, Default)]
struct Triplets {
    hits: [Column<u32>; 3],
    score: Column<f32>,
    len: usize,
}

/// A triplet of places in the index, and its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed {
    pub(super) hits: [u32; 3],
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
    window: f32,
    /// Largest distance of a doublet to the beam line, mm.
    doublet_doca: f32,
}

impl Cuts {
    fn reach(&self, pass: &PassConfig) -> Reach {
        Reach { used_too: false, chi2: self.score, scatter_slope: pass.scatter_slope }
    }
}

impl SeedScratch {
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
        self.open_windows(g, index.binning, cuts.window);
        let above = index.layer(pairs[0]);
        self.doublets.reserve();
        self.triplets.reserve();
        self.open_middle = u32::MAX;
        let first_seed = self.seeds.len();
        let mut entry = 0;
        while entry < self.middle.len() {
            entry = self.list_doublets(g, search, &above, entry, tally);
            self.doublets.cut(g, search, pass, cuts, index, pairs);
            self.triplets.search(g, search, pass, cuts, index, pairs, &self.doublets, tally);
            self.keep_best_of_each_middle();
        }
        if pass.gaps {
            self.drop_seeded(first_seed);
        }
    }

    #[inline(always)]
    fn list_middle_hits<G: Gang>(&mut self, g: G, index: &Index, current: usize) {
        let range = index.pair(current);
        self.middle.reserve_total(range.len());
        let count = index.free(g, range, self.middle.padded_mut());
        self.middle.set_len(count);
        self.turn.set_len(count);
        self.from.set_len(count);
        self.to.set_len(count);
        let (middle, turn) = (self.middle.padded(), self.turn.padded_mut());
        for at in (0..count).step_by(G::LANES) {
            let [x, y, _, _] = F32::load_records(g, index.hits.padded(), &middle[at..]);
            index.binning.turn(g, x, y).store(&mut turn[at..]);
        }
    }

    /// Looks up in which cells of the table the window of each middle hit begins and ends.
    #[inline(always)]
    fn open_windows<G: Gang>(&mut self, g: G, binning: Binning, half_width: f32) {
        let half = F32::splat(g, binning.width(half_width));
        let (from, to) = (self.from.padded_mut(), self.to.padded_mut());
        for at in (0..self.middle.len()).step_by(G::LANES) {
            let cells = binning.cells(g, F32::load(g, &self.turn.padded()[at..]), half);
            cells[0].store(&mut from[at..]);
            cells[1].store(&mut to[at..]);
        }
        self.written = 0;
    }

    /// Writes down doublets until the block is full, from middle hit number `entry` on; what a hit has left is
    /// kept for the next block. Returns the hit to go on with.
    #[inline(always)]
    fn list_doublets<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        above: &Layer<'_>,
        mut entry: usize,
        tally: &mut Tally,
    ) -> usize {
        let Doublets { outer, middle, len, .. } = &mut self.doublets;
        let (outer, middle) = (outer.padded_mut(), middle.padded_mut());
        let windows = self.from[entry..].iter().zip(&self.to[entry..]);
        *len = 0;
        for ((&from, &to), &place) in windows.zip(&self.middle[entry..]) {
            if *len + G::LANES > BLOCK {
                break;
            }
            let (first, end) = above.between(from, to);
            let count = search.limit_one(end - first, self.written, tally) - self.written;
            (U32::iota(g) + U32::splat(g, first + self.written)).store(&mut outer[*len..]);
            U32::splat(g, place).store(&mut middle[*len..]);
            *len += count.min(G::LANES as u32) as usize;
            if count > G::LANES as u32 {
                self.written += G::LANES as u32;
                break;
            }
            self.written = 0;
            entry += 1;
        }
        entry
    }

    /// Takes the middle hits of the seeds from `first_seed` on out of the list; both are in order.
    fn drop_seeded(&mut self, first_seed: usize) {
        let mut seeded = self.seeds[first_seed..].iter().map(|seed| seed.hits[1]).peekable();
        let mut kept = 0;
        for entry in 0..self.middle.len() {
            let place = self.middle[entry];
            self.middle[kept] = place;
            self.turn[kept] = self.turn[entry];
            kept += usize::from(seeded.next_if_eq(&place).is_none());
        }
        self.middle.set_len(kept);
    }

    /// Triplets come in the order of the middle hits: the best of each run becomes the seed.
    fn keep_best_of_each_middle(&mut self) {
        let Triplets { hits: [outer, middle, inner], score, len } = &self.triplets;
        for i in 0..*len {
            let seed = Seed {
                hits: [outer.padded()[i], middle.padded()[i], inner.padded()[i]],
                score: score.padded()[i],
            };
            if seed.hits[1] != self.open_middle {
                self.open_middle = seed.hits[1];
                self.seeds.push(seed);
            } else if let Some(best) = self.seeds.last_mut()
                && seed.score < best.score
            {
                *best = seed;
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

impl Doublets {
    fn reserve(&mut self) {
        for column in [&mut self.outer, &mut self.middle, &mut self.first, &mut self.count] {
            column.reserve_total(BLOCK);
        }
        self.lines.reserve(BLOCK);
    }

    /// Keeps the doublets that may be a particle's and that have hits to be extended to.
    #[inline(always)]
    fn cut<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        pass: &PassConfig,
        cuts: Cuts,
        index: &Index,
        [previous, next]: [usize; 2],
    ) {
        let (above, below) = (index.layer(previous), index.layer(next));
        let reach = cuts.reach(pass);
        let (outers, middles) = (self.outer.padded_mut(), self.middle.padded_mut());
        let (firsts, counts) = (self.first.padded_mut(), self.count.padded_mut());
        let (lines, room) = self.lines.parts();
        let mut kept = 0;
        for at in (0..self.len).step_by(G::LANES) {
            let lanes = Mask::first(g, self.len - at);
            let [_, y0, z0, free_x0] = F32::load_records(g, above.hits, &outers[at..]);
            let [x1, y1, z1, _] = F32::load_records(g, above.hits, &middles[at..]);
            // Used hits have a free x of NaN and fail the cuts.
            let line = Line::through(g, [free_x0, y0, z0], [x1, y1, z1]);
            let slope2 = line.slope2();
            let moment = line.x * line.ty - line.y * line.tx;
            let doca2 = F32::splat(g, cuts.doublet_doca * cuts.doublet_doca);
            let good = slope2.lt(F32::splat(g, MAX_SLOPE2)) & (moment * moment).lt(doca2 * slope2) & lanes;
            let (window, _) = search.window(g, &below, next, &line, reach);
            let good = U32::splat(g, 0).lt(window.count) & good;
            let outer = above.original(g, U32::load(g, &outers[at..]));
            line.store_packed((&mut *lines, room), kept, good);
            outer.store_packed(&mut outers[kept..], good);
            U32::load(g, &middles[at..]).store_packed(&mut middles[kept..], good);
            window.first.store_packed(&mut firsts[kept..], good);
            kept += window.count.store_packed(&mut counts[kept..], good);
        }
        self.len = kept;
    }
}

impl Triplets {
    fn reserve(&mut self) {
        self.hits.iter_mut().for_each(|column| column.reserve_total(BLOCK));
        self.score.reserve_total(BLOCK);
    }

    /// Extends doublets into the next layer.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn search<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        pass: &PassConfig,
        cuts: Cuts,
        index: &Index,
        [_, next]: [usize; 2],
        doublets: &Doublets,
        tally: &mut Tally,
    ) {
        let layer = index.layer(next);
        let reach = cuts.reach(pass);
        let [outers, middles, inners] = self.hits.each_mut().map(Column::padded_mut);
        let scores = self.score.padded_mut();
        let mut kept = 0;
        for at in (0..doublets.len).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets.len - at);
            let line = Line::load(g, doublets.lines.read(), at);
            let first = &doublets.first.padded()[at..];
            let count = lanes.select_u(U32::load(g, &doublets.count.padded()[at..]), U32::splat(g, 0));
            let count = search.limit(g, count, lanes, tally);
            let (best, found) = search.nearest(g, &layer, first, count, &line, reach, tally);
            if !found.any() {
                continue;
            }
            let outer = &doublets.outer.padded()[at..];
            let [x0, y0, z0, _] = F32::load_records(g, layer.hits, outer);
            let doca = distance_to_beam(g, [x0, y0, z0], [best.x, best.y, best.z]);
            let score = doca.mul_add(F32::splat(g, cuts.doca_weight), best.distance2 / best.variance);
            let good = score.lt(F32::splat(g, cuts.score)) & found;
            U32::load(g, outer).store_packed(&mut outers[kept..], good);
            U32::load(g, &doublets.middle.padded()[at..]).store_packed(&mut middles[kept..], good);
            let inner = layer.original(g, U32::load(g, first) + best.number);
            inner.store_packed(&mut inners[kept..], good);
            kept += score.store_packed(&mut scores[kept..], good);
        }
        self.len = kept;
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
    let (inner, middle) = (&mut seeds.from, &mut seeds.middle);
    inner.set_len(seeds.seeds.len());
    middle.set_len(seeds.seeds.len());
    let first_row = rows.count() as u32;
    for (i, seed) in seeds.seeds.iter().enumerate() {
        rows.push(seed);
        middle[i] = seed.hits[1];
        inner[i] = seed.hits[2];
    }
    let hits = index.hits.padded();
    for at in (0..seeds.seeds.len()).step_by(G::LANES) {
        let [x1, y1, z1, _] = F32::load_records(g, hits, &middle.padded()[at..]);
        let [x2, y2, z2, _] = F32::load_records(g, hits, &inner.padded()[at..]);
        let line = Line::through(g, [x1, y1, z1], [x2, y2, z2]);
        let to = active.len + at;
        line.store_packed(active.lines.parts(), to, Mask::first(g, G::LANES));
        let row = U32::iota(g) + U32::splat(g, first_row + at as u32);
        row.store(&mut active.row.padded_mut()[to..]);
        U32::splat(g, 0).store(&mut active.missed.padded_mut()[to..]);
    }
    active.len += seeds.seeds.len();
}
