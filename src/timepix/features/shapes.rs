//! [`Chunk`]: features of some clusters from sums over their hits.

use super::sums::{CHUNK, Sums};
use crate::event::{ClusterFeatures, PAD, PixelHits};
use crate::simd::{Isa, for_each};
use std::f64::consts::FRAC_PI_4;
use std::ops::Range;

/// Returns whether the instructions of a level include a fused multiply-add: in software it takes longer than a division.
#[inline(always)]
pub(super) fn has_fused(isa: Isa) -> bool {
    matches!(isa, Isa::Avx2 | Isa::Avx512 | Isa::Neon)
}

/// Returns `a / b` with the rounding of a division, for whole numbers `a` and `b` and an `inverse` of `b` with a relative
/// error below 2^-51.
///
/// The relative error of the first product is below 2^-50, its remainder is exact, and after the correction the relative
/// error is below 2^-101 before rounding. A quotient of whole numbers that is not a float is further away from the middle
/// between two floats, by at least 2^-53 / b of its value; so it is rounded to the same side for all `b` below 2^48, and a
/// sum over the 2^28 hits that a stream may hold at most is smaller.
#[inline(always)]
fn quotient(a: f64, b: f64, inverse: f64) -> f64 {
    let near = a * inverse;
    (-near).mul_add(b, a).mul_add(inverse, near)
}

/// A chunk of clusters, one value of each column per cluster. Values after the last cluster are meaningless.
#[derive(Default)]
pub(super) struct Chunk {
    /// Hits; first pixel; the products of [`Sums`]. All are whole numbers.
    count: [f64; CHUNK],
    first: [[f64; CHUNK]; 2],
    products: [[f64; CHUNK]; 8],
    time: [i64; CHUNK],
    duration: [u32; CHUNK],
    tot: [u32; CHUNK],
    height: [u16; CHUNK],
    bounds: [[u16; CHUNK]; 4],
    /// The columns of [`ClusterFeatures::floats`].
    floats: [[f32; CHUNK]; 8],
}

impl Chunk {
    /// Copies the sums, and the features that depend only on the first and the last hit.
    #[inline(always)]
    pub fn read(&mut self, starts: &[u32], hits: &PixelHits, sums: &Sums) {
        let time = &hits.time[..];
        for (i, ends) in starts.windows(2).enumerate().take(CHUNK) {
            let (first, last) = (time[ends[0] as usize], time[ends[1] as usize - 1]);
            self.time[i] = first;
            self.duration[i] = last.abs_diff(first).min(u64::from(u32::MAX)) as u32;
        }
        for i in 0..CHUNK {
            self.count[i] = f64::from(sums.counts[i]);
            self.tot[i] = sums.products[5][i] as u32;
            self.height[i] = sums.height[i] as u16;
        }
        // Column by column with unrolled columns, so that the compiler does not vectorise across columns, which would
        // need gathers.
        for_each!(k < 2 => for i in 0..CHUNK {
            self.first[k][i] = f64::from(sums.first[k][i]);
        });
        for_each!(k < 8 => for i in 0..CHUNK {
            self.products[k][i] = f64::from(sums.products[k][i]);
        });
        for_each!(k < 4 => for i in 0..CHUNK {
            self.bounds[k][i] = (sums.first[k % 2][i] as i32 + sums.bounds[k][i]) as u16;
        });
    }

    /// Adds up the large clusters that [`Sums`] leaves out.
    #[inline(always)]
    pub fn add_up_large(&mut self, starts: &[u32], hits: &PixelHits, sums: &Sums) {
        for (i, ends) in starts.windows(2).enumerate() {
            if sums.large >> i & 1 == 1 {
                self.add_up(i, hits, ends[0] as usize..ends[1] as usize);
            }
        }
    }

