//! Features of clusters: sums over their hits, then shapes from the sums.
//!
//! Sums are of whole numbers, so their order does not matter; shapes are a few IEEE operations on them, the same on
//! every machine. Positions are first counted from the cluster's first hit, which keeps sums small.

use super::calibrate::{CHUNK as HITS, Calibration};
use crate::event::{ClusterFeatures, Column, PixelClusters, PixelHits};
use crate::simd::{Gang, Isa, inlined};
use std::f64::consts::FRAC_PI_4;
use std::ops::Range;

/// Clusters that are finished at once, as local columns.
const CHUNK: usize = 16;

/// Clusters whose sums wait in the fastest cache to be finished.
const PIECE: usize = 256;
/// Hits of a cluster whose sums are made down its columns.
const LARGE: usize = 24;
/// Clusters that are looked at together for large ones.
const TOGETHER: usize = 8;
/// Where x, y, the time over threshold and a 1 to multiply with are in the word of a hit.
const X: u64 = 0;
const Y: u64 = 16;
const TOT: u64 = 32;
const ONE: u64 = 48;
/// Factors of [`Sums::products`].
const FACTORS: [[u64; 8]; 2] = [[X, Y, X, Y, X, TOT, TOT, TOT], [ONE, ONE, X, Y, Y, ONE, X, Y]];

/// The second half of [`Sums::most`] has all bits turned over.
const TURNED: [u16; 8] = [0, 0, 0, 0, u16::MAX, u16::MAX, u16::MAX, u16::MAX];

/// Computes features; holds the sums between the two steps.
#[derive(Debug, Default)]
pub struct FeatureMaker {
    /// Per hit, 1 for the first of a cluster.
    firsts: Column<u8>,
    sums: Sums,
}

/// Sums over the hits of clusters, and what is largest.
#[derive(Debug, Default)]
struct Sums {
    /// Of x, y, x^2, y^2, x y, tot, tot x, tot y.
    products: Column<[u64; 8]>,
    /// Largest x, y, tot; 1; the same with all bits turned over, which gives the smallest.
    max: Column<[u16; 8]>,
    energy: Column<u64>,
}

impl FeatureMaker {
    /// Computes the features of all clusters. Without `calibration` energies are 0.
    pub fn run<G: Gang>(&mut self, g: G, calibration: Option<&Calibration>, clusters: &mut PixelClusters) {
        let len = clusters.len();
        let PixelClusters { hit_start, hits, features } = clusters;
        features.set_len(len);
        self.sums.products.set_len(PIECE);
        self.sums.max.set_len(PIECE);
        self.sums.energy.set_len(PIECE);
        for first in (0..len).step_by(PIECE) {
            let piece = first..len.min(first + PIECE);
            let starts = &hit_start[first..piece.end + 1];
            self.firsts.set_len((starts[piece.len()] - starts[0]) as usize);
            self.firsts.fill(0);
            let begins = starts[..piece.len()].iter().map(|start| (start - starts[0]) as usize);
            begins.for_each(|begin| self.firsts[begin] = 1);
            sum_room(g, starts, &self.firsts, hits, calibration, &mut self.sums);
            finish_room(g, starts, hits, &self.sums, piece, features);
        }
    }
}

#[inline(never)]
fn sum_room<G: Gang>(
    g: G,
    starts: &[u32],
    firsts: &[u8],
    hits: &PixelHits,
    calibration: Option<&Calibration>,
    to: &mut Sums,
) {
    g.vectorize(
        #[inline(always)]
        || sum(starts, firsts, hits, calibration, to),
    );
}

