//! Types with operators: [`F32`], [`I32`], [`U32`] and [`Mask`] have one value per lane and the gang's token, so that
//! kernels read like scalar code. All functions are `#[inline(always)]`, so the types add no run time.

use super::{Gang, array_of, floats};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

macro_rules! varying {
    ($name:ident, $repr:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy)]
        pub struct $name<G: Gang> {
            pub(crate) g: G,
            pub(crate) v: G::$repr,
        }
    };
}
varying!(F32, F, "One f32 per lane.");
varying!(I32, I, "One i32 per lane.");
varying!(U32, U, "One u32 per lane.");
varying!(Mask, M, "One yes or no per lane.");

macro_rules! operator {
    ($name:ident, $trait:ident, $method:ident, $gang:ident) => {
        impl<G: Gang> $trait for $name<G> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self { g: self.g, v: self.g.$gang(self.v, other.v) }
            }
        }
    };
}
operator!(F32, Add, add, f_add);
operator!(F32, Sub, sub, f_sub);
operator!(F32, Mul, mul, f_mul);
operator!(F32, Div, div, f_div);
operator!(I32, Add, add, i_add);
operator!(I32, Sub, sub, i_sub);
operator!(I32, Mul, mul, i_mul);
operator!(U32, Add, add, u_add);
operator!(U32, Sub, sub, u_sub);
operator!(U32, Mul, mul, u_mul);
operator!(U32, BitAnd, bitand, u_and);
operator!(U32, BitOr, bitor, u_or);
operator!(U32, BitXor, bitxor, u_xor);
operator!(Mask, BitAnd, bitand, m_and);
operator!(Mask, BitOr, bitor, m_or);

impl<G: Gang> Neg for F32<G> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { g: self.g, v: self.g.f_neg(self.v) }
    }
}

impl<G: Gang> Not for Mask<G> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self { g: self.g, v: self.g.m_not(self.v) }
    }
}

