//! What clusters look like: sums over their hits, then shapes from the sums.
//!
//! Sums are of whole numbers, so their order does not matter; shapes are a few IEEE operations on them, the
//! same on every machine. Positions are counted from the cluster's first hit, which keeps sums small and
//! differences exact.

use super::calibrate::Calibration;
use crate::event::{ClusterFeatures, Column, PixelClusters, PixelHits};
use crate::simd::Gang;
use bytemuck::{Pod, Zeroable};
use std::f64::consts::FRAC_PI_4;
use std::ops::Range;

/// Clusters that are finished at once, as local columns.
const CHUNK: usize = 16;

/// Makes features; holds the sums between the two steps.
#[derive(Debug, Default)]
pub struct FeatureMaker {
    /// Per hit, 1 for the first of a cluster.
    firsts: Column<u8>,
    /// Per hit, eV; unused without calibration.
    energies: Column<u32>,
    sums: Column<Sums>,
}

/// Sums over the hits of a cluster, positions counted from its first hit, and what is largest.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Sums {
    /// Of x, y, x^2, y^2, x y, tot, tot x, tot y.
    sums: [i64; 8],
    /// Largest x and y, all bits turned over of the smallest x and y, largest tot; the others are nothing.
    most: [u16; 8],
    energy: u64,
}

impl FeatureMaker {
    /// Computes the features of all clusters. Without `calibration` energies are 0.
    pub fn run<G: Gang>(&mut self, g: G, calibration: Option<&Calibration>, clusters: &mut PixelClusters) {
        let len = clusters.len();
        let PixelClusters { hit_start, hits, features } = clusters;
        features.set_len(len);
        if len == 0 {
            return;
        }
        self.firsts.set_len(hits.len());
        self.firsts.fill(0);
        hit_start[..len].iter().for_each(|start| self.firsts[*start as usize] = 1);
        self.sums.set_len(len);
        // A run-time one keeps all eight products alike.
        sum_room(g, &self.firsts, hits, std::hint::black_box(1), &mut self.sums);
        if let Some(calibration) = calibration {
            self.energies.set_len(hits.len());
            calibration.energies_room(g, hits, &mut self.energies);
            add_energies(&self.firsts, &self.energies, &mut self.sums);
        } else {
            self.sums.iter_mut().for_each(|sums| sums.energy = 0);
        }
        finish_room(g, hit_start, hits, &self.sums, features);
    }
}

#[inline(never)]
fn sum_room<G: Gang>(g: G, firsts: &[u8], hits: &PixelHits, one: i32, to: &mut [Sums]) {
    g.vectorize(
        #[inline(always)]
        || sum(firsts, hits, one, to),
    );
}

/// Sums over all hits in one go: where a cluster begins the sums begin again, and after each hit they are
/// stored where its cluster's belong. So nothing depends on where clusters end, which no branch can foresee.
#[inline(always)]
fn sum(firsts: &[u8], hits: &PixelHits, one: i32, to: &mut [Sums]) {
    let n = firsts.len();
    let (x, y, tot) = (&hits.x[..n], &hits.y[..n], &hits.tot[..n]);
    let (mut sums, mut most) = ([0i64; 8], [0u16; 8]);
    let (mut x0, mut y0) = (0, 0);
    let mut next = 0;
    for i in 0..n {
        next += usize::from(firsts[i]);
        let is_first = firsts[i] != 0;
        let keep = i64::from(firsts[i]) - 1;
        let (x, y, tot) = (x[i], y[i], tot[i]);
        (x0, y0) = if is_first { (i32::from(x), i32::from(y)) } else { (x0, y0) };
        let (dx, dy, weight) = (i32::from(x) - x0, i32::from(y) - y0, i32::from(tot));
        // Products of sides up to 8192 with each other or 16 bits fit 32 bits.
        let left = [dx, dy, dx, dy, dx, weight, weight, weight];
        let right = [one, one, dx, dy, dy, one, dx, dy];
        for k in 0..8 {
            sums[k] = (sums[k] & keep) + i64::from(left[k] * right[k]);
        }
        let here = [x, y, !x, !y, tot, 0, 0, 0];
        for k in 0..8 {
            most[k] = (most[k] & keep as u16).max(here[k]);
        }
        if let Some(to) = to.get_mut(next.wrapping_sub(1)) {
            (to.sums, to.most) = (sums, most);
        }
    }
}

/// The same for energies.
#[inline(never)]
fn add_energies(firsts: &[u8], energies: &[u32], to: &mut [Sums]) {
    let (mut sum, mut next) = (0, 0);
    for (&first, &energy) in firsts.iter().zip(energies) {
        next += usize::from(first);
        sum = (sum & (u64::from(first).wrapping_sub(1))) + u64::from(energy);
        if let Some(to) = to.get_mut(next.wrapping_sub(1)) {
            to.energy = sum;
        }
    }
}

#[inline(never)]
fn finish_room<G: Gang>(g: G, hit_start: &[u32], hits: &PixelHits, sums: &[Sums], to: &mut ClusterFeatures) {
    g.vectorize(
        #[inline(always)]
        || finish(hit_start, hits, sums, to),
    );
}

