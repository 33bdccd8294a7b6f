//! [`Grouper`]: groups time-ordered hits by their labels into clusters.

use super::sort::{Packing, extent_room, pack_room, unpack_room};
use crate::event::{Column, PixelClusters, PixelHits};
use crate::simd::Level;

/// Every second hit has a counter of its own: one that counts hit after hit of a large cluster waits for its own store.
pub(super) const PARTS: usize = 2;

/// Brings the hits of each cluster together.
#[derive(Debug)]
pub(super) struct Grouper {
    level: Level,
    /// Per cluster: where the next hit goes.
    indices: Column<u32>,
    /// Hits in order of time, and cluster by cluster: whole hits, each written at once and not in four places.
    words: Column<u64>,
    grouped: Column<u64>,
    /// The same where hits do not fit a word: time, and x, y, time over threshold.
    records: Column<[u64; 2]>,
}

impl Grouper {
    pub fn new(level: Level) -> Self {
        let (indices, words, grouped, records) = Default::default();
        Self { level, indices, words, grouped, records }
    }

    /// Appends complete clusters, without features, in the order of their numbers: clusters before the first of
    /// `table_ends` to the first table, from there up to the second to the second, and so on; the last of
    /// `table_ends` is the number of all clusters. `counts` are the hits of each cluster, in two parts.
    pub fn run<const N: usize>(
        &mut self,
        hits: &PixelHits,
        (labels, counts): (&[u32], &[[u32; PARTS]]),
        table_ends: [usize; N],
        leaves: impl Fn(usize) -> bool,
        mut out: [&mut PixelClusters; N],
    ) {
        let ends = self.place(counts, labels.len(), table_ends, leaves, &mut out);
        let Self { level, indices, words, grouped, records } = self;
        let n = labels.len();
        let extent = crate::dispatch_isa!(*level, g => extent_room(g, hits, 0..n));
        let packing = Packing::of(extent);
        if let Some(packing) = packing {
            words.clear();
            grouped.set_len(n);
            crate::dispatch_isa!(*level, g => pack_room(g, packing, hits, 0..n, words));
            scatter(labels, indices, |i| words[i], grouped);
        } else {
            records.set_len(n);
            let rest =
                |i: usize| u64::from(hits.x[i]) | u64::from(hits.y[i]) << 16 | u64::from(hits.tot[i]) << 32;
            scatter(labels, indices, |i| [hits.time[i] as u64, rest(i)], records);
        }
        let mut begin = 0;
        for (out, end) in out.into_iter().zip(ends) {
            match packing {
                Some(packing) => {
                    let words = &grouped[begin..end];
                    crate::dispatch_isa!(*level, g => unpack_room(g, packing, words, &mut out.hits))
                }
                None => records[begin..end].iter().for_each(|[time, rest]| {
                    out.hits.push(*time as i64, *rest as u16, (rest >> 16) as u16, (rest >> 32) as u16)
                }),
            }
            begin = end;
        }
    }

    /// Says where the hits of each cluster go, and writes the offsets of those that leave. Returns where the hits of each table end.
    fn place<const N: usize>(
        &mut self,
        counts: &[[u32; PARTS]],
        hits: usize,
        table_ends: [usize; N],
        leaves: impl Fn(usize) -> bool,
        out: &mut [&mut PixelClusters; N],
    ) -> [usize; N] {
        let indices = &mut self.indices;
        indices.set_len(counts.len());
        // Those that stay go behind the others, which saves a branch per hit.
        let (mut front, mut back) = (0, hits as u32);
        let (mut first, mut ends) = (0, [0; N]);
        for ((table_end, out), end) in table_ends.into_iter().zip(out).zip(&mut ends) {
            let before = *out.hit_start.last().expect("offsets begin with 0");
            let (begin, mut len) = (front, out.hit_start.len());
            let counts = &counts[first..table_end];
            out.hit_start.set_len(len + counts.len());
            for (i, (index, count)) in indices[first..table_end].iter_mut().zip(counts).enumerate() {
                let size = count.iter().sum::<u32>();
                if leaves(first + i) {
                    *index = front;
                    front += size;
                    out.hit_start[len] = before + (front - begin);
                    len += 1;
                } else {
                    back -= size;
                    *index = back;
                }
            }
            out.hit_start.set_len(len);
            (first, *end) = (table_end, front as usize);
        }
        ends
    }
}

/// How many hits each of some clusters has, in parts.
#[inline(never)]
pub(super) fn count(labels: &[u32], clusters: usize, counts: &mut Column<[u32; PARTS]>) {
    counts.set_len(clusters);
    counts.fill([0; PARTS]);
    let (pairs, last) = labels.as_chunks::<PARTS>();
    for pair in pairs {
        for (part, label) in pair.iter().enumerate() {
            counts[*label as usize][part] += 1;
        }
    }
    last.iter().for_each(|label| counts[*label as usize][0] += 1);
}

#[inline(never)]
fn scatter<T: Copy>(labels: &[u32], indices: &mut [u32], of: impl Fn(usize) -> T, to: &mut [T]) {
    for (i, label) in labels.iter().enumerate() {
        let index = &mut indices[*label as usize];
        to[*index as usize] = of(i);
        *index += 1;
    }
}
