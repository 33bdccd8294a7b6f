//! Seeding: finds triplets around the free hits of one pair. Doublets are listed first, so that every lane of the
//! search has a doublet even if some hits have few doublets.

use super::nearest::{Candidates, Line, Reach, Search, columns_of_lines, distance_to_beam};
use super::scratch::{FindScratch, OF_SECOND};
use super::shapes::{Gaps, SHAPES, Shape, shapes};
use crate::event::{Column, PAD};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::found::Found;
use crate::velo::index::{EVENTS, Index, Window};

/// Number of doublets in a block: its memory stays in the first cache.
const BLOCK: usize = 512;
/// Size of a block plus the space that a full gang may write behind it.
const ROOM: usize = BLOCK + PAD;
/// Largest tx^2 + ty^2 of a seed: the acceptance ends at 45 degrees.
const MAX_SLOPE2: f32 = 1.0;

/// Memory of seeding.
#[derive(Debug, Default)]
pub(super) struct SeedScratch {
    /// Free hits of the current pair: index, direction in bins.
    middle: Column<u32>,
    turn: Column<f32>,
    /// Middle hits with hits in the window for the outer hit: index, first hit in the window, and number of hits in it.
    entry: Column<u32>,
    first: Column<u32>,
    count: Column<u32>,
    next: Next,
    doublets: Box<Doublets>,
    triplets: Box<Triplets>,
    /// Seeds of the current pair, and for each hit the number of a seed that has it.
    seeds: Vec<Seed>,
    claim: Vec<u32>,
}

/// Position of the next doublet to list.
#[derive(Debug, Default)]
struct Next {
    shape: usize,
    /// Number of the middle hit among the middle hits with outer hits.
    entry: usize,
    /// Number of its outer hits that are listed already.
    written: u32,
}

/// A block of doublets: outer and middle hit; after the cuts, the remaining doublets with their shape, line and window.
/// All columns have a constant length, so that one bounds check is enough.
#[derive(Debug)]
struct Doublets {
    outer: [u32; ROOM],
    middle: [u32; ROOM],
    /// Number of the first doublet of each shape, before the cuts.
    begin: [usize; SHAPES],
    shape: [u32; ROOM],
    lines: [[f32; ROOM]; 6],
    first: [u32; ROOM],
    count: [u32; ROOM],
    len: usize,
}

/// The triplets of a block.
#[derive(Debug)]
struct Triplets {
    hits: [[u32; ROOM]; 3],
    shape: [u32; ROOM],
    score: [f32; ROOM],
    len: usize,
}

impl Default for Doublets {
    fn default() -> Self {
        let none = [0; ROOM];
        Self {
            outer: none,
            middle: none,
            begin: [0; SHAPES],
            shape: none,
            lines: [[0.0; ROOM]; 6],
            first: none,
            count: none,
            len: 0,
        }
    }
}

impl Default for Triplets {
    fn default() -> Self {
        Self { hits: [[0; ROOM]; 3], shape: [0; ROOM], score: [0.0; ROOM], len: 0 }
    }
}

/// A triplet of indices in the [`Index`], and its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed {
    pub(super) hits: [u32; 3],
    shape: u32,
    pub(super) score: f32,
}

/// Makes the seeds around pair `current` and appends them to the active tracks.
#[inline(always)]
pub(super) fn seed<G: Gang>(
    g: G,
    search: &mut Search<'_, G>,
    index: &Index,
    scratch: &mut FindScratch,
    found: &mut Found,
    current: usize,
) {
    let seeds = &mut scratch.seeds;
    let shapes = shapes(search.pass, current);
    seeds.open(g, index, current);
    while seeds.list_doublets(g, search, index, &shapes) {
        seeds.doublets.cut(g, index, &shapes);
        seeds.doublets.open_windows(g, search, index, &shapes);
        seeds.triplets.search(g, search, index, &shapes, &seeds.doublets);
        seeds.keep_best_of_each_middle();
    }
    if seeds.some_share_an_end() {
        for end in [2, 0] {
            seeds.keep_best_of_each(end);
        }
    }
    start_tracks(g, index, &shapes, scratch, found);
}

