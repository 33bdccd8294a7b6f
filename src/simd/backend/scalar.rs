//! [`Scalar`]: a gang of `N` lanes in arrays, which runs on every CPU. With one lane, the gang is ordinary scalar code;
//! with more lanes, each operation repeats the scalar code for every lane.

use super::slices::{gather_record_source, gather_source, memory_through_u32};
use super::{Context, array_of, copies, for_each};
use crate::simd::{Gang, Isa};

/// A gang of `N` lanes in arrays, compiled for the instructions of the context `C`.
#[derive(Debug, Clone, Copy)]
pub struct Scalar<const N: usize, C: Context>(C);

impl<const N: usize, C: Context> Scalar<N, C> {
    /// Returns the gang for a context.
    #[inline(always)]
    pub(in crate::simd) fn new(context: C) -> Self {
        Self(context)
    }
}

/// Lane-wise operations: `name(arguments) -> type { expression of one lane }`.
macro_rules! each {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident { $lane:expr })*) => {
        $(#[inline(always)]
        #[allow(clippy::redundant_closure_call, reason = "the closure names the arguments")]
        fn $name$(<const $bits: u32>)?(self, $($arg: Self::$kind),*) -> Self::$out {
            array_of!(i => { $(let $arg = $arg[i];)* $lane })
        })*
    };
}

