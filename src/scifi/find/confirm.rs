//! Confirmation: tracks in x take in hits of the u and v layers, one lane a track and its first such hit. What a hit
//! there lies off the track in x tells its y; the y of a track lie on a line from the origin.

use super::occupancy::Occupancy;
use super::triplets::Candidates;
use crate::event::Column;
use crate::scifi::config::SeedPass;
use crate::scifi::index::{Index, NO_HIT};
use crate::scifi::layers::{SLOPE, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, bend};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// The y that a half covers: a little beyond the middle, and to the ends of the fibres, mm.
const INNER: f32 = 2.0;
const OUTER: f32 = 2_700.0;
/// Layers in which a search begins.
const FIRST_LAYERS: usize = 2;
/// The winner of tracks that have none.
pub(super) const NONE: u32 = u32::MAX;

/// Where tracks in x are in the u and v layers, and the hits there that they may have: columns, layer by layer.
#[derive(Debug, Default)]
struct Ranges {
    x: [Column<f32>; UV_LAYERS],
    begin: [Column<u32>; UV_LAYERS],
    end: [Column<u32>; UV_LAYERS],
    /// The same three in one piece, the latter two as bits: one access where trials look them up.
    records: [Column<[f32; 4]>; UV_LAYERS],
    /// Fewest hits in these layers.
    need: Column<u32>,
}

/// Tracks in x with the hits that were found so far.
#[derive(Debug, Default)]
struct Trials {
    track: Column<u32>,
    hits: [Column<u32>; UV_LAYERS],
    /// y / z so far.
    slope: Column<f32>,
    /// Layers that may still be missed.
    spare: Column<u32>,
    len: usize,
}

/// One layer that trials from a first layer on are followed into.
#[derive(Clone, Copy)]
struct Step<'a> {
    ranges: &'a Ranges,
    first: usize,
    layer: usize,
}

/// Trials from a first layer on that have been through all layers.
#[derive(Clone, Copy)]
struct Followed<'a> {
    ranges: &'a Ranges,
    trials: &'a Trials,
    first: usize,
}

/// Tracks with enough hits, and their lines in y.
#[derive(Debug, Default)]
pub(super) struct Confirmed {
    pub(super) track: Column<u32>,
    pub(super) hits: [Column<u32>; UV_LAYERS],
    /// Number of hits in u and v.
    pub(super) count: Column<u32>,
    /// y at the reference and slope.
    pub(super) y: Column<f32>,
    pub(super) slope: Column<f32>,
    pub(super) chi2: Column<f32>,
    pub(super) len: usize,
    /// For each track in x the best of them.
    pub(super) winner: Column<u32>,
}

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct ConfirmScratch {
    ranges: Ranges,
    trials: Trials,
    pub(super) confirmed: Confirmed,
}

/// The layers, as numbers of a gang's type.
struct Layers {
    d: [f32; UV_LAYERS],
    bend: [f32; UV_LAYERS],
    z: [f32; UV_LAYERS],
    per_z: [f32; UV_LAYERS],
    slope: [f32; UV_LAYERS],
    per_slope: [f32; UV_LAYERS],
}

impl Layers {
    fn new() -> Self {
        let z = |layer: usize| Z[X_LAYERS + layer];
        Self {
            d: std::array::from_fn(|layer| (z(layer) - Z_REFERENCE) as f32),
            bend: std::array::from_fn(|layer| bend(z(layer) - Z_REFERENCE) as f32),
            z: std::array::from_fn(|layer| z(layer) as f32),
            per_z: std::array::from_fn(|layer| (1.0 / z(layer)) as f32),
            slope: SLOPE.map(|slope| slope as f32),
            per_slope: SLOPE.map(|slope| (1.0 / slope) as f32),
        }
    }
}

/// A half in which tracks are confirmed, and what they are.
pub(super) struct Half<'a> {
    pub(super) index: &'a Index,
    pub(super) half: usize,
    pub(super) pass: &'a SeedPass,
    pub(super) candidates: &'a Candidates,
    /// The tracks in x: numbers of candidates.
    pub(super) tracks: &'a Column<u32>,
}

impl ConfirmScratch {
    /// Confirms the tracks of a half.
    #[inline(always)]
    pub(super) fn confirm<G: Gang>(&mut self, g: G, of: &Half<'_>, counts: &mut Occupancy) {
        let layers = Layers::new();
        let Self { ranges, trials, confirmed } = self;
        ranges.find(g, &layers, of);
        confirmed.len = 0;
        for first in 0..FIRST_LAYERS {
            trials.begin(g, &layers, of, ranges, first);
            for layer in first + 1..UV_LAYERS {
                trials.follow(g, &layers, of, Step { ranges, first, layer }, counts);
            }
            confirmed.fit(g, &layers, of, Followed { ranges, trials, first }, counts);
        }
        confirmed.choose(of.tracks.len());
    }
}