impl SeedScratch {
    /// Lists the free hits of a pair and their directions.
    #[inline(always)]
    fn open<G: Gang>(&mut self, g: G, index: &Index, current: usize) {
        self.seeds.clear();
        if self.claim.len() < index.hits.len() {
            self.claim.resize(index.hits.len(), 0);
        }
        self.next = Next::default();
        let mut count = 0;
        for event in 0..EVENTS {
            let range = index.pair(event, current);
            self.middle.reserve_total(count + range.len());
            self.turn.reserve_total(count + range.len());
            let (middles, turns) =
                (&mut self.middle.padded_mut()[count..], &mut self.turn.padded_mut()[count..]);
            count += index.free(g, range, middles, turns);
        }
        self.middle.set_len(count);
    }

    /// Looks up the window of each middle hit in the outer pair's row of the table, and lists the middle hits whose
    /// window has hits.
    #[inline(always)]
    fn open_windows<G: Gang>(
        &mut self,
        g: G,
        search: &mut Search<'_, G>,
        index: &Index,
        above: usize,
        half_width: f32,
    ) {
        let (binning, above) = (index.binning, index.layer(g, above));
        let half = F32::splat(g, binning.width(half_width));
        let hits = self.middle.len();
        for column in [&mut self.entry, &mut self.first, &mut self.count] {
            column.reserve_total(hits);
        }
        let (entries, firsts) = (self.entry.padded_mut(), self.first.padded_mut());
        let counts = self.count.padded_mut();
        let mut kept = 0;
        for at in (0..hits).step_by(G::LANES) {
            let lanes = Mask::first(g, hits - at);
            let middle = U32::load(g, &self.middle.padded()[at..]);
            let cells = binning.cells(g, F32::load(g, &self.turn.padded()[at..]), half);
            let Window { first, count } = above.between(index.of_first(g, middle), cells);
            let count = search.judge.limit(g, count, lanes);
            let some = U32::splat(g, 0).lt(count) & lanes;
            middle.store_packed(&mut entries[kept..], some);
            first.store_packed(&mut firsts[kept..], some);
            kept += count.store_packed(&mut counts[kept..], some);
        }
        self.entry.set_len(kept);
    }

    /// Lists the next doublets until the block is full; the next call continues there. Returns false when no doublets
    /// were left.
    #[inline(always)]
    fn list_doublets<G: Gang>(
        &mut self,
        g: G,
        search: &mut Search<'_, G>,
        index: &Index,
        shapes: &[Shape; SHAPES],
    ) -> bool {
        let mut len = 0;
        // Shapes of earlier blocks and shapes of later blocks have no doublets in this block.
        self.doublets.begin = std::array::from_fn(|shape| if shape <= self.next.shape { 0 } else { BLOCK });
        while self.next.shape < SHAPES && len + G::LANES <= BLOCK {
            let shape = &shapes[self.next.shape];
            if let Some(window) = shape.window {
                if (self.next.entry, self.next.written) == (0, 0) {
                    self.open_windows(g, search, index, shape.above, window);
                }
                len = self.list_shape(g, len);
            } else {
                self.entry.set_len(0);
            }
            if self.next.entry == self.entry.len() {
                self.next = Next { shape: self.next.shape + 1, ..Next::default() };
                if let Some(begin) = self.doublets.begin.get_mut(self.next.shape) {
                    *begin = len;
                }
            }
        }
        self.doublets.len = len;
        len > 0
    }

