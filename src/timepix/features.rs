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
    /// Computes the features of all clusters. Without `calibration` energies are 0.
    pub fn run<G: Gang>(&mut self, g: G, calibration: Option<&Calibration>, clusters: &mut PixelClusters) {
        let len = clusters.len();
        let PixelClusters { hit_start, hits, features } = clusters;
        features.set_len(len);
        self.count.set_len(len);
        self.variances.iter_mut().for_each(|column| column.set_len(len));
        self.sum(calibration, hit_start, hits, features);
        let Self { count, variances: [xx, yy, xy] } = self;
        let ClusterFeatures { length, breadth, linearity, roundness, .. } = features;
        let shapes = [length, breadth, linearity, roundness].map(|column| &mut column[..]);
        shape_room(g, [count, xx, yy, xy].map(|column| &column[..]), shapes);
    }

    fn sum(
        &mut self,
        calibration: Option<&Calibration>,
        hit_start: &[u32],
        hits: &PixelHits,
        to: &mut ClusterFeatures,
    ) {
        // Slices of one length: the compiler then checks once and not at each of twenty stores.
        let len = hit_start.len() - 1;
        let ClusterFeatures { time, duration, tot, height, energy, bounds, centroid, mean, .. } = to;
        let (time, duration, tot) = (&mut time[..len], &mut duration[..len], &mut tot[..len]);
        let (height, energy) = (&mut height[..len], &mut energy[..len]);
        let [x_low, y_low, x_high, y_high] = bounds.each_mut().map(|column| &mut column[..len]);
        let [x_centroid, y_centroid] = centroid.each_mut().map(|column| &mut column[..len]);
        let [x_mean, y_mean] = mean.each_mut().map(|column| &mut column[..len]);
        let count = &mut self.count[..len];
        let [xx, yy, xy] = self.variances.each_mut().map(|column| &mut column[..len]);
        let ends = &hit_start[1..][..len];
        for i in 0..len {
            let range = hit_start[i] as usize..ends[i] as usize;
            let times = &hits.time[range.clone()];
            let size = times.len();
            time[i] = times[0];
            duration[i] = times[size - 1].abs_diff(times[0]).min(u64::from(u32::MAX)) as u32;
            let start = [hits.x[range.start], hits.y[range.start]].map(i32::from);
            let sums = Sums::of(hits, range, start, calibration);
            (tot[i], height[i], energy[i]) =
                (sums.tot.min(u64::from(u32::MAX)) as u32, sums.height, sums.energy);
            (x_low[i], x_high[i]) = ((start[0] + sums.low[0]) as u16, (start[0] + sums.high[0]) as u16);
            (y_low[i], y_high[i]) = ((start[1] + sums.low[1]) as u16, (start[1] + sums.high[1]) as u16);
            let n = size as f64;
            let [x, y] = sums.position.map(|sum| sum as f64);
            // Without any weight all pixels are alike.
            let (weight, [wx, wy]) = if sums.tot > 0 {
                (sums.tot as f64, sums.weighted.map(|sum| sum as f64))
            } else {
                (n, [x, y])
            };
            let [x0, y0] = start.map(f64::from);
            (x_mean[i], y_mean[i]) = ((x0 + x / n) as f32, (y0 + y / n) as f32);
            (x_centroid[i], y_centroid[i]) = ((x0 + wx / weight) as f32, (y0 + wy / weight) as f32);
            let squares = sums.squares.map(|sum| sum as f64);
            count[i] = n;
            xx[i] = n * squares[0] - x * x;
            yy[i] = n * squares[1] - y * y;
            xy[i] = n * squares[2] - x * y;
        }
    }
}

impl Sums {
    #[inline(always)]
    fn of(hits: &PixelHits, range: Range<usize>, start: [i32; 2], calibration: Option<&Calibration>) -> Self {
        let mut sums = Self::default();
        let (x, y, tot) = (&hits.x[range.clone()], &hits.y[range.clone()], &hits.tot[range]);
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
        crate::dispatch!(level, g => maker.run(g, None, &mut clusters));
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
