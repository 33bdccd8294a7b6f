//! Sorts short segments by key and index: for the hits of one module, not of a file.
//!
//! A short segment is sorted by counting: the position of a key is the number of keys before it, and counting is one
//! comparison for a whole gang. That is n^2 / LANES comparisons, but two or three instructions each and no branch
//! that depends on the data: for tens of keys it is faster than the best comparison sort.

use super::varying::{F32, Mask, U32};
use super::{Gang, Isa};

/// Longest segment that is sorted by counting on a gang, as measured: beyond it a comparison sort is faster.
const fn longest<G: Gang>() -> usize {
    let (per_lane, max) = match G::ISA {
        Isa::Avx512 if G::LANES >= 16 => (20, 320),
        Isa::Avx512 | Isa::Avx512Loads | Isa::Avx512Gathers | Isa::Avx2 => (10, 160),
        Isa::Portable | Isa::Neon => (4, 64),
        Isa::Scalar => (4, 16),
    };
    if per_lane * G::LANES < max { per_lane * G::LANES } else { max }
}

/// Sorts `keys` by (key, index): afterwards `order[i]` is the index of the i-th smallest key, so that equal
/// keys stay in their order. Any length; no allocation; the same result on every gang.
///
/// # Panics
/// When `order` is shorter than `keys`.
#[inline(always)]
pub fn sort_segment<G: Gang>(g: G, keys: &[u32], order: &mut [u32]) {
    let order = &mut order[..keys.len()];
    if keys.len() > longest::<G>() || !sort_by_counting(g, keys, order) {
        sort_by_comparing(keys, order);
    }
}

/// [`sort_segment`] by counting; false when equal keys stood in one gang: then `order` is not right.
#[inline(always)]
fn sort_by_counting<G: Gang>(g: G, keys: &[u32], order: &mut [u32]) -> bool {
    let mut sum = U32::splat(g, 0);
    for start in (0..keys.len()).step_by(G::LANES) {
        let inside = Mask::first(g, keys.len() - start);
        let own = U32::load_some(&keys[start..], inside);
        let (before, rest) = keys.split_at(start);
        // Of equal keys the one before this gang comes first: all before it but the larger ones.
        let larger = count(
            own,
            before,
            #[inline(always)]
            |key| own.lt(key),
        );
        let smaller = count(
            own,
            rest,
            #[inline(always)]
            |key| key.lt(own),
        );
        let place = U32::splat(g, start as u32) - larger + smaller;
        sum = sum + inside.select_u(place, U32::splat(g, 0));
        let index = U32::iota(g) + U32::splat(g, start as u32);
        index.scatter(order, place, inside);
    }
    // Places are 0, 1, ... unless equal keys of one gang share one, which makes the sum smaller.
    let len = keys.len() as u32;
    sum.reduce_add(Mask::first(g, G::LANES)) == len * len.saturating_sub(1) / 2
}

/// For how many of `keys` the relation to each lane of `own` holds.
#[inline(always)]
fn count<G: Gang>(own: U32<G>, keys: &[u32], holds: impl Fn(U32<G>) -> Mask<G>) -> U32<G> {
    // Two sums, because each addition waits for the one before.
    let (mut even, mut odd) = (U32::splat(own.g, 0), U32::splat(own.g, 0));
    let (pairs, last) = keys.as_chunks::<2>();
    for pair in pairs {
        even = even.count(holds(U32::splat(own.g, pair[0])));
        odd = odd.count(holds(U32::splat(own.g, pair[1])));
    }
    for &key in last {
        odd = odd.count(holds(U32::splat(own.g, key)));
    }
    even + odd
}

/// The same for segments that are too long for counting, and for those with equal keys.
#[inline(never)]
fn sort_by_comparing(keys: &[u32], order: &mut [u32]) {
    match keys.len() {
        0..=320 => sort_pairs(keys, order, &mut [0; 320]),
        321..=2048 => sort_pairs(keys, order, &mut [0; 2048]),
        _ => {
            for (i, place) in order.iter_mut().enumerate() {
                *place = i as u32;
            }
            order.sort_unstable_by_key(|&i| (keys[i as usize], i));
        }
    }
}

/// Sorts keys and indices as one word each: three times faster than through the index.
fn sort_pairs(keys: &[u32], order: &mut [u32], pairs: &mut [u64]) {
    let pairs = &mut pairs[..keys.len()];
    for (i, (pair, &key)) in pairs.iter_mut().zip(keys).enumerate() {
        *pair = (key as u64) << 32 | i as u64;
    }
    pairs.sort_unstable();
    for (place, pair) in order.iter_mut().zip(pairs) {
        *place = *pair as u32;
    }
}

/// Keys that sort like their floats: -infinity, ..., -0, +0, ..., +infinity; NaN outside, by its sign.
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
        fn limit<G: Gang>(_: G) -> usize {
            longest::<G>()
        }
        let limits = Level::supported().into_iter().map(|level| dispatch!(level, g => limit(g)));
        for limit in limits.chain([320, 2048]) {
            for len in [limit, limit + 1] {
                check(
                    &(0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20 << 19).collect::<Vec<_>>(),
                );
            }
        }
    }
}