    /// Lists the doublets of one shape from number `len` of the block on; returns the new number of doublets.
    #[inline(always)]
    fn list_shape<G: Gang>(&mut self, g: G, mut len: usize) -> usize {
        let Doublets { outer, middle, .. } = &mut *self.doublets;
        let entries = self.entry.len();
        let (hits, firsts) = (&self.entry.padded()[..entries], &self.first.padded()[..entries]);
        let counts = &self.count.padded()[..entries];
        let Next { entry, mut written, .. } = self.next;
        for i in entry..entries {
            if len + G::LANES > BLOCK {
                (self.next.entry, self.next.written) = (i, written);
                return len;
            }
            (U32::iota(g) + U32::splat(g, firsts[i] + written)).store(&mut outer[len..]);
            U32::splat(g, hits[i]).store(&mut middle[len..]);
            let left = counts[i] - written;
            len += left.min(G::LANES as u32) as usize;
            // A return instead of a selection of the next hit: the selection would make each iteration wait for the one
            // before.
            if left > G::LANES as u32 {
                (self.next.entry, self.next.written) = (i, written + G::LANES as u32);
                return len;
            }
            written = 0;
        }
        (self.next.entry, self.next.written) = (entries, 0);
        len
    }

    /// Keeps the best triplet of each middle hit. Triplets of one shape are in the order of the middle hits; a hit with
    /// a seed of a better shape gets no other.
    ///
    /// Claims may be left over from earlier pairs: a claim is valid only if its seed has the hit.
    fn keep_best_of_each_middle(&mut self) {
        let Triplets { hits: [outer, middle, inner], shape, score, len } = &*self.triplets;
        for i in 0..*len {
            let seed = Seed { hits: [outer[i], middle[i], inner[i]], shape: shape[i], score: score[i] };
            let holder = &mut self.claim[seed.hits[1] as usize];
            match self.seeds.get_mut(*holder as usize) {
                Some(best) if best.hits[1] == seed.hits[1] => {
                    if seed.shape == best.shape && seed.score < best.score {
                        *best = seed;
                    }
                }
                _ => {
                    *holder = self.seeds.len() as u32;
                    self.seeds.push(seed);
                }
            }
        }
    }

    /// Returns whether any two seeds have the same first or the same last hit; hardly any have. First hits and last
    /// hits are in different pairs of modules.
    fn some_share_an_end(&mut self) -> bool {
        let claim = &mut self.claim[..];
        for (i, &Seed { hits: [first, _, last], .. }) in self.seeds.iter().enumerate() {
            claim[first as usize] = i as u32;
            claim[last as usize] = i as u32;
        }
        self.seeds.iter().enumerate().fold(false, |any, (i, &Seed { hits: [first, _, last], .. })| {
            any | (claim[first as usize] != i as u32) | (claim[last as usize] != i as u32)
        })
    }

    /// Keeps only the best of the seeds that share their first (`end` 0) or last (2) hit; of equally good seeds, the
    /// first.
    fn keep_best_of_each(&mut self, end: usize) {
        for (i, seed) in self.seeds.iter().enumerate() {
            self.claim[seed.hits[end] as usize] = i as u32;
        }
        for (i, seed) in self.seeds.iter().enumerate().rev() {
            let holder = &mut self.claim[seed.hits[end] as usize];
            if seed.score <= self.seeds[*holder as usize].score {
                *holder = i as u32;
            }
        }
        let mut number = 0;
        self.seeds.retain(|seed| {
            number += 1;
            self.claim[seed.hits[end] as usize] == number - 1
        });
    }
}