/// Sums of each cluster: of large ones down their columns, of small ones one after the other.
#[inline(always)]
fn sum(starts: &[u32], firsts: &[u8], hits: &PixelHits, calibration: Option<&Calibration>, to: &mut Sums) {
    let clusters = starts.len() - 1;
    let range = |clusters: Range<usize>| starts[clusters.start] as usize..starts[clusters.end] as usize;
    let small = inlined!(|of: Range<usize>, to: &mut Sums| {
        let (first, of) = (of.start, range(of));
        let firsts = &firsts[of.start - starts[0] as usize..of.end - starts[0] as usize];
        sum_small(firsts, hits, of, calibration, first, to);
    });
    let is_large = |cluster: usize| range(cluster..cluster + 1).len() >= LARGE;
    let mut first = 0;
    for group in (0..clusters).step_by(TOGETHER) {
        let end = clusters.min(group + TOGETHER);
        // Where few of them are large, if any, no branch foresees which.
        if range(group..end).len() >= LARGE * (end - group) {
            for large in (group..end).filter(|cluster| is_large(*cluster)) {
                if first < large {
                    small(first..large, to);
                }
                sum_large(hits, range(large..large + 1), calibration, large, to);
                first = large + 1;
            }
        }
    }
    small(first..clusters, to);
}

/// Sums of a cluster with many hits, of as many at once as a register holds.
#[inline(always)]
fn sum_large(
    hits: &PixelHits,
    range: Range<usize>,
    calibration: Option<&Calibration>,
    place: usize,
    to: &mut Sums,
) {
    let (xs, ys, tots) = (&hits.x[range.clone()], &hits.y[range.clone()], &hits.tot[range]);
    let n = xs.len();
    let (ys, tots) = (&ys[..n], &tots[..n]);
    let mut sums = [0u64; 8];
    for i in 0..n {
        let [x, y, tot] = [xs[i], ys[i], tots[i]].map(u64::from);
        let products = [x, y, x * x, y * y, x * y, tot, tot * x, tot * y];
        for k in 0..8 {
            sums[k] += products[k];
        }
    }
    let mut max = [0, 0, 0, 1, 0, 0, 0, 0u16];
    for i in 0..n {
        let values = [xs[i], ys[i], tots[i]];
        for k in 0..3 {
            max[k] = max[k].max(values[k]);
            max[k + 4] = max[k + 4].max(!values[k]);
        }
    }
    (to.products[place], to.max[place], to.energy[place]) = (sums, max, 0);
    let Some(calibration) = calibration else { return };
    let (mut words, mut energies) = ([0u64; HITS], [0u32; HITS]);
    for start in (0..n).step_by(HITS) {
        let chunk = start..n.min(start + HITS);
        for (word, i) in words.iter_mut().zip(chunk.clone()) {
            *word = word_of(xs[i], ys[i], tots[i]);
        }
        calibration.energies(&words[..chunk.len()], &mut energies);
        to.energy[place] += energies[..chunk.len()].iter().map(|energy| u64::from(*energy)).sum::<u64>();
    }
}

#[inline(always)]
fn word_of(x: u16, y: u16, tot: u16) -> u64 {
    u64::from(x) << X | u64::from(y) << Y | u64::from(tot) << TOT | 1 << ONE
}

