//! [`Called`]: a gang whose operations are function calls. The code of kernels on gangs of many registers is mostly copies of the
//! same operations; with calls it compiles in a fraction of the time. The feature `small-kernels` uses it for tests of all gangs.

use super::{Gang, Isa};

/// The gang `G` with every operation as a function call.
#[derive(Debug, Clone, Copy)]
pub struct Called<G: Gang>(G);

impl<G: Gang> Called<G> {
    /// Makes the gang from the gang that computes.
    pub fn new(gang: G) -> Self {
        Self(gang)
    }
}

/// Defines operations. The called function is compiled without the level's instructions; the code inside `vectorize` is
/// compiled with them.
macro_rules! called {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        $(#[inline(never)]
        fn $name$(<const $bits: u32>)?(self, $($arg: $type),*) $(-> $out)? {
            self.0.vectorize(#[inline(always)] || self.0.$name$(::<$bits>)?($($arg),*))
        })*
    };
}

impl<G: Gang> Gang for Called<G> {
    const LANES: usize = G::LANES;
    const ISA: Isa = G::ISA;
    type F = G::F;
    type I = G::I;
    type U = G::U;
    type M = G::M;

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.vectorize(body)
    }

    called! {
        f_splat(value: f32) -> Self::F;
        f_load(from: &[f32]) -> Self::F;
        f_load_some(from: &[f32], mask: Self::M) -> Self::F;
        f_store(value: Self::F, to: &mut [f32]);
        f_store_some(value: Self::F, to: &mut [f32], mask: Self::M);
        f_store_packed(value: Self::F, to: &mut [f32], mask: Self::M) -> usize;
        f_gather(from: &[f32], index: Self::U) -> Self::F;
        f_gather_records(from: &[[f32; 4]], index: Self::U) -> [Self::F; 4];
        f_gather_four(from: &[f32], index: Self::U) -> [Self::F; 4];
        f_load_records(from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4];
        f_store_records(columns: [Self::F; 4], to: &mut [[f32; 4]]);
        f_add(a: Self::F, b: Self::F) -> Self::F;
        f_sub(a: Self::F, b: Self::F) -> Self::F;
        f_mul(a: Self::F, b: Self::F) -> Self::F;
        f_div(a: Self::F, b: Self::F) -> Self::F;
        f_mul_add(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
        f_neg_mul_add(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
        f_sqrt(a: Self::F) -> Self::F;
        f_abs(a: Self::F) -> Self::F;
        f_neg(a: Self::F) -> Self::F;
        f_min(a: Self::F, b: Self::F) -> Self::F;
        f_max(a: Self::F, b: Self::F) -> Self::F;
        f_lt(a: Self::F, b: Self::F) -> Self::M;
        f_le(a: Self::F, b: Self::F) -> Self::M;
        f_eq(a: Self::F, b: Self::F) -> Self::M;
        f_select(mask: Self::M, a: Self::F, b: Self::F) -> Self::F;
        f_to_i(a: Self::F) -> Self::I;
        f_bits(a: Self::F) -> Self::U;
        f_reduce_min(a: Self::F, mask: Self::M) -> f32;
        i_splat(value: i32) -> Self::I;
        i_load(from: &[i32]) -> Self::I;
        i_store(value: Self::I, to: &mut [i32]);
        i_add(a: Self::I, b: Self::I) -> Self::I;
        i_sub(a: Self::I, b: Self::I) -> Self::I;
        i_mul(a: Self::I, b: Self::I) -> Self::I;
        i_min(a: Self::I, b: Self::I) -> Self::I;
        i_max(a: Self::I, b: Self::I) -> Self::I;
        i_lt(a: Self::I, b: Self::I) -> Self::M;
        i_eq(a: Self::I, b: Self::I) -> Self::M;
        i_shl<const BITS>(a: Self::I) -> Self::I;
        i_shr<const BITS>(a: Self::I) -> Self::I;
        i_select(mask: Self::M, a: Self::I, b: Self::I) -> Self::I;
        i_to_f(a: Self::I) -> Self::F;
        i_bits(a: Self::I) -> Self::U;
        u_splat(value: u32) -> Self::U;
        u_iota() -> Self::U;
        u_load(from: &[u32]) -> Self::U;
        u_load_some(from: &[u32], mask: Self::M) -> Self::U;
        u_store(value: Self::U, to: &mut [u32]);
        u_store_some(value: Self::U, to: &mut [u32], mask: Self::M);
        u_store_packed(value: Self::U, to: &mut [u32], mask: Self::M) -> usize;
        u_gather(from: &[u32], index: Self::U) -> Self::U;
        u_scatter(value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M);
        u_add(a: Self::U, b: Self::U) -> Self::U;
        u_sub(a: Self::U, b: Self::U) -> Self::U;
        u_mul(a: Self::U, b: Self::U) -> Self::U;
        u_count(a: Self::U, mask: Self::M) -> Self::U;
        u_and(a: Self::U, b: Self::U) -> Self::U;
        u_or(a: Self::U, b: Self::U) -> Self::U;
        u_xor(a: Self::U, b: Self::U) -> Self::U;
        u_min(a: Self::U, b: Self::U) -> Self::U;
        u_max(a: Self::U, b: Self::U) -> Self::U;
        u_lt(a: Self::U, b: Self::U) -> Self::M;
        u_eq(a: Self::U, b: Self::U) -> Self::M;
        u_shl<const BITS>(a: Self::U) -> Self::U;
        u_shr<const BITS>(a: Self::U) -> Self::U;
        u_select(mask: Self::M, a: Self::U, b: Self::U) -> Self::U;
        u_as_i(a: Self::U) -> Self::I;
        u_as_f(a: Self::U) -> Self::F;
        u_reduce_add(a: Self::U, mask: Self::M) -> u32;
        u_prefix_sum(a: Self::U) -> (Self::U, u32);
        u_reduce_min(a: Self::U, mask: Self::M) -> u32;
        u_reduce_max(a: Self::U, mask: Self::M) -> u32;
        m_first(count: usize) -> Self::M;
        m_from_bits(bits: u64) -> Self::M;
        m_bits(mask: Self::M) -> u64;
        m_and(a: Self::M, b: Self::M) -> Self::M;
        m_or(a: Self::M, b: Self::M) -> Self::M;
        m_and_not(a: Self::M, b: Self::M) -> Self::M;
        m_not(a: Self::M) -> Self::M;
        m_any(mask: Self::M) -> bool;
        m_all(mask: Self::M) -> bool;
        m_count(mask: Self::M) -> usize;
    }
}
