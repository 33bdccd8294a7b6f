//! [`Grouper`]: groups time-ordered hits by their labels into clusters.

use super::labels::{Labels, PARTS, runs_of};
use super::sort::{Packing, extent_room, pack_room, unpack_room};
use crate::event::{Column, PixelClusters, PixelHits};
use crate::simd::{Gang, Level};
use std::ops::Range;

/// Moves the hits of each cluster together.
#[derive(Debug)]
pub(super) struct Grouper {
    level: Level,
    /// Position of the next hit, per cluster.
    indices: Column<u32>,
    /// Hits in order of time, and cluster by cluster: a whole hit per word, which is written at once and not in four places.
    words: Column<u64>,
    grouped: Column<u64>,
    /// Grouped hits that do not fit a word: time, and x, y, time over threshold.
    records: Column<[u64; 2]>,
}

impl Grouper {
    pub fn new(level: Level) -> Self {
        let (indices, words, grouped, records) = Default::default();
        Self { level, indices, words, grouped, records }
    }

    /// Appends complete clusters, without features, in the order of their numbers. Clusters before the first of
    /// `table_ends` go to the first table, the following clusters before the second one to the second table, and so
    /// on; the last of `table_ends` is the number of all clusters.
    pub fn run<const N: usize>(
        &mut self,
        hits: &PixelHits,
        labels: &Labels,
        table_ends: [usize; N],
        leaves: impl Fn(usize) -> bool,
        mut out: [&mut PixelClusters; N],
    ) {
        let ends = self.place(&labels.counts, labels.of.len(), table_ends, leaves, &mut out);
        if labels.runs.is_empty() {
            self.by_hits(hits, &labels.of, ends, out);
        } else {
            self.by_runs(hits, labels, [table_ends, ends], out);
        }
    }

    /// Moves hits one by one. The hits of each table end at one of `ends`.
    fn by_hits<const N: usize>(
        &mut self,
        hits: &PixelHits,
        labels: &[u32],
        ends: [usize; N],
        out: [&mut PixelClusters; N],
    ) {
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

    /// Moves hits run by run, column by column. `ends` gives the end of the clusters and the end of their hits, for each table.
    fn by_runs<const N: usize>(
        &mut self,
        hits: &PixelHits,
        labels: &Labels,
        ends: [[usize; N]; 2],
        out: [&mut PixelClusters; N],
    ) {
        let mut begin = [0; 2];
        for (i, out) in out.into_iter().enumerate() {
            let end = ends.map(|ends| ends[i]);
            let table = [begin[0]..end[0], begin[1]..end[1]];
            crate::dispatch_isa!(self.level, g => {
                move_room(g, hits, labels, &mut self.indices, table, &mut out.hits)
            });
            begin = end;
        }
    }

    /// Computes the positions of the hits of each cluster, and writes the offsets of leaving clusters. Returns the end of
    /// the hits of each table.
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
        // Hits of staying clusters come after the others, which saves a branch per hit.
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

/// Appends the runs of the leaving clusters in `clusters`, whose hits have the positions `places`, and advances the
/// positions of these clusters. Staying clusters have other positions.
#[inline(never)]
fn move_room<G: Gang>(
    g: G,
    hits: &PixelHits,
    labels: &Labels,
    indices: &mut [u32],
    [clusters, places]: [Range<usize>; 2],
    out: &mut PixelHits,
) {
    let before = out.len();
    out.set_len(before + places.len());
    let PixelHits { time, x, y, tot } = out;
    let (time, x) = (&mut time[before..], &mut x[before..]);
    let (y, tot) = (&mut y[before..], &mut tot[before..]);
    g.vectorize(
        #[inline(always)]
        || {
            for run in runs_of(&labels.runs, labels.of.len()) {
                let cluster = labels.of[run.start] as usize;
                let index = &mut indices[cluster];
                let place = *index as usize;
                if clusters.contains(&cluster) && places.contains(&place) {
                    *index += run.len() as u32;
                    let to = place - places.start..place - places.start + run.len();
                    move_run(&hits.time[run.clone()], &mut time[to.clone()]);
                    move_run(&hits.x[run.clone()], &mut x[to.clone()]);
                    move_run(&hits.y[run.clone()], &mut y[to.clone()]);
                    move_run(&hits.tot[run], &mut tot[to]);
                }
            }
        },
    );
}

/// Copies a run in pieces of one length, of which the last two may overlap: for short runs a function call would take longer.
#[inline(always)]
fn move_run<T: Copy>(from: &[T], to: &mut [T]) {
    if from.len() >= 256 {
        to.copy_from_slice(from);
    } else if from.len() >= 16 {
        move_pieces::<T, 16>(from, to);
    } else if from.len() >= 4 {
        move_pieces::<T, 4>(from, to);
    } else {
        from.iter().zip(to).for_each(|(from, to)| *to = *from);
    }
}

#[inline(always)]
fn move_pieces<T: Copy, const N: usize>(from: &[T], to: &mut [T]) {
    let (pieces, _) = from.as_chunks::<N>();
    let (places, _) = to.as_chunks_mut::<N>();
    pieces.iter().zip(places).for_each(|(piece, place)| *place = *piece);
    if let (Some(last), Some(place)) = (from.last_chunk::<N>(), to.last_chunk_mut::<N>()) {
        *place = *last;
    }
}

#[inline(never)]
fn scatter<T: Copy>(labels: &[u32], indices: &mut [u32], of: impl Fn(usize) -> T, to: &mut [T]) {
    for (i, label) in labels.iter().enumerate() {
        let index = &mut indices[*label as usize];
        to[*index as usize] = of(i);
        *index += 1;
    }
}