impl Ranges {
    /// Where the tracks are in each layer, and the hits there with a y that the half has.
    #[inline(always)]
    fn find<G: Gang>(&mut self, g: G, layers: &Layers, of: &Half<'_>) {
        let tracks = of.tracks.len();
        self.x.iter_mut().for_each(|column| column.set_len(tracks));
        self.begin.iter_mut().for_each(|column| column.set_len(tracks));
        self.end.iter_mut().for_each(|column| column.set_len(tracks));
        self.need.set_len(tracks);
        let (low, high) = if of.half == 0 { (-OUTER, INNER) } else { (-INNER, OUTER) };
        let (one, none) = (U32::splat(g, 1), U32::splat(g, NO_HIT));
        for at in (0..tracks).step_by(G::LANES) {
            let candidate = U32::load(g, &of.tracks.padded()[at..]);
            let mut need = U32::splat(g, of.pass.min_hits);
            for column in &of.candidates.hits {
                let hit = U32::gather(column.padded(), candidate);
                need = none.lt(hit).select_u(need - one, need);
            }
            let need = need.max(U32::splat(g, of.pass.min_uv_hits));
            need.store(&mut self.need.padded_mut()[at..]);
            let [a, b, c] = of.candidates.parameters.each_ref().map(
                #[inline(always)]
                |column| F32::gather(column.padded(), candidate),
            );
            for layer in 0..UV_LAYERS {
                let value = |value| F32::splat(g, value);
                let x = c.mul_add(value(layers.bend[layer]), b.mul_add(value(layers.d[layer]), a));
                let slope = value(layers.slope[layer]);
                let (from, to) = (slope.neg_mul_add(value(low), x), slope.neg_mul_add(value(high), x));
                let searched = of.index.layer(of.half, X_LAYERS + layer);
                let (begin, _) = searched.lower_bound(g, from.min(to));
                let (end, _) = searched.lower_bound(g, from.max(to));
                // As published: the first hit beyond the end, too.
                let end = (end + one).min(U32::splat(g, searched.end));
                x.store(&mut self.x[layer].padded_mut()[at..]);
                begin.store(&mut self.begin[layer].padded_mut()[at..]);
                end.max(begin).store(&mut self.end[layer].padded_mut()[at..]);
            }
        }
        for layer in 0..UV_LAYERS {
            self.records[layer].set_len(tracks);
            for track in 0..tracks {
                let bits = [self.begin[layer][track], self.end[layer][track]].map(f32::from_bits);
                self.records[layer][track] = [self.x[layer][track], bits[0], bits[1], 0.0];
            }
        }
    }
}

impl Trials {
    /// One trial for each track and each of its hits in layer `first`.
    #[inline(always)]
    fn begin<G: Gang>(&mut self, g: G, layers: &Layers, of: &Half<'_>, ranges: &Ranges, first: usize) {
        self.len = 0;
        let most = (UV_LAYERS - first) as u32;
        for track in 0..of.tracks.len() {
            let (begin, end) = (ranges.begin[first][track] as usize, ranges.end[first][track] as usize);
            let need = ranges.need[track];
            if need > most {
                continue;
            }
            self.reserve(end - begin);
            let x = F32::splat(g, ranges.x[first][track]);
            for at in (begin..end).step_by(G::LANES) {
                let hit = U32::splat(g, at as u32) + U32::iota(g);
                let y =
                    (x - F32::load(g, &of.index.x.padded()[at..])) * F32::splat(g, layers.per_slope[first]);
                let to = self.len + at - begin;
                U32::splat(g, track as u32).store(&mut self.track.padded_mut()[to..]);
                U32::splat(g, most - need).store(&mut self.spare.padded_mut()[to..]);
                hit.store(&mut self.hits[first].padded_mut()[to..]);
                (y * F32::splat(g, layers.per_z[first])).store(&mut self.slope.padded_mut()[to..]);
            }
            self.len += end - begin;
        }
    }

    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        let len = self.len + more;
        self.hits.iter_mut().for_each(|column| column.reserve_total(len));
        self.track.reserve_total(len);
        self.spare.reserve_total(len);
        self.slope.reserve_total(len);
    }

    /// Takes in the nearest hit of a layer, and drops the trials that cannot get enough hits any more.
    #[inline(always)]
    fn follow<G: Gang>(
        &mut self,
        g: G,
        layers: &Layers,
        of: &Half<'_>,
        Step { ranges, first, layer }: Step<'_>,
        counts: &mut Occupancy,
    ) {
        let searched = of.index.layer(of.half, X_LAYERS + layer);
        let value = |value| F32::splat(g, value);
        let (one, none) = (U32::splat(g, 1), U32::splat(g, NO_HIT));
        let mut kept = 0;
        for at in (0..self.len).step_by(G::LANES) {
            let here = Mask::first(g, self.len - at);
            counts.add(g, here);
            let track = U32::load(g, &self.track.padded()[at..]);
            let slope = F32::load(g, &self.slope.padded()[at..]);
            let spare = U32::load(g, &self.spare.padded()[at..]);
            let [track_x, begin, end, _] =
                F32::load_records(g, ranges.records[layer].padded(), &self.track.padded()[at..]);
            let (begin, end) = (begin.to_bits(), end.to_bits());
            let expected = (slope * value(layers.z[layer])).neg_mul_add(value(layers.slope[layer]), track_x);
            let nearest = searched.nearest_within(g, expected, begin, end);
            let is_near = nearest.distance.lt(value(of.pass.uv_tolerance));
            let y = (track_x - nearest.x) * value(layers.per_slope[layer]);
            let mean = y.mul_add(value(layers.per_z[layer]), slope) * value(0.5);
            let alive = (is_near | none.lt(spare)) & here;
            for column in &mut self.hits[first..layer] {
                U32::load(g, &column.padded()[at..]).store_packed(&mut column.padded_mut()[kept..], alive);
            }
            let hit = is_near.select_u(nearest.hit, none);
            hit.store_packed(&mut self.hits[layer].padded_mut()[kept..], alive);
            track.store_packed(&mut self.track.padded_mut()[kept..], alive);
            let slope = is_near.select_f(mean, slope);
            slope.store_packed(&mut self.slope.padded_mut()[kept..], alive);
            let spare = is_near.select_u(spare, spare - one);
            kept += spare.store_packed(&mut self.spare.padded_mut()[kept..], alive);
        }
        self.len = kept;
    }
}

