//! The second pass: finds triplets of the remaining hits, with wide windows. The first loop over the event lists the
//! doublets that pass the cuts, the second loop opens the windows of the doublets, and the third loop judges the hits
//! in the windows. A single loop would wait for memory and divisions, and mispredict a branch after each hit.

use super::candidate::wrapped;
use super::hits::{BINS, LinkHits, ROW, Span, bin, cell};
use super::left::Left;
use crate::event::Column;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::velo::config::{LinkConfig, MAX_WINDOW};
use crate::velo::find::{Candidates, Judge, Line, Reach, distance_to_beam};
use crate::velo::geometry::{PAIR_HALF_DEPTH, PAIRS, pair_middle};
use crate::velo::index::phi_turn;

/// Number of bins in 1/256 turn.
const FINER: f32 = BINS as f32 / 256.0;

/// Memory of this pass.
#[derive(Debug, Default)]
pub(super) struct Second {
    doublets: Doublets,
    lines: Lines,
    triplets: Triplets,
}

/// Doublets: outer and middle hits, and the pair of the inner hit.
#[derive(Debug, Default)]
struct Doublets {
    outer: Column<u32>,
    middle: Column<u32>,
    below: Column<u32>,
    len: usize,
}

/// Doublets with hits in their windows, and these hits.
#[derive(Debug, Default)]
struct Lines {
    outer: Column<u32>,
    middle: Column<u32>,
    first: Column<u32>,
    count: Column<u32>,
    len: usize,
}

#[derive(Debug, Default)]
struct Triplets {
    hits: [Column<u32>; 3],
    score: Column<f32>,
    len: usize,
}

/// A pair of modules per lane: begin of its row of the table, begin of its hits, and number of its remaining hits.
struct Place<G: Gang> {
    row: U32<G>,
    begin: U32<G>,
    left: U32<G>,
}

impl<G: Gang> Place<G> {
    /// Returns the remaining hits from bin `from` to before bin `to`: number of the first in the pair, and count. The
    /// range may cross phi = 2 pi.
    #[inline(always)]
    fn between(&self, g: G, (hits, left): (&LinkHits, &Left), [from, to]: [U32<G>; 2]) -> [U32<G>; 2] {
        let rank = inlined!(|bin: U32<G>| {
            let word = U32::gather(hits.table(), self.row + cell(g, bin));
            U32::gather(&left.rank, self.begin + LinkHits::first(g, word))
        });
        let (first, end) = (rank(from), rank(to));
        let over = to.lt(from).select_u(self.left, U32::splat(g, 0));
        [first, end + over - first]
    }
}

/// Returns the bins from `turn - half` to `turn + half`: the first bin, and the bin behind the last.
#[inline(always)]
fn bins<G: Gang>(g: G, turn: F32<G>, half: F32<G>) -> [U32<G>; 2] {
    let turn = turn + F32::splat(g, BINS as f32);
    let end = (turn + half).to_i32().to_bits() + U32::splat(g, 1);
    [bin(g, turn - half), end & U32::splat(g, BINS - 1)]
}

impl Second {
    /// Lists the doublets of all pairs that pass the cuts.
    #[inline(always)]
    pub(super) fn list<G: Gang>(
        &mut self,
        g: G,
        config: &LinkConfig,
        judge: &mut Judge<G>,
        hits: &LinkHits,
        left: &Left,
    ) {
        self.doublets.len = 0;
        for pair in (1..PAIRS - 1).rev() {
            self.doublets.of_pair(g, config, judge, (hits, left), pair);
        }
    }

    /// Extends the doublets; the best triplet of each middle hit becomes its link.
    #[inline(always)]
    pub(super) fn search<G: Gang>(
        &mut self,
        g: G,
        config: &LinkConfig,
        judge: &mut Judge<G>,
        hits: &LinkHits,
        left: &mut Left,
    ) {
        self.lines.open(g, (config, judge), (hits, left), &self.doublets);
        self.triplets.find(g, (config, judge), left, &self.lines);
        let Triplets { hits, score, len } = &self.triplets;
        let [outer, middle, inner] = hits.each_ref().map(|column| &column.padded()[..*len]);
        let score = &score.padded()[..*len];
        for i in 0..*len {
            let inner = left.home[inner[i] as usize];
            left.links.put_better([outer[i], middle[i], inner], score[i]);
        }
    }
}

