//! [`Called`]: a gang whose operations are function calls. Kernels on gangs of many registers are mostly copies of such
//! operations; as calls they compile much faster. The feature `small-kernels` uses [`Called`] in tests of all gangs.

use super::operations::operations_by_lane;
use super::{Gang, Isa};

/// The gang `G` with every operation as a function call.
#[derive(Debug, Clone, Copy)]
pub struct Called<G: Gang>(G);

impl<G: Gang> Called<G> {
    /// Makes the gang from the gang `G`, which does the computations.
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

/// Defines operations by lane.
macro_rules! called_by_lane {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident;)*) => {
        called! { $($name$(<const $bits>)?($($arg: Self::$kind),*) -> Self::$out;)* }
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

    operations_by_lane!(called_by_lane);

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
        f_reduce_min(a: Self::F, mask: Self::M) -> f32;
        i_splat(value: i32) -> Self::I;
        i_load(from: &[i32]) -> Self::I;
        i_store(value: Self::I, to: &mut [i32]);
        u_splat(value: u32) -> Self::U;
        u_iota() -> Self::U;
        u_load(from: &[u32]) -> Self::U;
        u_load_some(from: &[u32], mask: Self::M) -> Self::U;
        u_store(value: Self::U, to: &mut [u32]);
        u_store_some(value: Self::U, to: &mut [u32], mask: Self::M);
        u_store_packed(value: Self::U, to: &mut [u32], mask: Self::M) -> usize;
        u_gather(from: &[u32], index: Self::U) -> Self::U;
        u_scatter(value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M);
        u_reduce_add(a: Self::U, mask: Self::M) -> u32;
        u_prefix_sum(a: Self::U) -> (Self::U, u32);
        u_reduce_min(a: Self::U, mask: Self::M) -> u32;
        u_reduce_max(a: Self::U, mask: Self::M) -> u32;
        m_first(count: usize) -> Self::M;
        m_from_bits(bits: u64) -> Self::M;
        m_bits(mask: Self::M) -> u64;
        m_any(mask: Self::M) -> bool;
        m_all(mask: Self::M) -> bool;
        m_count(mask: Self::M) -> usize;
    }
}
