//! [`Stack`]: a gang of many registers that stay in memory. A [`Pair`](super::Pair) of more than four registers is not
//! faster: its straight-line code no longer fits in the instruction cache and takes too long to compile. In a
//! [`Stack`], every operation is a loop over registers, so the code is as large as for one register.

use super::operations::operations_by_lane;
use super::{Gang, Isa};
use std::hint::black_box;

/// `N` gangs `G` as one gang; the first gang holds the lowest lanes.
#[derive(Debug, Clone, Copy)]
pub struct Stack<G: Gang, const N: usize>(G);

impl<G: Gang, const N: usize> Stack<G, N> {
    /// Makes the gang of `N` parts, each the gang `part`.
    #[inline(always)]
    pub fn new(part: G) -> Self {
        Self(part)
    }

    /// Numbers of the parts, hidden from the compiler, which would otherwise unroll the loop.
    #[inline(always)]
    fn parts() -> std::ops::Range<usize> {
        0..black_box(N)
    }
}

/// Makes a value of type `F`, `I`, `U` or `M` with 0, or false, in every lane.
macro_rules! filled {
    ($part:expr, F) => {
        [$part.f_splat(0.0); N]
    };
    ($part:expr, I) => {
        [$part.i_splat(0); N]
    };
    ($part:expr, U) => {
        [$part.u_splat(0); N]
    };
    ($part:expr, M) => {
        [$part.m_first(0); N]
    };
}

/// Defines operations by lane: on each part separately.
macro_rules! by_part {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident;)*) => {
        $(#[inline(always)]
        fn $name$(<const $bits: u32>)?(self, $($arg: Self::$kind),*) -> Self::$out {
            let mut out = filled!(self.0, $out);
            for i in Self::parts() {
                out[i] = self.0.$name$(::<$bits>)?($($arg[i]),*);
            }
            out
        })*
    };
}

/// Memory operations of one element type.
macro_rules! memory {
    ($element:ty, $kind:ident, $splat:ident, $zero:expr, $load:ident, $store:ident) => {
        #[inline(always)]
        fn $splat(self, value: $element) -> Self::$kind {
            [self.0.$splat(value); N]
        }
        #[inline(always)]
        fn $load(self, from: &[$element]) -> Self::$kind {
            let from = &from[..Self::LANES];
            let mut out = self.$splat($zero);
            for i in Self::parts() {
                out[i] = self.0.$load(&from[i * G::LANES..]);
            }
            out
        }
        #[inline(always)]
        fn $store(self, value: Self::$kind, to: &mut [$element]) {
            let to = &mut to[..Self::LANES];
            for i in Self::parts() {
                self.0.$store(value[i], &mut to[i * G::LANES..]);
            }
        }
    };
    ($element:ty, $kind:ident, $splat:ident, $zero:expr, $load:ident, $store:ident, $load_some:ident, $store_some:ident, $store_packed:ident, $gather:ident) => {
        memory!($element, $kind, $splat, $zero, $load, $store);
        #[inline(always)]
        fn $load_some(self, from: &[$element], mask: Self::M) -> Self::$kind {
            let mut out = self.$splat($zero);
            for i in Self::parts() {
                out[i] = self.0.$load_some(&from[from.len().min(i * G::LANES)..], mask[i]);
            }
            out
        }
        #[inline(always)]
        fn $store_some(self, value: Self::$kind, to: &mut [$element], mask: Self::M) {
            for i in Self::parts() {
                let first = to.len().min(i * G::LANES);
                self.0.$store_some(value[i], &mut to[first..], mask[i]);
            }
        }
        #[inline(always)]
        fn $store_packed(self, value: Self::$kind, to: &mut [$element], mask: Self::M) -> usize {
            let to = &mut to[..Self::LANES];
            let mut count = 0;
            for i in Self::parts() {
                count += self.0.$store_packed(value[i], &mut to[count..], mask[i]);
            }
            count
        }
        #[inline(always)]
        fn $gather(self, from: &[$element], index: Self::U) -> Self::$kind {
            let mut out = self.$splat($zero);
            for i in Self::parts() {
                out[i] = self.0.$gather(from, index[i]);
            }
            out
        }
    };
}

