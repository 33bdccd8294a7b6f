//! [`Portable`]: four lanes of the `wide` crate, whose registers are chosen when that crate is built: SSE2 on x86-64,
//! NEON on aarch64, arrays elsewhere. The lanes of a mask are all ones or all zeros.

use super::{
    Context, array_of, for_each, gather_record_source, gather_source, load_short, memory_through_u32,
    scatter_lanes, store_short,
};
use crate::simd::{Gang, Isa};
use bytemuck::cast;
use wide::{f32x4, i32x4, u32x4};

/// Four lanes of `wide`, compiled in context `C`.
#[derive(Debug, Clone, Copy)]
pub struct Portable<C: Context>(C);

impl<C: Context> Portable<C> {
    /// Makes the gang from a context.
    #[inline(always)]
    pub(in crate::simd) fn new(context: C) -> Self {
        Self(context)
    }
}

const N: usize = 4;

/// For each mask, the numbers of the lanes that are on, in order.
static PACK: [[usize; N]; 16] = {
    let mut table = [[0; N]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut count) = (0, 0);
        while lane < N {
            if mask >> lane & 1 == 1 {
                table[mask][count] = lane;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// Defines lane-wise operations: `name(arguments) -> type { expression }`.
macro_rules! lanewise {
    ($self:ident: $($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident { $body:expr })*) => {
        $(#[inline(always)]
        fn $name$(<const $bits: u32>)?($self, $($arg: Self::$kind),*) -> Self::$out {
            $body
        })*
    };
}

impl<C: Context> Gang for Portable<C> {
    const LANES: usize = N;
    const ISA: Isa = C::ISA;
    type F = f32x4;
    type I = i32x4;
    type U = u32x4;
    type M = u32x4;

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.run(body)
    }

    #[inline(always)]
    fn f_splat(self, value: f32) -> Self::F {
        f32x4::splat(value)
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        i32x4::splat(value)
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        u32x4::splat(value)
    }

    memory_through_u32!();
    #[inline(always)]
    fn u_load(self, from: &[u32]) -> Self::U {
        let from = &from[..N];
        u32x4::new([from[0], from[1], from[2], from[3]])
    }
    #[inline(always)]
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U {
        let values = if from.len() >= N { self.u_load(from) } else { self.u_load(&load_short::<N>(from)) };
        self.m_and(values, mask)
    }
    #[inline(always)]
    fn u_store(self, value: Self::U, to: &mut [u32]) {
        to[..N].copy_from_slice(&value.to_array());
    }
    #[inline(always)]
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M) {
        if to.len() >= N {
            self.u_store(self.u_select(mask, value, self.u_load(to)), to);
        } else {
            let mut values = [0; N];
            self.u_store(value, &mut values);
            store_short(&values, to, self.m_bits(mask));
        }
    }
    #[inline(always)]
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize {
        let (to, value, bits) = (&mut to[..N], value.to_array(), self.m_bits(mask));
        let from = PACK[bits as usize & 15];
        for_each!(i < N => to[i] = value[from[i] & (N - 1)]);
        bits.count_ones() as usize
    }
    #[inline(always)]
    fn u_gather(self, from: &[u32], index: Self::U) -> Self::U {
        let (from, last) = gather_source(from);
        let index = index.to_array();
        // SAFETY: the index is at most the last of a slice that is not empty.
        u32x4::new(array_of!(i => unsafe { *from.get_unchecked(index[i].min(last) as usize) }))
    }
    #[inline(always)]
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
        let (from, last) = gather_record_source(from);
        let index = index.to_array();
        // SAFETY: the index is at most the last of a slice that is not empty.
        f32x4::transpose(
            array_of!(i => f32x4::new(unsafe { *from.get_unchecked(index[i].min(last) as usize) })),
        )
    }
    #[inline(always)]
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
        self.f_gather_records(from, self.u_load(index))
    }
    #[inline(always)]
    fn f_store_records(self, columns: [Self::F; 4], to: &mut [[f32; 4]]) {
        let rows = f32x4::transpose(columns);
        let to = &mut to[..N];
        for_each!(i < N => to[i] = rows[i].to_array());
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        let (mut values, mut places) = ([0; N], [0; N]);
        self.u_store(value, &mut values);
        self.u_store(index, &mut places);
        scatter_lanes(&values, to, &places, self.m_bits(mask));
    }

    lanewise! { self:
        f_add(a: F, b: F) -> F { a + b }
        f_sub(a: F, b: F) -> F { a - b }
        f_mul(a: F, b: F) -> F { a * b }
        f_div(a: F, b: F) -> F { a / b }
        // `wide` fuses only if the build allows it; `mul_add_four` always does.
        f_mul_add(a: F, b: F, c: F) -> F { f32x4::new(self.0.mul_add_four(a.to_array(), b.to_array(), c.to_array())) }
        f_neg_mul_add(a: F, b: F, c: F) -> F { self.f_mul_add(self.f_neg(a), b, c) }
        f_sqrt(a: F) -> F { a.sqrt() }
        f_abs(a: F) -> F { cast(self.f_bits(a) & u32x4::splat(0x7fff_ffff)) }
        f_neg(a: F) -> F { cast(self.f_bits(a) ^ u32x4::splat(0x8000_0000)) }
        // `wide` treats NaN differently from other gangs, and differently on each architecture.
        f_min(a: F, b: F) -> F { self.f_select(self.f_lt(a, b), a, b) }
        f_max(a: F, b: F) -> F { self.f_select(self.f_lt(b, a), a, b) }
        f_lt(a: F, b: F) -> M { cast(a.simd_lt(b)) }
        f_le(a: F, b: F) -> M { cast(a.simd_le(b)) }
        f_eq(a: F, b: F) -> M { cast(a.simd_eq(b)) }
        f_select(mask: M, a: F, b: F) -> F { cast(mask.bitselect(cast(a), cast(b))) }
        f_to_i(a: F) -> I {{
            // `fast_trunc_int` saturates or gives the minimum, depending on the architecture; results for values below
            // 2^31 agree.
            let fits = a.simd_lt(f32x4::splat(2_147_483_648.0));
            self.i_select(cast(fits), a.fast_trunc_int(), i32x4::splat(i32::MIN))
        }}
        f_bits(a: F) -> U { cast(a) }
        i_add(a: I, b: I) -> I { a + b }
        i_sub(a: I, b: I) -> I { a - b }
        i_mul(a: I, b: I) -> I { a * b }
        i_min(a: I, b: I) -> I { a.min(b) }
        i_max(a: I, b: I) -> I { a.max(b) }
        i_lt(a: I, b: I) -> M { cast(a.simd_lt(b)) }
        i_eq(a: I, b: I) -> M { cast(a.simd_eq(b)) }
        i_shl<const BITS>(a: I) -> I { a << BITS }
        i_shr<const BITS>(a: I) -> I { a >> BITS }
        i_select(mask: M, a: I, b: I) -> I { cast(mask.bitselect(cast(a), cast(b))) }
        i_to_f(a: I) -> F { a.round_float() }
        i_bits(a: I) -> U { cast(a) }
        u_iota() -> U { u32x4::new([0, 1, 2, 3]) }
        u_add(a: U, b: U) -> U { a + b }
        u_sub(a: U, b: U) -> U { a - b }
        u_mul(a: U, b: U) -> U { a * b }
        // A lane that is on has the value -1.
        u_count(a: U, mask: M) -> U { a - mask }
        u_and(a: U, b: U) -> U { a & b }
        u_or(a: U, b: U) -> U { a | b }
        u_xor(a: U, b: U) -> U { a ^ b }
        u_min(a: U, b: U) -> U { self.u_select(self.u_lt(a, b), a, b) }
        u_max(a: U, b: U) -> U { self.u_select(self.u_lt(a, b), b, a) }
        // With the top bit flipped, a signed comparison orders unsigned integers.
        u_lt(a: U, b: U) -> M {{
            let top = u32x4::splat(0x8000_0000);
            cast(cast::<_, i32x4>(a ^ top).simd_lt(cast::<_, i32x4>(b ^ top)))
        }}
        u_eq(a: U, b: U) -> M { a.simd_eq(b) }
        u_shl<const BITS>(a: U) -> U { a << BITS }
        u_shr<const BITS>(a: U) -> U { a >> BITS }
        u_select(mask: M, a: U, b: U) -> U { mask.bitselect(a, b) }
        u_as_i(a: U) -> I { cast(a) }
        u_as_f(a: U) -> F { cast(a) }
        m_and(a: M, b: M) -> M { a & b }
        m_or(a: M, b: M) -> M { a | b }
        m_and_not(a: M, b: M) -> M { a & !b }
        m_not(a: M) -> M { !a }
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let infinity = f32x4::splat(f32::INFINITY);
        // No lane is NaN here. The minimum of +0 and -0 may be either; adding 0.0 makes it +0.
        let [a, b, c, d] = self.f_min(self.f_select(mask, a, infinity), infinity).to_array();
        a.min(b).min(c.min(d)) + 0.0
    }
    #[inline(always)]
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32 {
        let lanes = (a & mask).to_array();
        lanes[0].wrapping_add(lanes[1]).wrapping_add(lanes[2].wrapping_add(lanes[3]))
    }
    #[inline(always)]
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32) {
        let [a, b, c, d] = a.to_array();
        let (ab, cd) = (a.wrapping_add(b), c.wrapping_add(d));
        let sum = ab.wrapping_add(cd);
        (u32x4::new([a, ab, ab.wrapping_add(c), sum]), sum)
    }
    #[inline(always)]
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32 {
        // All bits of a lane that is off are set: it becomes the largest number.
        let lanes = (a | !mask).to_array();
        lanes[0].min(lanes[1]).min(lanes[2].min(lanes[3]))
    }
    #[inline(always)]
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32 {
        let lanes = (a & mask).to_array();
        lanes[0].max(lanes[1]).max(lanes[2].max(lanes[3]))
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        self.i_lt(i32x4::new([0, 1, 2, 3]), i32x4::splat(count.min(N) as i32))
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        let own = u32x4::new([1, 2, 4, 8]);
        (u32x4::splat(bits as u32) & own).simd_eq(own)
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        mask.to_bitmask() as u64
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        mask.any()
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        mask.all()
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        self.m_bits(mask).count_ones() as usize
    }
}