/// Methods of one varying type: `name(arguments) -> Type = gang method`.
macro_rules! methods {
    ($self:ident: $($(#[$doc:meta])* $name:ident($($arg:ident),*) -> $out:ident = $gang:ident;)*) => {
        impl<G: Gang> $self<G> {
            $($(#[$doc])* #[inline(always)]
            pub fn $name(self, $($arg: Self),*) -> $out<G> {
                $out { g: self.g, v: self.g.$gang(self.v, $($arg.v),*) }
            })*
        }
    };
}
methods! { F32:
    /// Computes `self * b + c` per lane, rounded once.
    mul_add(b, c) -> F32 = f_mul_add;
    /// Computes `c - self * b` per lane, rounded once.
    neg_mul_add(b, c) -> F32 = f_neg_mul_add;
    /// Computes the square root of each lane, rounded as in IEEE-754.
    sqrt() -> F32 = f_sqrt;
    /// Computes the absolute value of each lane.
    abs() -> F32 = f_abs;
    /// Computes `if self < b { self } else { b }` per lane.
    min(b) -> F32 = f_min;
    /// Computes `if self > b { self } else { b }` per lane.
    max(b) -> F32 = f_max;
    /// Computes `self < b` per lane.
    lt(b) -> Mask = f_lt;
    /// Computes `self <= b` per lane.
    le(b) -> Mask = f_le;
    /// Computes `self == b` per lane.
    eq(b) -> Mask = f_eq;
    /// Truncates each lane to i32; NaN and values outside the range of i32 give `i32::MIN`.
    to_i32() -> I32 = f_to_i;
    /// Returns the bits of each lane as u32, unchanged.
    to_bits() -> U32 = f_bits;
}
methods! { I32:
    /// Computes the minimum of `self` and `b` per lane, signed.
    min(b) -> I32 = i_min;
    /// Computes the maximum of `self` and `b` per lane, signed.
    max(b) -> I32 = i_max;
    /// Computes `self < b` per lane, signed.
    lt(b) -> Mask = i_lt;
    /// Computes `self == b` per lane.
    eq(b) -> Mask = i_eq;
    /// Converts each lane to the nearest f32; ties go to the even value.
    to_f32() -> F32 = i_to_f;
    /// Returns the bits of each lane as u32, unchanged.
    to_bits() -> U32 = i_bits;
}
methods! { U32:
    /// Computes the minimum of `self` and `b` per lane, unsigned.
    min(b) -> U32 = u_min;
    /// Computes the maximum of `self` and `b` per lane, unsigned.
    max(b) -> U32 = u_max;
    /// Computes `self < b` per lane, unsigned.
    lt(b) -> Mask = u_lt;
    /// Computes `self == b` per lane.
    eq(b) -> Mask = u_eq;
    /// Returns the bits of each lane as i32, unchanged.
    as_i32() -> I32 = u_as_i;
    /// Returns the bits of each lane as f32, unchanged.
    as_f32() -> F32 = u_as_f;
}
methods! { Mask:
    /// Computes `self & !b` per lane.
    and_not(b) -> Mask = m_and_not;
}

macro_rules! shifts {
    ($name:ident, $shl:ident, $shr:ident) => {
        impl<G: Gang> $name<G> {
            /// Computes `self << BITS` per lane.
            #[inline(always)]
            pub fn shl<const BITS: u32>(self) -> Self {
                Self { g: self.g, v: self.g.$shl::<BITS>(self.v) }
            }
            /// Computes `self >> BITS` per lane, as an arithmetic shift for i32 and a logical shift for u32.
            #[inline(always)]
            pub fn shr<const BITS: u32>(self) -> Self {
                Self { g: self.g, v: self.g.$shr::<BITS>(self.v) }
            }
        }
    };
}
shifts!(I32, i_shl, i_shr);
shifts!(U32, u_shl, u_shr);

impl<G: Gang> F32<G> {
    /// Returns `value` in every lane.
    #[inline(always)]
    pub fn splat(g: G, value: f32) -> Self {
        Self { g, v: g.f_splat(value) }
    }
    /// Loads the first `LANES` values of `from`; panics if `from` is shorter.
    #[inline(always)]
    pub fn load(g: G, from: &[f32]) -> Self {
        Self { g, v: g.f_load(from) }
    }
    /// Loads `from[i]` into each lane i that is set in `mask`; the other lanes are 0.
    #[inline(always)]
    pub fn load_some(from: &[f32], mask: Mask<G>) -> Self {
        Self { g: mask.g, v: mask.g.f_load_some(from, mask.v) }
    }
    /// Loads `from[index]` into each lane; an index beyond the end is clamped to the last element.
    #[inline(always)]
    pub fn gather(from: &[f32], index: U32<G>) -> Self {
        Self { g: index.g, v: index.g.f_gather(from, index.v) }
    }

    /// Loads `from[index]` into each lane, from the first 2 x `LANES` values of `from`; see [`Gang::f_look_up`].
    #[inline(always)]
    pub fn look_up(from: &[f32], index: U32<G>) -> Self {
        Self { g: index.g, v: index.g.f_look_up(from, index.v) }
    }
    /// Loads `from[k][index]` per lane and column k; an index is clamped to the last element of the shortest column.
    #[inline(always)]
    pub fn gather_columns<const K: usize>(from: [&[f32]; K], index: U32<G>) -> [Self; K] {
        let columns = index.g.f_gather_columns(from, index.v);
        array_of!(k => Self { g: index.g, v: columns[k] })
    }
    /// Loads the record `from[index]` per lane, and returns its four values; an index is clamped to the last record.
    #[inline(always)]
    pub fn gather_records(from: &[[f32; 4]], index: U32<G>) -> [Self; 4] {
        let [a, b, c, d] = index.g.f_gather_records(from, index.v);
        let g = index.g;
        [Self { g, v: a }, Self { g, v: b }, Self { g, v: c }, Self { g, v: d }]
    }

    /// Loads the records at the first `LANES` indices of `index`, which is faster than with indices in a register.
    #[inline(always)]
    pub fn load_records(g: G, from: &[[f32; 4]], index: &[u32]) -> [Self; 4] {
        let [a, b, c, d] = g.f_load_records(from, index);
        [Self { g, v: a }, Self { g, v: b }, Self { g, v: c }, Self { g, v: d }]
    }
    /// Loads `from[index]` and the next three values into each lane; see [`Gang::f_gather_four`].
    #[inline(always)]
    pub fn gather_four(from: &[f32], index: U32<G>) -> [Self; 4] {
        let [a, b, c, d] = index.g.f_gather_four(from, index.v);
        let g = index.g;
        [Self { g, v: a }, Self { g, v: b }, Self { g, v: c }, Self { g, v: d }]
    }
    /// Stores four values per lane in the first `LANES` records of `to`; panics if `to` is shorter.
    #[inline(always)]
    pub fn store_records([a, b, c, d]: [Self; 4], to: &mut [[f32; 4]]) {
        a.g.f_store_records([a.v, b.v, c.v, d.v], to);
    }
    /// Stores the lanes in the first `LANES` values of `to`; panics if `to` is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        self.g.f_store(self.v, to);
    }
    /// Stores lane i in `to[i]`, for each lane i that is set in `mask`.
    #[inline(always)]
    pub fn store_some(self, to: &mut [f32], mask: Mask<G>) {
        self.g.f_store_some(self.v, to, mask.v);
    }
    /// Stores the lanes set in `mask` at the front of `to` and returns their number; see [`Gang::f_store_packed`].
    #[inline(always)]
    pub fn store_packed(self, to: &mut [f32], mask: Mask<G>) -> usize {
        self.g.f_store_packed(self.v, to, mask.v)
    }
    /// Returns the smallest lane set in `mask` that is not NaN, or +infinity if there is none.
    #[inline(always)]
    pub fn reduce_min(self, mask: Mask<G>) -> f32 {
        self.g.f_reduce_min(self.v, mask.v)
    }
}

impl<G: Gang> I32<G> {
    /// Returns `value` in every lane.
    #[inline(always)]
    pub fn splat(g: G, value: i32) -> Self {
        Self { g, v: g.i_splat(value) }
    }
    /// Loads the first `LANES` values of `from`; panics if `from` is shorter.
    #[inline(always)]
    pub fn load(g: G, from: &[i32]) -> Self {
        Self { g, v: g.i_load(from) }
    }
    /// Stores the lanes in the first `LANES` values of `to`; panics if `to` is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [i32]) {
        self.g.i_store(self.v, to);
    }
}

impl<G: Gang> U32<G> {
    /// Returns `value` in every lane.
    #[inline(always)]
    pub fn splat(g: G, value: u32) -> Self {
        Self { g, v: g.u_splat(value) }
    }
    /// Returns the number of each lane, from 0 to `LANES` - 1.
    #[inline(always)]
    pub fn iota(g: G) -> Self {
        Self { g, v: g.u_iota() }
    }
    /// Loads the first `LANES` values of `from`; panics if `from` is shorter.
    #[inline(always)]
    pub fn load(g: G, from: &[u32]) -> Self {
        Self { g, v: g.u_load(from) }
    }
    /// Loads `from[i]` into each lane i that is set in `mask`; the other lanes are 0.
    #[inline(always)]
    pub fn load_some(from: &[u32], mask: Mask<G>) -> Self {
        Self { g: mask.g, v: mask.g.u_load_some(from, mask.v) }
    }
    /// Loads `from[index]` into each lane; an index beyond the end is clamped to the last element.
    #[inline(always)]
    pub fn gather(from: &[u32], index: U32<G>) -> Self {
        Self { g: index.g, v: index.g.u_gather(from, index.v) }
    }
    /// Loads `from[k][index]` per lane and column k; an index is clamped to the last element of the shortest column.
    #[inline(always)]
    pub fn gather_columns<const K: usize>(from: [&[u32]; K], index: Self) -> [Self; K] {
        // The load moves bits only, so u32 can be loaded as f32.
        let from: [&[f32]; K] = array_of!(k => floats(from[k]));
        let columns = F32::gather_columns(from, index);
        array_of!(k => columns[k].to_bits())
    }
    /// Stores each lane that is set in `mask` to `to[index]`; of equal indices, the last lane's value remains.
    #[inline(always)]
    pub fn scatter(self, to: &mut [u32], index: U32<G>, mask: Mask<G>) {
        self.g.u_scatter(self.v, to, index.v, mask.v);
    }
    /// Stores the lanes in the first `LANES` values of `to`; panics if `to` is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [u32]) {
        self.g.u_store(self.v, to);
    }
    /// Stores lane i in `to[i]`, for each lane i that is set in `mask`.
    #[inline(always)]
    pub fn store_some(self, to: &mut [u32], mask: Mask<G>) {
        self.g.u_store_some(self.v, to, mask.v);
    }
    /// Stores the lanes set in `mask` at the front of `to` and returns their number; see [`Gang::f_store_packed`].
    #[inline(always)]
    pub fn store_packed(self, to: &mut [u32], mask: Mask<G>) -> usize {
        self.g.u_store_packed(self.v, to, mask.v)
    }
    /// Adds 1 to the lanes that are set in `mask`, wrapping.
    #[inline(always)]
    pub fn count(self, mask: Mask<G>) -> Self {
        Self { g: self.g, v: self.g.u_count(self.v, mask.v) }
    }
    /// Returns the inclusive prefix sums of the lanes, and the sum of all lanes; the sums wrap.
    #[inline(always)]
    pub fn prefix_sum(self) -> (Self, u32) {
        let (v, sum) = self.g.u_prefix_sum(self.v);
        (Self { v, ..self }, sum)
    }
    /// Returns the sum of the lanes set in `mask`, wrapping.
    #[inline(always)]
    pub fn reduce_add(self, mask: Mask<G>) -> u32 {
        self.g.u_reduce_add(self.v, mask.v)
    }
    /// Returns the smallest lane set in `mask`, or `u32::MAX` if no lane is set.
    #[inline(always)]
    pub fn reduce_min(self, mask: Mask<G>) -> u32 {
        self.g.u_reduce_min(self.v, mask.v)
    }
    /// Returns the largest lane set in `mask`, or 0 if no lane is set.
    #[inline(always)]
    pub fn reduce_max(self, mask: Mask<G>) -> u32 {
        self.g.u_reduce_max(self.v, mask.v)
    }
}