impl Doublets {
    /// Lists the doublets whose middle hits are in a pair.
    #[inline(always)]
    fn of_pair<G: Gang>(
        &mut self,
        g: G,
        config: &LinkConfig,
        judge: &mut Judge<G>,
        (hits, left): (&LinkHits, &Left),
        pair: usize,
    ) {
        let [here, above, below] = [pair, pair + 1, pair - 1].map(|pair| left.spans[pair]);
        if here.len == 0 || above.len == 0 || below.len == 0 {
            return;
        }
        let len = U32::splat(g, above.len as u32);
        let half = F32::splat(g, config.second_window * FINER);
        let place = Place {
            row: U32::splat(g, ((pair + 1) * ROW) as u32),
            begin: U32::splat(g, hits.spans[pair + 1].begin as u32),
            left: len,
        };
        let last = U32::splat(g, 2 * G::LANES as u32);
        for i in (here.begin..here.begin + here.len).step_by(G::LANES) {
            let lanes = Mask::first(g, here.begin + here.len - i);
            let window = bins(g, F32::load(g, &left.turn.padded()[i..]), half);
            let [first, count] = place.between(g, (hits, left), window);
            let count = judge.limit(g, count, lanes);
            let count = lanes.select_u(count, U32::splat(g, 0));
            let mut firsts = [0; crate::event::PAD];
            first.store(&mut firsts);
            let from = firsts[0];
            let near = first - U32::splat(g, from);
            let near = near.min(near + len);
            let far = last.lt(near + count) & U32::splat(g, 0).lt(count);
            let search = OfGang { left, above, pair, i, first, near, count, from: from as usize };
            if far.any() {
                self.list::<G, false>(g, config, search);
            } else {
                self.list::<G, true>(g, config, search);
            }
        }
    }

    /// Lists the doublets of a gang of middle hits; with NEAR, outer hits are looked up in registers.
    #[inline(always)]
    fn list<G: Gang, const NEAR: bool>(&mut self, g: G, config: &LinkConfig, search: OfGang<'_, G>) {
        let OfGang { left, above, pair, i, first, near, count, from } = search;
        let most = count.reduce_max(Mask::first(g, G::LANES)) as usize;
        for column in [&mut self.outer, &mut self.middle, &mut self.below] {
            column.reserve_total(self.len + most * G::LANES);
        }
        let (outers, middles) = (self.outer.padded_mut(), self.middle.padded_mut());
        let (belows, mut listed) = (self.below.padded_mut(), self.len);
        let middle = U32::iota(g) + U32::splat(g, i as u32);
        let x = F32::load(g, &left.x.padded()[i..]);
        let y = F32::load(g, &left.y.padded()[i..]);
        let z = F32::load(g, &left.z.padded()[i..]);
        let from = above.begin + from;
        let doca2 = F32::splat(g, config.second_doublet_doca * config.second_doublet_doca);
        let ratio = (pair_middle(pair - 1) - pair_middle(pair)) / (pair_middle(pair) - pair_middle(pair + 1));
        let (ratio, radius2) = (F32::splat(g, -ratio), x.mul_add(x, y * y));
        let (len, begin) = (U32::splat(g, above.len as u32), U32::splat(g, above.begin as u32));
        for number in 0..most as u32 {
            let step = U32::splat(g, number);
            let on = step.lt(count);
            let outer = wrapped(first + step, len) + begin;
            let [x0, y0, z0] = if NEAR {
                let at = near + step;
                [
                    F32::look_up(&left.x.padded()[from..], at),
                    F32::look_up(&left.y.padded()[from..], at),
                    F32::look_up(&left.z.padded()[from..], at),
                ]
            } else {
                let [x, y, z, _] = F32::gather_records(left.records.padded(), outer);
                [x, y, z]
            };
            let (dx, dy, dz) = (x - x0, y - y0, z - z0);
            let across2 = dx.mul_add(dx, dy * dy);
            let moment = y.neg_mul_add(dx, x * dy);
            let along = x.mul_add(dx, y * dy);
            let near_beam = (moment * moment).lt(doca2 * across2);
            let flat = across2.lt(dz * dz);
            let same_side = F32::splat(g, 0.0).lt(ratio.neg_mul_add(along, radius2));
            let good = near_beam & flat & same_side & on;
            U32::splat(g, pair as u32 - 1).store(&mut belows[listed..]);
            outer.store_packed(&mut outers[listed..], good);
            listed += middle.store_packed(&mut middles[listed..], good);
        }
        self.len = listed;
    }
}

/// A gang of middle hits, and the windows for the outer ones.
#[derive(Clone, Copy)]
struct OfGang<'a, G: Gang> {
    left: &'a Left,
    above: Span,
    /// Pair of the middle hits, and index of the first middle hit.
    pair: usize,
    i: usize,
    /// Begins of the windows in the pair above, and the begins relative to the window of the first lane.
    first: U32<G>,
    near: U32<G>,
    count: U32<G>,
    from: usize,
}

