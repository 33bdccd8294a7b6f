//! Links triplets that contain one another's middle hits, and follows links to form chains.

use super::candidate::Best;
use super::hits::Span;
use super::{HIT, NONE, PAIR_SHIFT};
use crate::event::{Column, PAD};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, Pair, inlined};
use crate::velo::found::{Found, ROW, Row};
use crate::velo::geometry::PAIRS;
use bytemuck::cast_slice_mut;

/// Mark of the last hit of a chain.
const LAST: u32 = 1 << 31;
/// Largest number of hits of a chain, and steps that are written beyond.
const STEPS: usize = PAIRS + 3;
/// Number of pieces of four words in a row.
const PIECES: usize = ROW / 4;

/// The best triplet of each hit and the links of the triplet, by the index of its middle hit.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Hits above and below the middle hit; [`NONE`] where there is no triplet.
    pub(super) up: Column<u32>,
    pub(super) down: Column<u32>,
    /// chi2 = distance2 / variance.
    distance2: Column<f32>,
    variance: Column<f32>,
    /// Hit below the middle hit, with [`LAST`] when the triplet of that hit does not lead back.
    next: Column<u32>,
    /// Mark of hits inside chains. First, hits in no link have 0; later, hits on no track.
    pub(super) inside: Column<u32>,
}

impl Links {
    /// Reserves memory for `len` hits; the hits of the first and the last pair have no triplets.
    #[inline(always)]
    pub(super) fn open<G: Gang>(&mut self, g: G, len: usize, spans: &[Span; PAIRS]) {
        for column in [&mut self.up, &mut self.down, &mut self.next, &mut self.inside] {
            column.set_len(len);
        }
        self.distance2.set_len(len);
        self.variance.set_len(len);
        let none = U32::splat(g, NONE);
        for span in [spans[0], spans[PAIRS - 1]] {
            for at in (span.begin..span.begin + span.len).step_by(G::LANES) {
                none.store(&mut self.up.padded_mut()[at..]);
                none.store(&mut self.down.padded_mut()[at..]);
            }
        }
    }

    /// Notes that a gang of hits has no triplets.
    #[inline(always)]
    pub(super) fn put_none<G: Gang>(&mut self, g: G, at: usize) {
        let none = U32::splat(g, NONE);
        none.store(&mut self.up.padded_mut()[at..]);
        none.store(&mut self.down.padded_mut()[at..]);
    }

    /// Stores the triplets of consecutive middle hits.
    #[inline(always)]
    pub(super) fn put<G: Gang>(&mut self, at: usize, [up, down]: [U32<G>; 2], best: &Best<G>) {
        up.store(&mut self.up.padded_mut()[at..]);
        down.store(&mut self.down.padded_mut()[at..]);
        best.distance2.store(&mut self.distance2.padded_mut()[at..]);
        best.variance.store(&mut self.variance.padded_mut()[at..]);
    }

    /// Stores the triplets of middle hits, given the indices of the hits.
    #[inline(always)]
    pub(super) fn scatter<G: Gang>(
        &mut self,
        at: U32<G>,
        [up, down]: [U32<G>; 2],
        best: &Best<G>,
        lanes: Mask<G>,
    ) {
        up.scatter(&mut self.up, at, lanes);
        down.scatter(&mut self.down, at, lanes);
        best.distance2.to_bits().scatter(bytemuck::cast_slice_mut(&mut self.distance2[..]), at, lanes);
        best.variance.to_bits().scatter(bytemuck::cast_slice_mut(&mut self.variance[..]), at, lanes);
    }

    /// Stores the triplet of a hit if the hit has no triplet or a worse one.
    pub(super) fn put_better(&mut self, [up, middle, down]: [u32; 3], score: f32) {
        let at = middle as usize;
        if self.up[at] == NONE || score < self.distance2[at] {
            (self.up[at], self.down[at]) = (up, down);
            (self.distance2[at], self.variance[at]) = (score, 1.0);
        }
    }

    /// Lists the starts of chains: triplets whose middle hit is not linked to the hit above, as index of this hit with
    /// the pair in the bits above. Marks the other middle hits as inside.
    #[inline(always)]
    pub(super) fn find_starts<G: Gang>(&mut self, g: G, spans: &[Span; PAIRS], chains: &mut Chains) {
        chains.start.reserve_total(self.up.len());
        let (none, zero, one) = (U32::splat(g, NONE), U32::splat(g, 0), U32::splat(g, 1));
        let Self { up, down, inside, .. } = self;
        let mut starts = 0;
        for pair in (1..PAIRS - 1).rev() {
            let end = spans[pair].begin + spans[pair].len;
            for at in (spans[pair].begin..end).step_by(G::LANES) {
                let this = U32::iota(g) + U32::splat(g, at as u32);
                let above = U32::load(g, &up[at..]);
                let lacks = above.eq(none);
                let linked = U32::gather(down, above).eq(this).and_not(lacks);
                let start = Mask::first(g, end - at).and_not(lacks | linked);
                linked.select_u(one, zero).store(&mut inside.padded_mut()[at..]);
                let marked = this + U32::splat(g, (pair as u32) << PAIR_SHIFT);
                starts += marked.store_packed(&mut chains.start.padded_mut()[starts..], start);
            }
        }
        chains.start.set_len(starts);
    }

