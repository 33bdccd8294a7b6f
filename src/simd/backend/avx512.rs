//! [`Zmm`]: sixteen lanes in a 512-bit register, AVX-512. A mask is in a mask register.

use super::avx2::{four, four_places};
use super::{
    Avx512Context, Context, array_of, gathers_by_columns, lanewise, memory_through_u32, records_by_lane,
};
use crate::simd::{Gang, Isa};
use std::arch::asm;
use std::arch::x86_64::*;

/// Sixteen lanes of AVX-512. A gather is one instruction if `GATHERS`, otherwise sixteen loads; the faster way
/// depends on the CPU.
#[derive(Debug, Clone, Copy)]
pub struct Zmm<const GATHERS: bool>(Avx512Context);

impl<const GATHERS: bool> Zmm<GATHERS> {
    /// Makes the gang from a context.
    #[inline(always)]
    pub(in crate::simd) fn new(context: Avx512Context) -> Self {
        Self(context)
    }

    /// Loads `from[index]` of each column.
    ///
    /// # Safety
    /// Every index is below the length of each column, and below 2^31.
    #[inline(always)]
    unsafe fn columns<const K: usize>(self, from: [&[u32]; K], index: __m512i) -> [__m512i; K] {
        if GATHERS {
            // SAFETY: guaranteed by the caller; the token proves AVX-512.
            return unsafe { array_of!(k => _mm512_i32gather_epi32::<4>(index, from[k].as_ptr().cast())) };
        }
        // SAFETY: guaranteed by the caller; the token proves AVX-512.
        unsafe {
            let a = four_places(_mm512_castsi512_si128(index));
            let b = four_places(_mm512_extracti32x4_epi32::<1>(index));
            let c = four_places(_mm512_extracti32x4_epi32::<2>(index));
            let d = four_places(_mm512_extracti32x4_epi32::<3>(index));
            array_of!(k => {
                let (a, b) = (four(from[k], a), four(from[k], b));
                let (c, d) = (four(from[k], c), four(from[k], d));
                let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
                let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
                _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
            })
        }
    }

    /// Loads the records at the addresses of the lanes, as columns.
    ///
    /// # Safety
    /// Four values can be read at each of the addresses of the lanes 0 to 15.
    #[inline(always)]
    unsafe fn records(self, at: impl Fn(usize) -> *const f32) -> [__m512; 4] {
        // SAFETY: guaranteed by the caller; the token proves AVX-512.
        unsafe {
            // Loads lanes i, i + 4, i + 8, i + 12 into the quarters of one register, then transposes 4 x 4 values in
            // each quarter.
            let load: [_; 4] = array_of!(lane => {
                let (one, two) = (_mm_loadu_ps(at(lane)), _mm_loadu_ps(at(lane + 4)));
                let (three, four) = (_mm_loadu_ps(at(lane + 8)), _mm_loadu_ps(at(lane + 12)));
                let quarters = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(one), two);
                let quarters = _mm512_insertf32x4::<2>(quarters, three);
                _mm512_insertf32x4::<3>(quarters, four)
            });
            let ab = [_mm512_unpacklo_ps(load[0], load[1]), _mm512_unpackhi_ps(load[0], load[1])];
            let cd = [_mm512_unpacklo_ps(load[2], load[3]), _mm512_unpackhi_ps(load[2], load[3])];
            [
                _mm512_shuffle_ps::<0x44>(ab[0], cd[0]),
                _mm512_shuffle_ps::<0xEE>(ab[0], cd[0]),
                _mm512_shuffle_ps::<0x44>(ab[1], cd[1]),
                _mm512_shuffle_ps::<0xEE>(ab[1], cd[1]),
            ]
        }
    }
}

const N: usize = 16;

/// Logic of masks in mask registers. Rust's mask type is `u16`: with `&`, a loop moves its mask to a general
/// register and back in every iteration, which costs more than its arithmetic.
macro_rules! mask_logic {
    ($($name:ident = $instruction:literal;)*) => {$(
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $name(a: __mmask16, b: __mmask16) -> __mmask16 {
            let out: __mmask16;
            // SAFETY: reads two registers and writes one.
            unsafe {
                asm!(concat!($instruction, " {o}, {a}, {b}"), o = out(kreg) out, a = in(kreg) a, b = in(kreg) b,
                    options(pure, nomem, nostack, preserves_flags));
            }
            out
        }
    )*};
}
mask_logic! {
    mask_and = "kandw";
    mask_or = "korw";
    mask_not_and = "kandnw";
}

