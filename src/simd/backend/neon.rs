//! [`Quad`]: four lanes in a 128-bit NEON register. The lanes of a mask are all ones or all zeros.

use super::{
    Context, NeonContext, array_of, gather_four_source, gather_record_source, gather_source, lanewise,
    load_short, memory_through_u32, scatter_lanes, store_short,
};
use crate::simd::{Gang, Isa};
use std::arch::aarch64::*;

/// Four lanes of NEON.
#[derive(Debug, Clone, Copy)]
pub struct Quad(NeonContext);

impl Quad {
    /// Makes the gang from a context.
    #[inline(always)]
    pub(in crate::simd) fn new(context: NeonContext) -> Self {
        Self(context)
    }
}

const N: usize = 4;

/// For each mask, the byte permutation that packs its lanes to the left; bytes out of range give zero.
static PACK: [[u8; 16]; 16] = {
    let mut table = [[0xff; 16]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut count) = (0, 0);
        while lane < N {
            if mask >> lane & 1 == 1 {
                let mut byte = 0;
                while byte < 4 {
                    table[mask][4 * count + byte] = (4 * lane + byte) as u8;
                    byte += 1;
                }
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// A register of four given values.
#[inline]
#[target_feature(enable = "neon")]
fn lanes(values: [u32; N]) -> uint32x4_t {
    // SAFETY: the array has four values.
    unsafe { vld1q_u32(values.as_ptr()) }
}

/// Transposes four records: returns all first values, all second values, and so on.
#[inline]
#[target_feature(enable = "neon")]
fn transposed([a, b, c, d]: [float32x4_t; N]) -> [float32x4_t; N] {
    let (ab, cd) = (vtrnq_f32(a, b), vtrnq_f32(c, d));
    [
        vcombine_f32(vget_low_f32(ab.0), vget_low_f32(cd.0)),
        vcombine_f32(vget_low_f32(ab.1), vget_low_f32(cd.1)),
        vcombine_f32(vget_high_f32(ab.0), vget_high_f32(cd.0)),
        vcombine_f32(vget_high_f32(ab.1), vget_high_f32(cd.1)),
    ]
}

impl Gang for Quad {
    const LANES: usize = N;
    const ISA: Isa = Isa::Neon;
    type F = float32x4_t;
    type I = int32x4_t;
    type U = uint32x4_t;
    type M = uint32x4_t;

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.run(body)
    }

    #[inline(always)]
    fn f_splat(self, value: f32) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vdupq_n_f32(value) }
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        // SAFETY: the token proves NEON.
        unsafe { vdupq_n_s32(value) }
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        // SAFETY: the token proves NEON.
        unsafe { vdupq_n_u32(value) }
    }

    memory_through_u32!();
    #[inline(always)]
    fn u_load(self, from: &[u32]) -> Self::U {
        let from = &from[..N];
        // SAFETY: the slice has four values; the token proves NEON.
        unsafe { vld1q_u32(from.as_ptr()) }
    }
    #[inline(always)]
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U {
        let values = if from.len() >= N { self.u_load(from) } else { self.u_load(&load_short::<N>(from)) };
        self.m_and(values, mask)
    }
    #[inline(always)]
    fn u_store(self, value: Self::U, to: &mut [u32]) {
        let to = &mut to[..N];
        // SAFETY: the slice has four values; the token proves NEON.
        unsafe { vst1q_u32(to.as_mut_ptr(), value) }
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
        let bits = self.m_bits(mask);
        // SAFETY: the table's rows have sixteen bytes; the token proves NEON.
        let packed = unsafe {
            let bytes = vld1q_u8(PACK[bits as usize & 15].as_ptr());
            vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(value), bytes))
        };
        self.u_store(packed, to);
        bits.count_ones() as usize
    }
    #[inline(always)]
    fn u_gather(self, from: &[u32], index: Self::U) -> Self::U {
        let (from, last) = gather_source(from);
        let mut places = [0; N];
        self.u_store(self.u_min(index, self.u_splat(last)), &mut places);
        // SAFETY: the index is at most the last of a slice that is not empty.
        let values: [_; N] = array_of!(lane => unsafe { *from.get_unchecked(places[lane] as usize) });
        self.u_load(&values)
    }
    #[inline(always)]
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
        let (from, last) = gather_record_source(from);
        let mut places = [0; N];
        self.u_store(self.u_min(index, self.u_splat(last)), &mut places);
        let at: *const f32 = from.as_ptr().cast();
        // SAFETY: every index is at most the last of a slice that is not empty; the token proves NEON.
        unsafe { transposed(array_of!(lane => vld1q_f32(at.add(4 * places[lane] as usize)))) }
    }
    #[inline(always)]
    fn f_gather_four(self, from: &[f32], index: Self::U) -> [Self::F; 4] {
        let (from, last) = gather_four_source(from);
        let mut places = [0; N];
        self.u_store(self.u_min(index, self.u_splat(last)), &mut places);
        // SAFETY: three more values follow every index; the token proves NEON.
        unsafe { transposed(array_of!(lane => vld1q_f32(from.as_ptr().add(places[lane] as usize)))) }
    }
    #[inline(always)]
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
        self.f_gather_records(from, self.u_load(index))
    }
    #[inline(always)]
    fn f_store_records(self, [a, b, c, d]: [Self::F; 4], to: &mut [[f32; 4]]) {
        let to = &mut to[..N];
        // SAFETY: `to` has a record for each lane; the token proves NEON.
        unsafe { vst4q_f32(to.as_mut_ptr().cast(), float32x4x4_t(a, b, c, d)) }
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        let (mut values, mut places) = ([0; N], [0; N]);
        self.u_store(value, &mut values);
        self.u_store(index, &mut places);
        scatter_lanes(&values, to, &places, self.m_bits(mask));
    }

    lanewise! {
        f_add(a: F, b: F) -> F { vaddq_f32(a, b) }
        f_sub(a: F, b: F) -> F { vsubq_f32(a, b) }
        f_mul(a: F, b: F) -> F { vmulq_f32(a, b) }
        f_div(a: F, b: F) -> F { vdivq_f32(a, b) }
        f_mul_add(a: F, b: F, c: F) -> F { vfmaq_f32(c, a, b) }
        f_neg_mul_add(a: F, b: F, c: F) -> F { vfmsq_f32(c, a, b) }
        f_sqrt(a: F) -> F { vsqrtq_f32(a) }
        f_abs(a: F) -> F { vabsq_f32(a) }
        f_neg(a: F) -> F { vnegq_f32(a) }
        // The instructions for minimum and maximum treat NaN and zeros differently from other gangs.
        f_min(a: F, b: F) -> F { vbslq_f32(vcltq_f32(a, b), a, b) }
        f_max(a: F, b: F) -> F { vbslq_f32(vcgtq_f32(a, b), a, b) }
        f_lt(a: F, b: F) -> M { vcltq_f32(a, b) }
        f_le(a: F, b: F) -> M { vcleq_f32(a, b) }
        f_eq(a: F, b: F) -> M { vceqq_f32(a, b) }
        f_select(mask: M, a: F, b: F) -> F { vbslq_f32(mask, a, b) }
        // The conversion saturates and gives 0 for NaN; it agrees with the other gangs only below 2^31.
        f_to_i(a: F) -> I {
            vbslq_s32(vcltq_f32(a, vdupq_n_f32(2_147_483_648.0)), vcvtq_s32_f32(a), vdupq_n_s32(i32::MIN))
        }
        f_bits(a: F) -> U { vreinterpretq_u32_f32(a) }
        i_add(a: I, b: I) -> I { vaddq_s32(a, b) }
        i_sub(a: I, b: I) -> I { vsubq_s32(a, b) }
        i_mul(a: I, b: I) -> I { vmulq_s32(a, b) }
        i_min(a: I, b: I) -> I { vminq_s32(a, b) }
        i_max(a: I, b: I) -> I { vmaxq_s32(a, b) }
        i_lt(a: I, b: I) -> M { vcltq_s32(a, b) }
        i_eq(a: I, b: I) -> M { vceqq_s32(a, b) }
        i_shl<const BITS>(a: I) -> I { vshlq_s32(a, vdupq_n_s32(BITS as i32)) }
        i_shr<const BITS>(a: I) -> I { vshlq_s32(a, vdupq_n_s32(-(BITS as i32))) }
        i_select(mask: M, a: I, b: I) -> I { vbslq_s32(mask, a, b) }
        i_to_f(a: I) -> F { vcvtq_f32_s32(a) }
        i_bits(a: I) -> U { vreinterpretq_u32_s32(a) }
        u_iota() -> U { lanes([0, 1, 2, 3]) }
        u_add(a: U, b: U) -> U { vaddq_u32(a, b) }
        u_sub(a: U, b: U) -> U { vsubq_u32(a, b) }
        u_mul(a: U, b: U) -> U { vmulq_u32(a, b) }
        // A lane that is on has the value -1.
        u_count(a: U, mask: M) -> U { vsubq_u32(a, mask) }
        u_and(a: U, b: U) -> U { vandq_u32(a, b) }
        u_or(a: U, b: U) -> U { vorrq_u32(a, b) }
        u_xor(a: U, b: U) -> U { veorq_u32(a, b) }
        u_min(a: U, b: U) -> U { vminq_u32(a, b) }
        u_max(a: U, b: U) -> U { vmaxq_u32(a, b) }
        u_lt(a: U, b: U) -> M { vcltq_u32(a, b) }
        u_eq(a: U, b: U) -> M { vceqq_u32(a, b) }
        u_shl<const BITS>(a: U) -> U { vshlq_u32(a, vdupq_n_s32(BITS as i32)) }
        u_shr<const BITS>(a: U) -> U { vshlq_u32(a, vdupq_n_s32(-(BITS as i32))) }
        u_select(mask: M, a: U, b: U) -> U { vbslq_u32(mask, a, b) }
        u_as_i(a: U) -> I { vreinterpretq_s32_u32(a) }
        u_as_f(a: U) -> F { vreinterpretq_f32_u32(a) }
        m_and(a: M, b: M) -> M { vandq_u32(a, b) }
        m_or(a: M, b: M) -> M { vorrq_u32(a, b) }
        m_and_not(a: M, b: M) -> M { vbicq_u32(a, b) }
        m_not(a: M) -> M { vmvnq_u32(a) }
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let infinity = self.f_splat(f32::INFINITY);
        let a = self.f_min(self.f_select(mask, a, infinity), infinity);
        // SAFETY: the token proves NEON.
        unsafe { vminvq_f32(a) + 0.0 }
    }
    #[inline(always)]
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves NEON.
        unsafe { vaddvq_u32(vandq_u32(a, mask)) }
    }
    #[inline(always)]
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32) {
        // SAFETY: the token proves NEON.
        unsafe {
            let zero = vdupq_n_u32(0);
            let a = vaddq_u32(a, vextq_u32::<3>(zero, a));
            let a = vaddq_u32(a, vextq_u32::<2>(zero, a));
            (a, vgetq_lane_u32::<3>(a))
        }
    }
    #[inline(always)]
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32 {
        // All bits of a lane that is off are set: it becomes the largest number. SAFETY: the token proves NEON.
        unsafe { vminvq_u32(vornq_u32(a, mask)) }
    }
    #[inline(always)]
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves NEON.
        unsafe { vmaxvq_u32(vandq_u32(a, mask)) }
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        self.u_lt(self.u_iota(), self.u_splat(count.min(N) as u32))
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        // SAFETY: the token proves NEON.
        unsafe { vtstq_u32(vdupq_n_u32(bits as u32), lanes([1, 2, 4, 8])) }
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        // SAFETY: the token proves NEON.
        unsafe { vaddvq_u32(vandq_u32(mask, lanes([1, 2, 4, 8]))) as u64 }
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        // SAFETY: the token proves NEON.
        unsafe { vmaxvq_u32(mask) != 0 }
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        // SAFETY: the token proves NEON.
        unsafe { vminvq_u32(mask) == u32::MAX }
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        // Each lane that is on has the value -1. SAFETY: the token proves NEON.
        unsafe { vaddvq_u32(mask).wrapping_neg() as usize }
    }
}