    /// Drops the start of a chain that has a *twin*: a hit of the same pair, linked to the same hit above, whose
    /// triplet has the same hit below. If the hit below leads up to the dropped hit, it leads to the twin instead.
    #[inline(always)]
    pub(super) fn merge_twins<G: Gang>(&mut self, g: G, chains: &mut Chains) {
        let Chains { start, twins, .. } = chains;
        let starts = start.len();
        twins.iter_mut().for_each(|column| column.reserve_total(starts));
        let [dropped, twin_of, below] = twins;
        let none = U32::splat(g, NONE);
        let (mut kept, mut merged) = (0, 0);
        for at in (0..starts).step_by(G::LANES) {
            let lanes = Mask::first(g, starts - at);
            let marked = U32::load(g, &start.padded()[at..]);
            let this = lanes.select_u(marked & U32::splat(g, HIT), none);
            let above = U32::gather(&self.up, this);
            let down = U32::gather(&self.down, this);
            let twin = U32::gather(&self.down, above);
            let linked = U32::gather(&self.up, twin).eq(above).and_not(twin.eq(none)) & lanes;
            let same = linked & U32::gather(&self.down, twin).eq(down);
            marked.store_packed(&mut start.padded_mut()[kept..], lanes.and_not(same));
            kept += lanes.and_not(same).count();
            this.store_packed(&mut dropped.padded_mut()[merged..], same);
            twin.store_packed(&mut twin_of.padded_mut()[merged..], same);
            merged += down.store_packed(&mut below.padded_mut()[merged..], same);
        }
        start.set_len(kept);
        // All twins are found before any hit is dropped: a twin may be dropped itself, or be the hit below of another.
        for at in (0..merged).step_by(G::LANES) {
            let lanes = Mask::first(g, merged - at);
            let dropped = U32::load(g, &dropped.padded()[at..]);
            let below = U32::load(g, &below.padded()[at..]);
            let leads_here = U32::gather(&self.up, below).eq(dropped) & lanes;
            U32::load(g, &twin_of.padded()[at..]).scatter(&mut self.up, below, leads_here);
        }
        for at in (0..merged).step_by(G::LANES) {
            let lanes = Mask::first(g, merged - at);
            let dropped = U32::load(g, &dropped.padded()[at..]);
            none.scatter(&mut self.up, dropped, lanes);
            none.scatter(&mut self.down, dropped, lanes);
        }
    }

    /// Marks the last hits of chains, and marks the middle hits of all linked triplets as inside.
    #[inline(always)]
    pub(super) fn mark<G: Gang>(&mut self, g: G, spans: &[Span; PAIRS]) {
        let Self { up, down, next, inside, .. } = self;
        let (none, zero, one) = (U32::splat(g, NONE), U32::splat(g, 0), U32::splat(g, 1));
        for (pair, span) in spans.iter().enumerate() {
            let middle = (1..PAIRS - 1).contains(&pair);
            for at in (span.begin..span.begin + span.len).step_by(G::LANES) {
                if !middle {
                    zero.store(&mut inside.padded_mut()[at..]);
                    continue;
                }
                let this = U32::iota(g) + U32::splat(g, at as u32);
                let below = U32::load(g, &down[at..]);
                let linked = U32::gather(up, below).eq(this).and_not(below.eq(none));
                linked.select_u(below, below | U32::splat(g, LAST)).store(&mut next.padded_mut()[at..]);
                let before = U32::load(g, &inside[at..]);
                linked.select_u(one, before).store(&mut inside.padded_mut()[at..]);
            }
        }
    }
}

/// The chains of an event, in the order of their starts; the hits of each chain are in a row of [`Found`].
#[derive(Debug)]
pub(super) struct Chains {
    /// Middle hit of the first triplet, with its pair in the bits above.
    pub(super) start: Column<u32>,
    /// Number of hits, first hit, last hit, and the hit before the last.
    pub(super) len: Column<u32>,
    pub(super) top: Column<u32>,
    pub(super) bottom: Column<u32>,
    pub(super) before: Column<u32>,
    /// Score of the first triplet.
    pub(super) score: Column<f32>,
    /// Row of the first chain.
    pub(super) first_row: usize,
    /// Dropped hits, their twins, and the hits below.
    twins: [Column<u32>; 3],
    /// Hits of a gang of chains, one step after another.
    steps: Box<[[u32; 2 * PAD]; STEPS]>,
}