/// Features from sums, a chunk of clusters after the other.
#[inline(always)]
fn finish(hit_start: &[u32], hits: &PixelHits, sums: &[Sums], to: &mut ClusterFeatures) {
    for start in (0..sums.len()).step_by(CHUNK) {
        let range = start..sums.len().min(start + CHUNK);
        let starts = &hit_start[start..range.end + 1];
        let mut chunk = Chunk::default();
        chunk.read(starts, hits, &sums[range.clone()]);
        chunk.shapes();
        chunk.write(range, to);
    }
}

/// A chunk of clusters, one value of each column per cluster.
#[derive(Default)]
struct Chunk {
    /// Hits; their tot, or hits again where that is zero; first pixel.
    count: [f64; CHUNK],
    weight: [f64; CHUNK],
    first: [[f64; CHUNK]; 2],
    sums: [[f64; CHUNK]; 5],
    weighted: [[f64; CHUNK]; 2],
    time: [i64; CHUNK],
    duration: [u32; CHUNK],
    tot: [u32; CHUNK],
    height: [u16; CHUNK],
    energy: [u64; CHUNK],
    bounds: [[u16; CHUNK]; 4],
    /// The columns of [`ClusterFeatures::floats`].
    floats: [[f32; CHUNK]; 8],
}

impl Chunk {
    #[inline(always)]
    fn read(&mut self, starts: &[u32], hits: &PixelHits, sums: &[Sums]) {
        for (i, (sums, ends)) in sums.iter().zip(starts.windows(2)).enumerate().take(CHUNK) {
            let (first, last) = (ends[0] as usize, ends[1] as usize - 1);
            let Sums { sums: [x, y, xx, yy, xy, tot, tot_x, tot_y], most, energy } = *sums;
            let count = f64::from(ends[1] - ends[0]);
            self.count[i] = count;
            self.first[0][i] = f64::from(hits.x[first]);
            self.first[1][i] = f64::from(hits.y[first]);
            for (to, from) in self.sums.iter_mut().zip([x, y, xx, yy, xy]) {
                to[i] = from as f64;
            }
            // Without any weight all pixels are alike.
            let (weight, weighted) = if tot > 0 { (tot as f64, [tot_x, tot_y]) } else { (count, [x, y]) };
            self.weight[i] = weight;
            (self.weighted[0][i], self.weighted[1][i]) = (weighted[0] as f64, weighted[1] as f64);
            self.time[i] = hits.time[first];
            self.duration[i] = hits.time[last].abs_diff(hits.time[first]).min(u64::from(u32::MAX)) as u32;
            self.tot[i] = tot.min(i64::from(u32::MAX)) as u32;
            let [x_high, y_high, x_low, y_low, height, ..] = most;
            for (to, from) in self.bounds.iter_mut().zip([!x_low, !y_low, x_high, y_high]) {
                to[i] = from;
            }
            (self.height[i], self.energy[i]) = (height, energy);
        }
    }

    /// The main variances are the eigenvalues of the matrix of variances. `n` pixels in a row have the
    /// variance (n^2 - 1) / 12, which gives lengths their scale.
    #[inline(always)]
    fn shapes(&mut self) {
        let Self { count, weight, first, sums: [x, y, xx, yy, xy], weighted, floats, .. } = self;
        let [x_centroid, y_centroid, x_mean, y_mean, length, breadth, linearity, roundness] = floats;
        for i in 0..CHUNK {
            let n = count[i];
            x_centroid[i] = (first[0][i] + weighted[0][i] / weight[i]) as f32;
            y_centroid[i] = (first[1][i] + weighted[1][i] / weight[i]) as f32;
            x_mean[i] = (first[0][i] + x[i] / n) as f32;
            y_mean[i] = (first[1][i] + y[i] / n) as f32;
            // n^2 times the variances and the covariance.
            let (var_x, var_y) = (n * xx[i] - x[i] * x[i], n * yy[i] - y[i] * y[i]);
            let covar = n * xy[i] - x[i] * y[i];
            let scale = 1.0 / (n * n);
            let (difference, sum) = (var_x - var_y, var_x + var_y);
            let root = (difference * difference + 4.0 * (covar * covar)).sqrt();
            let along = 6.0 * (sum + root) * scale + 1.0;
            let across = 6.0 * (sum - root).max(0.0) * scale + 1.0;
            length[i] = along.sqrt() as f32;
            breadth[i] = across.sqrt() as f32;
            linearity[i] = if sum > 0.0 { (root / sum) as f32 } else { 0.0 };
            roundness[i] = (n / (FRAC_PI_4 * along)).min(1.0) as f32;
        }
    }

    #[inline(always)]
    fn write(&self, range: Range<usize>, to: &mut ClusterFeatures) {
        let n = range.len();
        to.time[range.clone()].copy_from_slice(&self.time[..n]);
        to.duration[range.clone()].copy_from_slice(&self.duration[..n]);
        to.tot[range.clone()].copy_from_slice(&self.tot[..n]);
        to.height[range.clone()].copy_from_slice(&self.height[..n]);
        to.energy[range.clone()].copy_from_slice(&self.energy[..n]);
        for (to, from) in to.bounds.iter_mut().zip(&self.bounds) {
            to[range.clone()].copy_from_slice(&from[..n]);
        }
        for (to, from) in to.floats_mut().into_iter().zip(&self.floats) {
            to[range.clone()].copy_from_slice(&from[..n]);
        }
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
