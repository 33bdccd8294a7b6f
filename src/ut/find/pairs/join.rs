//! Join: forms pairs of hits of a track, and adds the hits nearest to the line of each pair; one pair per lane.
//!
//! Early cuts on the slope of a pair relative to the Velo track, and on its distance from the track at the kink, keep a
//! fifth of the pairs. The cuts use the distance in z between planes, not hits, which saves a division. Integers with
//! the distance in the high bits and the hit's number in the low bits are compared to find the nearest hit.

use super::super::{SLOT_BITS, SLOTS, Search};
use super::spans::Spans;
use super::windows::{Lists, Windows};
use super::{MOST_TRACKLETS, Tracklets};
use crate::event::{StageCounter, UT_PLANES};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, for_each, inlined};
use crate::ut::layout::MIDDLE;

/// Planes of the pair's hits, and planes of the nearest hits: for the forward search, and for the backward search.
const WAYS: [[usize; 4]; 2] = [[0, 2, 1, 3], [3, 1, 2, 0]];
/// Largest ratio between the distance of hits in z and the distance of their planes.
const SPAN_MARGIN: f32 = 1.06;
/// Largest number of pairs of a track, forward and backward.
const MOST_PAIRS: usize = 2 * SLOTS * SLOTS;
/// `RECIPROCAL[n]` x p / 2^16 is p / n, for p below 256.
const RECIPROCAL: [u32; SLOTS + 1] = {
    let mut table = [0; SLOTS + 1];
    let mut n = 1;
    while n <= SLOTS {
        table[n] = (1u32 << 16).div_ceil(n as u32);
        n += 1;
    }
    table
};

/// The cuts for a track, the same in all lanes.
struct Cuts<G: Gang> {
    max_slope: F32<G>,
    /// z where lines of hits meet the track, mm.
    kink: F32<G>,
    /// Largest distance of the lines from the track there, mm: constant, and part per unit of slope.
    apart: [F32<G>; 2],
    tolerance: F32<G>,
}

/// Output columns for the tracklets of all tracks.
struct Out<'a> {
    row: &'a mut [u32],
    places: [&'a mut [u32]; UT_PLANES],
    len: usize,
}

/// The hits of all windows, and the lists of a track's windows.
struct Near<'a> {
    d: &'a [f32],
    z: &'a [f32],
    lists: &'a Lists,
}

/// A pair of hits per lane.
struct Pairs<G: Gang> {
    /// Numbers of the hits in their windows.
    first: U32<G>,
    third: U32<G>,
    a: [F32<G>; 2],
    c: [F32<G>; 2],
}

/// Lists the tracklets of all tracks; returns the number of tracks without room for their tracklets.
#[inline(always)]
pub(super) fn join<G: Gang>(
    g: G,
    search: &Search<'_>,
    (spans, windows): (&Spans, &Windows),
    out: &mut Tracklets,
    stage: &mut StageCounter,
) -> u64 {
    let real = inlined!(|value: f32| F32::splat(g, value));
    let (line, z) = (&search.config.line, &search.layout.z);
    let per_span = [1.0 / (z[2] - z[0]), 1.0 / (z[1] - z[3])];
    let apart = line.pair_kink * line.kink_error[0];
    let per_slope = line.pair_kink * line.kink_error[1] * 1000.0;
    let Tracklets { row, places, start, .. } = &mut *out;
    start.reserve_total(windows.rows.len() + 1);
    row.reserve_total(MOST_TRACKLETS);
    places.iter_mut().for_each(|places| places.reserve_total(MOST_TRACKLETS));
    let starts = start.padded_mut();
    let mut to =
        Out { row: row.padded_mut(), places: places.each_mut().map(|places| places.padded_mut()), len: 0 };
    let (d, z) = (windows.d.padded(), windows.z.padded());
    // One length for both, for one bounds check.
    let most = d.len().min(z.len());
    let (d, z) = (&d[..most], &z[..most]);
    let (mut lanes, mut tried) = ([0; 2], 0);
    for (&track, lists) in windows.rows.iter().zip(windows.lists.iter()) {
        starts[tried] = to.len as u32;
        if to.len > MOST_TRACKLETS - MOST_PAIRS {
            break;
        }
        tried += 1;
        let at = track as usize;
        let cuts = Cuts {
            max_slope: real(spans.max_slope[at]),
            kink: real(MIDDLE - spans.kink[at]),
            apart: [real(apart), real(per_slope * spans.per_kick[at].abs())],
            tolerance: real(search.config.hit_tolerance),
        };
        let near = Near { d, z, lists };
        for (way, per_span) in WAYS.into_iter().zip(per_span) {
            if cuts.way(g, (way, per_span), (&near, track), &mut to, &mut lanes) {
                break;
            }
        }
    }
    let len = to.len;
    starts[tried] = len as u32;
    start.set_len(tried + 1);
    out.set_len(len);
    stage.lanes_active += lanes[0];
    stage.lanes_total += lanes[1];
    (windows.rows.len() - tried) as u64
}

impl Tracklets {
    #[inline(always)]
    fn set_len(&mut self, len: usize) {
        self.row.set_len(len);
        self.places.iter_mut().for_each(|places| places.set_len(len));
        self.cost.set_len(len);
        self.slope.set_len(len);
    }
}

