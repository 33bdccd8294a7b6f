//! [`Grouper`]: groups time-ordered hits by their labels into clusters.

use crate::event::{Column, PixelClusters, PixelHits};
use crate::simd::{Gang, Level};

/// Every second hit has a counter of its own: one that counts hit after hit of a large cluster waits for its own store.
const PARTS: usize = 2;

/// Brings the hits of each cluster together.
#[derive(Debug)]
pub(super) struct Grouper {
    level: Level,
    /// Per cluster and part of the hits: how many hits.
    counts: Column<[u32; PARTS]>,
    /// Per cluster: where the next hit goes.
    indices: Column<u32>,
    /// Time, and x, y, time over threshold in one word: a hit is written at once and not in four places.
    records: Column<[u64; 2]>,
}

impl Grouper {
    pub fn new(level: Level) -> Self {
        Self { level, counts: Column::default(), indices: Column::default(), records: Column::default() }
    }

    /// Appends complete clusters, without features, in the order of their numbers: clusters before the first of
    /// `table_ends` to the first table, from there up to the second to the second, and so on; the last of
    /// `table_ends` is the number of all clusters.
    pub fn run<const N: usize>(
        &mut self,
        hits: &PixelHits,
        labels: &[u32],
        table_ends: [usize; N],
        leaves: impl Fn(usize) -> bool,
        mut out: [&mut PixelClusters; N],
    ) {
        let Self { counts, indices, records, .. } = self;
        let clusters = table_ends.last().copied().unwrap_or(0);
        indices.set_len(clusters);
        counts.set_len(clusters);
        counts.fill([0; PARTS]);
        count(labels, counts);
        // Those that stay go behind the others, which saves a branch per hit.
        let (mut front, mut back) = (0, labels.len() as u32);
        let (mut first, mut ends) = (0, [0; N]);
        for ((table_end, out), end) in table_ends.into_iter().zip(&mut out).zip(&mut ends) {
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
        records.set_len(labels.len());
        scatter(hits, labels, indices, records);
        let (level, mut begin) = (self.level, 0);
        for (out, end) in out.into_iter().zip(ends) {
            let records = &self.records[begin..end];
            crate::dispatch_isa!(level, g => unpack_room(g, records, &mut out.hits));
            begin = end;
        }
    }
}

#[inline(never)]
fn count(labels: &[u32], counts: &mut [[u32; PARTS]]) {
    let (pairs, last) = labels.as_chunks::<PARTS>();
    for pair in pairs {
        for (part, label) in pair.iter().enumerate() {
            counts[*label as usize][part] += 1;
        }
    }
    last.iter().for_each(|label| counts[*label as usize][0] += 1);
}

#[inline(never)]
fn scatter(hits: &PixelHits, labels: &[u32], indices: &mut [u32], to: &mut [[u64; 2]]) {
    let n = labels.len();
    let (time, x, y, tot) = (&hits.time[..n], &hits.x[..n], &hits.y[..n], &hits.tot[..n]);
    for i in 0..n {
        let index = &mut indices[labels[i] as usize];
        let rest = u64::from(x[i]) | u64::from(y[i]) << 16 | u64::from(tot[i]) << 32;
        to[*index as usize] = [time[i] as u64, rest];
        *index += 1;
    }
}

#[inline(never)]
fn unpack_room<G: Gang>(g: G, records: &[[u64; 2]], to: &mut PixelHits) {
    let start = to.len();
    to.set_len(start + records.len());
    let columns = (&mut to.time[start..], &mut to.x[start..], &mut to.y[start..], &mut to.tot[start..]);
    g.vectorize(
        #[inline(always)]
        || unpack(records, columns),
    );
}

#[inline(always)]
fn unpack(records: &[[u64; 2]], (time, x, y, tot): (&mut [i64], &mut [u16], &mut [u16], &mut [u16])) {
    let n = records.len();
    let (time, x, y, tot) = (&mut time[..n], &mut x[..n], &mut y[..n], &mut tot[..n]);
    for i in 0..n {
        let [first, rest] = records[i];
        time[i] = first as i64;
        x[i] = rest as u16;
        y[i] = (rest >> 16) as u16;
        tot[i] = (rest >> 32) as u16;
    }
}
