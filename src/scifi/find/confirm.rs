//! Confirmation: adds hits of the u and v layers to tracks in x; one pair of a track and its first u or v hit per lane.
//! The distance of a u or v hit from the track in x gives y; the y of a track's hits lie on a line from the origin.

use super::half::HalfHits;
use super::occupancy::Occupancy;
use super::triplets::Candidates;
use crate::event::Column;
use crate::scifi::config::SeedPass;
use crate::scifi::index::{FAR, Nearest};
use crate::scifi::layers::{SLOPE, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, bend};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, copies, inlined};

/// Range of y of a half: from a little beyond the middle to the ends of the fibres, mm.
const INNER: f32 = 2.0;
const OUTER: f32 = 2_700.0;
/// Layers in which a search begins.
const FIRST_LAYERS: usize = 2;
/// Number of hits that one step compares.
const UNROLL: usize = 4;
/// Winner of a track in x that has no confirmed track.
pub(super) const NONE: u32 = u32::MAX;

/// Places of tracks in x in the u and v layers, and the hits that they may have there: columns, layer by layer.
#[derive(Debug, Default)]
struct Ranges {
    x: [Column<f32>; UV_LAYERS],
    begin: [Column<u32>; UV_LAYERS],
    end: [Column<u32>; UV_LAYERS],
    /// Fewest hits in the u and v layers.
    need: Column<u32>,
    /// x of the hits that one track may have, layer by layer, followed by far ones, mm.
    hits: [Column<f32>; UV_LAYERS],
}

/// A track in x in one layer, and the hits that it may have there.
#[derive(Clone, Copy, Default)]
struct Window<'a> {
    /// x of the track at y = 0, mm.
    x: f32,
    /// x of the hits, followed by far ones, mm.
    hits: &'a [f32],
    /// Place of the first hit in the window, and the number of hits.
    begin: u32,
    len: usize,
}

/// A track in x that is followed from each of its hits in one layer.
#[derive(Clone, Copy)]
struct Start<'a> {
    track: usize,
    first: usize,
    /// Fewest hits in the u and v layers.
    need: u32,
    windows: &'a [Window<'a>; UV_LAYERS],
}

/// Tracks in x with enough hits.
#[derive(Debug, Default)]
struct Trials {
    track: Column<u32>,
    hits: [Column<u32>; UV_LAYERS],
    len: usize,
}

/// Tracks with enough hits, and their lines in y.
#[derive(Debug, Default)]
pub(super) struct Confirmed {
    pub(super) track: Column<u32>,
    pub(super) hits: [Column<u32>; UV_LAYERS],
    /// Number of hits in u and v.
    pub(super) count: Column<u32>,
    /// y at the reference, mm, and slope.
    pub(super) y: Column<f32>,
    pub(super) slope: Column<f32>,
    pub(super) chi2: Column<f32>,
    pub(super) len: usize,
    /// The best confirmed track for each track in x.
    pub(super) winner: Column<u32>,
}

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct ConfirmScratch {
    ranges: Ranges,
    trials: Trials,
    pub(super) confirmed: Confirmed,
}

/// Constants of the u and v layers, in single precision.
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
        let z = inlined!(|layer: usize| Z[X_LAYERS + layer]);
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

/// The tracks in x of a half that are to be confirmed.
pub(super) struct Half<'a> {
    pub(super) hits: HalfHits<'a>,
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
        trials.len = 0;
        for track in 0..of.tracks.len() {
            let mut need = ranges.need[track];
            let windows = ranges.windows(g, of.hits.x, track);
            for first in 0..FIRST_LAYERS {
                // A track with fewer hits than another one cannot win.
                need = trials.follow(g, &layers, of, Start { track, first, need, windows: &windows }, counts);
            }
        }
        confirmed.fit(g, &layers, of, ranges, trials);
        let fitted = trials.len.next_multiple_of(G::LANES);
        counts.add_all(trials.len, fitted);
        confirmed.choose(of.tracks.len());
    }
}

