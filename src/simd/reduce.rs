//! Reductions of whole slices whose result does not depend on the gang.

use super::Gang;
use super::varying::{F32, Mask};

/// Partial sums of [`sum`]: as many as the widest gang has lanes.
const PARTIAL: usize = 64;

/// Sum of `values`. The order of the additions is fixed: value i goes to partial sum i mod 64, in order, and
/// the partial sums are added by halves (i and i + 32, then i and i + 16, and so on). An empty slice gives +0.
#[inline(always)]
pub fn sum<G: Gang>(g: G, values: &[f32]) -> f32 {
    let mut partial = [0.0; PARTIAL];
    let mut rows = values.chunks_exact(PARTIAL);
    for row in &mut rows {
        for at in (0..PARTIAL).step_by(G::LANES) {
            let sum = F32::load(g, &partial[at..]) + F32::load(g, &row[at..]);
            sum.store(&mut partial[at..]);
        }
    }
    for (partial, value) in partial.iter_mut().zip(rows.remainder()) {
        *partial += value;
    }
    let mut width = PARTIAL;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            partial[i] += partial[i + width];
        }
    }
    partial[0]
}

/// Smallest of `values` that is not NaN; +infinity when there is none. A zero comes out as +0.
#[inline(always)]
pub fn min<G: Gang>(g: G, values: &[f32]) -> f32 {
    let mut least = F32::splat(g, f32::INFINITY);
    for at in (0..values.len()).step_by(G::LANES) {
        let inside = Mask::first(g, values.len() - at);
        // The minimum keeps its second argument when the first is NaN.
        least = inside.select_f(F32::load_some(&values[at..], inside), least).min(least);
    }
    least.reduce_min(Mask::first(g, G::LANES))
}

/// Largest of `values` that is not NaN; -infinity when there is none. A zero comes out as +0.
#[inline(always)]
pub fn max<G: Gang>(g: G, values: &[f32]) -> f32 {
    let mut largest = F32::splat(g, f32::NEG_INFINITY);
    for at in (0..values.len()).step_by(G::LANES) {
        let inside = Mask::first(g, values.len() - at);
        largest = inside.select_f(F32::load_some(&values[at..], inside), largest).max(largest);
    }
    0.0 - (-largest).reduce_min(Mask::first(g, G::LANES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch;
    use crate::simd::Level;
    use proptest::prelude::*;

    /// Sum, smallest and largest; each use of `dispatch!` compiles for all gangs, so there is one.
    fn reductions(level: Level, values: &[f32]) -> [f32; 3] {
        dispatch!(level, g => [sum(g, values), min(g, values), max(g, values)])
    }

    /// The stated order of additions, written as a recursion.
    fn tree(values: &[f32], first: usize, step: usize) -> f32 {
        if step == PARTIAL {
            return values.iter().skip(first).step_by(PARTIAL).fold(0.0, |sum, x| sum + x);
        }
        tree(values, first, 2 * step) + tree(values, first + step, 2 * step)
    }

    proptest! {
        #[test]
        fn every_gang_gives_the_stated_bits(values in prop::collection::vec(-1e6f32..1e6, 0..300)) {
            for level in Level::supported() {
                let [sum, min, max] = reductions(level, &values);
                prop_assert_eq!(sum.to_bits(), tree(&values, 0, 1).to_bits(), "{}", level);
                let least = values.iter().fold(f32::INFINITY, |a, &b| a.min(b)) + 0.0;
                let largest = values.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b)) + 0.0;
                prop_assert_eq!(min, least, "{}", level);
                prop_assert_eq!(max, largest, "{}", level);
            }
        }
    }

    #[test]
    fn zeros_and_nan_do_not_depend_on_the_gang() {
        for len in 1..70 {
            let mut values = vec![f32::NAN; len];
            for level in Level::supported() {
                let [_, min, max] = reductions(level, &values);
                assert_eq!((min, max), (f32::INFINITY, f32::NEG_INFINITY), "{level} {len}");
            }
            for at in 0..len {
                values[at] = -0.0;
                for level in Level::supported() {
                    let [_, min, max] = reductions(level, &values);
                    assert_eq!((min.to_bits(), max.to_bits()), (0, 0), "{level} {len} {at}");
                }
                values[at] = f32::NAN;
            }
        }
    }
}
