//! [`Ymm`]: eight lanes in a 256-bit register, AVX2 with FMA. The lanes of a mask are all ones or all zeros.

use super::{
    Avx2Context, Avx512Context, Context, array_of, gathers_by_columns, lanewise, memory_through_u32,
    records_by_lane, scatter_lanes,
};
use crate::simd::{Gang, Isa};
use std::arch::x86_64::*;

/// A context whose CPU has AVX2 and FMA.
///
/// # Safety
/// A value of an implementing type exists only if the CPU has AVX2 and FMA: [`Ymm`] relies on this.
pub unsafe trait HasAvx2: Context {}
// SAFETY: the context proves both.
unsafe impl HasAvx2 for Avx2Context {}
// SAFETY: the context proves all features of the AVX2 context.
unsafe impl HasAvx2 for Avx512Context {}

/// Eight lanes of AVX2, compiled in context `C`.
#[derive(Debug, Clone, Copy)]
pub struct Ymm<C: HasAvx2>(C);

/// Four indices, taken out of a register two at a time.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn four_places(index: __m128i) -> [usize; 4] {
    // SAFETY: guaranteed by the caller.
    let (ab, cd) = unsafe { (_mm_cvtsi128_si64(index) as u64, _mm_extract_epi64::<1>(index) as u64) };
    [ab as u32 as usize, (ab >> 32) as usize, cd as u32 as usize, (cd >> 32) as usize]
}

/// Loads four values by their indices.
///
/// # Safety
/// All indices are within the slice, and the CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn four(from: &[u32], [a, b, c, d]: [usize; 4]) -> __m128i {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let value = _mm_cvtsi32_si128(*from.get_unchecked(a) as i32);
        let value = _mm_insert_epi32::<1>(value, *from.get_unchecked(b) as i32);
        let value = _mm_insert_epi32::<2>(value, *from.get_unchecked(c) as i32);
        _mm_insert_epi32::<3>(value, *from.get_unchecked(d) as i32)
    }
}

impl<C: HasAvx2> Ymm<C> {
    /// Makes the gang from a context.
    #[inline(always)]
    pub(in crate::simd) fn new(context: C) -> Self {
        Self(context)
    }

    /// Loads `from[index]` of each column by eight loads. The gather instruction is slower on AMD's CPUs (Zen 3, Zen 4),
    /// and slower still on Intel's CPUs whose microcode guards it (Gather Data Sampling).
    ///
    /// # Safety
    /// Every index is below the length of each column.
    #[inline(always)]
    unsafe fn columns<const K: usize>(self, from: [&[u32]; K], index: __m256i) -> [__m256i; K] {
        // SAFETY: guaranteed by the caller; the token proves AVX2.
        unsafe {
            let low = four_places(_mm256_castsi256_si128(index));
            let high = four_places(_mm256_extracti128_si256::<1>(index));
            array_of!(k => {
                let (low, high) = (four(from[k], low), four(from[k], high));
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
            })
        }
    }

    /// Loads the records at the addresses of the lanes, as columns.
    ///
    /// # Safety
    /// Four values can be read at each of the addresses of the lanes 0 to 7.
    #[inline(always)]
    unsafe fn records(self, at: impl Fn(usize) -> *const f32) -> [__m256; 4] {
        // SAFETY: guaranteed by the caller; the token proves AVX2.
        unsafe {
            // Loads lanes i and i + 4 into the halves of one register, then transposes 4 x 4 values in each half.
            let load: [_; 4] = array_of!(lane => {
                let (low, high) = (_mm_loadu_ps(at(lane)), _mm_loadu_ps(at(lane + 4)));
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
            });
            let ab = [_mm256_unpacklo_ps(load[0], load[1]), _mm256_unpackhi_ps(load[0], load[1])];
            let cd = [_mm256_unpacklo_ps(load[2], load[3]), _mm256_unpackhi_ps(load[2], load[3])];
            [
                _mm256_shuffle_ps::<0x44>(ab[0], cd[0]),
                _mm256_shuffle_ps::<0xEE>(ab[0], cd[0]),
                _mm256_shuffle_ps::<0x44>(ab[1], cd[1]),
                _mm256_shuffle_ps::<0xEE>(ab[1], cd[1]),
            ]
        }
    }
}