impl Doublets {
    /// Keeps the doublets that may belong to a particle: their line passes near the beam, and meets the next pair on
    /// the same side of the beam.
    #[inline(always)]
    fn cut<G: Gang>(&mut self, g: G, index: &Index, shapes: &[Shape; SHAPES]) {
        let above = [index.layer(g, shapes[0].above), index.layer(g, shapes[1].above)];
        let below = [index.layer(g, shapes[0].below), index.layer(g, shapes[2].below)];
        let Self { outer: outers, middle: middles, shape: shape_of, lines, .. } = self;
        let mut lines = lines.each_mut().map(|column| &mut column[..]);
        let begin = self.begin.map(|begin| U32::splat(g, begin as u32));
        let (none, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let mut kept = 0;
        for at in (0..self.len).step_by(G::LANES) {
            let lanes = Mask::first(g, self.len - at);
            let number = U32::iota(g) + U32::splat(g, at as u32);
            let shape = number.lt(begin[1]).select_u(none, one) + number.lt(begin[2]).select_u(none, one);
            let gaps = Gaps::of_shape(g, shape);
            let [_, y0, z0, free_x0] = F32::load_records(g, above[0].hits, &outers[at..]);
            let [x1, y1, z1, _] = F32::load_records(g, above[0].hits, &middles[at..]);
            // The second x of a used hit is NaN, so that used hits fail the cuts.
            let line = Line::through(g, [free_x0, y0, z0], [x1, y1, z1]);
            let slope2 = line.slope2();
            let moment = line.x * line.ty - line.y * line.tx;
            let doca2 = gaps.pick(g, shapes, |shape| shape.doublet_doca * shape.doublet_doca);
            let to_next = below[1].select(gaps.below, &below[0]).z - line.z;
            let [x, y] = [line.tx.mul_add(to_next, line.x), line.ty.mul_add(to_next, line.y)];
            let same_side = F32::splat(g, 0.0).lt(x.mul_add(line.x, y * line.y));
            let near = slope2.lt(F32::splat(g, MAX_SLOPE2)) & (moment * moment).lt(doca2 * slope2);
            let good = near & same_side & lanes;
            // Only a gap above the middle hit changes the pair of the outer hit.
            let previous = above[0].select(number.lt(begin[1]), &above[1]);
            let previous = above[0].select(gaps.below, &previous);
            let middle = U32::load(g, &middles[at..]);
            let outer = previous.original(index.of_first(g, middle), U32::load(g, &outers[at..]));
            line.store_packed(&mut lines, kept, good);
            outer.store_packed(&mut outers[kept..], good);
            middle.store_packed(&mut middles[kept..], good);
            kept += shape.store_packed(&mut shape_of[kept..], good);
        }
        self.len = kept;
    }

    /// Keeps the doublets with hits in their window for the inner hit.
    #[inline(always)]
    fn open_windows<G: Gang>(
        &mut self,
        g: G,
        search: &Search<'_, G>,
        index: &Index,
        shapes: &[Shape; SHAPES],
    ) {
        let below = [index.layer(g, shapes[0].below), index.layer(g, shapes[2].below)];
        let Self {
            outer: outers, middle: middles, shape: shape_of, lines, first: firsts, count: counts, ..
        } = self;
        let mut lines = lines.each_mut().map(|column| &mut column[..]);
        let mut kept = 0;
        for at in (0..self.len).step_by(G::LANES) {
            let lanes = Mask::first(g, self.len - at);
            let line = Line::load(g, lines.each_ref().map(|column| &**column), at);
            let shape = U32::load(g, &shape_of[at..]);
            let gaps = Gaps::of_shape(g, shape);
            let chi2 = gaps.pick(g, shapes, |shape| shape.score);
            let reach = Reach {
                used_too: false,
                chi2,
                scatter_slope: search.pass.scatter_slope,
                inner_radius: search.config.inner_radius,
            };
            let next = below[1].select(gaps.below, &below[0]);
            let (outer, middle) = (U32::load(g, &outers[at..]), U32::load(g, &middles[at..]));
            let (window, _) = search.window(g, &next, index.of_first(g, middle), &line, reach);
            let good = U32::splat(g, 0).lt(window.count) & lanes;
            line.store_packed(&mut lines, kept, good);
            outer.store_packed(&mut outers[kept..], good);
            middle.store_packed(&mut middles[kept..], good);
            shape.store_packed(&mut shape_of[kept..], good);
            window.first.store_packed(&mut firsts[kept..], good);
            kept += window.count.store_packed(&mut counts[kept..], good);
        }
        self.len = kept;
    }
}

impl Triplets {
    /// Extends doublets into the next layer.
    #[inline(always)]
    fn search<G: Gang>(
        &mut self,
        g: G,
        search: &mut Search<'_, G>,
        index: &Index,
        shapes: &[Shape; SHAPES],
        doublets: &Doublets,
    ) {
        let pass = search.pass;
        let below = [index.layer(g, shapes[0].below), index.layer(g, shapes[2].below)];
        let Self { hits: [outers, middles, inners], shape: shape_of, score: scores, .. } = self;
        let mut kept = 0;
        for at in (0..doublets.len).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets.len - at);
            let line = Line::load(g, doublets.lines.each_ref().map(|column| &column[..]), at);
            let shape = U32::load(g, &doublets.shape[at..]);
            let gaps = Gaps::of_shape(g, shape);
            let max = gaps.pick(g, shapes, |shape| shape.score);
            let reach = Reach {
                used_too: false,
                chi2: max,
                scatter_slope: pass.scatter_slope,
                inner_radius: search.config.inner_radius,
            };
            let first = &doublets.first[at..];
            let count = lanes.select_u(U32::load(g, &doublets.count[at..]), U32::splat(g, 0));
            let candidates = Candidates { first, count: search.judge.limit(g, count, lanes) };
            let (best, found) = search.judge.nearest(g, below[0].hits, candidates, &line, reach);
            if !found.any() {
                continue;
            }
            let outer = &doublets.outer[at..];
            let [x0, y0, z0, _] = F32::load_records(g, below[0].hits, outer);
            let doca = distance_to_beam(g, [x0, y0, z0], [best.x, best.y, best.z]);
            let weight = gaps.pick(g, shapes, |shape| shape.doca_weight);
            let score = doca.mul_add(weight, best.distance2 / best.variance);
            let good = score.lt(max) & found;
            U32::load(g, outer).store_packed(&mut outers[kept..], good);
            let middle = U32::load(g, &doublets.middle[at..]);
            middle.store_packed(&mut middles[kept..], good);
            let next = below[1].select(gaps.below, &below[0]);
            let inner = next.original(index.of_first(g, middle), U32::load(g, first) + best.number);
            inner.store_packed(&mut inners[kept..], good);
            shape.store_packed(&mut shape_of[kept..], good);
            kept += score.store_packed(&mut scores[kept..], good);
        }
        self.len = kept;
    }
}

