//! Seeding: triplets around the free hits of one pair. Doublets are written down first, so that every lane
//! of the search has one, whatever the number of candidates of a hit.

use super::nearest::{Line, Lines, Reach, Search};
use super::{FindScratch, Tally};
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::PassConfig;
use crate::velo::geometry::PAIRS;
use crate::velo::index::{Index, Layer, phi_bin};

/// Doublets looked at in one go: their memory stays in the first cache.
const BLOCK: usize = 1024;
/// tx^2 + ty^2 of a seed: the acceptance ends at 45 degrees.
const MAX_SLOPE2: f32 = 1.0;

/// Memory of seeding.
#[derive(Debug, Default)]
pub(super) struct SeedScratch {
    /// Free hits of the current pair that have candidates: place in the layer, first candidate, how many.
    middle: Column<u32>,
    first: Column<u32>,
    count: Column<u32>,
    /// Doublets: candidate in the previous layer (may lie beyond its end: it goes on at the front), and entry of
    /// `middle`.
    outer: Column<u32>,
    entry: Column<u32>,
    /// Lines of the doublets of a block that pass the cuts; `outer` and `entry` move along.
    lines: Lines,
    /// Triplets of a block.
    scores: Column<f32>,
    triplets: [Column<u32>; 3],
    /// Best triplet per entry of `middle`.
    best: Vec<Seed>,
    /// The seeds of the current pair, and per hit the best seed that has it.
    seeds: Vec<Seed>,
    claim: Vec<u32>,
}