impl<const N: usize, C: Context> Gang for Scalar<N, C> {
    const LANES: usize = N;
    const ISA: Isa = C::ISA;
    type F = [f32; N];
    type I = [i32; N];
    type U = [u32; N];
    type M = [bool; N];

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.run(body)
    }

    #[inline(always)]
    fn f_splat(self, value: f32) -> Self::F {
        copies(value)
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        copies(value)
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        copies(value)
    }
    #[inline(always)]
    fn u_iota(self) -> Self::U {
        array_of!(i => i as u32)
    }

    memory_through_u32!();
    #[inline(always)]
    fn u_load(self, from: &[u32]) -> Self::U {
        let from = &from[..N];
        array_of!(i => from[i])
    }
    #[inline(always)]
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U {
        array_of!(i => if mask[i] && i < from.len() { from[i] } else { 0 })
    }
    #[inline(always)]
    fn u_store(self, value: Self::U, to: &mut [u32]) {
        to[..N].copy_from_slice(&value);
    }
    #[inline(always)]
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M) {
        for_each!(i < N => {
            if mask[i] && i < to.len() {
                to[i] = value[i];
            }
        });
    }
    #[inline(always)]
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize {
        let to = &mut to[..N];
        let mut count = 0;
        for_each!(i < N => {
            // Written even if the lane is not set: a later lane overwrites it, and no branch depends on the data.
            to[count.min(N - 1)] = value[i];
            count += mask[i] as usize;
        });
        count
    }
    #[inline(always)]
    fn u_gather(self, from: &[u32], index: Self::U) -> Self::U {
        let (from, last) = gather_source(from);
        // SAFETY: the index is at most the last of a slice that is not empty.
        array_of!(i => unsafe { *from.get_unchecked(index[i].min(last) as usize) })
    }
    #[inline(always)]
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
        let (from, last) = gather_record_source(from);
        let [mut a, mut b, mut c, mut d]: [[_; N]; 4] = copies(copies(0.0));
        for_each!(i < N => {
            // SAFETY: the index is at most the last of a slice that is not empty.
            [a[i], b[i], c[i], d[i]] = unsafe { *from.get_unchecked(index[i].min(last) as usize) };
        });
        [a, b, c, d]
    }
    #[inline(always)]
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
        self.f_gather_records(from, self.u_load(index))
    }
    #[inline(always)]
    fn f_store_records(self, [a, b, c, d]: [Self::F; 4], to: &mut [[f32; 4]]) {
        let to = &mut to[..N];
        for_each!(i < N => to[i] = [a[i], b[i], c[i], d[i]]);
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        for_each!(i < N => {
            if mask[i]
                && let Some(place) = to.get_mut(index[i] as usize)
            {
                *place = value[i];
            }
        });
    }

    each! {
        f_add(a: F, b: F) -> F { a + b }
        f_sub(a: F, b: F) -> F { a - b }
        f_mul(a: F, b: F) -> F { a * b }
        f_div(a: F, b: F) -> F { a / b }
        f_mul_add(a: F, b: F, c: F) -> F { C::mul_add(a, b, c) }
        f_neg_mul_add(a: F, b: F, c: F) -> F { C::mul_add(-a, b, c) }
        f_sqrt(a: F) -> F { C::sqrt(a) }
        f_abs(a: F) -> F { a.abs() }
        f_neg(a: F) -> F { -a }
        f_min(a: F, b: F) -> F { if a < b { a } else { b } }
        f_max(a: F, b: F) -> F { if a > b { a } else { b } }
        f_lt(a: F, b: F) -> M { a < b }
        f_le(a: F, b: F) -> M { a <= b }
        f_eq(a: F, b: F) -> M { a == b }
        f_select(mask: M, a: F, b: F) -> F { if mask { a } else { b } }
        f_to_i(a: F) -> I {
            // `as` saturates; the first value above the range and NaN must give the minimum instead.
            if a < 2_147_483_648.0 { a as i32 } else { i32::MIN }
        }
        f_bits(a: F) -> U { a.to_bits() }
        i_add(a: I, b: I) -> I { a.wrapping_add(b) }
        i_sub(a: I, b: I) -> I { a.wrapping_sub(b) }
        i_mul(a: I, b: I) -> I { a.wrapping_mul(b) }
        i_min(a: I, b: I) -> I { a.min(b) }
        i_max(a: I, b: I) -> I { a.max(b) }
        i_lt(a: I, b: I) -> M { a < b }
        i_eq(a: I, b: I) -> M { a == b }
        i_shl<const BITS>(a: I) -> I { a << BITS }
        i_shr<const BITS>(a: I) -> I { a >> BITS }
        i_select(mask: M, a: I, b: I) -> I { if mask { a } else { b } }
        i_to_f(a: I) -> F { a as f32 }
        i_bits(a: I) -> U { a as u32 }
        u_add(a: U, b: U) -> U { a.wrapping_add(b) }
        u_sub(a: U, b: U) -> U { a.wrapping_sub(b) }
        u_mul(a: U, b: U) -> U { a.wrapping_mul(b) }
        u_count(a: U, mask: M) -> U { a.wrapping_add(mask as u32) }
        u_and(a: U, b: U) -> U { a & b }
        u_or(a: U, b: U) -> U { a | b }
        u_xor(a: U, b: U) -> U { a ^ b }
        u_min(a: U, b: U) -> U { a.min(b) }
        u_max(a: U, b: U) -> U { a.max(b) }
        u_lt(a: U, b: U) -> M { a < b }
        u_eq(a: U, b: U) -> M { a == b }
        u_shl<const BITS>(a: U) -> U { a << BITS }
        u_shr<const BITS>(a: U) -> U { a >> BITS }
        u_select(mask: M, a: U, b: U) -> U { if mask { a } else { b } }
        u_as_i(a: U) -> I { a as i32 }
        u_as_f(a: U) -> F { f32::from_bits(a) }
        m_and(a: M, b: M) -> M { a & b }
        m_or(a: M, b: M) -> M { a | b }
        m_and_not(a: M, b: M) -> M { a & !b }
        m_not(a: M) -> M { !a }
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let mut least = f32::INFINITY;
        for_each!(i < N => least = if mask[i] && a[i] < least { a[i] } else { least });
        least + 0.0
    }
    #[inline(always)]
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32 {
        let mut sum = 0u32;
        for_each!(i < N => sum = sum.wrapping_add(if mask[i] { a[i] } else { 0 }));
        sum
    }
    #[inline(always)]
    fn u_prefix_sum(self, mut a: Self::U) -> (Self::U, u32) {
        let mut sum = 0u32;
        for_each!(i < N => {
            sum = sum.wrapping_add(a[i]);
            a[i] = sum;
        });
        (a, sum)
    }
    #[inline(always)]
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32 {
        let mut least = u32::MAX;
        for_each!(i < N => least = least.min(if mask[i] { a[i] } else { u32::MAX }));
        least
    }
    #[inline(always)]
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32 {
        let mut largest = 0;
        for_each!(i < N => largest = largest.max(if mask[i] { a[i] } else { 0 }));
        largest
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        array_of!(i => i < count)
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        array_of!(i => bits >> i & 1 != 0)
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        let mut bits = 0;
        for_each!(i < N => bits |= (mask[i] as u64) << i);
        bits
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        let mut any = false;
        for_each!(i < N => any |= mask[i]);
        any
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        let mut all = true;
        for_each!(i < N => all &= mask[i]);
        all
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        let mut count = 0;
        for_each!(i < N => count += mask[i] as usize);
        count
    }
}
