//! Finds the best triplet of each hit, one middle hit per lane, among the hits of two phi bins in the pair above and in
//! the pair below.
//!
//! The middle hits of a gang are in the order of phi, and so are their windows. Usually the windows of all lanes lie
//! within a range of hits of twice the gang's size, which is held in registers. Middle hits with more than two
//! candidates on a side, or with candidates far from the first lane's candidates, are processed in `deferred`.

use super::PAIR_SHIFT;
use super::candidate::{Above, Below, Best, HALF_WINDOW, Middle, cells};
use super::chains::Links;
use super::deferred::Deferred;
use super::hits::{BINS, LinkHits};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, for_each, inlined};
use crate::velo::config::LinkConfig;
use crate::velo::find::Judge;
use crate::velo::geometry::PAIRS;

/// Number of candidates on each side that are judged at once.
pub(super) const AT_ONCE: u32 = 2;

/// Finds the triplets of all hits but those that are deferred.
#[inline(always)]
pub(super) fn triplets<G: Gang>(
    g: G,
    config: &LinkConfig,
    judge: &mut Judge<G>,
    hits: &LinkHits,
    links: &mut Links,
    deferred: &mut Deferred,
) {
    for pair in (1..PAIRS - 1).rev() {
        of_pair(g, config, judge, (hits, pair), links, deferred);
    }
}

#[inline(always)]
fn of_pair<G: Gang>(
    g: G,
    config: &LinkConfig,
    judge: &mut Judge<G>,
    (hits, pair): (&LinkHits, usize),
    links: &mut Links,
    deferred: &mut Deferred,
) {
    let spans = [pair + 1, pair - 1].map(|pair| hits.spans[pair]);
    let rows = [hits.row(pair + 1), hits.row(pair - 1)];
    let begins = [U32::splat(g, spans[0].begin as u32), U32::splat(g, spans[1].begin as u32)];
    let lens = [U32::splat(g, spans[0].len as u32), U32::splat(g, spans[1].len as u32)];
    let (zero, few) = (U32::splat(g, 0), U32::splat(g, AT_ONCE));
    let near = U32::splat(g, 2 * G::LANES as u32 - AT_ONCE + 1);
    let span = hits.spans[pair];
    for i in (span.begin..span.begin + span.len).step_by(G::LANES) {
        let lanes = Mask::first(g, span.begin + span.len - i);
        let middle = Middle {
            x: F32::load(g, &hits.x[i..]),
            y: F32::load(g, &hits.y[i..]),
            z: F32::load(g, &hits.z[i..]),
        };
        let cells = cells(g, F32::load(g, &hits.turn[i..]));
        let above = LinkHits::window(g, U32::gather(rows[0], cells));
        let below = LinkHits::window(g, U32::gather(rows[1], cells));
        let both = zero.lt(above.count) & zero.lt(below.count) & lanes;
        let counts = [judge.limit(g, above.count, both), judge.limit(g, below.count, both)];
        // Windows are counted from the window of the first lane.
        let at_first = cell_of(hits.turn[i]);
        let from = [rows[0][at_first] & 0xffff, rows[1][at_first] & 0xffff];
        let near_above = wrapped_back(above.first - U32::splat(g, from[0]), lens[0]);
        let near_below = wrapped_back(below.first - U32::splat(g, from[1]), lens[1]);
        let now =
            counts[0].max(counts[1]).lt(few + U32::splat(g, 1)) & near_above.max(near_below).lt(near) & both;
        let later = both.and_not(now);
        deferred.add(U32::iota(g) + U32::splat(g, i as u32 | (pair as u32) << PAIR_SHIFT), later);
        let outer = spans[0].begin + from[0] as usize;
        let inner = spans[1].begin + from[1] as usize;
        let look_up = inlined!(|from: usize, at: U32<G>| {
            let (x, y, z) = (&hits.x[from..], &hits.y[from..], &hits.z[from..]);
            [F32::look_up(x, at), F32::look_up(y, at), F32::look_up(z, at)]
        });
        let below_of = inlined!(|number: u32| {
            let on = U32::splat(g, number).lt(counts[1]) & now;
            Below::new(g, middle, look_up(inner, near_below + U32::splat(g, number)), on)
        });
        let (first, second) = (below_of(0), below_of(1));
        let mut best = Best::none(g, config.score);
        for_each!(number < 2 => {
            let number = number as u32;
            let on = U32::splat(g, number).lt(counts[0]) & now;
            let candidate = look_up(outer, near_above + U32::splat(g, number));
            let above = Above::new(g, (config, judge), middle, candidate, on);
            best.judge(&above, &first, U32::splat(g, number << 16));
            best.judge(&above, &second, U32::splat(g, number << 16 | 1));
        });
        links.put(i, best.hits(g, [above.first, below.first], begins, lens), &best);
    }
}

/// Wraps a difference of two numbers in a pair of `len` hits, which may be below 0.
#[inline(always)]
fn wrapped_back<G: Gang>(difference: U32<G>, len: U32<G>) -> U32<G> {
    difference.min(difference + len)
}

/// Returns the cell of the window around a hit with the direction `turn`.
#[inline(always)]
fn cell_of(turn: f32) -> usize {
    let bin = (turn + (BINS as f32 - HALF_WINDOW)) as u32 % BINS;
    (bin / 2 + bin % 2 * (BINS / 2)) as usize
}
