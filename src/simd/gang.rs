//! [`Gang`]: the operations of a group of lanes. One implementation per register kind is in `backend`;
//! [`super::Pair`] makes a gang of two; kernels use it through the operators of [`super::varying`].
//!
//! A gang value is a zero-sized *token*: it proves that the CPU has the instructions. Every method takes it by value,
//! so no method needs to be unsafe. Only a [`super::Level`], which checks the CPU, gives tokens of registers; their
//! types cannot be named outside `simd`. A user-defined gang without such a token can be written anywhere: it runs
//! ordinary code.
//!
//! Every operation gives the same bits on every gang; this list fixes the points that IEEE-754 leaves open:
//! - `f_mul_add` is one fused rounding everywhere, division and square root are the IEEE ones;
//! - `f_min(a, b)` is `if a < b { a } else { b }`, `f_max(a, b)` is `if a > b { a } else { b }` (so a NaN in
//!   either gives `b`);
//! - `f_to_i` truncates towards zero; NaN and values that do not fit give `i32::MIN`;
//! - comparisons with NaN are false, integer arithmetic wraps, shifts are by 0..=31;
//! - a gather clamps its index to the last element, and gives 0 from an empty slice: hostile input can produce a
//!   wrong number, never a wrong address. Elements from 2^31 on cannot be gathered.
//!
//! One thing is undefined: the kind of NaN. An operation whose result is NaN may give any sign and payload.

use super::{Isa, array_of, for_each};

/// The columns, all as long as the shortest.
#[inline(always)]
pub(super) fn same_length<T, const K: usize>(columns: [&[T]; K]) -> [&[T]; K] {
    let mut shortest = usize::MAX;
    for_each!(k < K => shortest = shortest.min(columns[k].len()));
    array_of!(k => &columns[k][..shortest])
}

