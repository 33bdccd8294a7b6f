//! [`Scalar`]: a gang of `N` lanes in arrays. With one lane this is ordinary scalar code; with more it is what
//! the compiler makes of short loops, on every CPU.

use super::{Context, gather_record_source, gather_source, memory_through_u32};
use crate::simd::{Gang, Isa};

/// `N` lanes in arrays, compiled in context `C`.
#[derive(Debug, Clone, Copy)]
pub struct Scalar<const N: usize, C: Context>(C);

impl<const N: usize, C: Context> Scalar<N, C> {
    /// The gang, given the context.
    #[inline(always)]
    pub(in crate::simd) fn new(context: C) -> Self {
        Self(context)
    }
}

/// A loop over the lanes; `std::array::from_fn` says the same and takes the compiler longer.
macro_rules! lanes {
    ($n:ident, $zero:expr, $i:ident => $lane:expr) => {{
        let mut out = [$zero; $n];
        for $i in 0..$n {
            out[$i] = $lane;
        }
        out
    }};
}

/// Lane-wise operations: `name(arguments) -> type, zero { expression of one lane }`.
macro_rules! each {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident, $zero:expr, { $lane:expr })*) => {
        $(#[inline(always)]
        #[allow(clippy::redundant_closure_call, reason = "the closure names the arguments")]
        fn $name$(<const $bits: u32>)?(self, $($arg: Self::$kind),*) -> Self::$out {
            lanes!(N, $zero, i => { $(let $arg = $arg[i];)* $lane })
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
        [value; N]
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        [value; N]
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        [value; N]
    }
    #[inline(always)]
    fn u_iota(self) -> Self::U {
        lanes!(N, 0, i => i as u32)
    }

    memory_through_u32!();
    #[inline(always)]
    fn u_load(self, from: &[u32]) -> Self::U {
        let from = &from[..N];
        lanes!(N, 0, i => from[i])
    }
    #[inline(always)]
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U {
        lanes!(N, 0, i => if mask[i] && i < from.len() { from[i] } else { 0 })
    }
    #[inline(always)]
    fn u_store(self, value: Self::U, to: &mut [u32]) {
        to[..N].copy_from_slice(&value);
    }
    #[inline(always)]
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M) {
        for i in 0..N.min(to.len()) {
            if mask[i] {
                to[i] = value[i];
            }
        }
    }
    #[inline(always)]
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize {
        let to = &mut to[..N];
        let mut count = 0;
        for i in 0..N {
            // Written whether on or not: what follows overwrites it, and no branch depends on the data.
            to[count.min(N - 1)] = value[i];
            count += mask[i] as usize;
        }
        count
    }
    #[inline(always)]
    fn u_gather(self, from: &[u32], index: Self::U) -> Self::U {
        let (from, last) = gather_source(from);
        // SAFETY: the index is at most the last of a slice that is not empty.
        lanes!(N, 0, i => unsafe { *from.get_unchecked(index[i].min(last) as usize) })
    }
    #[inline(always)]
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
        let (from, last) = gather_record_source(from);
        let mut columns = [[0.0; N]; 4];
        for i in 0..N {
            // SAFETY: the index is at most the last of a slice that is not empty.
            let record = unsafe { from.get_unchecked(index[i].min(last) as usize) };
            for (column, value) in columns.iter_mut().zip(record) {
                column[i] = *value;
            }
        }
        columns
    }
    #[inline(always)]
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
        self.f_gather_records(from, self.u_load(index))
    }
    #[inline(always)]
    fn f_store_records(self, [a, b, c, d]: [Self::F; 4], to: &mut [[f32; 4]]) {
        let to = &mut to[..N];
        for i in 0..N {
            to[i] = [a[i], b[i], c[i], d[i]];
        }
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        for i in 0..N {
            if mask[i]
                && let Some(place) = to.get_mut(index[i] as usize)
            {
                *place = value[i];
            }
        }
    }

    each! {
        f_add(a: F, b: F) -> F, 0.0, { a + b }
        f_sub(a: F, b: F) -> F, 0.0, { a - b }
        f_mul(a: F, b: F) -> F, 0.0, { a * b }
        f_div(a: F, b: F) -> F, 0.0, { a / b }
        f_mul_add(a: F, b: F, c: F) -> F, 0.0, { C::mul_add(a, b, c) }
        f_neg_mul_add(a: F, b: F, c: F) -> F, 0.0, { C::mul_add(-a, b, c) }
        f_sqrt(a: F) -> F, 0.0, { a.sqrt() }
        f_abs(a: F) -> F, 0.0, { a.abs() }
        f_neg(a: F) -> F, 0.0, { -a }
        f_min(a: F, b: F) -> F, 0.0, { if a < b { a } else { b } }
        f_max(a: F, b: F) -> F, 0.0, { if a > b { a } else { b } }
        f_lt(a: F, b: F) -> M, false, { a < b }
        f_le(a: F, b: F) -> M, false, { a <= b }
        f_eq(a: F, b: F) -> M, false, { a == b }
        f_select(mask: M, a: F, b: F) -> F, 0.0, { if mask { a } else { b } }
        f_to_i(a: F) -> I, 0, {
            // `as` saturates; the first value above the range and NaN must give the minimum instead.
            if a < 2_147_483_648.0 { a as i32 } else { i32::MIN }
        }
        f_bits(a: F) -> U, 0, { a.to_bits() }
        i_add(a: I, b: I) -> I, 0, { a.wrapping_add(b) }
        i_sub(a: I, b: I) -> I, 0, { a.wrapping_sub(b) }
        i_mul(a: I, b: I) -> I, 0, { a.wrapping_mul(b) }
        i_min(a: I, b: I) -> I, 0, { a.min(b) }
        i_max(a: I, b: I) -> I, 0, { a.max(b) }
        i_lt(a: I, b: I) -> M, false, { a < b }
        i_eq(a: I, b: I) -> M, false, { a == b }
        i_shl<const BITS>(a: I) -> I, 0, { a << BITS }
        i_shr<const BITS>(a: I) -> I, 0, { a >> BITS }
        i_select(mask: M, a: I, b: I) -> I, 0, { if mask { a } else { b } }
        i_to_f(a: I) -> F, 0.0, { a as f32 }
        i_bits(a: I) -> U, 0, { a as u32 }
        u_add(a: U, b: U) -> U, 0, { a.wrapping_add(b) }
        u_sub(a: U, b: U) -> U, 0, { a.wrapping_sub(b) }
        u_mul(a: U, b: U) -> U, 0, { a.wrapping_mul(b) }
        u_count(a: U, mask: M) -> U, 0, { a.wrapping_add(mask as u32) }
        u_and(a: U, b: U) -> U, 0, { a & b }
        u_or(a: U, b: U) -> U, 0, { a | b }
        u_xor(a: U, b: U) -> U, 0, { a ^ b }
        u_min(a: U, b: U) -> U, 0, { a.min(b) }
        u_max(a: U, b: U) -> U, 0, { a.max(b) }
        u_lt(a: U, b: U) -> M, false, { a < b }
        u_eq(a: U, b: U) -> M, false, { a == b }
        u_shl<const BITS>(a: U) -> U, 0, { a << BITS }
        u_shr<const BITS>(a: U) -> U, 0, { a >> BITS }
        u_select(mask: M, a: U, b: U) -> U, 0, { if mask { a } else { b } }
        u_as_i(a: U) -> I, 0, { a as i32 }
        u_as_f(a: U) -> F, 0.0, { f32::from_bits(a) }
        m_and(a: M, b: M) -> M, false, { a & b }
        m_or(a: M, b: M) -> M, false, { a | b }
        m_and_not(a: M, b: M) -> M, false, { a & !b }
        m_not(a: M) -> M, false, { !a }
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let mut least = f32::INFINITY;
        for i in 0..N {
            least = if mask[i] && a[i] < least { a[i] } else { least };
        }
        least + 0.0
    }
    #[inline(always)]
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32 {
        let mut sum = 0u32;
        for i in 0..N {
            sum = sum.wrapping_add(if mask[i] { a[i] } else { 0 });
        }
        sum
    }
    #[inline(always)]
    fn u_prefix_sum(self, mut a: Self::U) -> (Self::U, u32) {
        let mut sum = 0u32;
        for lane in &mut a {
            sum = sum.wrapping_add(*lane);
            *lane = sum;
        }
        (a, sum)
    }
    #[inline(always)]
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32 {
        let mut least = u32::MAX;
        for i in 0..N {
            least = least.min(if mask[i] { a[i] } else { u32::MAX });
        }
        least
    }
    #[inline(always)]
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32 {
        let mut largest = 0;
        for i in 0..N {
            largest = largest.max(if mask[i] { a[i] } else { 0 });
        }
        largest
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        lanes!(N, false, i => i < count)
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        lanes!(N, false, i => bits >> i & 1 != 0)
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        let mut bits = 0;
        for (i, on) in mask.into_iter().enumerate() {
            bits |= (on as u64) << i;
        }
        bits
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        let mut any = false;
        for on in mask {
            any |= on;
        }
        any
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        let mut all = true;
        for on in mask {
            all &= on;
        }
        all
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        let mut count = 0;
        for on in mask {
            count += on as usize;
        }
        count
    }
}
