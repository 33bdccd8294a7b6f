//! [`Labels`]: the cluster of each hit, and the number of hits of each cluster.

use crate::event::Column;
use crate::simd::varying::{Mask, U32};
use crate::simd::{Gang, Level};

/// Number of counters per cluster. Every second hit has its own counter: a single one would wait for its own store, hit
/// after hit of a large cluster.
pub(super) const PARTS: usize = 2;
/// Average length of runs from which on hits are counted and moved run by run.
const LONG: usize = 6;

/// Clusters of time-ordered hits, by number.
#[derive(Debug)]
pub(super) struct Labels {
    level: Level,
    /// Number of the cluster, per hit.
    pub of: Column<u32>,
    /// Partial counts of the hits of each cluster, which add up to its number of hits.
    pub counts: Column<[u32; PARTS]>,
    /// First hit of each run of successive hits of one cluster; empty when runs are short.
    pub runs: Column<u32>,
    /// Whether the last hits had long runs: successive blocks of a stream are similar.
    are_long: bool,
}

impl Labels {
    pub fn new(level: Level) -> Self {
        let (of, counts, runs) = Default::default();
        Self { level, of, counts, runs, are_long: false }
    }

    /// Counts the hits of each of the `clusters` clusters. `number`, if any, gives the number of the cluster for each
    /// label, and the labels are replaced by these numbers.
    pub fn count(&mut self, clusters: usize, number: Option<&[u32]>) {
        let Self { level, of, counts, runs, are_long } = self;
        counts.set_len(clusters);
        counts.fill([0; PARTS]);
        runs.clear();
        if *are_long {
            if let Some(number) = number {
                of.iter_mut().for_each(|label| *label = number[*label as usize]);
            }
        } else if let Some(number) = number {
            number_and_count(of, number, counts);
        } else {
            count(of, counts);
        }
        let is_counted = !*are_long;
        *are_long = crate::dispatch_isa!(*level, g => count_runs_room(g, of)) * LONG <= of.len();
        if *are_long {
            crate::dispatch_isa!(*level, g => list_runs_room(g, of, runs));
        }
        match (is_counted, *are_long) {
            (true, _) => {}
            (false, true) => {
                runs_of(runs, of.len()).for_each(|run| counts[of[run.start] as usize][0] += run.len() as u32)
            }
            (false, false) => count(of, counts),
        }
    }
}

/// Returns the runs that begin at `runs`; the last one ends at hit `hits`.
pub(super) fn runs_of(runs: &[u32], hits: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let ends = runs.iter().skip(1).map(|end| *end as usize).chain([hits]);
    runs.iter().zip(ends).map(|(begin, end)| *begin as usize..end)
}

#[inline(never)]
fn number_and_count(labels: &mut [u32], number: &[u32], counts: &mut [[u32; PARTS]]) {
    let (pairs, last) = labels.as_chunks_mut::<PARTS>();
    for pair in pairs {
        for (part, label) in pair.iter_mut().enumerate() {
            *label = number[*label as usize];
            counts[*label as usize][part] += 1;
        }
    }
    for label in last {
        *label = number[*label as usize];
        counts[*label as usize][0] += 1;
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

/// Returns the number of runs.
#[inline(never)]
fn count_runs_room<G: Gang>(g: G, labels: &[u32]) -> usize {
    g.vectorize(
        #[inline(always)]
        || {
            let next = labels.iter().skip(1);
            let ends = labels.iter().zip(next).fold(0, |ends, (a, b)| ends + u32::from(a != b));
            ends as usize + usize::from(!labels.is_empty())
        },
    )
}

/// Lists the first hit of each run.
#[inline(never)]
fn list_runs_room<G: Gang>(g: G, labels: &Column<u32>, runs: &mut Column<u32>) {
    let n = labels.len();
    runs.set_len(n);
    let Some(first) = runs.first_mut() else { return };
    *first = 0;
    let mut count = 1;
    g.vectorize(
        #[inline(always)]
        || {
            let labels = labels.padded();
            for start in (1..n).step_by(G::LANES) {
                let goes_on = U32::load(g, &labels[start..]).eq(U32::load(g, &labels[start - 1..]));
                let hit = U32::iota(g) + U32::splat(g, start as u32);
                let begins = Mask::first(g, n - start).and_not(goes_on);
                count += hit.store_packed(&mut runs.padded_mut()[count..], begins);
            }
        },
    );
    runs.set_len(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_counted_alike_with_long_runs_and_with_short_ones() {
        for level in Level::supported() {
            let mut labels = Labels::new(level);
            // Blocks of long and of short runs follow one another in every combination.
            for len in [1, 1, 50, 50, 2, 7, 7, 1, 500] {
                for hits in [0, 1, 2, 63, 64, 65, 1000] {
                    for number in [None, Some([3, 2, 1, 0].as_slice())] {
                        let given = (0..hits).map(|i| (i / len * 7 % 4) as u32);
                        labels.of = given.clone().collect();
                        labels.count(4, number);
                        let expected: Vec<u32> = given.map(|i| number.map_or(i, |n| n[i as usize])).collect();
                        assert_eq!(labels.of[..], expected[..]);
                        for (cluster, count) in labels.counts.iter().enumerate() {
                            let of = expected.iter().filter(|i| **i as usize == cluster);
                            assert_eq!(count.iter().sum::<u32>() as usize, of.count(), "{level}, {len}");
                        }
                        if !labels.runs.is_empty() {
                            let runs: Vec<_> = runs_of(&labels.runs, hits).collect();
                            assert!(runs.len() * LONG <= hits);
                            assert!(runs.iter().flat_map(Clone::clone).eq(0..hits));
                            assert!(
                                runs.iter()
                                    .all(|run| labels.of[run.clone()].windows(2).all(|w| w[0] == w[1]))
                            );
                            assert!(runs.windows(2).all(|w| labels.of[w[0].start] != labels.of[w[1].start]));
                        } else {
                            assert!(len < LONG || hits < LONG, "{level}, {len}, {hits}");
                        }
                    }
                }
            }
        }
    }
}