/// Sums over all hits in one go: where a cluster begins the sums begin again, and after each hit they are
/// stored where its cluster's belong. So nothing depends on where clusters end, which no branch can foresee.
#[inline(always)]
fn sum_small(
    firsts: &[u8],
    hits: &PixelHits,
    range: Range<usize>,
    calibration: Option<&Calibration>,
    place: usize,
    to: &mut Sums,
) {
    let (x, y, tot) = (&hits.x[range.clone()], &hits.y[range.clone()], &hits.tot[range]);
    let (mut products, mut max, mut energy) = ([0u64; 8], [0u16; 8], 0u64);
    let mut next = place;
    let (mut words, mut energies) = ([0u64; HITS], [0u32; HITS]);
    // Known only at run time, they keep all eight products alike.
    let [left, right] = std::hint::black_box(FACTORS);
    let turned = std::hint::black_box(TURNED);
    for start in (0..firsts.len()).step_by(HITS) {
        let chunk = start..firsts.len().min(start + HITS);
        let n = chunk.len();
        let columns = x[chunk.clone()].iter().zip(&y[chunk.clone()]).zip(&tot[chunk.clone()]);
        for (word, ((&x, &y), &tot)) in words.iter_mut().zip(columns) {
            *word = word_of(x, y, tot);
        }
        if let Some(calibration) = calibration {
            calibration.energies(&words[..n], &mut energies);
        }
        for ((&word, &hit_energy), &first) in words.iter().zip(&energies).zip(&firsts[chunk]) {
            next += usize::from(first);
            let keep = u64::from(first).wrapping_sub(1);
            for k in 0..8 {
                let (a, b) = (word >> (left[k] & 63) & 0xffff, word >> (right[k] & 63) & 0xffff);
                products[k] = (products[k] & keep) + a * b;
            }
            let parts: [u16; 4] = bytemuck::cast(word);
            for k in 0..8 {
                max[k] = (max[k] & keep as u16).max(parts[k & 3] ^ turned[k]);
            }
            energy = (energy & keep) + u64::from(hit_energy);
            let place = next.wrapping_sub(1) % PIECE;
            to.products[place] = products;
            to.max[place] = max;
            to.energy[place] = energy;
        }
    }
}

#[inline(never)]
fn finish_room<G: Gang>(
    g: G,
    starts: &[u32],
    hits: &PixelHits,
    sums: &Sums,
    clusters: Range<usize>,
    to: &mut ClusterFeatures,
) {
    g.vectorize(
        #[inline(always)]
        || finish(has_fused(G::ISA), starts, hits, sums, clusters, to),
    );
}

/// Features from sums, a chunk of clusters after the other.
#[inline(always)]
fn finish(
    fused: bool,
    starts: &[u32],
    hits: &PixelHits,
    sums: &Sums,
    clusters: Range<usize>,
    to: &mut ClusterFeatures,
) {
    // What is behind the last cluster of a chunk are numbers of an earlier one, which nobody reads.
    let mut chunk = Chunk::default();
    for start in (0..clusters.len()).step_by(CHUNK) {
        let end = clusters.len().min(start + CHUNK);
        chunk.read(&starts[start..end + 1], hits, sums, start..end);
        chunk.shapes(fused);
        chunk.write(clusters.start + start..clusters.start + end, to);
    }
}

/// Whether instructions of a level are sure to have a fused multiply-add: in software it takes longer than a division.
#[inline(always)]
fn has_fused(isa: Isa) -> bool {
    matches!(isa, Isa::Avx2 | Isa::Avx512 | Isa::Neon)
}

/// `a / b` as a division rounds it, for whole numbers `a` and `b` and an `inverse` of `b` that is off by less than 2^-51 of it.
///
/// The first product is off by less than 2^-50, what it leaves is exact, and after the correction the value is off by less than
/// 2^-101 of it before it is rounded. A quotient of whole numbers that is no float is further away from the middle between two floats, by
/// 2^-53 / b of it at least; so it is rounded to the same side for all `b` below 2^48, and a sum over the 2^28 hits that a
/// stream may hold at most is smaller.
#[inline(always)]
fn quotient(a: f64, b: f64, inverse: f64) -> f64 {
    let near = a * inverse;
    (-near).mul_add(b, a).mul_add(inverse, near)
}

