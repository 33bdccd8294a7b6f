//! What clusters look like: sums over their hits, then shapes from the sums.
//!
//! Sums are of whole numbers, so their order does not matter; shapes are a few IEEE operations on them, the
//! same on every machine. Positions are counted from the cluster's first hit, which keeps sums small and
//! differences exact.

use super::calibrate::Calibration;
use crate::event::{ClusterFeatures, Column, PixelClusters, PixelHits};
use crate::simd::Gang;
use std::f64::consts::FRAC_PI_4;
use std::ops::Range;

/// Makes features; holds the sums between the two steps.
#[derive(Debug, Default)]
pub struct FeatureMaker {
    /// Hits, then n^2 times the variances of x and y and their covariance, per cluster.
    count: Column<f64>,
    variances: [Column<f64>; 3],
}

/// Sums over the hits of a cluster, positions counted from its first hit.
#[derive(Default)]
struct Sums {
    tot: u64,
    height: u16,
    energy: u64,
    position: [i64; 2],
    squares: [i64; 3],
    weighted: [i64; 2],
    low: [i32; 2],
    high: [i32; 2],
}

impl FeatureMaker {
    /// Computes the features of the clusters from number `first` on. Without `calibration` energies are 0.
    pub fn run<G: Gang>(
        &mut self,
        g: G,
        calibration: Option<&Calibration>,
        first: usize,
        clusters: &mut PixelClusters,
    ) {
        let len = clusters.len();
        clusters.features.set_len(len);
        self.count.set_len(len);
        self.variances.iter_mut().for_each(|column| column.set_len(len));
        for cluster in first..len {
            let range = clusters.of_cluster(cluster);
            let sums = Sums::of(&clusters.hits, range.clone(), calibration);
            self.store(cluster, range, sums, &clusters.hits, &mut clusters.features);
        }
        let Self { count, variances: [xx, yy, xy] } = self;
        let moments = [&count[first..], &xx[first..], &yy[first..], &xy[first..]];
        let ClusterFeatures { length, breadth, linearity, roundness, .. } = &mut clusters.features;
        let shapes = [length, breadth, linearity, roundness].map(|column| &mut column[first..]);
        shape_room(g, moments, shapes);
    }

    fn store(
        &mut self,
        cluster: usize,
        range: Range<usize>,
        sums: Sums,
        hits: &PixelHits,
        to: &mut ClusterFeatures,
    ) {
        let start = [hits.x[range.start], hits.y[range.start]].map(i32::from);
        let time = hits.time[range.start];
        let duration = hits.time[range.end - 1].abs_diff(time);
        to.time[cluster] = time;
        to.duration[cluster] = duration.min(u64::from(u32::MAX)) as u32;
        to.tot[cluster] = sums.tot.min(u64::from(u32::MAX)) as u32;
        to.height[cluster] = sums.height;
        to.energy[cluster] = sums.energy;
        let n = range.len() as f64;
        self.count[cluster] = n;
        for axis in 0..2 {
            to.bounds[axis][cluster] = (start[axis] + sums.low[axis]) as u16;
            to.bounds[axis + 2][cluster] = (start[axis] + sums.high[axis]) as u16;
            let mean = sums.position[axis] as f64 / n;
            let weighted = if sums.tot > 0 { sums.weighted[axis] as f64 / sums.tot as f64 } else { mean };
            to.mean[axis][cluster] = (f64::from(start[axis]) + mean) as f32;
            to.centroid[axis][cluster] = (f64::from(start[axis]) + weighted) as f32;
        }
        let [x, y] = sums.position.map(|sum| sum as f64);
        let [xx, yy, xy] = sums.squares.map(|sum| sum as f64);
        self.variances[0][cluster] = n * xx - x * x;
        self.variances[1][cluster] = n * yy - y * y;
        self.variances[2][cluster] = n * xy - x * y;
    }
}

impl Sums {
    #[inline(always)]
    fn of(hits: &PixelHits, range: Range<usize>, calibration: Option<&Calibration>) -> Self {
        let mut sums = Self::default();
        let (x, y, tot) = (&hits.x[range.clone()], &hits.y[range.clone()], &hits.tot[range]);
        let start = [i32::from(x[0]), i32::from(y[0])];
        for ((&x, &y), &tot) in x.iter().zip(y).zip(tot) {
            let (dx, dy) = (i32::from(x) - start[0], i32::from(y) - start[1]);
            let weight = i64::from(tot);
            sums.tot += u64::from(tot);
            sums.height = sums.height.max(tot);
            sums.low = [sums.low[0].min(dx), sums.low[1].min(dy)];
            sums.high = [sums.high[0].max(dx), sums.high[1].max(dy)];
            // Squares of sides up to 8192 fit 32 bits.
            sums.squares[0] += i64::from(dx * dx);
            sums.squares[1] += i64::from(dy * dy);
            sums.squares[2] += i64::from(dx * dy);
            sums.position[0] += i64::from(dx);
            sums.position[1] += i64::from(dy);
            sums.weighted[0] += weight * i64::from(dx);
            sums.weighted[1] += weight * i64::from(dy);
            if let Some(calibration) = calibration {
                sums.energy += calibration.energy(x, y, tot);
            }
        }
        sums
    }
}

/// Shapes from moments, many clusters at once.
#[inline(never)]
fn shape_room<G: Gang>(g: G, moments: [&[f64]; 4], shapes: [&mut [f32]; 4]) {
    g.vectorize(
        #[inline(always)]
        || shape(moments, shapes),
    );
}

/// The main variances are the eigenvalues of the matrix of variances. `n` pixels in a row have the variance
/// (n^2 - 1) / 12, which gives lengths their scale.
#[inline(always)]
fn shape([count, xx, yy, xy]: [&[f64]; 4], [length, breadth, linearity, roundness]: [&mut [f32]; 4]) {
    let moments = count.iter().zip(xx).zip(yy).zip(xy);
    let shapes = length.iter_mut().zip(breadth).zip(linearity).zip(roundness);
    for ((((n, xx), yy), xy), (((length, breadth), linearity), roundness)) in moments.zip(shapes) {
        let scale = 1.0 / (n * n);
        let (difference, sum) = (xx - yy, xx + yy);
        let root = (difference * difference + 4.0 * (xy * xy)).sqrt();
        let along = 6.0 * (sum + root) * scale + 1.0;
        let across = 6.0 * (sum - root).max(0.0) * scale + 1.0;
        *length = along.sqrt() as f32;
        *breadth = across.sqrt() as f32;
        *linearity = if sum > 0.0 { (root / sum) as f32 } else { 0.0 };
        *roundness = (n / (FRAC_PI_4 * along)).min(1.0) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    fn features(level: Level, rows: &[(i64, u16, u16, u16)]) -> ClusterFeatures {
        let mut clusters = PixelClusters::default();
        rows.iter().for_each(|&(time, x, y, tot)| clusters.hits.push(time, x, y, tot));
        clusters.hit_start.push(rows.len() as u32);
        let mut maker = FeatureMaker::default();
        crate::dispatch!(level, g => maker.run(g, None, 0, &mut clusters));
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
}
