//! [`rank`]: the positions of a few keys in sorted order. The position of a key is the number of smaller keys.

use crate::simd::Gang;
use crate::simd::varying::U32;

/// Most keys: four registers of 16 lanes.
pub(super) const FEW: usize = 64;
/// Number of keys that are compared with all keys in one turn of the loop.
const TURN: usize = 4;
/// Keys that are read at once.
const CHUNK: usize = 16;
/// Number of registers of positions at once.
const REGISTERS: usize = 4;

/// Keys followed by padding.
type Keys = [u32; FEW + TURN];

/// Calls `put` with the index and the sorted position of each of `len` keys, at most [`FEW`]. Returns whether no two keys
/// are equal; equal keys get equal positions. `key` is also called for indices up to the next multiple of 16, where its
/// value does not matter.
#[inline(always)]
pub(super) fn rank<G: Gang>(
    g: G,
    len: usize,
    key: impl Fn(usize) -> u32,
    mut put: impl FnMut(usize, usize),
) -> bool {
    let (mut keys, mut places) = ([0; FEW + TURN], [0; FEW]);
    for first in (0..len).step_by(CHUNK) {
        for i in 0..CHUNK {
            keys[(first + i) % FEW] = key((first + i) % FEW);
        }
    }
    // Padding after the last key is less than no key.
    keys[len % (FEW + 1)..][..TURN].fill(u32::MAX);
    for first in (0..len).step_by(REGISTERS * G::LANES) {
        match (len - first).div_ceil(G::LANES) {
            1 => count_less::<G, 1>(g, &keys, len, first, &mut places),
            2 => count_less::<G, 2>(g, &keys, len, first, &mut places),
            3 => count_less::<G, 3>(g, &keys, len, first, &mut places),
            _ => count_less::<G, REGISTERS>(g, &keys, len, first, &mut places),
        }
    }
    let mut sum = 0;
    for (i, place) in places.iter().enumerate().take(len) {
        put(i, *place as usize);
        sum += *place;
    }
    sum as usize == len * len.saturating_sub(1) / 2
}

/// Counts how many of the first `len` keys are less than each key in some registers.
#[inline(always)]
fn count_less<G: Gang, const N: usize>(g: G, keys: &Keys, len: usize, first: usize, places: &mut [u32; FEW]) {
    let own: [U32<G>; N] = std::array::from_fn(
        #[inline(always)]
        |i| U32::load(g, &keys[first + i * G::LANES..]),
    );
    let mut less = [U32::splat(g, 0); N];
    for start in (0..len).step_by(TURN) {
        for k in 0..TURN {
            let other = U32::splat(g, keys[(start + k) % (FEW + TURN)]);
            for i in 0..N {
                less[i] = less[i].count(other.lt(own[i]));
            }
        }
    }
    for i in 0..N {
        less[i].store(&mut places[first + i * G::LANES..]);
    }
}

/// Sorts words by their bits from `low` on, one by one; equal words keep their order.
pub(super) fn insert(low: u32, words: &mut [u64]) {
    for i in 1..words.len() {
        let word = words[i];
        let mut place = i;
        while place > 0 && words[place - 1] >> low > word >> low {
            words[place] = words[place - 1];
            place -= 1;
        }
        words[place] = word;
    }
}
