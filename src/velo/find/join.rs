//! Joins the two tracks of a particle that scatters in a module: one track ends in the module, and the other begins in
//! a later pair.

use super::nearest::{Judge, Line, columns_of_lines};
use crate::event::{Column, PAD};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::velo::found::{ENDS_AT, Found, HITS_AT, LEN_AT, ROW};
use crate::velo::geometry::{MOST_ON_SENSORS, PAIR_MIDDLES, PAIRS};
use crate::velo::index::EVENTS;
use std::ops::Range;

/// Number of pairs of modules in two events: the pairs of the second event are numbered from [`PAIRS`] on.
const PLACES: usize = EVENTS * PAIRS;
/// Records of hits by index.
type Hits<'a> = &'a [[f32; 4]];

/// No track.
const NONE: u32 = u32::MAX;

/// Conditions under which two tracks are joined.
#[derive(Clone, Copy)]
pub(in crate::velo) struct JoinRule {
    /// Largest sum of both chi2 (no unit).
    pub(in crate::velo) chi2: f32,
    /// Scattering variance per tx^2 + ty^2, rad^2.
    pub(in crate::velo) scatter_slope: f32,
    /// Largest number of pairs from the end of one track to the beginning of the other.
    pub(in crate::velo) pairs: usize,
    /// Number of pairs beyond an end of a track: the track's line must meet one of them where most hits are.
    pub(in crate::velo) looks: u32,
}

/// The rows of two parts of one track.
#[derive(Debug, Clone, Copy)]
pub(in crate::velo) struct Kink {
    pub(in crate::velo) upper: u32,
    pub(in crate::velo) lower: u32,
}

/// The upper or the lower ends of tracks that another track may continue, by pair of modules.
#[derive(Debug, Default)]
struct Ends {
    /// Ends in the order of finding: row, pair, last hit, and the hit before it.
    found: [Column<u32>; 4],
    len: usize,
    /// Ends in the order of pairs: row, last hit, and the hit before it.
    row: Column<u32>,
    hit: Column<u32>,
    inner: Column<u32>,
    /// Lines to the last hits from the hits before them, in columns of `room` values.
    lines: Column<f32>,
    room: usize,
    /// Begin of the ends in each pair of each event, and the end of the last.
    begin: Column<u32>,
}

impl Ends {
    /// Empties the list and reserves memory for the ends of `tracks` tracks.
    fn open(&mut self, tracks: usize) {
        self.len = 0;
        self.found.iter_mut().for_each(|column| column.reserve_total(tracks));
    }