/// Makes the seeds active tracks; their line goes through the last two hits.
#[inline(always)]
fn start_tracks<G: Gang>(
    g: G,
    index: &Index,
    shapes: &[Shape; SHAPES],
    scratch: &mut FindScratch,
    found: &mut Found,
) {
    let FindScratch { seeds, active, .. } = scratch;
    let (inner, middle) = (&mut seeds.first, &mut seeds.middle);
    inner.set_len(seeds.seeds.len());
    middle.set_len(seeds.seeds.len());
    let first_row = found.rows.len() as u32;
    let ends = shapes.each_ref().map(|shape| (shape.above as u8, shape.below as u8));
    for ((seed, inner), middle) in seeds.seeds.iter().zip(inner.iter_mut()).zip(middle.iter_mut()) {
        let row = found.push(&seed.hits, seed.score);
        row.second = u8::from(seed.hits[1] >= index.second);
        (row.high, row.low) = ends[seed.shape as usize];
        (*middle, *inner) = (seed.hits[1], seed.hits[2]);
    }
    let hits = index.hits.padded();
    let mut lines = columns_of_lines(active.lines.padded_mut(), active.room);
    for at in (0..seeds.seeds.len()).step_by(G::LANES) {
        let [x1, y1, z1, _] = F32::load_records(g, hits, &middle.padded()[at..]);
        let [x2, y2, z2, _] = F32::load_records(g, hits, &inner.padded()[at..]);
        let line = Line::through(g, [x1, y1, z1], [x2, y2, z2]);
        let to = active.len + at;
        line.store_packed(&mut lines, to, Mask::first(g, G::LANES));
        let row = U32::iota(g) + U32::splat(g, first_row + at as u32);
        row.store(&mut active.row.padded_mut()[to..]);
        U32::splat(g, 0).store(&mut active.missed.padded_mut()[to..]);
        let first = index.of_first(g, U32::load(g, &middle.padded()[at..]));
        let hits = first.select_u(U32::splat(g, 3), U32::splat(g, 3 + OF_SECOND));
        hits.store(&mut active.hits.padded_mut()[to..]);
    }
    active.len += seeds.seeds.len();
}
