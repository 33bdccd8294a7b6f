//! [`Sums`]: sums over the hits of small clusters, a cluster in each lane.
//!
//! Lanes add the second hit of their clusters, then the third, and so on, up to the last hit of the largest cluster, in
//! about twice as many turns as the mean number of hits. Nothing is stored per hit, and sums are columns.

use crate::event::{Column, PAD, PixelHits};
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, array_of, for_each, inlined};

/// Number of clusters that are processed at once.
pub(super) const CHUNK: usize = 16;
/// Fewest hits of a cluster that is added up separately, with hits instead of clusters in the lanes.
const LARGE: u32 = 24;
/// Largest distance of a pixel from the cluster's first hit, so that the sums fit 32 bits.
const FAR: i32 = 255;

/// Number of hits that are turned into records at once.
const ROUND: usize = 16;

// Reads go beyond the last hit, and beyond the last start.
const _: () = assert!(PAD >= ROUND && PAD > CHUNK);
// Limit of products of a time over threshold and a distance.
const _: () = assert!((LARGE as i64) * (FAR as i64) * (u16::MAX as i64) < 1 << 31);
// Limit of squares.
const _: () = assert!((LARGE as i64) * (FAR as i64) * (FAR as i64) < 1 << 31);

/// Sums of a chunk of clusters.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Number of hits; 0 after the last cluster.
    pub counts: [u32; CHUNK],
    /// Pixel of the first hit: x, y.
    pub first: [[u32; CHUNK]; 2],
    /// Sums of x, y, x^2, y^2, x y, tot, tot x, tot y, where x and y are relative to the first hit.
    pub products: [[i32; CHUNK]; 8],
    /// Smallest x, y, largest x, y, relative to the first hit; largest time over threshold.
    pub bounds: [[i32; CHUNK]; 4],
    pub height: [u32; CHUNK],
    /// A bit per cluster, which is 1 if the cluster has to be added up separately.
    pub large: u32,
}

/// Writes records of the hits of clusters, at least of the small clusters. `starts` are the first hits of the clusters, and
/// the end of the last.
#[inline(always)]
pub(super) fn write_records<G: Gang>(g: G, starts: &[u32], hits: &PixelHits, to: &mut Column<[f32; 4]>) {
    let first = starts[0] as usize;
    let columns = [&hits.x, &hits.y, &hits.tot].map(|column| &column.padded()[first..]);
    let clusters = starts.len() - 1;
    to.set_len(starts[clusters] as usize - first);
    let to = to.padded_mut();
    let mut write = inlined!(|begin: u32, end: u32| {
        for i in (begin as usize - first..end as usize - first).step_by(ROUND) {
            let mut wide = [[0u32; ROUND]; 3];
            for_each!(column < 3 => {
                let from = &columns[column][i..i + ROUND];
                for k in 0..ROUND {
                    wide[column][k] = from[k].into();
                }
            });
            for k in (0..ROUND).step_by(G::LANES) {
                let [x, y, tot] = array_of!(column => U32::load(g, &wide[column][k..]).as_f32());
                F32::store_records([x, y, tot, F32::splat(g, 0.0)], &mut to[i + k..]);
            }
        }
    });
    for start in (0..clusters).step_by(CHUNK) {
        let starts = &starts[start..=clusters.min(start + CHUNK)];
        let (first, end) = (starts[0], starts[starts.len() - 1]);
        if end - first < LARGE * (starts.len() as u32 - 1) {
            write(first, end);
            continue;
        }
        for ends in starts.windows(2).filter(|ends| ends[1] - ends[0] < LARGE) {
            write(ends[0], ends[1]);
        }
    }
}

impl Sums {
    /// Adds up a chunk of clusters, whose hits begin at the first `clusters` of `starts` and end at the next start; the
    /// first record is hit number `first`.
    #[inline(always)]
    pub fn add_up<G: Gang>(
        &mut self,
        g: G,
        first: u32,
        clusters: usize,
        starts: &[u32],
        records: &[[f32; 4]],
    ) {
        (self.counts, self.large) = ([0; CHUNK], 0);
        let zero = U32::splat(g, 0);
        for from in (0..clusters).step_by(G::LANES) {
            let lanes = Mask::first(g, clusters - from);
            let begin = U32::load(g, &starts[from..]);
            let counts = lanes.select_u(U32::load(g, &starts[from + 1..]) - begin, zero);
            counts.store(&mut self.counts[from..]);
            let is_large = lanes.and_not(counts.lt(U32::splat(g, LARGE)));
            self.large |= (is_large.bits() as u32) << from;
            let counts = is_large.select_u(zero, counts);
            let most = counts.reduce_max(lanes);
            if most > 0 {
                let mut places = [0; CHUNK];
                lanes.select_u(begin - U32::splat(g, first), zero).store(&mut places);
                self.add_up_lanes(g, from, (&places, counts), most, records);
            }
        }
    }

    #[inline(always)]
    fn add_up_lanes<G: Gang>(
        &mut self,
        g: G,
        from: usize,
        (starts, counts): (&[u32; CHUNK], U32<G>),
        most: u32,
        records: &[[f32; 4]],
    ) {
        let zero = U32::splat(g, 0);
        let hit = inlined!(|number: u32| {
            let [x, y, tot, _] = F32::load_records(g, &records[number as usize..], starts);
            [x.to_bits(), y.to_bits(), tot.to_bits()]
        });
        let [x0, y0, tot0] = hit(0);
        let none = I32::splat(g, 0);
        let (mut sums, mut low, mut high) = ([none; 8], [none; 2], [none; 2]);
        let mut height = tot0;
        sums[5] = tot0.as_i32();
        for number in 1..most {
            let is_there = U32::splat(g, number).lt(counts);
            let [x, y, tot] = hit(number);
            let there = inlined!(|value: U32<G>| is_there.select_u(value, zero));
            let tot = there(tot);
            height = height.max(tot);
            let [x, y, tot] = [there(x - x0).as_i32(), there(y - y0).as_i32(), tot.as_i32()];
            let products = [x, y, x * x, y * y, x * y, tot, tot * x, tot * y];
            for k in 0..8 {
                sums[k] = sums[k] + products[k];
            }
            (low, high) = ([low[0].min(x), low[1].min(y)], [high[0].max(x), high[1].max(y)]);
        }
        let reach = I32::splat(g, FAR);
        let is_far = reach.lt(high[0].max(high[1])) | reach.lt((none - low[0]).max(none - low[1]));
        self.large |= (is_far.bits() as u32) << from;
        x0.store(&mut self.first[0][from..]);
        y0.store(&mut self.first[1][from..]);
        for (sum, to) in sums.into_iter().zip(&mut self.products) {
            sum.store(&mut to[from..]);
        }
        for (bound, to) in [low[0], low[1], high[0], high[1]].into_iter().zip(&mut self.bounds) {
            bound.store(&mut to[from..]);
        }
        height.store(&mut self.height[from..]);
    }
}