impl Confirmed {
    /// Fits lines to the y of the trials that are left, and appends them.
    #[inline(always)]
    fn fit<G: Gang>(
        &mut self,
        g: G,
        layers: &Layers,
        of: &Half<'_>,
        Followed { ranges, trials, first }: Followed<'_>,
        counts: &mut Occupancy,
    ) {
        let to = self.len;
        self.len += trials.len;
        self.hits.iter_mut().for_each(|column| column.set_len(to + trials.len));
        for column in [&mut self.track, &mut self.count] {
            column.set_len(to + trials.len);
        }
        for column in [&mut self.y, &mut self.slope, &mut self.chi2] {
            column.set_len(to + trials.len);
        }
        let (zero, one, none) = (F32::splat(g, 0.0), F32::splat(g, 1.0), U32::splat(g, NO_HIT));
        for at in (0..trials.len).step_by(G::LANES) {
            counts.add(g, Mask::first(g, trials.len - at));
            let track = U32::load(g, &trials.track.padded()[at..]);
            let mut y = [zero; UV_LAYERS];
            let mut there = [Mask::first(g, 0); UV_LAYERS];
            let mut sums = [zero; 5];
            for layer in 0..UV_LAYERS {
                let hit = match layer < first {
                    true => none,
                    false => U32::load(g, &trials.hits[layer].padded()[at..]),
                };
                hit.store(&mut self.hits[layer].padded_mut()[to + at..]);
                let x = F32::gather(ranges.x[layer].padded(), track);
                let hit_x = F32::gather(of.index.x.padded(), hit);
                there[layer] = none.lt(hit);
                y[layer] = (x - hit_x) * F32::splat(g, layers.per_slope[layer]);
                let d = F32::splat(g, layers.d[layer]);
                let [n, sum_d, sum_dd, sum_y, sum_dy] = sums;
                let with =
                    [n + one, sum_d + d, d.mul_add(d, sum_dd), sum_y + y[layer], d.mul_add(y[layer], sum_dy)];
                for (sum, with) in sums.iter_mut().zip(with) {
                    *sum = there[layer].select_f(with, *sum);
                }
            }
            let [n, sum_d, sum_dd, sum_y, sum_dy] = sums;
            let determinant = n.mul_add(sum_dd, -(sum_d * sum_d));
            let slope = n.mul_add(sum_dy, -(sum_d * sum_y)) / determinant;
            let at_reference = slope.neg_mul_add(sum_d, sum_y) / n;
            let mut chi2 = zero;
            for layer in 0..UV_LAYERS {
                let left = y[layer] - slope.mul_add(F32::splat(g, layers.d[layer]), at_reference);
                chi2 = there[layer].select_f(left.mul_add(left, chi2), chi2);
            }
            track.store(&mut self.track.padded_mut()[to + at..]);
            n.to_i32().to_bits().store(&mut self.count.padded_mut()[to + at..]);
            at_reference.store(&mut self.y.padded_mut()[to + at..]);
            slope.store(&mut self.slope.padded_mut()[to + at..]);
            chi2.store(&mut self.chi2.padded_mut()[to + at..]);
        }
    }

    /// For each track the one with most hits, then smallest chi2, then the first.
    #[inline(always)]
    fn choose(&mut self, tracks: usize) {
        self.winner.set_len(tracks);
        self.winner.fill(NONE);
        for number in 0..self.len {
            let winner = &mut self.winner[self.track[number] as usize];
            let best = *winner as usize;
            let is_better = *winner == NONE
                || self.count[number] > self.count[best]
                || self.count[number] == self.count[best] && self.chi2[number] < self.chi2[best];
            *winner = if is_better { number as u32 } else { *winner };
        }
    }
}
