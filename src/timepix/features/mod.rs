//! Features of clusters: sums over their hits, then shapes from the sums.
//!
//! Sums add whole numbers, so that the order does not matter; shapes are a few IEEE operations on the sums, and the
//! same on every machine. Positions are relative to the cluster's first hit, which keeps sums small.

mod shapes;
mod sums;

use super::calibrate::{CHUNK as HITS, Calibration};
use crate::event::{Column, PixelClusters, PixelHits};
use crate::simd::Gang;
use shapes::{Chunk, has_fused};
use std::ops::Range;
use sums::{CHUNK, Sums};

/// Number of clusters whose hits, as records, are in the first-level cache at the same time.
const PIECE: usize = 128;

/// Computes features of clusters, in memory that is reused.
#[derive(Debug, Default)]
pub struct FeatureMaker {
    /// Per hit of a piece: x, y, time over threshold, 0.
    records: Column<[f32; 4]>,
    /// Sum of the energies of all previous hits of the piece, per hit.
    energies: Column<u64>,
}

impl FeatureMaker {
    /// Computes the features of all clusters. Without `calibration` energies are 0.
    pub fn run<G: Gang>(&mut self, g: G, calibration: Option<&Calibration>, clusters: &mut PixelClusters) {
        let len = clusters.len();
        clusters.features.set_len(len);
        for first in (0..len).step_by(PIECE) {
            let piece = first..len.min(first + PIECE);
            if let Some(calibration) = calibration {
                add_up_energies_room(g, calibration, clusters, piece.clone(), &mut self.energies);
            }
            piece_room(g, clusters, piece, &mut self.records);
            if calibration.is_some() {
                self.write_energies(clusters, first..len.min(first + PIECE));
            } else {
                clusters.features.energy[first..len.min(first + PIECE)].fill(0);
            }
        }
    }

    fn write_energies(&self, clusters: &mut PixelClusters, piece: Range<usize>) {
        let starts = &clusters.hit_start[piece.start..=piece.end];
        let before = |hit: u32| self.energies[(hit - starts[0]) as usize];
        for (energy, ends) in clusters.features.energy[piece].iter_mut().zip(starts.windows(2)) {
            *energy = before(ends[1]) - before(ends[0]);
        }
    }
}

/// Returns the hits of some clusters.
fn hits_of(clusters: &PixelClusters, piece: Range<usize>) -> Range<usize> {
    clusters.hit_start[piece.start] as usize..clusters.hit_start[piece.end] as usize
}

#[inline(never)]
fn add_up_energies_room<G: Gang>(
    g: G,
    calibration: &Calibration,
    clusters: &PixelClusters,
    piece: Range<usize>,
    to: &mut Column<u64>,
) {
    let range = hits_of(clusters, piece);
    to.set_len(range.len() + 1);
    g.vectorize(
        #[inline(always)]
        || add_up_energies(calibration, &clusters.hits, range, to),
    );
}

/// Writes the sum of the energies before each hit: no branch depends on the ends of clusters.
#[inline(always)]
fn add_up_energies(calibration: &Calibration, hits: &PixelHits, range: Range<usize>, to: &mut [u64]) {
    let (xs, ys, tots) = (&hits.x[range.clone()], &hits.y[range.clone()], &hits.tot[range]);
    let (mut words, mut energies, mut sum) = ([0u64; HITS], [0u32; HITS], 0);
    to[0] = 0;
    let mut to = to[1..].chunks_mut(HITS);
    for ((xs, ys), tots) in xs.chunks(HITS).zip(ys.chunks(HITS)).zip(tots.chunks(HITS)) {
        for (word, ((&x, &y), &tot)) in words.iter_mut().zip(xs.iter().zip(ys).zip(tots)) {
            *word = u64::from(x) | u64::from(y) << 16 | u64::from(tot) << 32;
        }
        calibration.energies(&words[..xs.len()], &mut energies);
        for (to, energy) in to.next().unwrap_or_default().iter_mut().zip(&energies) {
            sum += u64::from(*energy);
            *to = sum;
        }
    }
}

