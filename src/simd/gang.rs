//! [`Gang`]: the operations of a group of lanes. The folder `backend` has one implementation per register kind, and
//! [`super::Pair`] makes one gang of two gangs. Kernels use the operations through the types of [`super::varying`].
//!
//! A gang value is a zero-sized *token*, which proves that the CPU has the instructions of the gang. Every
//! method takes the token by value, so no method needs to be unsafe. Only a [`super::Level`], which checks the
//! CPU, creates tokens that prove an instruction set, and code outside `simd` cannot name their types. Any
//! code can define a gang of its own, which needs no token from a level, because it runs ordinary Rust code.
//!
//! Every operation gives the same bits on every gang. These rules fix what IEEE-754 leaves open or CPUs do differently:
//! - `f_mul_add` rounds once; division and square root are rounded as in IEEE-754;
//! - `f_min(a, b)` is `if a < b { a } else { b }`, and `f_max(a, b)` is `if a > b { a } else { b }`: the result is `b`
//!   if `a` or `b` is NaN;
//! - `f_to_i` truncates towards zero; NaN and values outside the range of i32 give `i32::MIN`;
//! - comparisons with NaN are false, integer arithmetic wraps, and shifts are by 0 to 31 bits;
//! - a gather clamps each index to the last element, and gives 0 from an empty slice, so hostile input can produce a
//!   wrong number, but no wrong address. Elements from 2^31 on, and records from 2^28 on, cannot be gathered.
//!
//! The rules do not define the bits of a NaN: an operation whose result is NaN may give any sign and payload.

use super::{Isa, array_of, for_each};

/// Returns the columns, each cut to the length of the shortest column.
#[inline(always)]
pub(super) fn same_length<T, const K: usize>(columns: [&[T]; K]) -> [&[T]; K] {
    let mut shortest = usize::MAX;
    for_each!(k < K => shortest = shortest.min(columns[k].len()));
    array_of!(k => &columns[k][..shortest])
}