impl<G: Gang> Mask<G> {
    /// Returns the mask in which the first `count` lanes are set, or all lanes if `count >= LANES`.
    #[inline(always)]
    pub fn first(g: G, count: usize) -> Self {
        Self { g, v: g.m_first(count) }
    }
    /// Returns the mask in which lane i is set if bit i of `bits` is 1.
    #[inline(always)]
    pub fn from_bits(g: G, bits: u64) -> Self {
        Self { g, v: g.m_from_bits(bits) }
    }
    /// Returns the mask as an integer: bit i is 1 if lane i is set, and bits from `LANES` on are 0.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.g.m_bits(self.v)
    }
    /// Returns whether any lane is set.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.g.m_any(self.v)
    }
    /// Returns whether all lanes are set.
    #[inline(always)]
    pub fn all(self) -> bool {
        self.g.m_all(self.v)
    }
    /// Returns the number of lanes that are set.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.g.m_count(self.v)
    }
    /// Returns `a` in the lanes that are set, and `b` in the other lanes.
    #[inline(always)]
    pub fn select_f(self, a: F32<G>, b: F32<G>) -> F32<G> {
        F32 { g: self.g, v: self.g.f_select(self.v, a.v, b.v) }
    }
    /// Returns `a` in the lanes that are set, and `b` in the other lanes.
    #[inline(always)]
    pub fn select_i(self, a: I32<G>, b: I32<G>) -> I32<G> {
        I32 { g: self.g, v: self.g.i_select(self.v, a.v, b.v) }
    }
    /// Returns `a` in the lanes that are set, and `b` in the other lanes.
    #[inline(always)]
    pub fn select_u(self, a: U32<G>, b: U32<G>) -> U32<G> {
        U32 { g: self.g, v: self.g.u_select(self.v, a.v, b.v) }
    }
}