impl Ranges {
    /// Finds x of the tracks in each layer, and the hits there whose y is in the half.
    #[inline(always)]
    fn find<G: Gang>(&mut self, g: G, layers: &Layers, of: &Half<'_>) {
        let tracks = of.tracks.len();
        self.x.iter_mut().for_each(|column| column.set_len(tracks));
        self.begin.iter_mut().for_each(|column| column.set_len(tracks));
        self.end.iter_mut().for_each(|column| column.set_len(tracks));
        self.need.set_len(tracks);
        let (low, high) = if of.hits.half == 0 { (-OUTER, INNER) } else { (-INNER, OUTER) };
        let (one, none) = (U32::splat(g, 1), U32::splat(g, of.hits.index.none()));
        for at in (0..tracks).step_by(G::LANES) {
            let candidate = U32::load(g, &of.tracks.padded()[at..]);
            let mut need = U32::splat(g, of.pass.min_hits);
            for column in &of.candidates.hits {
                let hit = U32::gather(column.padded(), candidate);
                need = hit.eq(none).select_u(need, need - one);
            }
            let need = need.max(U32::splat(g, of.pass.min_uv_hits));
            need.store(&mut self.need.padded_mut()[at..]);
            let [a, b, c] = &of.candidates.parameters;
            let [a, b, c] = F32::gather_columns([a.padded(), b.padded(), c.padded()], candidate);
            for layer in 0..UV_LAYERS {
                let value = inlined!(|value| F32::splat(g, value));
                let x = c.mul_add(value(layers.bend[layer]), b.mul_add(value(layers.d[layer]), a));
                let slope = value(layers.slope[layer]);
                let (from, to) = (slope.neg_mul_add(value(low), x), slope.neg_mul_add(value(high), x));
                let searched = of.hits.layer(X_LAYERS + layer);
                let begin = searched.lower_bound(g, from.min(to));
                let end = searched.lower_bound(g, from.max(to));
                // As in the published search, the first hit beyond the end is included.
                let end = (end + one).min(U32::splat(g, searched.end));
                x.store(&mut self.x[layer].padded_mut()[at..]);
                begin.store(&mut self.begin[layer].padded_mut()[at..]);
                end.max(begin).store(&mut self.end[layer].padded_mut()[at..]);
            }
        }
    }

    /// Returns the windows of a track in all layers.
    #[inline(always)]
    fn windows<G: Gang>(&mut self, g: G, all: &[f32], track: usize) -> [Window<'_>; UV_LAYERS] {
        let Self { x, begin, end, hits, .. } = self;
        let mut windows = [Window::default(); UV_LAYERS];
        for (layer, (window, hits)) in windows.iter_mut().zip(hits).enumerate() {
            let (begin, end) = (begin[layer][track], end[layer][track]);
            let len = (end - begin) as usize;
            let padded = len + UNROLL + 1;
            hits.reserve_total(padded);
            let hits = hits.padded_mut();
            for at in (0..len).step_by(G::LANES) {
                F32::load(g, &all[begin as usize + at..]).store(&mut hits[at..]);
            }
            hits[len..padded].fill(FAR);
            *window = Window { x: x[layer][track], hits: &hits[..padded], begin, len };
        }
        windows
    }
}

impl Window<'_> {
    /// Returns the nearest hit to `x`, the lower one of two equally near hits, or a far one when there is none. All hits
    /// are compared in turn: they are few, and this is faster than a search with a table, which needs gathers.
    #[inline(always)]
    fn nearest<G: Gang>(&self, g: G, x: F32<G>) -> Nearest<G> {
        let mut place = U32::splat(g, self.begin);
        let (mut below_x, mut above_x) = (F32::splat(g, -FAR), F32::splat(g, self.hits[0]));
        for at in (0..self.len).step_by(UNROLL) {
            let hits: &[f32] = &self.hits[at..=at + UNROLL];
            for number in 0..UNROLL {
                let is_below = F32::splat(g, hits[number]).lt(x);
                below_x = is_below.select_f(F32::splat(g, hits[number]), below_x);
                above_x = is_below.select_f(F32::splat(g, hits[number + 1]), above_x);
                place = place.count(is_below);
            }
        }
        let (up, down) = (above_x - x, x - below_x);
        let is_below = down.le(up);
        Nearest {
            hit: is_below.select_u(place - U32::splat(g, 1), place),
            x: is_below.select_f(below_x, above_x),
            distance: is_below.select_f(down, up),
        }
    }
}

