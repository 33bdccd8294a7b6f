//! [`Pair`]: a gang that consists of two gangs. While one half waits for memory or for a long instruction, the other
//! half computes.

use super::operations::operations_by_lane;
use super::{Gang, Isa, array_of};

/// Two gangs `G` as one gang with twice the lanes; the first half holds the lower lanes.
#[derive(Debug, Clone, Copy)]
pub struct Pair<G: Gang>(G);

impl<G: Gang> Pair<G> {
    /// Makes the gang from the gang of one half.
    #[inline(always)]
    pub fn new(half: G) -> Self {
        Self(half)
    }

    /// Lanes of a half.
    const HALF: usize = G::LANES;
}

/// Defines operations by lane: on each half separately.
macro_rules! halves {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident;)*) => {
        $(#[inline(always)]
        fn $name$(<const $bits: u32>)?(self, $($arg: Self::$kind),*) -> Self::$out {
            (self.0.$name$(::<$bits>)?($($arg.0),*), self.0.$name$(::<$bits>)?($($arg.1),*))
        })*
    };
}

/// Memory operations of one element type.
macro_rules! memory {
    ($element:ty, $kind:ident, $load:ident, $store:ident) => {
        #[inline(always)]
        fn $load(self, from: &[$element]) -> Self::$kind {
            let (low, high) = from[..Self::LANES].split_at(Self::HALF);
            (self.0.$load(low), self.0.$load(high))
        }
        #[inline(always)]
        fn $store(self, value: Self::$kind, to: &mut [$element]) {
            let (low, high) = to[..Self::LANES].split_at_mut(Self::HALF);
            self.0.$store(value.0, low);
            self.0.$store(value.1, high);
        }
    };
    ($element:ty, $kind:ident, $load:ident, $store:ident, $load_some:ident, $store_some:ident, $store_packed:ident, $gather:ident) => {
        memory!($element, $kind, $load, $store);
        #[inline(always)]
        fn $load_some(self, from: &[$element], mask: Self::M) -> Self::$kind {
            let (low, high) = from.split_at(Self::HALF.min(from.len()));
            (self.0.$load_some(low, mask.0), self.0.$load_some(high, mask.1))
        }
        #[inline(always)]
        fn $store_some(self, value: Self::$kind, to: &mut [$element], mask: Self::M) {
            let (low, high) = to.split_at_mut(Self::HALF.min(to.len()));
            self.0.$store_some(value.0, low, mask.0);
            self.0.$store_some(value.1, high, mask.1);
        }
        #[inline(always)]
        fn $store_packed(self, value: Self::$kind, to: &mut [$element], mask: Self::M) -> usize {
            let to = &mut to[..Self::LANES];
            let count = self.0.$store_packed(value.0, to, mask.0);
            count + self.0.$store_packed(value.1, &mut to[count..], mask.1)
        }
        #[inline(always)]
        fn $gather(self, from: &[$element], index: Self::U) -> Self::$kind {
            (self.0.$gather(from, index.0), self.0.$gather(from, index.1))
        }
    };
}

/// Reductions: the halves are combined lane by lane first, so that only one register is reduced.
macro_rules! reductions {
    ($($name:ident($kind:ident) -> $out:ty, $empty:expr, $splat:ident, $select:ident, $combine:ident;)*) => {
        $(#[inline(always)]
        fn $name(self, a: Self::$kind, mask: Self::M) -> $out {
            let g = self.0;
            let empty = g.$splat($empty);
            let combined = g.$combine(g.$select(mask.0, a.0, empty), g.$select(mask.1, a.1, empty));
            g.$name(combined, g.m_first(Self::HALF))
        })*
    };
}