impl Default for Chains {
    fn default() -> Self {
        Self {
            start: Column::default(),
            len: Column::default(),
            top: Column::default(),
            bottom: Column::default(),
            before: Column::default(),
            score: Column::default(),
            first_row: 0,
            twins: Default::default(),
            steps: Box::new([[0; 2 * PAD]; STEPS]),
        }
    }
}

impl Chains {
    /// Follows all chains and writes a row for each. A step waits for the look-up of the previous step, so two gangs
    /// are followed side by side.
    #[inline(always)]
    pub(super) fn follow<G: Gang>(&mut self, g: G, links: &Links, found: &mut Found) {
        let g = Pair::new(g);
        let chains = self.start.len();
        self.first_row = found.rows.len();
        for column in [&mut self.len, &mut self.top, &mut self.bottom, &mut self.before] {
            column.set_len(chains + 2 * PAD);
        }
        self.score.set_len(chains + 2 * PAD);
        found.reserve(chains + 2 * PAD);
        found.rows.set_len(self.first_row + chains);
        for at in (0..chains).step_by(Pair::<G>::LANES) {
            self.follow_gang(g, links, at);
            let len = U32::load(g, &self.len[at..]);
            let longest = len.reduce_max(Mask::first(g, chains - at)) as usize;
            let rows = &mut found.rows.padded_mut()[self.first_row + at..][..Pair::<G>::LANES];
            self.write_rows(g, at, longest, rows);
        }
    }

    /// Follows a gang of chains from number `at` on.
    #[inline(always)]
    fn follow_gang<G: Gang>(&mut self, g: G, links: &Links, at: usize) {
        let lanes = Mask::first(g, self.start.len() - at);
        let hit = U32::splat(g, !LAST);
        let start = U32::load(g, &self.start.padded()[at..]) & U32::splat(g, HIT);
        let start = lanes.select_u(start, U32::splat(g, 0));
        let top = U32::gather(&links.up, start);
        let [distance2, variance] = F32::gather_columns([&links.distance2, &links.variance], start);
        (distance2 / variance).store(&mut self.score[at..]);
        let mut next = U32::gather(&links.next, start);
        let mut last = next & hit;
        let (mut before, mut len) = (start, U32::splat(g, 3));
        let mut on = next.lt(U32::splat(g, LAST)) & lanes;
        for (hits, step) in [top, start, last].into_iter().zip(self.steps.iter_mut()) {
            hits.store(step);
        }
        let mut step = 3;
        while on.any() && step < STEPS {
            next = on.select_u(U32::gather(&links.next, last), next);
            before = on.select_u(last, before);
            last = next & hit;
            len = len.count(on);
            last.store(&mut self.steps[step]);
            on = on & next.lt(U32::splat(g, LAST));
            step += 1;
        }
        len.store(&mut self.len[at..]);
        top.store(&mut self.top[at..]);
        last.store(&mut self.bottom[at..]);
        before.store(&mut self.before[at..]);
    }

    /// Writes the rows of a gang of chains from number `at` on: score, ends and length, then hits, four words at a
    /// time.
    #[inline(always)]
    fn write_rows<G: Gang>(&mut self, g: G, at: usize, longest: usize, rows: &mut [Row]) {
        let pieces: &mut [[f32; 4]] = cast_slice_mut(rows);
        let mut piece = [[0.0; 4]; 2 * PAD];
        let hits = inlined!(|step: usize| U32::load(g, &self.steps[step.min(STEPS - 1)]).as_f32());
        let len = U32::load(g, &self.len[at..]);
        let pair = U32::load(g, &self.start.padded()[at..]).shr::<PAIR_SHIFT>();
        let high = pair + U32::splat(g, 1);
        let low = pair + U32::splat(g, 2) - len;
        let ends = high.shl::<16>() | low.shl::<24>();
        let mut columns = [F32::load(g, &self.score[at..]), ends.as_f32(), len.as_f32(), hits(0)];
        for number in 0..longest.div_ceil(4).min(PIECES - 1) + 1 {
            F32::store_records(columns, &mut piece);
            for (lane, piece) in piece[..G::LANES].iter().enumerate() {
                pieces[lane * PIECES + number] = *piece;
            }
            let next = 4 * number + 1;
            columns = [hits(next), hits(next + 1), hits(next + 2), hits(next + 3)];
        }
    }
}