impl Trials {
    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        let len = self.len + more;
        self.hits.iter_mut().for_each(|column| column.reserve_total(len));
        self.track.reserve_total(len);
    }

    /// Follows a track from each of its hits in a first layer through the later layers, one lane per hit, and adds the
    /// nearest hit of each layer. Lanes that cannot get enough hits are dropped. Returns the number of hits of the best
    /// lane, or `need` when no lane is left.
    #[inline(always)]
    fn follow<G: Gang>(
        &mut self,
        g: G,
        layers: &Layers,
        of: &Half<'_>,
        Start { track, first, mut need, windows }: Start<'_>,
        counts: &mut Occupancy,
    ) -> u32 {
        let value = inlined!(|value| F32::splat(g, value));
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let none = U32::splat(g, of.hits.index.none());
        let from = &windows[first];
        self.reserve(from.len);
        for at in (0..from.len).step_by(G::LANES) {
            let Some(misses) = ((UV_LAYERS - first) as u32).checked_sub(need) else { break };
            let mut alive = Mask::first(g, from.len - at);
            let place = from.begin as usize + at;
            let mut hits = [none; UV_LAYERS];
            hits[first] = U32::splat(g, place as u32) + U32::iota(g);
            let y = (value(from.x) - F32::load(g, &of.hits.x[place..])) * value(layers.per_slope[first]);
            let mut slope = y * value(layers.per_z[first]);
            let mut spare = U32::splat(g, misses);
            for layer in first + 1..UV_LAYERS {
                counts.add(g, alive);
                let track_x = value(windows[layer].x);
                let expected =
                    (slope * value(layers.z[layer])).neg_mul_add(value(layers.slope[layer]), track_x);
                let nearest = windows[layer].nearest(g, expected);
                let is_near = nearest.distance.lt(value(of.pass.uv_tolerance));
                let y = (track_x - nearest.x) * value(layers.per_slope[layer]);
                let mean = y.mul_add(value(layers.per_z[layer]), slope) * value(0.5);
                alive = (is_near | zero.lt(spare)) & alive;
                if !alive.any() {
                    break;
                }
                hits[layer] = is_near.select_u(nearest.hit, none);
                slope = is_near.select_f(mean, slope);
                spare = is_near.select_u(spare, spare - one);
            }
            if alive.any() {
                need += spare.reduce_max(alive);
                U32::splat(g, track as u32).store(&mut self.track.padded_mut()[self.len..]);
                let mut count = 0;
                for (hit, column) in hits.into_iter().zip(&mut self.hits) {
                    count = hit.store_packed(&mut column.padded_mut()[self.len..], alive);
                }
                self.len += count;
            }
        }
        need
    }
}

impl Confirmed {
    /// Fits lines to the y of the trials, and appends them.
    #[inline(always)]
    fn fit<G: Gang>(&mut self, g: G, layers: &Layers, of: &Half<'_>, ranges: &Ranges, trials: &Trials) {
        self.len = trials.len;
        self.hits.iter_mut().for_each(|column| column.set_len(trials.len));
        for column in [&mut self.track, &mut self.count] {
            column.set_len(trials.len);
        }
        for column in [&mut self.y, &mut self.slope, &mut self.chi2] {
            column.set_len(trials.len);
        }
        let (zero, one) = (F32::splat(g, 0.0), F32::splat(g, 1.0));
        let none = U32::splat(g, of.hits.index.none());
        for at in (0..trials.len).step_by(G::LANES) {
            let track = U32::load(g, &trials.track.padded()[at..]);
            let mut y = [zero; UV_LAYERS];
            let mut there = [Mask::first(g, 0); UV_LAYERS];
            let mut sums: [_; 5] = copies(zero);
            for layer in 0..UV_LAYERS {
                let hit = U32::load(g, &trials.hits[layer].padded()[at..]);
                hit.store(&mut self.hits[layer].padded_mut()[at..]);
                let x = F32::gather(ranges.x[layer].padded(), track);
                let hit_x = F32::gather(of.hits.x, hit);
                there[layer] = hit.lt(none);
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
            track.store(&mut self.track.padded_mut()[at..]);
            n.to_i32().to_bits().store(&mut self.count.padded_mut()[at..]);
            at_reference.store(&mut self.y.padded_mut()[at..]);
            slope.store(&mut self.slope.padded_mut()[at..]);
            chi2.store(&mut self.chi2.padded_mut()[at..]);
        }
    }

    /// Chooses for each track the line with most hits, then with the smallest chi2, then the first one.
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
