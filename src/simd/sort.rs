//! Sorts of short segments by key and index: the order of the hits of one module, not of a file.
//!
//! A short segment is sorted by counting: the place of a key is the number of keys before it, and counting is
//! one comparison for a whole gang. That is n^2 / LANES comparisons, but without a branch that depends on the
//! data: for tens of keys many times faster than a sort that mispredicts one branch in two.

use super::Gang;
use super::varying::{F32, Mask, U32};

/// Longest segment that is sorted by counting, per lane: beyond it a comparison sort is faster.
const LONGEST_PER_LANE: usize = 64;

/// Sorts `keys` by (key, index): afterwards `order[i]` is the index of the i-th smallest key, so that equal
/// keys stay in their order. Any length; no allocation; the same result on every gang.
///
/// # Panics
/// When `order` is shorter than `keys`.
#[inline(always)]
pub fn sort_segment<G: Gang>(g: G, keys: &[u32], order: &mut [u32]) {
    let order = &mut order[..keys.len()];
    if keys.len() > LONGEST_PER_LANE * G::LANES {
        sort_long(keys, order);
        return;
    }
    let one = U32::splat(g, 1);
    for start in (0..keys.len()).step_by(G::LANES) {
        let inside = Mask::first(g, keys.len() - start);
        let own = U32::load_some(&keys[start..], inside);
        let (before, rest) = keys.split_at(start);
        let (among, after) = rest.split_at(rest.len().min(G::LANES));
        let mut place = U32::splat(g, 0);
        // A key before this gang comes first also when it is equal, one behind only when it is smaller.
        for &key in before {
            place = own.lt(U32::splat(g, key)).select_u(place, place + one);
        }
        for &key in after {
            place = U32::splat(g, key).lt(own).select_u(place + one, place);
        }
        // Among the gang's own keys the lane decides.
        for (lane, &key) in among.iter().enumerate() {
            let key = U32::splat(g, key);
            let first = key.lt(own) | (key.eq(own) & U32::splat(g, lane as u32).lt(U32::iota(g)));
            place = first.select_u(place + one, place);
        }
        let index = U32::iota(g) + U32::splat(g, start as u32);
        index.scatter(order, place, inside);
    }
}

/// The same for segments that are too long for counting.
#[inline(never)]
fn sort_long(keys: &[u32], order: &mut [u32]) {
    for (i, place) in order.iter_mut().enumerate() {
        *place = i as u32;
    }
    order.sort_unstable_by_key(|&i| (keys[i as usize], i));
}

/// Keys that sort as their floats do: -infinity, ..., -0, +0, ..., +infinity; NaN outside, by its sign.
#[inline(always)]
pub fn float_key<G: Gang>(value: F32<G>) -> U32<G> {
    let bits = value.to_bits();
    // All bits of a negative number are flipped, only the sign of the others.
    let flip = bits.as_i32().shr::<31>().to_bits() | U32::splat(bits.g, 1 << 31);
    bits ^ flip
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch;
    use crate::simd::Level;
    use proptest::prelude::*;

    /// The stable sort by key.
    fn expected(keys: &[u32]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        order
    }

    fn check(keys: &[u32]) {
        let expected = expected(keys);
        for level in Level::supported() {
            // Values behind the segment are somebody else's.
            let mut order = vec![77; keys.len() + 3];
            dispatch!(level, g => sort_segment(g, keys, &mut order));
            assert_eq!(order[..keys.len()], expected, "{level} {keys:?}");
            assert_eq!(order[keys.len()..], [77; 3], "{level}");
        }
    }

    proptest! {
        #[test]
        fn short_segments_are_sorted_by_key_and_index(
            keys in prop_oneof![
                prop::collection::vec(any::<u32>(), 0..150),
                prop::collection::vec(0u32..5, 0..150),
                prop::collection::vec(prop::sample::select(vec![0, 1, i32::MAX as u32, 1 << 31, u32::MAX]), 0..150),
            ],
        ) {
            check(&keys);
        }

        #[test]
        fn float_keys_sort_as_floats(a in any::<f32>(), b in any::<f32>()) {
            for level in Level::supported() {
                let keys = dispatch!(level, g => {
                    let key = |x| float_key(F32::splat(g, x)).reduce_max(Mask::first(g, 1));
                    [key(a), key(b)]
                });
                prop_assert_eq!(keys[0].cmp(&keys[1]), a.total_cmp(&b), "{}", level);
            }
        }
    }

    #[test]
    fn segments_on_both_sides_of_the_limit_are_sorted_alike() {
        for lanes in [1, 4, 8, 16, 32, 64] {
            for len in [LONGEST_PER_LANE * lanes, LONGEST_PER_LANE * lanes + 1] {
                check(
                    &(0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20 << 19).collect::<Vec<_>>(),
                );
            }
        }
    }
}