const N: usize = 8;

/// For each mask, the permutation that packs the lanes that are on to the left: their numbers, one byte each.
static PACK: [u64; 256] = {
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut shift) = (0, 0);
        while lane < N as u64 {
            if mask >> lane & 1 == 1 {
                table[mask] |= lane << shift;
                shift += 8;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// Flips the top bit, after which a signed comparison orders unsigned integers.
#[inline]
#[target_feature(enable = "avx2")]
fn flip_top(a: __m256i) -> __m256i {
    _mm256_xor_si256(a, _mm256_set1_epi32(i32::MIN))
}

#[inline]
#[target_feature(enable = "avx2")]
fn iota() -> __m256i {
    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
}

/// Combines the eight lanes by halves; the result is in lane 0.
macro_rules! reduce {
    ($a:expr, $op:ident) => {{
        let a = $a;
        let four = $op(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
        let two = $op(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        _mm_cvtsi128_si32($op(two, _mm_shuffle_epi32::<0b00_00_00_01>(two))) as u32
    }};
}

/// `if mask { a } else { b }` for masks of all-ones and all-zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn select(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // Blends lanes instead of bytes, so that the compiler recognises the selection.
    _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(b),
        _mm256_castsi256_ps(a),
        _mm256_castsi256_ps(mask),
    ))
}

impl<C: HasAvx2> Gang for Ymm<C> {
    const LANES: usize = N;
    const ISA: Isa = C::ISA;
    type F = __m256;
    type I = __m256i;
    type U = __m256i;
    type M = __m256i;

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.run(body)
    }

    #[inline(always)]
    fn f_splat(self, value: f32) -> Self::F {
        // SAFETY: the token proves AVX2.
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        // SAFETY: the token proves AVX2.
        unsafe { _mm256_set1_epi32(value) }
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        self.i_splat(value as i32)
    }

    memory_through_u32!();
    #[inline(always)]
    fn u_load(self, from: &[u32]) -> Self::U {
        let from = &from[..N];
        // SAFETY: the slice has eight values; the token proves AVX2.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn u_load_some(self, from: &[u32], mask: Self::M) -> Self::U {
        let mask = self.m_and(mask, self.m_first(from.len()));
        // SAFETY: lanes beyond the slice are off in the mask, so their memory is not accessed; the token proves AVX2.
        unsafe { _mm256_maskload_epi32(from.as_ptr().cast(), mask) }
    }
    #[inline(always)]
    fn u_store(self, value: Self::U, to: &mut [u32]) {
        let to = &mut to[..N];
        // SAFETY: the slice has eight values; the token proves AVX2.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }
    #[inline(always)]
    fn u_store_some(self, value: Self::U, to: &mut [u32], mask: Self::M) {
        // The masked store takes several times as long on AMD's CPUs. Lanes that are off are written back unchanged, which is
        // safe because the slice is borrowed mutably.
        if to.len() >= N {
            return self.u_store(self.u_select(mask, value, self.u_load(to)), to);
        }
        let mask = self.m_and(mask, self.m_first(to.len()));
        // SAFETY: lanes beyond the slice are off in the mask, so their memory is not accessed; the token proves AVX2.
        unsafe { _mm256_maskstore_epi32(to.as_mut_ptr().cast(), mask, value) }
    }
    #[inline(always)]
    fn u_store_packed(self, value: Self::U, to: &mut [u32], mask: Self::M) -> usize {
        let bits = self.m_bits(mask) as usize;
        // SAFETY: the token proves AVX2.
        let packed = unsafe {
            let lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(PACK[bits & 0xff] as i64));
            _mm256_permutevar8x32_epi32(value, lanes)
        };
        self.u_store(packed, to);
        bits.count_ones() as usize
    }
    gathers_by_columns!();
    #[inline(always)]
    fn f_look_up(self, from: &[f32], index: Self::U) -> Self::F {
        let (low, high) = from[..2 * N].split_at(N);
        // SAFETY: the token proves AVX2; nothing here touches memory.
        unsafe {
            let low = _mm256_permutevar8x32_ps(self.f_load(low), index);
            let high = _mm256_permutevar8x32_ps(self.f_load(high), index);
            // The sign bit of the blend is bit 3 of the index.
            _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index)))
        }
    }
    records_by_lane!();
    #[inline(always)]
    fn f_store_records(self, [a, b, c, d]: [Self::F; 4], to: &mut [[f32; 4]]) {
        let to: *mut f32 = to[..N].as_mut_ptr().cast();
        // SAFETY: `to` has a record for each lane, so all four stores are inside it; the token proves AVX2.
        unsafe {
            // A 4 x 4 transposition in each half: lane i and lane i + 4 in the halves of one register.
            let ab = [_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)];
            let cd = [_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d)];
            let zero = _mm256_shuffle_ps::<0x44>(ab[0], cd[0]);
            let one = _mm256_shuffle_ps::<0xEE>(ab[0], cd[0]);
            let two = _mm256_shuffle_ps::<0x44>(ab[1], cd[1]);
            let three = _mm256_shuffle_ps::<0xEE>(ab[1], cd[1]);
            _mm256_storeu_ps(to, _mm256_permute2f128_ps::<0x20>(zero, one));
            _mm256_storeu_ps(to.add(8), _mm256_permute2f128_ps::<0x20>(two, three));
            _mm256_storeu_ps(to.add(16), _mm256_permute2f128_ps::<0x31>(zero, one));
            _mm256_storeu_ps(to.add(24), _mm256_permute2f128_ps::<0x31>(two, three));
        }
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        let (mut values, mut places) = ([0; N], [0; N]);
        self.u_store(value, &mut values);
        self.u_store(index, &mut places);
        scatter_lanes(&values, to, &places, self.m_bits(mask));
    }

    lanewise! {
        f_add(a: F, b: F) -> F { _mm256_add_ps(a, b) }
        f_sub(a: F, b: F) -> F { _mm256_sub_ps(a, b) }
        f_mul(a: F, b: F) -> F { _mm256_mul_ps(a, b) }
        f_div(a: F, b: F) -> F { _mm256_div_ps(a, b) }
        f_mul_add(a: F, b: F, c: F) -> F { _mm256_fmadd_ps(a, b, c) }
        f_neg_mul_add(a: F, b: F, c: F) -> F { _mm256_fnmadd_ps(a, b, c) }
        f_sqrt(a: F) -> F { _mm256_sqrt_ps(a) }
        f_abs(a: F) -> F { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
        f_neg(a: F) -> F { _mm256_xor_ps(_mm256_set1_ps(-0.0), a) }
        f_min(a: F, b: F) -> F { _mm256_min_ps(a, b) }
        f_max(a: F, b: F) -> F { _mm256_max_ps(a, b) }
        f_lt(a: F, b: F) -> M { _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
        f_le(a: F, b: F) -> M { _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LE_OQ>(a, b)) }
        f_eq(a: F, b: F) -> M { _mm256_castps_si256(_mm256_cmp_ps::<_CMP_EQ_OQ>(a, b)) }
        f_select(mask: M, a: F, b: F) -> F { _mm256_blendv_ps(b, a, _mm256_castsi256_ps(mask)) }
        f_to_i(a: F) -> I { _mm256_cvttps_epi32(a) }
        f_bits(a: F) -> U { _mm256_castps_si256(a) }
        i_add(a: I, b: I) -> I { _mm256_add_epi32(a, b) }
        i_sub(a: I, b: I) -> I { _mm256_sub_epi32(a, b) }
        i_mul(a: I, b: I) -> I { _mm256_mullo_epi32(a, b) }
        i_min(a: I, b: I) -> I { _mm256_min_epi32(a, b) }
        i_max(a: I, b: I) -> I { _mm256_max_epi32(a, b) }
        i_lt(a: I, b: I) -> M { _mm256_cmpgt_epi32(b, a) }
        i_eq(a: I, b: I) -> M { _mm256_cmpeq_epi32(a, b) }
        i_shl<const BITS>(a: I) -> I { _mm256_sll_epi32(a, _mm_cvtsi32_si128(BITS as i32)) }
        i_shr<const BITS>(a: I) -> I { _mm256_sra_epi32(a, _mm_cvtsi32_si128(BITS as i32)) }
        i_select(mask: M, a: I, b: I) -> I { select(mask, a, b) }
        i_to_f(a: I) -> F { _mm256_cvtepi32_ps(a) }
        i_bits(a: I) -> U { a }
        u_iota() -> U { iota() }
        u_add(a: U, b: U) -> U { _mm256_add_epi32(a, b) }
        u_sub(a: U, b: U) -> U { _mm256_sub_epi32(a, b) }
        u_mul(a: U, b: U) -> U { _mm256_mullo_epi32(a, b) }
        // A lane that is on has the value -1.
        u_count(a: U, mask: M) -> U { _mm256_sub_epi32(a, mask) }
        u_and(a: U, b: U) -> U { _mm256_and_si256(a, b) }
        u_or(a: U, b: U) -> U { _mm256_or_si256(a, b) }
        u_xor(a: U, b: U) -> U { _mm256_xor_si256(a, b) }
        u_min(a: U, b: U) -> U { _mm256_min_epu32(a, b) }
        u_max(a: U, b: U) -> U { _mm256_max_epu32(a, b) }
        u_lt(a: U, b: U) -> M { _mm256_cmpgt_epi32(flip_top(b), flip_top(a)) }
        u_eq(a: U, b: U) -> M { _mm256_cmpeq_epi32(a, b) }
        u_shl<const BITS>(a: U) -> U { _mm256_sll_epi32(a, _mm_cvtsi32_si128(BITS as i32)) }
        u_shr<const BITS>(a: U) -> U { _mm256_srl_epi32(a, _mm_cvtsi32_si128(BITS as i32)) }
        u_select(mask: M, a: U, b: U) -> U { select(mask, a, b) }
        u_as_i(a: U) -> I { a }
        u_as_f(a: U) -> F { _mm256_castsi256_ps(a) }
        m_and(a: M, b: M) -> M { _mm256_and_si256(a, b) }
        m_or(a: M, b: M) -> M { _mm256_or_si256(a, b) }
        m_and_not(a: M, b: M) -> M { _mm256_andnot_si256(b, a) }
        m_not(a: M) -> M { _mm256_xor_si256(a, _mm256_set1_epi32(-1)) }
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let infinity = self.f_splat(f32::INFINITY);
        let a = self.f_min(self.f_select(mask, a, infinity), infinity);
        // SAFETY: the token proves AVX2.
        unsafe {
            let four = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_min_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_min_ps(two, _mm_shuffle_ps::<1>(two, two))) + 0.0
        }
    }
    #[inline(always)]
    fn u_reduce_add(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves AVX2.
        unsafe { reduce!(_mm256_and_si256(a, mask), _mm_add_epi32) }
    }
    #[inline(always)]
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32) {
        // SAFETY: the token proves AVX2.
        unsafe {
            // Sums within the halves, then adds the sum of the low half to the high half.
            let a = _mm256_add_epi32(a, _mm256_slli_si256::<4>(a));
            let a = _mm256_add_epi32(a, _mm256_slli_si256::<8>(a));
            let low = _mm256_permute2x128_si256::<0x08>(a, a);
            let a = _mm256_add_epi32(a, _mm256_shuffle_epi32::<0xFF>(low));
            (a, _mm256_extract_epi32::<7>(a) as u32)
        }
    }
    #[inline(always)]
    fn u_reduce_min(self, a: Self::U, mask: Self::M) -> u32 {
        // All bits of a lane that is off are set: it becomes the largest number. SAFETY: the token proves AVX2.
        unsafe { reduce!(_mm256_or_si256(a, self.m_not(mask)), _mm_min_epu32) }
    }
    #[inline(always)]
    fn u_reduce_max(self, a: Self::U, mask: Self::M) -> u32 {
        // SAFETY: the token proves AVX2.
        unsafe { reduce!(_mm256_and_si256(a, mask), _mm_max_epu32) }
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        self.i_lt(self.u_iota(), self.i_splat(count.min(N) as i32))
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        // SAFETY: the token proves AVX2.
        let own = unsafe { _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128) };
        self.u_eq(self.u_and(self.u_splat(bits as u32), own), own)
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        // SAFETY: the token proves AVX2.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as u8 as u64 }
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        self.m_bits(mask) != 0
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        self.m_bits(mask) == 0xff
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        self.m_bits(mask).count_ones() as usize
    }
}