/// Reductions: the parts are combined lane by lane first, so that only one register is reduced.
macro_rules! reductions {
    ($($name:ident($kind:ident) -> $out:ty, $empty:expr, $splat:ident, $select:ident, $combine:ident;)*) => {
        $(#[inline(always)]
        fn $name(self, a: Self::$kind, mask: Self::M) -> $out {
            let g = self.0;
            let mut sum = g.$splat($empty);
            for i in Self::parts() {
                // `f_min` returns its second argument if the first is NaN.
                sum = g.$combine(g.$select(mask[i], a[i], g.$splat($empty)), sum);
            }
            g.$name(sum, g.m_first(G::LANES))
        })*
    };
}

impl<G: Gang, const N: usize> Gang for Stack<G, N> {
    const LANES: usize = N * G::LANES;
    const ISA: Isa = G::ISA;
    type F = [G::F; N];
    type I = [G::I; N];
    type U = [G::U; N];
    type M = [G::M; N];

    #[inline(always)]
    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        self.0.vectorize(body)
    }

    memory!(f32, F, f_splat, 0.0, f_load, f_store, f_load_some, f_store_some, f_store_packed, f_gather);
    memory!(i32, I, i_splat, 0, i_load, i_store);
    memory!(u32, U, u_splat, 0, u_load, u_store, u_load_some, u_store_some, u_store_packed, u_gather);

    #[inline(always)]
    fn u_iota(self) -> Self::U {
        let mut out = self.u_splat(0);
        for i in Self::parts() {
            out[i] = self.0.u_add(self.0.u_iota(), self.0.u_splat((i * G::LANES) as u32));
        }
        out
    }
    #[inline(always)]
    fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
        let mut columns = [self.f_splat(0.0); 4];
        for i in Self::parts() {
            let values = self.0.f_gather_records(from, index[i]);
            for (column, value) in columns.iter_mut().zip(values) {
                column[i] = value;
            }
        }
        columns
    }
    #[inline(always)]
    fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
        self.f_gather_records(from, self.u_load(index))
    }
    #[inline(always)]
    fn f_store_records(self, columns: [Self::F; 4], to: &mut [[f32; 4]]) {
        for (i, to) in to[..Self::LANES].chunks_exact_mut(G::LANES).enumerate() {
            self.0.f_store_records(columns.map(|column| column[i]), to);
        }
    }
    #[inline(always)]
    fn u_scatter(self, value: Self::U, to: &mut [u32], index: Self::U, mask: Self::M) {
        for i in Self::parts() {
            self.0.u_scatter(value[i], to, index[i], mask[i]);
        }
    }

    operations_by_lane!(by_part);

    #[inline(always)]
    fn u_prefix_sum(self, mut a: Self::U) -> (Self::U, u32) {
        let mut before = 0u32;
        for i in Self::parts() {
            let (sums, sum) = self.0.u_prefix_sum(a[i]);
            a[i] = self.0.u_add(sums, self.0.u_splat(before));
            before = before.wrapping_add(sum);
        }
        (a, before)
    }

    reductions! {
        f_reduce_min(F) -> f32, f32::INFINITY, f_splat, f_select, f_min;
        u_reduce_add(U) -> u32, 0, u_splat, u_select, u_add;
        u_reduce_min(U) -> u32, u32::MAX, u_splat, u_select, u_min;
        u_reduce_max(U) -> u32, 0, u_splat, u_select, u_max;
    }

    #[inline(always)]
    fn m_first(self, count: usize) -> Self::M {
        let mut out = [self.0.m_first(0); N];
        for i in Self::parts() {
            out[i] = self.0.m_first(count.saturating_sub(i * G::LANES));
        }
        out
    }
    #[inline(always)]
    fn m_from_bits(self, bits: u64) -> Self::M {
        let mut out = [self.0.m_first(0); N];
        for i in Self::parts() {
            out[i] = self.0.m_from_bits(bits >> (i * G::LANES));
        }
        out
    }
    #[inline(always)]
    fn m_bits(self, mask: Self::M) -> u64 {
        let mut bits = 0;
        for i in Self::parts() {
            bits |= self.0.m_bits(mask[i]) << (i * G::LANES);
        }
        bits
    }
    #[inline(always)]
    fn m_any(self, mask: Self::M) -> bool {
        self.m_bits(mask) != 0
    }
    #[inline(always)]
    fn m_all(self, mask: Self::M) -> bool {
        self.m_count(mask) == Self::LANES
    }
    #[inline(always)]
    fn m_count(self, mask: Self::M) -> usize {
        let mut count = 0;
        for i in Self::parts() {
            count += self.0.m_count(mask[i]);
        }
        count
    }
}