impl<G: Gang> Gang for Pair<G> {
    const LANES: usize = 2 * G::LANES;
    const ISA: Isa = G::ISA;
    type F = (G::F, G::F);
    type I = (G::I, G::I);
    type U = (G::U, G::U);
    type M = (G::M, G::M);

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.vectorize(body)
    }

    #[inline(always)]
    fn f_splat(self, value: f32) -> Self::F {
        (self.0.f_splat(value), self.0.f_splat(value))
    }
    #[inline(always)]
    fn i_splat(self, value: i32) -> Self::I {
        (self.0.i_splat(value), self.0.i_splat(value))
    }
    #[inline(always)]
    fn u_splat(self, value: u32) -> Self::U {
        (self.0.u_splat(value), self.0.u_splat(value))
    }
    #[inline(always)]
    fn u_iota(self) -> Self::U {
        let low = self.0.u_iota();
        (low, self.0.u_add(low, self.0.u_splat(Self::HALF as u32)))
    }

    memory!(f32, F, f_load, f_store, f_load_some, f_store_some, f_store_packed, f_gather);
    memory!(i32, I, i_load, i_store);
    memory!(u32, U, u_load, u_store, u_load_some, u_store_some, u_store_packed, u_gather);
    #[inline(always)]
    fn f_gather_columns<const K: usize>(self, from: [&[f32]; K], index: Self::U) -> [Self::F; K] {
        let (low, high) = (self.0.f_gather_columns(from, index.0), self.0.f_gather_columns(from, index.1));
        array_of!(k => (low[k], high[k]))
    }
    #[inline(always)]
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
        let [a, b, c, d] = self.0.f_gather_records(from, index.0);
        let [e, f, g, h] = self.0.f_gather_records(from, index.1);
        [(a, e), (b, f), (c, g), (d, h)]
    }
    #[inline(always)]
    fn f_gather_four(self, from: &[f32], index: Self::U) -> [Self::F; 4] {
        let [a, b, c, d] = self.0.f_gather_four(from, index.0);
        let [e, f, g, h] = self.0.f_gather_four(from, index.1);
        [(a, e), (b, f), (c, g), (d, h)]
    }
    #[inline(always)]
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
        let (low, high) = index.split_at(Self::HALF);
        let [a, b, c, d] = self.0.f_load_records(from, low);
        let [e, f, g, h] = self.0.f_load_records(from, high);
        [(a, e), (b, f), (c, g), (d, h)]
    }
    #[inline(always)]
    fn f_store_records(self, [a, b, c, d]: [Self::F; 4], to: &mut [[f32; 4]]) {
        let (low, high) = to.split_at_mut(Self::HALF);
        self.0.f_store_records([a.0, b.0, c.0, d.0], low);
        self.0.f_store_records([a.1, b.1, c.1, d.1], high);
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        self.0.u_scatter(value.0, to, index.0, mask.0);
        self.0.u_scatter(value.1, to, index.1, mask.1);
    }

    operations_by_lane!(halves);

    #[inline(always)]
    fn u_prefix_sum(self, a: Self::U) -> (Self::U, u32) {
        let (low, low_sum) = self.0.u_prefix_sum(a.0);
        let (high, high_sum) = self.0.u_prefix_sum(a.1);
        ((low, self.0.u_add(high, self.0.u_splat(low_sum))), low_sum.wrapping_add(high_sum))
    }

    reductions! {
        u_reduce_add(U) -> u32, 0, u_splat, u_select, u_add;
        u_reduce_min(U) -> u32, u32::MAX, u_splat, u_select, u_min;
        u_reduce_max(U) -> u32, 0, u_splat, u_select, u_max;
    }

    #[inline(always)]
    fn f_reduce_min(self, a: Self::F, mask: Self::M) -> f32 {
        let g = self.0;
        let infinity = g.f_splat(f32::INFINITY);
        // `f_min` returns its second argument if the first is NaN.
        let low = g.f_min(g.f_select(mask.0, a.0, infinity), infinity);
        let both = g.f_min(g.f_select(mask.1, a.1, infinity), low);
        g.f_reduce_min(both, g.m_first(Self::HALF))
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        (self.0.m_first(count), self.0.m_first(count.saturating_sub(Self::HALF)))
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        (self.0.m_from_bits(bits), self.0.m_from_bits(bits >> Self::HALF))
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        self.0.m_bits(mask.0) | self.0.m_bits(mask.1) << Self::HALF
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        self.0.m_any(self.0.m_or(mask.0, mask.1))
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        self.0.m_all(self.0.m_and(mask.0, mask.1))
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        self.0.m_count(mask.0) + self.0.m_count(mask.1)
    }
}
