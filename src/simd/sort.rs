//! Sorts short segments, such as the hits of one module, by key and index.
//!
//! A short segment is sorted by counting: the position of a key is the number of keys before it, and one comparison
//! counts for all lanes of a gang. Counting takes n^2 / LANES comparisons, but each is two or three instructions
//! without a branch that depends on data. For tens of keys, counting is faster than the best comparison sort.

use super::varying::{F32, Mask, U32};
use super::{Gang, Isa};

/// Length of the longest segment that is sorted by counting on a gang. Measurements found a comparison sort faster for
/// longer segments.
const fn longest<G: Gang>() -> usize {
    let (per_lane, max) = match G::ISA {
        Isa::Avx512 if G::LANES >= 16 => (20, 320),
        Isa::Avx512 | Isa::Avx512Loads | Isa::Avx512Gathers | Isa::Avx2 => (10, 160),
        Isa::Portable | Isa::Neon => (4, 64),
        Isa::Scalar => (4, 16),
    };
    if per_lane * G::LANES < max { per_lane * G::LANES } else { max }
}

/// Sorts `keys` by (key, index): afterwards `order[i]` is the index of the i-th smallest key, and equal keys
/// keep their order. Takes any length, allocates nothing, and gives the same result on every gang.
///
/// # Panics
/// Panics if `order` is shorter than `keys`.
#[inline(always)]
pub fn sort_segment<G: Gang>(g: G, keys: &[u32], order: &mut [u32]) {
    let order = &mut order[..keys.len()];
    if keys.len() > longest::<G>() || !sort_by_counting(g, keys, order) {
        sort_by_comparing(keys, order);
    }
}

/// [`sort_segment`] by counting. Returns false when one gang contained equal keys; `order` is then wrong.
#[inline(always)]
fn sort_by_counting<G: Gang>(g: G, keys: &[u32], order: &mut [u32]) -> bool {
    let mut sum = U32::splat(g, 0);
    for start in (0..keys.len()).step_by(G::LANES) {
        let inside = Mask::first(g, keys.len() - start);
        let own = U32::load_some(&keys[start..], inside);
        let (before, rest) = keys.split_at(start);
        // Keys before this gang come first if they are equal: counts all keys before it except the larger ones.
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
    // Positions are 0, 1, ... unless equal keys of one gang share a position, which makes the sum smaller.
    let len = keys.len() as u32;
    sum.reduce_add(Mask::first(g, G::LANES)) == len * len.saturating_sub(1) / 2
}

/// Counts, for each lane of `own`, the keys for which the relation holds.
#[inline(always)]
fn count<G: Gang>(own: U32<G>, keys: &[u32], holds: impl Fn(U32<G>) -> Mask<G>) -> U32<G> {
    // Uses two sums, because each addition waits for the previous one.
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

/// [`sort_segment`] for segments that are too long for counting or have equal keys.
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

/// Sorts words of a key and its index: three times faster than sorting indices by their keys.
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

/// Returns keys in the order of the floats: -infinity, ..., -0, +0, ..., +infinity; NaN first or last, by its sign.
#[inline(always)]
pub fn float_key<G: Gang>(value: F32<G>) -> U32<G> {
    let bits = value.to_bits();
    // Flips all bits of a negative number, and only the sign bit of all others.
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
            // Values after the segment must not change.
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