/// Returns one of the first [`SLOTS`] values, from two registers if these hold all of them and do not read beyond the
/// padding of columns.
#[inline(always)]
fn pick<G: Gang>(from: &[f32], at: U32<G>) -> F32<G> {
    if G::LANES * 2 >= SLOTS && G::LANES <= SLOTS { F32::look_up(from, at) } else { F32::gather(from, at) }
}

impl<G: Gang> Cuts<G> {
    /// Appends the tracklets of one direction; returns whether one of them has four hits.
    #[inline(always)]
    fn way(
        &self,
        g: G,
        ([a, c, b, d], per_span): ([usize; 4], f32),
        (near, track): (&Near<'_>, u32),
        out: &mut Out<'_>,
        lanes: &mut [u64; 2],
    ) -> bool {
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let Lists { first: firsts, len: lens } = near.lists;
        let all = (lens[a] * lens[c]) as usize;
        let mut full = Mask::first(g, 0);
        for at in (0..all).step_by(G::LANES) {
            let pairs = Pairs::new(g, near, [a, c], at);
            let on = Mask::first(g, all - at) & self.may_be(g, &pairs, per_span);
            lanes[0] += (all - at).min(G::LANES) as u64;
            lanes[1] += G::LANES as u64;
            if !on.any() {
                continue;
            }
            let Pairs { first, third, a: [ad, az], c: [cd, cz] } = pairs;
            let slope = (cd - ad) / (cz - az);
            let [near_a, near_c] = nearest(g, near, [b, d], slope, [[ad, az], [cd, cz]]);
            let has = [near_a.as_f32().lt(self.tolerance), near_c.as_f32().lt(self.tolerance)];
            let good = on & slope.abs().le(self.max_slope) & (has[0] | has[1]);
            full = full | good & has[0] & has[1];
            let place = inlined!(|plane: usize, number: U32<G>| number + whole(firsts[plane]));
            let other = inlined!(|plane: usize, key: U32<G>, has: Mask<G>| {
                has.select_u(place(plane, key & whole(SLOTS as u32 - 1)), whole(0))
            });
            let Out { row, places, len } = out;
            place(a, first).store_packed(&mut places[a][*len..], good);
            place(c, third).store_packed(&mut places[c][*len..], good);
            other(b, near_a, has[0]).store_packed(&mut places[b][*len..], good);
            let found = other(d, near_c, has[1]).store_packed(&mut places[d][*len..], good);
            whole(track).store(&mut row[*len..]);
            *len += found;
        }
        full.any()
    }

    /// Returns whether pairs may belong to a particle, judged by the nominal distance of their planes.
    #[inline(always)]
    fn may_be(&self, g: G, pairs: &Pairs<G>, per_span: f32) -> Mask<G> {
        let Pairs { a: [ad, az], c: [cd, _], .. } = pairs;
        let slope = (*cd - *ad) * F32::splat(g, per_span);
        let apart = slope.mul_add(self.kink - *az, *ad);
        slope.abs().le(self.max_slope * F32::splat(g, SPAN_MARGIN))
            & apart.abs().le(slope.abs().mul_add(self.apart[1], self.apart[0]))
    }
}

impl<G: Gang> Pairs<G> {
    /// Returns a gang of pairs of hits in two planes from number `at` on; the third hit changes fastest.
    #[inline(always)]
    fn new(g: G, &Near { d, z, lists }: &Near<'_>, [a, c]: [usize; 2], at: usize) -> Self {
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let thirds = lists.len[c];
        let number = U32::iota(g) + whole(at as u32);
        let first = (number * whole(RECIPROCAL[thirds as usize])).shr::<16>();
        let third = number - first * whole(thirds);
        let from = inlined!(|column: &[f32], plane: usize, at: U32<G>| {
            pick(&column[lists.first[plane] as usize..], at)
        });
        Self {
            first,
            third,
            a: [from(d, a, first), from(z, a, first)],
            c: [from(d, c, third), from(z, c, third)],
        }
    }
}

/// Returns the hits of two planes nearest to lines through one hit each: distances with the hits' numbers in the lowest
/// bits. One loop serves both planes, since one loop end is mispredicted less often than two; the last hit of the
/// shorter list is repeated.
#[inline(always)]
fn nearest<G: Gang>(
    g: G,
    Near { d, z, lists }: &Near<'_>,
    planes: [usize; 2],
    slope: F32<G>,
    [a, c]: [[F32<G>; 2]; 2],
) -> [U32<G>; 2] {
    let whole = inlined!(|value: u32| U32::splat(g, value));
    // The bits of a NaN: no hit has such a distance.
    let mut keys = [whole(i32::MAX as u32); 2];
    let distance_bits = whole(i32::MAX as u32 & !((1 << SLOT_BITS) - 1));
    let bases = [slope.neg_mul_add(a[1], a[0]), slope.neg_mul_add(c[1], c[0])];
    let firsts = planes.map(|plane| lists.first[plane]);
    let lasts = planes.map(|plane| lists.len[plane].saturating_sub(1));
    for number in 0..=lasts[0].max(lasts[1]) {
        for_each!(side < 2 => {
            let number = number.min(lasts[side]);
            let place = (firsts[side] + number) as usize;
            let distance = slope.mul_add(F32::splat(g, z[place]), bases[side] - F32::splat(g, d[place]));
            keys[side] = keys[side].min(distance.to_bits() & distance_bits | whole(number));
        });
    }
    keys
}