    /// Appends the ends of tracks whose line meets one of the next `looks` pairs where most hits are.
    #[inline(always)]
    fn add<G: Gang>(&mut self, g: G, (hits, looks): (Hits<'_>, u32), end: End<G>, lanes: Mask<G>) {
        let [x0, y0, z0, _] = F32::gather_records(hits, end.inner);
        let [x1, y1, z1, _] = F32::gather_records(hits, end.hit);
        let line = Line::through(g, [x0, y0, z0], [x1, y1, z1]);
        let [inner2, outer2] = MOST_ON_SENSORS.map(|radius| F32::splat(g, radius * radius));
        let (mut good, mut next) = (Mask::first(g, 0), end.next);
        for _ in 0..looks {
            let there = next.lt(U32::splat(g, PAIRS as u32)) & lanes;
            let to_next = F32::gather(&PAIR_MIDDLES, next) - line.z;
            let [x, y] = [line.tx.mul_add(to_next, line.x), line.ty.mul_add(to_next, line.y)];
            let radius2 = x.mul_add(x, y * y);
            good = good | (inner2.lt(radius2) & radius2.lt(outer2) & there);
            next = next + end.step;
        }
        let mut count = 0;
        for (value, column) in [end.row, end.pair, end.hit, end.inner].into_iter().zip(&mut self.found) {
            count = value.store_packed(&mut column.padded_mut()[self.len..], good);
        }
        self.len += count;
    }

    /// Sorts the ends by pair.
    fn sort(&mut self) {
        let [rows, pairs, hits, inners] = self.found.each_ref().map(|column| &column.padded()[..self.len]);
        for column in [&mut self.row, &mut self.hit, &mut self.inner] {
            column.set_len(self.len);
        }
        let mut places = [0; PLACES + 1];
        for &pair in pairs {
            places[pair as usize] += 1;
        }
        let mut sum = 0;
        self.begin.set_len(places.len());
        for (place, begin) in places.iter_mut().zip(self.begin.iter_mut()) {
            *begin = sum;
            sum += std::mem::replace(place, sum);
        }
        for i in 0..self.len {
            let place = &mut places[pairs[i] as usize];
            let at = *place as usize;
            (self.row[at], self.hit[at], self.inner[at]) = (rows[i], hits[i], inners[i]);
            *place += 1;
        }
    }

    fn of_pair(&self, pair: usize) -> Range<usize> {
        self.of_pairs(pair..pair + 1)
    }

    fn of_pairs(&self, pairs: Range<usize>) -> Range<usize> {
        self.begin[pairs.start] as usize..self.begin[pairs.end] as usize
    }

    /// Computes the lines at the ends.
    #[inline(always)]
    fn make_lines<G: Gang>(&mut self, g: G, hits: Hits<'_>) {
        self.room = self.len + PAD;
        self.lines.reserve_total(6 * self.room);
        let mut lines = columns_of_lines(self.lines.padded_mut(), self.room);
        for at in (0..self.len).step_by(G::LANES) {
            let line = line_of(g, hits, &self.hit.padded()[at..], &self.inner.padded()[at..]);
            line.store_packed(&mut lines, at, Mask::first(g, G::LANES));
        }
    }

    /// Returns the columns of the lines.
    #[inline(always)]
    fn lines(&self) -> [&[f32]; 6] {
        std::array::from_fn(|column| &self.lines.padded()[column * self.room..(column + 1) * self.room])
    }
}

/// Returns the lines to the hits `hit` from the hits `inner`.
#[inline(always)]
fn line_of<G: Gang>(g: G, hits: Hits<'_>, hit: &[u32], inner: &[u32]) -> Line<G> {
    let [x0, y0, z0, _] = F32::load_records(g, hits, inner);
    let [x1, y1, z1, _] = F32::load_records(g, hits, hit);
    Line::through(g, [x0, y0, z0], [x1, y1, z1])
}

/// One end of a track per lane: row, pair of the last hit (numbered over both events), next pair, last hit, and the hit
/// before it.
#[derive(Clone, Copy)]
struct End<G: Gang> {
    row: U32<G>,
    pair: U32<G>,
    next: U32<G>,
    /// Step from one pair to the next: 1 or -1.
    step: U32<G>,
    hit: U32<G>,
    inner: U32<G>,
}

/// Memory of joining.
#[derive(Debug, Default)]
pub(in crate::velo) struct JoinScratch {
    /// Ends of tracks at low z, and at high z.
    low: Ends,
    high: Ends,
    /// Row of the best high end for each low end, and the score.
    partner: Column<u32>,
    score: Column<f32>,
    /// Low end that holds each row, and the row that continues each row.
    holder: Column<u32>,
    next: Column<u32>,
}

impl JoinScratch {
    /// Joins each track to the best track that begins beyond its end. If several tracks have the same partner, the best
    /// of them gets it; of equally good tracks, the track found first. The tracks of `kinks` are joined in any case.
    #[inline(always)]
    pub(in crate::velo) fn join<G: Gang>(
        &mut self,
        g: G,
        judge: &Judge<G>,
        rule: JoinRule,
        (hits, kinks): (Hits<'_>, &[Kink]),
        found: &mut Found,
    ) {
        for &Kink { upper, lower } in kinks {
            // These ends do not look for another track.
            found.rows[upper as usize].low = 0;
            found.rows[lower as usize].high = PAIRS as u8 - 1;
        }
        self.list_ends(g, (hits, rule.looks), found);
        if self.find_partners(g, judge, rule, hits) || !kinks.is_empty() {
            self.choose(kinks, found);
        }
    }

    /// Lists the ends of all tracks.
    #[inline(always)]
    fn list_ends<G: Gang>(&mut self, g: G, index: (Hits<'_>, u32), found: &Found) {
        let count = found.tracks.len();
        self.low.open(count);
        self.high.open(count);
        let words = found.words();
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        for at in (0..count).step_by(G::LANES) {
            let lanes = Mask::first(g, count - at);
            let row = lanes.select_u(U32::load(g, &found.tracks.padded()[at..]), zero);
            let begin = row.shl::<{ ROW.trailing_zeros() }>();
            let len = U32::gather(words, begin + U32::splat(g, LEN_AT as u32));
            let ends = U32::gather(words, begin + U32::splat(g, ENDS_AT as u32));
            let (high, low) = (ends.shr::<16>() & U32::splat(g, 255), ends.shr::<24>());
            let of_event = (ends.shr::<8>() & one) * U32::splat(g, PAIRS as u32);
            let first = begin + U32::splat(g, HITS_AT as u32);
            let hit = inlined!(|number: U32<G>| U32::gather(words, first + number));
            let end = End {
                row,
                pair: high + of_event,
                next: high + one,
                step: one,
                hit: hit(zero),
                inner: hit(one),
            };
            self.high.add(g, index, end, lanes);
            let end = End {
                row,
                pair: low + of_event,
                next: low - one,
                step: zero - one,
                hit: hit(len - one),
                inner: hit(len - one - one),
            };
            self.low.add(g, index, end, lanes);
        }
    }

    /// Finds the partner of each low end; returns whether there is any.
    #[inline(always)]
    fn find_partners<G: Gang>(&mut self, g: G, judge: &Judge<G>, rule: JoinRule, hits: Hits<'_>) -> bool {
        let Self { low, high, partner, score, .. } = self;
        for ends in [&mut *low, &mut *high] {
            ends.sort();
            ends.make_lines(g, hits);
        }
        partner.set_len(low.len);
        score.set_len(low.len);
        let (lows, highs) = (low.lines(), high.lines());
        let (highs, rows) = (highs.map(|column| &column[..high.len]), &high.row[..high.len]);
        let max = F32::splat(g, rule.chi2);
        let mut any = false;
        // No track continues below the first pair, so that tracks of the two events are never joined.
        for pair in 1..PLACES {
            // Only pairs of the same event.
            let from = pair.saturating_sub(rule.pairs).max(pair / PAIRS * PAIRS);
            let (ends, others) = (low.of_pair(pair), high.of_pairs(from..pair));
            if others.is_empty() {
                partner[ends].fill(NONE);
                continue;
            }
            for at in ends.clone().step_by(G::LANES) {
                let lanes = Mask::first(g, ends.end - at);
                let line = Line::load(g, lows, at);
                let scatter = judge.scatter(g, &line, rule.scatter_slope);
                let (mut best, mut who) = (max, U32::splat(g, NONE));
                for other in others.clone() {
                    let back = Line::splat(g, highs.map(|column| column[other]));
                    let (distance2, variance) = judge.distance(g, &line, scatter, [back.x, back.y, back.z]);
                    // Hardly any tracks come near.
                    if !(distance2.lt(max * variance) & lanes).any() {
                        continue;
                    }
                    let chi2 = distance2 / variance;
                    let scatter = judge.scatter(g, &back, rule.scatter_slope);
                    let (distance2, variance) = judge.distance(g, &back, scatter, [line.x, line.y, line.z]);
                    let sum = chi2 + distance2 / variance;
                    let row = U32::splat(g, rows[other]);
                    let better = sum.lt(best) | (sum.eq(best) & row.lt(who) & sum.lt(max));
                    best = (better & lanes).select_f(sum, best);
                    who = (better & lanes).select_u(row, who);
                }
                any |= who.lt(U32::splat(g, NONE)).any();
                best.store(&mut score.padded_mut()[at..]);
                who.store(&mut partner.padded_mut()[at..]);
            }
        }
        any
    }

    /// Gives each partner to the best track that chose it, and joins the two.
    fn choose(&mut self, kinks: &[Kink], found: &mut Found) {
        let Self { low, partner, score, holder, next, .. } = self;
        for column in [&mut *holder, &mut *next] {
            column.set_len(found.rows.len());
            column.fill(NONE);
        }
        let wanted = || partner.iter().enumerate().filter(|(_, partner)| **partner != NONE);
        for (number, &partner) in wanted() {
            let holder = &mut holder[partner as usize];
            let rank = |number: usize| (score[number], low.row[number]);
            if *holder == NONE || rank(number) < rank(*holder as usize) {
                *holder = number as u32;
            }
        }
        for (number, &partner) in wanted() {
            if holder[partner as usize] == number as u32 {
                next[low.row[number] as usize] = partner;
            }
        }
        for &Kink { upper, lower } in kinks {
            (next[upper as usize], holder[lower as usize]) = (lower, 0);
        }
        let mut kept = 0;
        for i in 0..found.tracks.len() {
            let row = found.tracks[i];
            if holder[row as usize] != NONE {
                continue;
            }
            found.tracks[kept] = row;
            kept += 1;
            let mut other = next[row as usize];
            while other != NONE {
                found.append(row, other);
                other = next[other as usize];
            }
        }
        found.tracks.set_len(kept);
    }
}