/// Computes the features of a piece; a function of its own, which enters the feature context.
#[inline(never)]
fn piece_room<G: Gang>(
    g: G,
    clusters: &mut PixelClusters,
    piece: Range<usize>,
    records: &mut Column<[f32; 4]>,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let PixelClusters { hit_start, hits, features } = clusters;
            sums::write_records(g, &hit_start[piece.start..=piece.end], hits, records);
            let first = hit_start[piece.start];
            let (mut sums, mut chunk) = (Sums::default(), Chunk::default());
            for start in piece.clone().step_by(CHUNK) {
                let end = piece.end.min(start + CHUNK);
                sums.add_up(g, first, end - start, &hit_start.padded()[start..], records.padded());
                let starts = &hit_start[start..=end];
                chunk.read(starts, hits, &sums);
                chunk.add_up_large(starts, hits, &sums);
                chunk.shapes(has_fused(G::ISA));
                chunk.write(start, features);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ClusterFeatures;
    use crate::simd::Level;
    use proptest::prelude::*;
    use std::f64::consts::FRAC_PI_4;

    fn features(level: Level, rows: &[(i64, u16, u16, u16)]) -> ClusterFeatures {
        let mut clusters = PixelClusters::default();
        rows.iter().for_each(|&(time, x, y, tot)| clusters.hits.push(time, x, y, tot));
        clusters.hit_start.push(rows.len() as u32);
        let mut maker = FeatureMaker::default();
        crate::dispatch_isa!(level, g => maker.run(g, None, &mut clusters));
        clusters.features
    }

    #[test]
    fn lines_blocks_and_single_pixels() {
        for level in Level::supported() {
            let line: Vec<_> = (0..9).map(|i| (i, 10 + i as u16, 20, 5)).collect();
            let line = features(level, &line);
            assert_eq!((line.length[0], line.breadth[0], line.linearity[0]), (9.0, 1.0, 1.0));
            assert_eq!((line.duration[0], line.tot[0], line.height[0]), (8, 45, 5));
            assert_eq!(line.bounds.each_ref().map(|bound| bound[0]), [10, 20, 18, 20]);
            assert_eq!((line.centroid[0][0], line.mean[1][0]), (14.0, 20.0));

            let block: Vec<_> = (0..25).map(|i| (0, 100 - i % 5, i / 5, i)).collect();
            let block = features(level, &block);
            assert_eq!((block.length[0], block.breadth[0], block.linearity[0]), (5.0, 5.0, 0.0));
            assert_eq!(block.roundness[0], 1.0);
            assert_eq!((block.mean[0][0], block.centroid[1][0]), (98.0, 850.0 / 300.0));

            let one = features(level, &[(-7, 255, 255, 0)]);
            assert_eq!((one.length[0], one.linearity[0], one.roundness[0], one.time[0]), (1.0, 0.0, 1.0, -7));
            assert_eq!((one.centroid[0][0], one.energy[0]), (255.0, 0));
        }
    }

    /// Computes the features by their definitions in the module documentation, hit by hit.
    fn expected(rows: &[(i64, u16, u16, u16)]) -> ([u32; 3], [u16; 4], [f32; 8]) {
        let (n, x0, y0) = (rows.len() as f64, f64::from(rows[0].1), f64::from(rows[0].2));
        let sum = |of: &dyn Fn(f64, f64, f64) -> f64| {
            rows.iter().map(|row| of(f64::from(row.1) - x0, f64::from(row.2) - y0, row.3.into())).sum::<f64>()
        };
        let (x, y, tot) = (sum(&|x, _, _| x), sum(&|_, y, _| y), sum(&|_, _, tot| tot));
        let (wx, wy) = (sum(&|x, _, tot| x * tot), sum(&|_, y, tot| y * tot));
        let (weight, wx, wy) = if tot > 0.0 { (tot, wx, wy) } else { (n, x, y) };
        let var_x = n * sum(&|x, _, _| x * x) - x * x;
        let var_y = n * sum(&|_, y, _| y * y) - y * y;
        let covar = n * sum(&|x, y, _| x * y) - x * y;
        let (difference, all) = (var_x - var_y, var_x + var_y);
        let root = (difference * difference + 4.0 * (covar * covar)).sqrt();
        let scale = 1.0 / (n * n);
        let (along, across) = (6.0 * (all + root) * scale + 1.0, 6.0 * (all - root).max(0.0) * scale + 1.0);
        let linearity = if all > 0.0 { root / all } else { 0.0 };
        let floats =
            [x0 + wx / weight, y0 + wy / weight, x0 + x / n, y0 + y / n, along.sqrt(), across.sqrt()];
        let [a, b, c, d, e, f] = floats;
        let floats =
            [a, b, c, d, e, f, linearity, (n / (FRAC_PI_4 * along)).min(1.0)].map(|value| value as f32);
        let duration = (rows[rows.len() - 1].0 - rows[0].0) as u32;
        let height = rows.iter().map(|row| row.3).max().unwrap_or(0);
        let bound = |of: fn(&(i64, u16, u16, u16)) -> u16| rows.iter().map(of);
        let (xs, ys) = (|| bound(|row| row.1), || bound(|row| row.2));
        let bounds = [xs().min(), ys().min(), xs().max(), ys().max()].map(Option::unwrap_or_default);
        ([duration, tot as u32, height.into()], bounds, floats)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Tests small and large clusters in any order, on sensors of any size.
        #[test]
        fn every_cluster_has_the_features_of_its_hits(
            sizes in prop::collection::vec(prop_oneof![1usize..6, 1usize..60, 20usize..300], 1..60),
            random in any::<u64>(),
            bits in 1u32..=16,
        ) {
            let (mut clusters, mut random, mut rows) = (PixelClusters::default(), random, Vec::new());
            for size in sizes {
                let cluster: Vec<_> = (0..size as i64).map(|time| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let value = |at: u32| ((random >> at) as u16) >> (16 - bits);
                    (time * 3, value(48), value(32), value(40) / 3)
                }).collect();
                cluster.iter().for_each(|&(time, x, y, tot)| clusters.hits.push(time, x, y, tot));
                clusters.hit_start.push(clusters.hits.len() as u32);
                rows.push(cluster);
            }
            for level in Level::supported() {
                let mut maker = FeatureMaker::default();
                crate::dispatch_isa!(level, g => maker.run(g, None, &mut clusters));
                let features = &clusters.features;
                for (i, rows) in rows.iter().enumerate() {
                    let whole = [features.duration[i], features.tot[i], features.height[i].into()];
                    let bounds = features.bounds.each_ref().map(|bound| bound[i]);
                    prop_assert_eq!((whole, bounds, features.floats().map(|of| of[i])), expected(rows), "{}", level);
                }
            }
        }

    }
}