impl Lines {
    /// Keeps the doublets with hits in their windows.
    #[inline(always)]
    fn open<G: Gang>(
        &mut self,
        g: G,
        (config, judge): (&LinkConfig, &mut Judge<G>),
        (hits, left): (&LinkHits, &Left),
        doublets: &Doublets,
    ) {
        for column in [&mut self.outer, &mut self.middle, &mut self.first, &mut self.count] {
            column.reserve_total(doublets.len);
        }
        let (chi2, widest) = (F32::splat(g, config.second_score), F32::splat(g, MAX_WINDOW as f32 * FINER));
        let scale_of_bins = F32::splat(g, BINS as f32 / 4.0);
        let (to_outers, to_middles) = (self.outer.padded_mut(), self.middle.padded_mut());
        let (firsts, counts, mut kept) = (self.first.padded_mut(), self.count.padded_mut(), 0);
        for at in (0..doublets.len).step_by(G::LANES) {
            let lanes = Mask::first(g, doublets.len - at);
            let (outers, middles) = (&doublets.outer.padded()[at..], &doublets.middle.padded()[at..]);
            let line = line_of(g, left, outers, middles);
            let pairs = &doublets.below.padded()[at..];
            let [middle_z, all_begin, left_begin, len] = F32::load_records(g, &left.places, pairs);
            let to_pair = middle_z - line.z;
            let scatter = judge.scatter(g, &line, config.scatter_slope);
            let reach = (chi2 * judge.variance(g, &line, scatter, to_pair)).sqrt();
            let (x, y) = (line.tx.mul_add(to_pair, line.x), line.ty.mul_add(to_pair, line.y));
            let turn = (x * line.ty - y * line.tx).abs() * F32::splat(g, PAIR_HALF_DEPTH);
            let (middle, scale) = phi_turn(g, BINS, x, y);
            let half = (turn.mul_add(scale, reach) * scale) * scale_of_bins;
            let row = U32::load(g, pairs).shl::<{ ROW.trailing_zeros() }>();
            let place = Place { row, begin: all_begin.to_bits(), left: len.to_bits() };
            let [first, count] = place.between(g, (hits, left), bins(g, middle, half.min(widest)));
            let good = U32::splat(g, 0).lt(count) & lanes;
            let first = first + left_begin.to_bits();
            let count = judge.limit(g, count, good);
            U32::load(g, outers).store_packed(&mut to_outers[kept..], good);
            U32::load(g, middles).store_packed(&mut to_middles[kept..], good);
            first.store_packed(&mut firsts[kept..], good);
            kept += count.store_packed(&mut counts[kept..], good);
        }
        self.len = kept;
    }
}

/// Returns the lines through hits, given their indices in memory.
#[inline(always)]
fn line_of<G: Gang>(g: G, left: &Left, outer: &[u32], middle: &[u32]) -> Line<G> {
    let [x0, y0, z0, _] = F32::load_records(g, left.records.padded(), outer);
    let [x1, y1, z1, _] = F32::load_records(g, left.records.padded(), middle);
    Line::through(g, [x0, y0, z0], [x1, y1, z1])
}

impl Triplets {
    /// Finds the best inner hit of each line.
    #[inline(always)]
    fn find<G: Gang>(
        &mut self,
        g: G,
        (config, judge): (&LinkConfig, &mut Judge<G>),
        left: &Left,
        lines: &Lines,
    ) {
        self.hits.iter_mut().for_each(|column| column.reserve_total(lines.len));
        self.score.reserve_total(lines.len);
        let max = F32::splat(g, config.second_score);
        let reach =
            Reach { used_too: true, chi2: max, scatter_slope: config.scatter_slope, inner_radius: 0.0 };
        let weight = F32::splat(g, config.second_doca_weight);
        let [outers, middles, inners] = self.hits.each_mut().map(|column| column.padded_mut());
        let scores = self.score.padded_mut();
        let mut kept = 0;
        for at in (0..lines.len).step_by(G::LANES) {
            let lanes = Mask::first(g, lines.len - at);
            let (outer, middle) = (&lines.outer.padded()[at..], &lines.middle.padded()[at..]);
            let line = line_of(g, left, outer, middle);
            let count = lanes.select_u(U32::load(g, &lines.count.padded()[at..]), U32::splat(g, 0));
            let first = &lines.first.padded()[at..];
            let candidates = Candidates { first, count };
            let (best, found) = judge.nearest(g, left.records.padded(), candidates, &line, reach);
            let [x0, y0, z0, _] = F32::load_records(g, left.records.padded(), outer);
            let doca = distance_to_beam(g, [x0, y0, z0], [best.x, best.y, best.z]);
            let score = doca.mul_add(weight, best.distance2 / best.variance);
            let good = score.lt(max) & found;
            U32::load(g, outer).store_packed(&mut outers[kept..], good);
            U32::load(g, middle).store_packed(&mut middles[kept..], good);
            (U32::load(g, first) + best.number).store_packed(&mut inners[kept..], good);
            kept += score.store_packed(&mut scores[kept..], good);
        }
        self.len = kept;
    }
}