/// A gang of `LANES` lanes, each of 32 bits. The head of `src/simd/gang.rs` has the rules for all gangs.
///
/// `F`, `I` and `U` are `LANES` values of `f32`, `i32` and `u32`; `M` is one bool per lane. Lane 0 is the first in
/// memory. Loads and stores use the first `LANES` values of a slice, and panic if the slice is shorter. Methods whose
/// names end in `_some` access only the lanes set in the mask, and skip lanes that lie beyond the end of the slice.
pub trait Gang: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// Number of lanes: a power of two from 1 to 64.
    const LANES: usize;
    /// The instruction set level that this gang uses.
    const ISA: Isa;
    /// `LANES` values of f32.
    type F: Copy;
    /// `LANES` values of i32.
    type I: Copy;
    /// `LANES` values of u32.
    type U: Copy;
    /// One bool per lane.
    type M: Copy;

    /// Runs `body`, compiled for this gang's instructions. Every function that `body` calls, directly or not, must be
    /// `#[inline(always)]`: other functions are compiled without these instructions, and are slow, with the same bits.
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R;

    // f32
    /// Returns `value` in every lane.
    fn f_splat(self, value: f32) -> Self::F;
    /// Loads the first `LANES` values of `from`.
    fn f_load(self, from: &[f32]) -> Self::F;
    /// Loads `from[i]` into each lane i that is set in `mask`; the other lanes are 0.
    fn f_load_some(self, from: &[f32], mask: Self::M) -> Self::F;
    /// Stores the lanes in the first `LANES` values of `to`.
    fn f_store(self, value: Self::F, to: &mut [f32]);
    /// Stores lane i in `to[i]`, for each lane i that is set in `mask`.
    fn f_store_some(self, value: Self::F, to: &mut [f32], mask: Self::M);
    /// Stores the lanes set in `mask` at the front of `to`, in order and without gaps, and returns their number. All of
    /// the first `LANES` values of `to` may be overwritten.
    fn f_store_packed(self, value: Self::F, to: &mut [f32], mask: Self::M) -> usize;
    /// Loads `from[index]` into each lane; an index beyond the end is clamped to the last element.
    fn f_gather(self, from: &[f32], index: Self::U) -> Self::F;
    /// Loads `from[index]` into each lane, from the first 2 x `LANES` values of `from` only: higher bits of the index
    /// are ignored. AVX2 and AVX-512 hold these values in registers and permute them instead of a gather from memory.
    #[inline(always)]
    fn f_look_up(self, from: &[f32], index: Self::U) -> Self::F {
        let within = self.u_splat(2 * Self::LANES as u32 - 1);
        self.f_gather(&from[..2 * Self::LANES], self.u_and(index, within))
    }
    /// Loads `from[k][index]` per lane and column k; an index is clamped to the last element of the shortest column.
    /// AVX2, and AVX-512 without gather instructions, take the addresses out of the register once for all columns.
    #[inline(always)]
    fn f_gather_columns<const K: usize>(self, from: [&[f32]; K], index: Self::U) -> [Self::F; K] {
        let from = same_length(from);
        array_of!(k => self.f_gather(from[k], index))
    }
    /// Loads the record `from[index]` per lane, and returns its four values as columns: by one memory access per lane,
    /// not four as by [`Gang::f_gather`] of four columns. An index beyond the end is clamped to the last record.
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4];
    /// Loads records like [`Gang::f_gather_records`], with the indices in memory, the first `LANES` values of `index`:
    /// reading addresses from memory is faster than extracting them from a register.
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4];
    /// Loads `from[index]` and the next three values into each lane, from any position, by one memory access per lane
    /// if the CPU can do this. An index is clamped to the last position with three values after it. If `from` has fewer
    /// than four values, all lanes are 0.
    #[inline(always)]
    fn f_gather_four(self, from: &[f32], index: Self::U) -> [Self::F; 4] {
        let places = from.len().saturating_sub(3);
        let from: [_; 4] = array_of!(k => if places == 0 { &from[..0] } else { &from[k..k + places] });
        self.f_gather_columns(from, index)
    }
    /// Stores four values per lane in the first `LANES` records of `to`, which [`Gang::f_gather_records`] can read.
    fn f_store_records(self, columns: [Self::F; 4], to: &mut [[f32; 4]]);
    /// Computes `a + b` per lane.
    fn f_add(self, a: Self::F, b: Self::F) -> Self::F;
    /// Computes `a - b` per lane.
    fn f_sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// Computes `a * b` per lane.
    fn f_mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// Computes `a / b` per lane, rounded as in IEEE-754.
    fn f_div(self, a: Self::F, b: Self::F) -> Self::F;
    /// Computes `a * b + c` per lane, rounded once.
    fn f_mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Computes `c - a * b` per lane, rounded once.
    fn f_neg_mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Computes the square root of each lane, rounded as in IEEE-754.
    fn f_sqrt(self, a: Self::F) -> Self::F;
    /// Clears the sign bit of each lane.
    fn f_abs(self, a: Self::F) -> Self::F;
    /// Flips the sign bit of each lane.
    fn f_neg(self, a: Self::F) -> Self::F;
    /// Computes `if a < b { a } else { b }` per lane.
    fn f_min(self, a: Self::F, b: Self::F) -> Self::F;
    /// Computes `if a > b { a } else { b }` per lane.
    fn f_max(self, a: Self::F, b: Self::F) -> Self::F;
    /// Computes `a < b` per lane.
    fn f_lt(self, a: Self::F, b: Self::F) -> Self::M;
    /// Computes `a <= b` per lane.
    fn f_le(self, a: Self::F, b: Self::F) -> Self::M;
    /// Computes `a == b` per lane.
    fn f_eq(self, a: Self::F, b: Self::F) -> Self::M;
    /// Returns `a` in the lanes set in `mask`, and `b` in the other lanes.
    fn f_select(self, mask: Self::M, a: Self::F, b: Self::F) -> Self::F;
    /// Truncates each lane to i32; NaN and values outside the range of i32 give `i32::MIN`.
    fn f_to_i(self, a: Self::F) -> Self::I;
    /// Returns the bits of each lane as u32, unchanged.
    fn f_bits(self, a: Self::F) -> Self::U;
    /// Returns the smallest lane set in `mask` that is not NaN, or +infinity if there is none; a zero is always +0.
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32;

    // i32
    /// Returns `value` in every lane.
    fn i_splat(self, value: i32) -> Self::I;
    /// Loads the first `LANES` values of `from`.
    fn i_load(self, from: &[i32]) -> Self::I;
    /// Stores the lanes in the first `LANES` values of `to`.
    fn i_store(self, value: Self::I, to: &mut [i32]);
    /// Computes `a + b` per lane, wrapping.
    fn i_add(self, a: Self::I, b: Self::I) -> Self::I;
    /// Computes `a - b` per lane, wrapping.
    fn i_sub(self, a: Self::I, b: Self::I) -> Self::I;
    /// Computes the low 32 bits of `a * b` per lane.
    fn i_mul(self, a: Self::I, b: Self::I) -> Self::I;
    /// Computes the minimum of `a` and `b` per lane, signed.
    fn i_min(self, a: Self::I, b: Self::I) -> Self::I;
    /// Computes the maximum of `a` and `b` per lane, signed.
    fn i_max(self, a: Self::I, b: Self::I) -> Self::I;
    /// Computes `a < b` per lane, signed.
    fn i_lt(self, a: Self::I, b: Self::I) -> Self::M;
    /// Computes `a == b` per lane.
    fn i_eq(self, a: Self::I, b: Self::I) -> Self::M;
    /// Computes `a << BITS` per lane.
    fn i_shl<const BITS: u32>(self, a: Self::I) -> Self::I;
    /// Computes `a >> BITS` per lane, as an arithmetic shift.
    fn i_shr<const BITS: u32>(self, a: Self::I) -> Self::I;
    /// Returns `a` in the lanes set in `mask`, and `b` in the other lanes.
    fn i_select(self, mask: Self::M, a: Self::I, b: Self::I) -> Self::I;
    /// Converts each lane to the nearest f32; ties go to the even value.
    fn i_to_f(self, a: Self::I) -> Self::F;
    /// Returns the bits of each lane as u32, unchanged.
    fn i_bits(self, a: Self::I) -> Self::U;

    // u32
    /// Returns `value` in every lane.
    fn u_splat(self, value: u32) -> Self::U;
    /// Returns the number of each lane, from 0 to `LANES` - 1.
    fn u_iota(self) -> Self::U;
    /// Loads the first `LANES` values of `from`.
    fn u_load(self, from: &[u32]) -> Self::U;
    /// Loads `from[i]` into each lane i that is set in `mask`; the other lanes are 0.
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U;
    /// Stores the lanes in the first `LANES` values of `to`.
    fn u_store(self, value: Self::U, to: &mut [u32]);
    /// Stores lane i in `to[i]`, for each lane i that is set in `mask`.
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M);
    /// Stores the lanes set in `mask` at the front of `to`, like [`Gang::f_store_packed`], and returns their number.
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize;
    /// Loads `from[index]` into each lane; an index beyond the end is clamped to the last element.
    fn u_gather(self, from: &[u32], index: Self::U) -> Self::U;
    /// Stores each lane that is set in `mask` to `to[index]`, lane 0 first: of lanes with equal indices, the last
    /// lane's value remains. A lane whose index is outside `to` stores nothing.
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M);
    /// Computes `a + b` per lane, wrapping.
    fn u_add(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes `a - b` per lane, wrapping.
    fn u_sub(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes the low 32 bits of `a * b` per lane.
    fn u_mul(self, a: Self::U, b: Self::U) -> Self::U;
    /// Adds 1 to the lanes of `a` that are set in `mask`, wrapping; SIMD gangs need one instruction per register.
    fn u_count(self, a: Self::U, mask: Self::M) -> Self::U;
    /// Computes `a & b` per lane.
    fn u_and(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes `a | b` per lane.
    fn u_or(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes `a ^ b` per lane.
    fn u_xor(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes the minimum of `a` and `b` per lane, unsigned.
    fn u_min(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes the maximum of `a` and `b` per lane, unsigned.
    fn u_max(self, a: Self::U, b: Self::U) -> Self::U;
    /// Computes `a < b` per lane, unsigned.
    fn u_lt(self, a: Self::U, b: Self::U) -> Self::M;
    /// Computes `a == b` per lane.
    fn u_eq(self, a: Self::U, b: Self::U) -> Self::M;
    /// Computes `a << BITS` per lane.
    fn u_shl<const BITS: u32>(self, a: Self::U) -> Self::U;
    /// Computes `a >> BITS` per lane, as a logical shift.
    fn u_shr<const BITS: u32>(self, a: Self::U) -> Self::U;
    /// Returns `a` in the lanes set in `mask`, and `b` in the other lanes.
    fn u_select(self, mask: Self::M, a: Self::U, b: Self::U) -> Self::U;
    /// Returns the bits of each lane as i32, unchanged.
    fn u_as_i(self, a: Self::U) -> Self::I;
    /// Returns the bits of each lane as f32, unchanged.
    fn u_as_f(self, a: Self::U) -> Self::F;
    /// Returns the sum of the lanes set in `mask`, wrapping.
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32;
    /// Returns the inclusive prefix sums of the lanes, and the sum of all lanes; the sums wrap.
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32);
    /// Returns the smallest lane set in `mask`, or `u32::MAX` if no lane is set.
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32;
    /// Returns the largest lane set in `mask`, or 0 if no lane is set.
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32;

    // masks
    /// Returns the mask in which the first `count` lanes are set, or all lanes if `count >= LANES`.
    fn m_first(self, count: usize) -> Self::M;
    /// Returns the mask in which lane i is set if bit i of `bits` is 1.
    fn m_from_bits(self, bits: u64) -> Self::M;
    /// Returns the mask as an integer: bit i is 1 if lane i is set, and bits from `LANES` on are 0.
    fn m_bits(self, mask: Self::M) -> u64;
    /// Computes `a & b` per lane.
    fn m_and(self, a: Self::M, b: Self::M) -> Self::M;
    /// Computes `a | b` per lane.
    fn m_or(self, a: Self::M, b: Self::M) -> Self::M;
    /// Computes `a & !b` per lane.
    fn m_and_not(self, a: Self::M, b: Self::M) -> Self::M;
    /// Computes `!a` per lane.
    fn m_not(self, a: Self::M) -> Self::M;
    /// Returns whether any lane is set.
    fn m_any(self, mask: Self::M) -> bool;
    /// Returns whether all lanes are set.
    fn m_all(self, mask: Self::M) -> bool;
    /// Returns the number of lanes that are set.
    fn m_count(self, mask: Self::M) -> usize;
}