/// A chunk of clusters, one value of each column per cluster.
#[derive(Default)]
struct Chunk {
    /// Hits; first pixel; the products.
    count: [i64; CHUNK],
    first: [[i64; CHUNK]; 2],
    products: [[i64; CHUNK]; 8],
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
    fn read(&mut self, starts: &[u32], hits: &PixelHits, sums: &Sums, clusters: Range<usize>) {
        let of = || clusters.clone();
        let (time, x, y) = (&hits.time[..], &hits.x[..hits.len()], &hits.y[..hits.len()]);
        let sums = sums.products[of()].iter().zip(&sums.max[of()]).zip(&sums.energy[of()]);
        for (i, (((products, max), &energy), ends)) in sums.zip(starts.windows(2)).enumerate().take(CHUNK) {
            let (first, last) = (ends[0] as usize, ends[1] as usize - 1);
            self.count[i] = i64::from(ends[1] - ends[0]);
            (self.first[0][i], self.first[1][i]) = (i64::from(x[first]), i64::from(y[first]));
            for (to, from) in self.products.iter_mut().zip(products) {
                to[i] = *from as i64;
            }
            self.time[i] = time[first];
            self.duration[i] = time[last].abs_diff(time[first]).min(u64::from(u32::MAX)) as u32;
            self.tot[i] = products[5].min(u64::from(u32::MAX)) as u32;
            let [x_high, y_high, height, _, x_low, y_low, ..] = *max;
            for (to, from) in self.bounds.iter_mut().zip([!x_low, !y_low, x_high, y_high]) {
                to[i] = from;
            }
            (self.height[i], self.energy[i]) = (height, energy);
        }
    }

    /// The main variances are the eigenvalues of the matrix of variances. `n` pixels in a row have the
    /// variance (n^2 - 1) / 12, which gives lengths their scale.
    #[inline(always)]
    fn shapes(&mut self, fused: bool) {
        let Self { count, first: [x0, y0], products, floats, .. } = self;
        let [x, y, xx, yy, xy, tot, tot_x, tot_y] = products;
        let [x_centroid, y_centroid, x_mean, y_mean, length, breadth, linearity, roundness] = floats;
        for i in 0..CHUNK {
            // Positions from the first pixel on, still whole numbers.
            let (n, x0, y0) = (count[i], x0[i], y0[i]);
            let (x, y, tot) = (x[i] - n * x0, y[i] - n * y0, tot[i]);
            let xy = (xy[i] - x0 * y - y0 * (x + n * x0)) as f64;
            let (xx, yy) = ((xx[i] - x0 * (x + x + n * x0)) as f64, (yy[i] - y0 * (y + y + n * y0)) as f64);
            // Without any weight all pixels are alike.
            let (weight, weighted_x, weighted_y) =
                if tot > 0 { (tot, tot_x[i] - x0 * tot, tot_y[i] - y0 * tot) } else { (n, x, y) };
            let [n, x0, y0, x, y, weight] = [n, x0, y0, x, y, weight].map(|value| value as f64);
            let (weighted_x, weighted_y) = (weighted_x as f64, weighted_y as f64);
            let means = if fused {
                // One division in place of four.
                let inverse = 1.0 / (n * weight);
                let (per_weight, per_hit) = (inverse * n, inverse * weight);
                [
                    quotient(weighted_x, weight, per_weight),
                    quotient(weighted_y, weight, per_weight),
                    quotient(x, n, per_hit),
                    quotient(y, n, per_hit),
                ]
            } else {
                [weighted_x / weight, weighted_y / weight, x / n, y / n]
            };
            x_centroid[i] = (x0 + means[0]) as f32;
            y_centroid[i] = (y0 + means[1]) as f32;
            x_mean[i] = (x0 + means[2]) as f32;
            y_mean[i] = (y0 + means[3]) as f32;
            // n^2 times the variances and the covariance.
            let (var_x, var_y) = (n * xx - x * x, n * yy - y * y);
            let covar = n * xy - x * y;
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
    use proptest::prelude::*;

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

    /// As the text of the module says, hit by hit.
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

        /// Small and large clusters in any order, on sensors of any size.
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

        #[test]
        fn quotients_are_those_of_a_division(a in any::<i64>(), b in 1i64..1 << 47, bits in [0u32..63, 0u32..47], n in 1i64..1 << 28) {
            let (a, b, n) = ((a >> bits[0]) as f64, (b >> bits[1]).max(1) as f64, n as f64);
            let inverse = 1.0 / (n * b);
            prop_assert_eq!(quotient(a, b, inverse * n), a / b);
            prop_assert_eq!(quotient(a, n, inverse * b), a / n);
        }
    }
}