/// A gang of `LANES` lanes of 32 bits. See the module documentation for the rules that hold on every gang.
///
/// `F`, `I`, `U` are `LANES` values of `f32`, `i32`, `u32`; `M` is one yes or no per lane. Lane 0 is the
/// first in memory. Loads and stores use the first `LANES` values of a slice and panic when it is shorter;
/// the `_some` forms touch only the lanes of the mask, and lanes beyond the slice count as masked off.
pub trait Gang: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// Number of lanes, 1..=64, a power of two.
    const LANES: usize;
    /// The level whose instructions this gang uses.
    const ISA: Isa;
    /// `LANES` values of f32.
    type F: Copy;
    /// `LANES` values of i32.
    type I: Copy;
    /// `LANES` values of u32.
    type U: Copy;
    /// One bool per lane.
    type M: Copy;

    /// Runs `body` compiled for this gang's instructions. Everything called inside must be `#[inline(always)]` down
    /// to the kernel's end, otherwise it is compiled without them: slow, same bits.
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R;

    // f32
    /// `value` in every lane.
    fn f_splat(self, value: f32) -> Self::F;
    /// First `LANES` values of `from`.
    fn f_load(self, from: &[f32]) -> Self::F;
    /// Lanes of `mask` from memory, 0 in the others.
    fn f_load_some(self, from: &[f32], mask: Self::M) -> Self::F;
    /// Into the first `LANES` values of `to`.
    fn f_store(self, value: Self::F, to: &mut [f32]);
    /// Lanes of `mask` only.
    fn f_store_some(self, value: Self::F, to: &mut [f32], mask: Self::M);
    /// Left-pack: lanes of `mask`, in order, to the front of `to`; returns how many. All `LANES` values of `to` may
    /// be written.
    fn f_store_packed(self, value: Self::F, to: &mut [f32], mask: Self::M) -> usize;
    /// Loads `from[index]` in each lane; indices are clamped (see the module).
    fn f_gather(self, from: &[f32], index: Self::U) -> Self::F;
    /// `from[index]` per lane, from the first 2 x `LANES` values only: higher bits of the index are ignored. From
    /// registers where the CPU permutes lanes of two of them.
    #[inline(always)]
    fn f_look_up(self, from: &[f32], index: Self::U) -> Self::F {
        let within = self.u_splat(2 * Self::LANES as u32 - 1);
        self.f_gather(&from[..2 * Self::LANES], self.u_and(index, within))
    }
    /// `from[index]` per lane of several columns, the index clamped to the last element of the shortest. AVX2 and AVX-512
    /// take the addresses out of the register once for all columns, other gangs gather one column after the other.
    #[inline(always)]
    fn f_gather_columns<const K: usize>(self, from: [&[f32]; K], index: Self::U) -> [Self::F; K] {
        let from = same_length(from);
        array_of!(k => self.f_gather(from[k], index))
    }
    /// `from[index]` per lane, four values at once: one memory access a lane, where [`Gang::f_gather`] of four
    /// columns has four. Index clamped (module text).
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4];
    /// [`Gang::f_gather_records`] with the index in memory, the first `LANES` values of `index`: reading addresses
    /// from memory is faster than extracting them from a register.
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4];
    /// `from[index]` per lane and the next three values: four values that may begin anywhere, by one memory access a
    /// lane where the CPU can. The index is clamped to the last position with three values after it; of fewer than
    /// four values all lanes are 0.
    #[inline(always)]
    fn f_gather_four(self, from: &[f32], index: Self::U) -> [Self::F; 4] {
        let places = from.len().saturating_sub(3);
        let from: [_; 4] = array_of!(k => if places == 0 { &from[..0] } else { &from[k..k + places] });
        self.f_gather_columns(from, index)
    }
    /// Into the first `LANES` records of `to`, as [`Gang::f_gather_records`] reads them.
    fn f_store_records(self, columns: [Self::F; 4], to: &mut [[f32; 4]]);
    /// a + b
    fn f_add(self, a: Self::F, b: Self::F) -> Self::F;
    /// a - b
    fn f_sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b
    fn f_mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b, IEEE
    fn f_div(self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b + c, one rounding
    fn f_mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// c - a * b, one rounding
    fn f_neg_mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Square root, IEEE
    fn f_sqrt(self, a: Self::F) -> Self::F;
    /// Clears the sign bit.
    fn f_abs(self, a: Self::F) -> Self::F;
    /// Flips the sign bit.
    fn f_neg(self, a: Self::F) -> Self::F;
    /// `if a < b { a } else { b }`
    fn f_min(self, a: Self::F, b: Self::F) -> Self::F;
    /// `if a > b { a } else { b }`
    fn f_max(self, a: Self::F, b: Self::F) -> Self::F;
    /// a < b
    fn f_lt(self, a: Self::F, b: Self::F) -> Self::M;
    /// a <= b
    fn f_le(self, a: Self::F, b: Self::F) -> Self::M;
    /// a == b
    fn f_eq(self, a: Self::F, b: Self::F) -> Self::M;
    /// `mask ? a : b`
    fn f_select(self, mask: Self::M, a: Self::F, b: Self::F) -> Self::F;
    /// Truncation to i32 (module text for what does not fit).
    fn f_to_i(self, a: Self::F) -> Self::I;
    /// The bits, unchanged.
    fn f_bits(self, a: Self::F) -> Self::U;
    /// Smallest lane of `mask` that is not NaN; +infinity when there is none. A zero comes out as +0.
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32;

    // i32
    /// `value` in every lane.
    fn i_splat(self, value: i32) -> Self::I;
    /// First `LANES` values of `from`.
    fn i_load(self, from: &[i32]) -> Self::I;
    /// Into the first `LANES` values of `to`.
    fn i_store(self, value: Self::I, to: &mut [i32]);
    /// a + b, wrapping
    fn i_add(self, a: Self::I, b: Self::I) -> Self::I;
    /// a - b, wrapping
    fn i_sub(self, a: Self::I, b: Self::I) -> Self::I;
    /// a * b, low 32 bits
    fn i_mul(self, a: Self::I, b: Self::I) -> Self::I;
    /// min, signed
    fn i_min(self, a: Self::I, b: Self::I) -> Self::I;
    /// max, signed
    fn i_max(self, a: Self::I, b: Self::I) -> Self::I;
    /// a < b, signed
    fn i_lt(self, a: Self::I, b: Self::I) -> Self::M;
    /// a == b
    fn i_eq(self, a: Self::I, b: Self::I) -> Self::M;
    /// a << BITS
    fn i_shl<const BITS: u32>(self, a: Self::I) -> Self::I;
    /// a >> BITS, arithmetic
    fn i_shr<const BITS: u32>(self, a: Self::I) -> Self::I;
    /// `mask ? a : b`
    fn i_select(self, mask: Self::M, a: Self::I, b: Self::I) -> Self::I;
    /// To f32, nearest even.
    fn i_to_f(self, a: Self::I) -> Self::F;
    /// The bits, unchanged.
    fn i_bits(self, a: Self::I) -> Self::U;

    // u32
    /// `value` in every lane.
    fn u_splat(self, value: u32) -> Self::U;
    /// 0, 1, 2, ... LANES - 1
    fn u_iota(self) -> Self::U;
    /// First `LANES` values of `from`.
    fn u_load(self, from: &[u32]) -> Self::U;
    /// Lanes of `mask` from memory, 0 in the others.
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U;
    /// Into the first `LANES` values of `to`.
    fn u_store(self, value: Self::U, to: &mut [u32]);
    /// Lanes of `mask` only.
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M);
    /// Left-pack, as [`Gang::f_store_packed`].
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize;
    /// Loads `from[index]` in each lane; indices are clamped (see the module).
    fn u_gather(self, from: &[u32], index: Self::U) -> Self::U;
    /// `to[index] = value` for the lanes of `mask`, lane 0 first, so the last of equal indices stays. Lanes whose
    /// index is outside `to` write nothing.
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M);
    /// a + b, wrapping
    fn u_add(self, a: Self::U, b: Self::U) -> Self::U;
    /// a - b, wrapping
    fn u_sub(self, a: Self::U, b: Self::U) -> Self::U;
    /// a * b, low 32 bits
    fn u_mul(self, a: Self::U, b: Self::U) -> Self::U;
    /// a + 1 in the lanes of `mask`, wrapping: one instruction where a mask is a number.
    fn u_count(self, a: Self::U, mask: Self::M) -> Self::U;
    /// a & b
    fn u_and(self, a: Self::U, b: Self::U) -> Self::U;
    /// a | b
    fn u_or(self, a: Self::U, b: Self::U) -> Self::U;
    /// a ^ b
    fn u_xor(self, a: Self::U, b: Self::U) -> Self::U;
    /// min, unsigned
    fn u_min(self, a: Self::U, b: Self::U) -> Self::U;
    /// max, unsigned
    fn u_max(self, a: Self::U, b: Self::U) -> Self::U;
    /// a < b, unsigned
    fn u_lt(self, a: Self::U, b: Self::U) -> Self::M;
    /// a == b
    fn u_eq(self, a: Self::U, b: Self::U) -> Self::M;
    /// a << BITS
    fn u_shl<const BITS: u32>(self, a: Self::U) -> Self::U;
    /// a >> BITS, logical
    fn u_shr<const BITS: u32>(self, a: Self::U) -> Self::U;
    /// `mask ? a : b`
    fn u_select(self, mask: Self::M, a: Self::U, b: Self::U) -> Self::U;
    /// The bits as i32, unchanged.
    fn u_as_i(self, a: Self::U) -> Self::I;
    /// The bits as f32, unchanged.
    fn u_as_f(self, a: Self::U) -> Self::F;
    /// Sum of the lanes of `mask`, wrapping.
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32;
    /// Sums of each lane and the lanes before it, wrapping, and the sum of all.
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32);
    /// Smallest lane of `mask`; `u32::MAX` when there is none.
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32;
    /// Largest lane of `mask`; 0 when there is none.
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32;

    // masks
    /// The first `count` lanes (all of them when `count >= LANES`).
    fn m_first(self, count: usize) -> Self::M;
    /// Lane i is bit i.
    fn m_from_bits(self, bits: u64) -> Self::M;
    /// Bit i is lane i; bits from `LANES` on are 0.
    fn m_bits(self, mask: Self::M) -> u64;
    /// a & b
    fn m_and(self, a: Self::M, b: Self::M) -> Self::M;
    /// a | b
    fn m_or(self, a: Self::M, b: Self::M) -> Self::M;
    /// a & !b
    fn m_and_not(self, a: Self::M, b: Self::M) -> Self::M;
    /// !a
    fn m_not(self, a: Self::M) -> Self::M;
    /// Whether any lane is on.
    fn m_any(self, mask: Self::M) -> bool;
    /// Whether all lanes are on.
    fn m_all(self, mask: Self::M) -> bool;
    /// Number of lanes that are on.
    fn m_count(self, mask: Self::M) -> usize;
}