/// A triplet of places in the index, and its score.
#[derive(Debug, Clone, Copy)]
struct Seed {
    hits: [u32; 3],
    score: f32,
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
    let layer = |pair| index.layer(pair);
    let seeds = &mut scratch.seeds;
    seeds.seeds.clear();
    seeds.list_middle_hits(g, &layer(current));
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
            let layers = [layer(current + above), layer(current), layer(current - below)];
            seeds.triplets(g, search, pass, cuts, layers, current - below, tally);
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
    fn list_middle_hits<G: Gang>(&mut self, g: G, layer: &Layer<'_>) {
        self.middle.reserve_total(layer.len());
        let mut kept = 0;
        for at in (0..layer.len()).step_by(G::LANES) {
            let lanes = Mask::first(g, layer.len() - at);
            let place = U32::iota(g) + U32::splat(g, at as u32);
            let [_, _, _, free] = F32::gather_records(layer.hits, place);
            kept += place.store_packed(&mut self.middle.padded_mut()[kept..], free.eq(free) & lanes);
        }
        self.middle.set_len(kept);
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
        layers: [Layer<'_>; 3],
        next_pair: usize,
        tally: &mut Tally,
    ) {
        if layers.iter().any(|layer| layer.len() == 0) {
            return;
        }
        self.open_windows(g, search, cuts.window, &layers, tally);
        let none = Seed { hits: [0; 3], score: f32::INFINITY };
        self.best.clear();
        self.best.resize(self.middle.len(), none);
        for column in [&mut self.outer, &mut self.entry].into_iter().chain(&mut self.triplets) {
            column.reserve_total(BLOCK);
        }
        self.scores.reserve_total(BLOCK);
        self.lines.reserve(BLOCK);
        let (mut entry, mut filled) = (0, 0);
        while entry < self.middle.len() || filled > 0 {
            // Writes down doublets until the block is full; what a hit has left is kept for the next one.
            while entry < self.middle.len() && filled + G::LANES <= BLOCK {
                let (first, left) = (self.first[entry], self.count[entry]);
                let outer = U32::iota(g) + U32::splat(g, first);
                outer.store(&mut self.outer.padded_mut()[filled..]);
                U32::splat(g, entry as u32).store(&mut self.entry.padded_mut()[filled..]);
                let written = left.min(G::LANES as u32);
                filled += written as usize;
                self.first[entry] = first + written;
                self.count[entry] = left - written;
                entry += usize::from(written == left);
            }
            self.search_block(g, search, pass, cuts, &layers, next_pair, filled, tally);
            filled = 0;
        }
        let mut kept = 0;
        for entry in 0..self.middle.len() {
            let best = self.best[entry];
            if best.score < f32::INFINITY {
                let starts = layers.map(|layer| layer.start);
                let hits = std::array::from_fn(|i| best.hits[i] + starts[i]);
                self.seeds.push(Seed { hits, ..best });
            } else {
                self.middle[kept] = self.middle[entry];
                kept += 1;
            }
        }
        self.middle.set_len(kept);
    }

    /// Looks up, for each middle hit, which hits of the previous layer are in its window.
    #[inline(always)]
    fn open_windows<G: Gang>(
        &mut self,
        g: G,
        search: &Search,
        half_width: u32,
        [previous, current, _]: &[Layer<'_>; 3],
        tally: &mut Tally,
    ) {
        let hits = self.middle.len();
        self.first.set_len(hits);
        self.count.set_len(hits);
        for at in (0..hits).step_by(G::LANES) {
            let lanes = Mask::first(g, hits - at);
            let place = U32::load(g, &self.middle.padded()[at..]);
            let [x, y, _, _] = F32::gather_records(current.hits, place);
            let bin = phi_bin(g, x, y);
            let window = previous.window(g, bin, half_width);
            window.first.store(&mut self.first.padded_mut()[at..]);
            search.limit(g, window.count, lanes, tally).store(&mut self.count.padded_mut()[at..]);
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
        [previous, current, next]: &[Layer<'_>; 3],
        next_pair: usize,
        doublets: usize,
        tally: &mut Tally,
    ) {
        let reach = Reach { used_too: false, chi2: cuts.score, scatter_slope: pass.scatter_slope };
        let lines = &mut self.lines;
        let mut kept = 0;
        for at in (0..doublets).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets - at);
            let outer = previous.wrap(g, U32::load(g, &self.outer.padded()[at..]));
            let entry = U32::load(g, &self.entry.padded()[at..]);
            let middle = U32::gather(&self.middle, entry);
            let [_, y0, z0, free_x0] = F32::gather_records(previous.hits, outer);
            let [x1, y1, z1, _] = F32::gather_records(current.hits, middle);
            // Used hits have a free x of NaN and fail the cuts.
            let line = Line::through(g, [free_x0, y0, z0], [x1, y1, z1]);
            let slope2 = line.slope2();
            let moment = line.x * line.ty - line.y * line.tx;
            let doca2 = F32::splat(g, cuts.doublet_doca * cuts.doublet_doca);
            let good = slope2.lt(F32::splat(g, MAX_SLOPE2)) & (moment * moment).lt(doca2 * slope2) & lanes;
            line.store_packed(lines, kept, good);
            outer.store_packed(&mut self.outer.padded_mut()[kept..], good);
            kept += entry.store_packed(&mut self.entry.padded_mut()[kept..], good);
        }
        let doublets = kept;
        kept = 0;
        for at in (0..doublets).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets - at);
            let line = Line::load(g, lines, at);
            let (best, found) = search.nearest(g, next, next_pair, &line, reach, lanes, tally);
            let outer = U32::load(g, &self.outer.padded()[at..]);
            let entry = U32::load(g, &self.entry.padded()[at..]);
            let [x0, y0, z0, _] = F32::gather_records(previous.hits, outer);
            let doca = distance_to_beam(g, [x0, y0, z0], [best.x, best.y, best.z]);
            let score = doca.mul_add(F32::splat(g, cuts.doca_weight), best.distance2 / best.variance);
            let good = score.lt(F32::splat(g, cuts.score)) & found;
            outer.store_packed(&mut self.triplets[0].padded_mut()[kept..], good);
            entry.store_packed(&mut self.triplets[1].padded_mut()[kept..], good);
            best.place.store_packed(&mut self.triplets[2].padded_mut()[kept..], good);
            kept += score.store_packed(&mut self.scores.padded_mut()[kept..], good);
        }
        for (i, &score) in self.scores.padded()[..kept].iter().enumerate() {
            let entry = self.triplets[1].padded()[i] as usize;
            if score < self.best[entry].score {
                let [outer, _, inner] = [0, 1, 2].map(|end| self.triplets[end].padded()[i]);
                self.best[entry] = Seed { hits: [outer, self.middle[entry], inner], score };
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
    let (inner, middle) = (&mut seeds.first, &mut seeds.middle);
    inner.set_len(seeds.seeds.len());
    middle.set_len(seeds.seeds.len());
    let first_row = rows.count() as u32;
    for (i, seed) in seeds.seeds.iter().enumerate() {
        rows.push(seed.hits, seed.score);
        middle[i] = seed.hits[1];
        inner[i] = seed.hits[2];
    }
    for at in (0..seeds.seeds.len()).step_by(G::LANES) {
        let [x1, y1, z1, _] = F32::gather_records(&index.hits, U32::load(g, &middle.padded()[at..]));
        let [x2, y2, z2, _] = F32::gather_records(&index.hits, U32::load(g, &inner.padded()[at..]));
        let line = Line::through(g, [x1, y1, z1], [x2, y2, z2]);
        let to = active.len + at;
        line.store_packed(&mut active.lines, to, Mask::first(g, G::LANES));
        let row = U32::iota(g) + U32::splat(g, first_row + at as u32);
        row.store(&mut active.row.padded_mut()[to..]);
        U32::splat(g, 0).store(&mut active.missed.padded_mut()[to..]);
    }
    active.len += seeds.seeds.len();
}