/// `a + b` in the lanes of `mask`, `a` in the others. For a constant `b`, the compiler turns the intrinsic into two instructions:
/// it expands the mask into a register, and subtracts.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_masked(a: __m512i, mask: __mmask16, b: __m512i) -> __m512i {
    let mut sum = a;
    // SAFETY: reads three registers and writes one of them.
    unsafe {
        asm!("vpaddd {a}{{{mask}}}, {a}, {b}", a = inout(zmm_reg) sum, mask = in(kreg) mask, b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    sum
}

impl<const GATHERS: bool> Gang for Zmm<GATHERS> {
    const LANES: usize = N;
    const ISA: Isa = Isa::Avx512;
    type F = __m512;
    type I = __m512i;
    type U = __m512i;
    type M = __mmask16;

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.run(body)
    }

    #[inline(always)]
    fn f_splat(self, value: f32) -> Self::F {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_set1_epi32(value) }
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        self.i_splat(value as i32)
    }

    memory_through_u32!();
    #[inline(always)]
    fn u_load(self, from: &[u32]) -> Self::U {
        let from = &from[..N];
        // SAFETY: the slice has sixteen values; the token proves AVX-512.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U {
        let mask = self.m_and(mask, self.m_first(from.len()));
        // SAFETY: lanes beyond the slice are off in the mask, so their memory is not accessed; the token proves AVX-512.
        unsafe { _mm512_maskz_loadu_epi32(mask, from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn u_store(self, value: Self::U, to: &mut [u32]) {
        let to = &mut to[..N];
        // SAFETY: the slice has sixteen values; the token proves AVX-512.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }
    #[inline(always)]
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M) {
        let mask = self.m_and(mask, self.m_first(to.len()));
        // SAFETY: lanes beyond the slice are off in the mask, so their memory is not accessed; the token proves AVX-512.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), mask, value) }
    }
    #[inline(always)]
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize {
        // Packs the values in a register, because the compressing store is many times slower on some CPUs.
        // SAFETY: the token proves AVX-512.
        let packed = unsafe { _mm512_maskz_compress_epi32(mask, value) };
        self.u_store(packed, to);
        self.m_count(mask)
    }
    gathers_by_columns!();
    #[inline(always)]
    fn f_look_up(self, from: &[f32], index: Self::U) -> Self::F {
        let (low, high) = from[..2 * N].split_at(N);
        // SAFETY: the token proves AVX-512; nothing here touches memory.
        unsafe { _mm512_permutex2var_ps(self.f_load(low), index, self.f_load(high)) }
    }
    records_by_lane!();
    #[inline(always)]
    fn f_store_records(self, [a, b, c, d]: [Self::F; 4], to: &mut [[f32; 4]]) {
        let to: *mut f32 = to[..N].as_mut_ptr().cast();
        // SAFETY: `to` has a record for each lane, so all four stores are inside it; the token proves AVX-512.
        unsafe {
            // A 4 x 4 transposition in each quarter: lanes i, i + 4, i + 8, i + 12 in the quarters of one register.
            let ab = [_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)];
            let cd = [_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)];
            let zero = _mm512_shuffle_ps::<0x44>(ab[0], cd[0]);
            let one = _mm512_shuffle_ps::<0xEE>(ab[0], cd[0]);
            let two = _mm512_shuffle_ps::<0x44>(ab[1], cd[1]);
            let three = _mm512_shuffle_ps::<0xEE>(ab[1], cd[1]);
            // Then transposes the quarters: lanes 0, 4, 1, 5 and lanes 2, 6, 3, 7 in `low`, all others in the same way in `high`.
            let low = [_mm512_shuffle_f32x4::<0x44>(zero, one), _mm512_shuffle_f32x4::<0x44>(two, three)];
            let high = [_mm512_shuffle_f32x4::<0xEE>(zero, one), _mm512_shuffle_f32x4::<0xEE>(two, three)];
            _mm512_storeu_ps(to, _mm512_shuffle_f32x4::<0x88>(low[0], low[1]));
            _mm512_storeu_ps(to.add(16), _mm512_shuffle_f32x4::<0xDD>(low[0], low[1]));
            _mm512_storeu_ps(to.add(32), _mm512_shuffle_f32x4::<0x88>(high[0], high[1]));
            _mm512_storeu_ps(to.add(48), _mm512_shuffle_f32x4::<0xDD>(high[0], high[1]));
        }
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        let len = to.len().min(1 << 31) as i32;
        // SAFETY: the token proves AVX-512; lanes whose index is not in the slice are masked off, and the
        // others are not negative as signed numbers.
        unsafe {
            let mask = mask_and(mask, _mm512_cmplt_epu32_mask(index, _mm512_set1_epi32(len)));
            _mm512_mask_i32scatter_epi32::<4>(to.as_mut_ptr().cast(), mask, index, value);
        }
    }

    lanewise! {
        f_add(a: F, b: F) -> F { _mm512_add_ps(a, b) }
        f_sub(a: F, b: F) -> F { _mm512_sub_ps(a, b) }
        f_mul(a: F, b: F) -> F { _mm512_mul_ps(a, b) }
        f_div(a: F, b: F) -> F { _mm512_div_ps(a, b) }
        f_mul_add(a: F, b: F, c: F) -> F { _mm512_fmadd_ps(a, b, c) }
        f_neg_mul_add(a: F, b: F, c: F) -> F { _mm512_fnmadd_ps(a, b, c) }
        f_sqrt(a: F) -> F { _mm512_sqrt_ps(a) }
        f_abs(a: F) -> F { _mm512_andnot_ps(_mm512_set1_ps(-0.0), a) }
        f_neg(a: F) -> F { _mm512_xor_ps(_mm512_set1_ps(-0.0), a) }
        f_min(a: F, b: F) -> F { _mm512_min_ps(a, b) }
        f_max(a: F, b: F) -> F { _mm512_max_ps(a, b) }
        f_lt(a: F, b: F) -> M { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
        f_le(a: F, b: F) -> M { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b) }
        f_eq(a: F, b: F) -> M { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b) }
        f_select(mask: M, a: F, b: F) -> F { _mm512_mask_blend_ps(mask, b, a) }
        f_to_i(a: F) -> I { _mm512_cvttps_epi32(a) }
        f_bits(a: F) -> U { _mm512_castps_si512(a) }
        i_add(a: I, b: I) -> I { _mm512_add_epi32(a, b) }
        i_sub(a: I, b: I) -> I { _mm512_sub_epi32(a, b) }
        i_mul(a: I, b: I) -> I { _mm512_mullo_epi32(a, b) }
        i_min(a: I, b: I) -> I { _mm512_min_epi32(a, b) }
        i_max(a: I, b: I) -> I { _mm512_max_epi32(a, b) }
        i_lt(a: I, b: I) -> M { _mm512_cmplt_epi32_mask(a, b) }
        i_eq(a: I, b: I) -> M { _mm512_cmpeq_epi32_mask(a, b) }
        i_shl<const BITS>(a: I) -> I { _mm512_slli_epi32::<BITS>(a) }
        i_shr<const BITS>(a: I) -> I { _mm512_srai_epi32::<BITS>(a) }
        i_select(mask: M, a: I, b: I) -> I { _mm512_mask_blend_epi32(mask, b, a) }
        i_to_f(a: I) -> F { _mm512_cvtepi32_ps(a) }
        i_bits(a: I) -> U { a }
        u_iota() -> U { _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) }
        u_add(a: U, b: U) -> U { _mm512_add_epi32(a, b) }
        u_sub(a: U, b: U) -> U { _mm512_sub_epi32(a, b) }
        u_mul(a: U, b: U) -> U { _mm512_mullo_epi32(a, b) }
        u_count(a: U, mask: M) -> U { add_masked(a, mask, _mm512_set1_epi32(1)) }
        u_and(a: U, b: U) -> U { _mm512_and_si512(a, b) }
        u_or(a: U, b: U) -> U { _mm512_or_si512(a, b) }
        u_xor(a: U, b: U) -> U { _mm512_xor_si512(a, b) }
        u_min(a: U, b: U) -> U { _mm512_min_epu32(a, b) }
        u_max(a: U, b: U) -> U { _mm512_max_epu32(a, b) }
        u_lt(a: U, b: U) -> M { _mm512_cmplt_epu32_mask(a, b) }
        u_eq(a: U, b: U) -> M { _mm512_cmpeq_epi32_mask(a, b) }
        u_shl<const BITS>(a: U) -> U { _mm512_slli_epi32::<BITS>(a) }
        u_shr<const BITS>(a: U) -> U { _mm512_srli_epi32::<BITS>(a) }
        u_select(mask: M, a: U, b: U) -> U { _mm512_mask_blend_epi32(mask, b, a) }
        u_as_i(a: U) -> I { a }
        u_as_f(a: U) -> F { _mm512_castsi512_ps(a) }
        m_and(a: M, b: M) -> M { mask_and(a, b) }
        m_or(a: M, b: M) -> M { mask_or(a, b) }
        m_and_not(a: M, b: M) -> M { mask_not_and(b, a) }
        m_not(a: M) -> M { _knot_mask16(a) }
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let infinity = self.f_splat(f32::INFINITY);
        let a = self.f_min(self.f_select(mask, a, infinity), infinity);
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_reduce_min_ps(a) + 0.0 }
    }
    #[inline(always)]
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_mask_reduce_add_epi32(mask, a) as u32 }
    }
    #[inline(always)]
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32) {
        // SAFETY: the token proves AVX-512.
        unsafe {
            let zero = _mm512_setzero_si512();
            let a = _mm512_add_epi32(a, _mm512_alignr_epi32::<15>(a, zero));
            let a = _mm512_add_epi32(a, _mm512_alignr_epi32::<14>(a, zero));
            let a = _mm512_add_epi32(a, _mm512_alignr_epi32::<12>(a, zero));
            let a = _mm512_add_epi32(a, _mm512_alignr_epi32::<8>(a, zero));
            (a, _mm_extract_epi32::<3>(_mm512_extracti32x4_epi32::<3>(a)) as u32)
        }
    }
    #[inline(always)]
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_mask_reduce_min_epu32(mask, a) }
    }
    #[inline(always)]
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_mask_reduce_max_epu32(mask, a) }
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        // Makes the mask by a comparison, whose result is in a mask register.
        self.u_lt(self.u_iota(), self.u_splat(count.min(N) as u32))
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        bits as u16
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        mask as u64
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        mask != 0
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        mask == u16::MAX
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        mask.count_ones() as usize
    }
}