    /// Adds up one cluster, as many hits at once as a register holds.
    #[inline(always)]
    fn add_up(&mut self, place: usize, hits: &PixelHits, range: Range<usize>) {
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
        let mut most = [0u16; 6];
        for i in 0..n {
            let values = [!xs[i], !ys[i], xs[i], ys[i], tots[i]];
            for k in 0..5 {
                most[k] = most[k].max(values[k]);
            }
        }
        for (k, of) in self.bounds.iter_mut().enumerate() {
            of[place] = if k < 2 { !most[k] } else { most[k] };
        }
        self.height[place] = most[4];
        self.tot[place] = sums[5].min(u64::from(u32::MAX)) as u32;
        // Relative to the first pixel.
        let [x, y, xx, yy, xy, tot, tot_x, tot_y] = sums.map(|sum| sum as i64);
        let (n, x0, y0) = (n as i64, i64::from(xs[0]), i64::from(ys[0]));
        let (x, y) = (x - n * x0, y - n * y0);
        let xy = xy - x0 * y - y0 * (x + n * x0);
        let (xx, yy) = (xx - x0 * (x + x + n * x0), yy - y0 * (y + y + n * y0));
        let products = [x, y, xx, yy, xy, tot, tot_x - x0 * tot, tot_y - y0 * tot];
        for (to, product) in self.products.iter_mut().zip(products) {
            to[place] = product as f64;
        }
        (self.first[0][place], self.first[1][place]) = (x0 as f64, y0 as f64);
    }

    /// Computes the shapes. The variances along the main axes are the eigenvalues of the covariance matrix. Lengths are
    /// scaled so that `n` pixels in a row, whose variance is (n^2 - 1) / 12, have the length `n`.
    #[inline(always)]
    pub fn shapes(&mut self, fused: bool) {
        let Self { count, first: [x0, y0], products, floats, .. } = self;
        let [x, y, xx, yy, xy, tot, tot_x, tot_y] = products;
        let [x_centroid, y_centroid, x_mean, y_mean, length, breadth, linearity, roundness] = floats;
        for i in 0..CHUNK {
            let (n, x0, y0) = (count[i], x0[i], y0[i]);
            let (x, y, xx, yy, xy) = (x[i], y[i], xx[i], yy[i], xy[i]);
            // Without any weight all pixels have the same weight.
            let (weight, weighted_x, weighted_y) =
                if tot[i] > 0.0 { (tot[i], tot_x[i], tot_y[i]) } else { (n, x, y) };
            let means = if fused {
                // One division instead of four.
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

    /// Writes the features of a chunk to clusters from number `first` on; the columns can hold a full chunk.
    #[inline(always)]
    pub fn write(&self, first: usize, to: &mut ClusterFeatures) {
        let range = first..first + CHUNK;
        to.time.padded_mut()[range.clone()].copy_from_slice(&self.time);
        to.duration.padded_mut()[range.clone()].copy_from_slice(&self.duration);
        to.tot.padded_mut()[range.clone()].copy_from_slice(&self.tot);
        to.height.padded_mut()[range.clone()].copy_from_slice(&self.height);
        for (to, from) in to.bounds.iter_mut().zip(&self.bounds) {
            to.padded_mut()[range.clone()].copy_from_slice(from);
        }
        for (to, from) in to.floats_mut().into_iter().zip(&self.floats) {
            to.padded_mut()[range.clone()].copy_from_slice(from);
        }
    }
}

// A chunk is always written whole, even when it is not full.
const _: () = assert!(PAD >= CHUNK);

#[cfg(test)]
mod tests {
    use super::quotient;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quotients_are_those_of_a_division(a in any::<i64>(), b in 1i64..1 << 47, bits in [0u32..63, 0u32..47], n in 1i64..1 << 28) {
            let (a, b, n) = ((a >> bits[0]) as f64, (b >> bits[1]).max(1) as f64, n as f64);
            let inverse = 1.0 / (n * b);
            prop_assert_eq!(quotient(a, b, inverse * n), a / b);
            prop_assert_eq!(quotient(a, n, inverse * b), a / n);
        }
    }
}
