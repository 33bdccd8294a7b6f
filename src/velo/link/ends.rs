//! Decides which chain gets the end hits of long chains: the first and the last hit of a chain are in only one of its
//! triplets, and may be in other chains, too.

use super::chains::{Chains, Links};
use super::hits::LinkHits;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::LinkConfig;
use crate::velo::find::{Judge, Kink, Line};
use crate::velo::found::Found;

/// Number of hits of a short chain: a chain with more hits is long.
const LEAST: u32 = 3;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Last long chain that has the hit as its upper end, and as its lower end. Entries of other hits are left over
    /// from other events.
    top_of: Column<u32>,
    bottom_of: Column<u32>,
    /// Chains that continue in another chain.
    pub(super) kinks: Vec<Kink>,
}

impl Ends {
    /// Drops the ends that are inside other chains, or that are also ends of a later chain. A chain that begins at the
    /// last hit of another chain leaves the hit to that chain; the two are joined if they form one line. Marks the ends
    /// as inside.
    #[inline(always)]
    pub(super) fn settle<G: Gang>(
        &mut self,
        g: G,
        (config, judge): (&LinkConfig, &Judge<G>),
        hits: &LinkHits,
        (links, chains): (&mut Links, &Chains),
        found: &mut Found,
    ) {
        self.kinks.clear();
        let count = chains.start.len();
        self.top_of.set_len(links.inside.len());
        self.bottom_of.set_len(links.inside.len());
        let three = U32::splat(g, LEAST);
        for at in (0..count).step_by(G::LANES) {
            let number = U32::iota(g) + U32::splat(g, at as u32);
            let long = three.lt(U32::load(g, &chains.len[at..])) & Mask::first(g, count - at);
            number.scatter(&mut self.top_of, U32::load(g, &chains.top[at..]), long);
            number.scatter(&mut self.bottom_of, U32::load(g, &chains.bottom[at..]), long);
        }
        let (one, ended) = (U32::splat(g, 1), U32::splat(g, 2));
        for at in (0..count).step_by(G::LANES) {
            let number = U32::iota(g) + U32::splat(g, at as u32);
            let long = three.lt(U32::load(g, &chains.len[at..])) & Mask::first(g, count - at);
            let (top, bottom) = (U32::load(g, &chains.top[at..]), U32::load(g, &chains.bottom[at..]));
            let top_inside = U32::gather(&links.inside, top).eq(one);
            let bottom_inside = U32::gather(&links.inside, bottom).eq(one);
            let top_stays = U32::gather(&self.top_of, top).eq(number).and_not(top_inside);
            let bottom_stays = U32::gather(&self.bottom_of, bottom).eq(number).and_not(bottom_inside);
            // Ends get another mark: the mark for inside is read until the last chain.
            ended.scatter(&mut links.inside, top, long.and_not(top_inside));
            ended.scatter(&mut links.inside, bottom, long.and_not(bottom_inside));
            let upper = U32::gather(&self.bottom_of, top);
            let kink = upper.lt(U32::splat(g, count as u32)) & top_stays & long;
            let kink = U32::gather(&chains.bottom, upper).eq(top) & kink;
            let kink = three.lt(U32::gather(&chains.len, upper)) & kink;
            if kink.any() {
                let before = U32::gather(&chains.before, upper);
                let second = U32::load(g, &chains.start.padded()[at..]) & U32::splat(g, super::HIT);
                let on = one_line(g, (config, judge), hits, [before, top, second]) & kink;
                let mut upper_of = [0; crate::event::PAD];
                upper.store(&mut upper_of);
                for lane in lanes_of(on.bits()) {
                    let [upper, lower] =
                        [upper_of[lane], (at + lane) as u32].map(|chain| chain + chains.first_row as u32);
                    self.kinks.push(Kink { upper, lower });
                }
            }
            let drop_top = long.and_not(top_stays) | kink;
            let drop_bottom = long.and_not(bottom_stays);
            for lane in lanes_of(drop_top.bits()) {
                found.drop_first((chains.first_row + at + lane) as u32);
            }
            for lane in lanes_of(drop_bottom.bits()) {
                found.drop_last((chains.first_row + at + lane) as u32);
            }
        }
    }
}

/// Returns the numbers of the lanes that are on.
fn lanes_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}

/// Returns whether the third hit is on the line through the first two.
#[inline(always)]
fn one_line<G: Gang>(
    g: G,
    (config, judge): (&LinkConfig, &Judge<G>),
    hits: &LinkHits,
    [a, b, c]: [U32<G>; 3],
) -> Mask<G> {
    let [x0, y0, z0, _] = F32::gather_records(hits.records.padded(), a);
    let [x1, y1, z1, _] = F32::gather_records(hits.records.padded(), b);
    let [x2, y2, z2, _] = F32::gather_records(hits.records.padded(), c);
    let line = Line::through(g, [x0, y0, z0], [x1, y1, z1]);
    let scatter = judge.scatter(g, &line, config.scatter_slope);
    let (distance2, variance) = judge.distance(g, &line, scatter, [x2, y2, z2]);
    distance2.lt(F32::splat(g, config.join_chi2) * variance)
}
