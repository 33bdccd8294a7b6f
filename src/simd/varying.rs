//! Operators: [`F32`], [`I32`], [`U32`] and [`Mask`] carry the gang's token beside the value, so that kernels read
//! like scalar code. Everything is `#[inline(always)]` and costs nothing.

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
    /// self * b + c, one rounding.
    mul_add(b, c) -> F32 = f_mul_add;
    /// c - self * b, one rounding.
    neg_mul_add(b, c) -> F32 = f_neg_mul_add;
    /// Square root, IEEE.
    sqrt() -> F32 = f_sqrt;
    /// Absolute value.
    abs() -> F32 = f_abs;
    /// `if self < b { self } else { b }`
    min(b) -> F32 = f_min;
    /// `if self > b { self } else { b }`
    max(b) -> F32 = f_max;
    /// self < b
    lt(b) -> Mask = f_lt;
    /// self <= b
    le(b) -> Mask = f_le;
    /// self == b
    eq(b) -> Mask = f_eq;
    /// Truncation (see [`Gang`] for what does not fit).
    to_i32() -> I32 = f_to_i;
    /// The bits, unchanged.
    to_bits() -> U32 = f_bits;
}
methods! { I32:
    /// min, signed
    min(b) -> I32 = i_min;
    /// max, signed
    max(b) -> I32 = i_max;
    /// self < b, signed
    lt(b) -> Mask = i_lt;
    /// self == b
    eq(b) -> Mask = i_eq;
    /// To f32, nearest even.
    to_f32() -> F32 = i_to_f;
    /// The bits, unchanged.
    to_bits() -> U32 = i_bits;
}
methods! { U32:
    /// min, unsigned
    min(b) -> U32 = u_min;
    /// max, unsigned
    max(b) -> U32 = u_max;
    /// self < b, unsigned
    lt(b) -> Mask = u_lt;
    /// self == b
    eq(b) -> Mask = u_eq;
    /// The bits as i32.
    as_i32() -> I32 = u_as_i;
    /// The bits as f32.
    as_f32() -> F32 = u_as_f;
}
methods! { Mask:
    /// self & !b
    and_not(b) -> Mask = m_and_not;
}

macro_rules! shifts {
    ($name:ident, $shl:ident, $shr:ident) => {
        impl<G: Gang> $name<G> {
            /// `self << BITS`.
            #[inline(always)]
            pub fn shl<const BITS: u32>(self) -> Self {
                Self { g: self.g, v: self.g.$shl::<BITS>(self.v) }
            }
            /// `self >> BITS`: arithmetic for i32, logical for u32.
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
    /// `value` in every lane.
    #[inline(always)]
    pub fn splat(g: G, value: f32) -> Self {
        Self { g, v: g.f_splat(value) }
    }
    /// First `LANES` values of `from`; panics when it is shorter.
    #[inline(always)]
    pub fn load(g: G, from: &[f32]) -> Self {
        Self { g, v: g.f_load(from) }
    }
    /// Lanes of `mask` from memory, 0 in the others.
    #[inline(always)]
    pub fn load_some(from: &[f32], mask: Mask<G>) -> Self {
        Self { g: mask.g, v: mask.g.f_load_some(from, mask.v) }
    }
    /// `from[index]`, index clamped to the last element.
    #[inline(always)]
    pub fn gather(from: &[f32], index: U32<G>) -> Self {
        Self { g: index.g, v: index.g.f_gather(from, index.v) }
    }

    /// See [`Gang::f_look_up`].
    #[inline(always)]
    pub fn look_up(from: &[f32], index: U32<G>) -> Self {
        Self { g: index.g, v: index.g.f_look_up(from, index.v) }
    }
    /// `from[index]` of several columns, index clamped to the last element of the shortest.
    #[inline(always)]
    pub fn gather_columns<const K: usize>(from: [&[f32]; K], index: U32<G>) -> [Self; K] {
        let columns = index.g.f_gather_columns(from, index.v);
        array_of!(k => Self { g: index.g, v: columns[k] })
    }
    /// `from[index]`, four values at once, index clamped to the last record.
    #[inline(always)]
    pub fn gather_records(from: &[[f32; 4]], index: U32<G>) -> [Self; 4] {
        let [a, b, c, d] = index.g.f_gather_records(from, index.v);
        let g = index.g;
        [Self { g, v: a }, Self { g, v: b }, Self { g, v: c }, Self { g, v: d }]
    }

    /// The same with the index in memory: reading addresses is faster than extracting them from a register.
    #[inline(always)]
    pub fn load_records(g: G, from: &[[f32; 4]], index: &[u32]) -> [Self; 4] {
        let [a, b, c, d] = g.f_load_records(from, index);
        [Self { g, v: a }, Self { g, v: b }, Self { g, v: c }, Self { g, v: d }]
    }
    /// `from[index]` and the next three values, see [`Gang::f_gather_four`].
    #[inline(always)]
    pub fn gather_four(from: &[f32], index: U32<G>) -> [Self; 4] {
        let [a, b, c, d] = index.g.f_gather_four(from, index.v);
        let g = index.g;
        [Self { g, v: a }, Self { g, v: b }, Self { g, v: c }, Self { g, v: d }]
    }
    /// Stores four values of each lane in the first `LANES` records of `to`; panics when `to` is shorter.
    #[inline(always)]
    pub fn store_records([a, b, c, d]: [Self; 4], to: &mut [[f32; 4]]) {
        a.g.f_store_records([a.v, b.v, c.v, d.v], to);
    }
    /// Into the first `LANES` values of `to`; panics when it is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        self.g.f_store(self.v, to);
    }
    /// Lanes of `mask` only.
    #[inline(always)]
    pub fn store_some(self, to: &mut [f32], mask: Mask<G>) {
        self.g.f_store_some(self.v, to, mask.v);
    }
    /// Left-pack: lanes of `mask` to the front of `to` (all `LANES` values may be written); how many.
    #[inline(always)]
    pub fn store_packed(self, to: &mut [f32], mask: Mask<G>) -> usize {
        self.g.f_store_packed(self.v, to, mask.v)
    }
    /// Smallest lane of `mask`, +infinity when there is none.
    #[inline(always)]
    pub fn reduce_min(self, mask: Mask<G>) -> f32 {
        self.g.f_reduce_min(self.v, mask.v)
    }
}

impl<G: Gang> I32<G> {
    /// `value` in every lane.
    #[inline(always)]
    pub fn splat(g: G, value: i32) -> Self {
        Self { g, v: g.i_splat(value) }
    }
    /// First `LANES` values of `from`; panics when it is shorter.
    #[inline(always)]
    pub fn load(g: G, from: &[i32]) -> Self {
        Self { g, v: g.i_load(from) }
    }
    /// Into the first `LANES` values of `to`; panics when it is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [i32]) {
        self.g.i_store(self.v, to);
    }
}

impl<G: Gang> U32<G> {
    /// `value` in every lane.
    #[inline(always)]
    pub fn splat(g: G, value: u32) -> Self {
        Self { g, v: g.u_splat(value) }
    }
    /// 0, 1, 2, ...
    #[inline(always)]
    pub fn iota(g: G) -> Self {
        Self { g, v: g.u_iota() }
    }
    /// First `LANES` values of `from`; panics when it is shorter.
    #[inline(always)]
    pub fn load(g: G, from: &[u32]) -> Self {
        Self { g, v: g.u_load(from) }
    }
    /// Lanes of `mask` from memory, 0 in the others.
    #[inline(always)]
    pub fn load_some(from: &[u32], mask: Mask<G>) -> Self {
        Self { g: mask.g, v: mask.g.u_load_some(from, mask.v) }
    }
    /// `from[index]`, index clamped to the last element.
    #[inline(always)]
    pub fn gather(from: &[u32], index: U32<G>) -> Self {
        Self { g: index.g, v: index.g.u_gather(from, index.v) }
    }
    /// `from[index]` of several columns, index clamped to the last element of the shortest.
    #[inline(always)]
    pub fn gather_columns<const K: usize>(from: [&[u32]; K], index: Self) -> [Self; K] {
        // The bits are moved alone, whatever they stand for.
        let from: [&[f32]; K] = array_of!(k => floats(from[k]));
        let columns = F32::gather_columns(from, index);
        array_of!(k => columns[k].to_bits())
    }
    /// `to[index] = self` for the lanes of `mask`; the last lane of equal indices stays.
    #[inline(always)]
    pub fn scatter(self, to: &mut [u32], index: U32<G>, mask: Mask<G>) {
        self.g.u_scatter(self.v, to, index.v, mask.v);
    }
    /// Into the first `LANES` values of `to`; panics when it is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [u32]) {
        self.g.u_store(self.v, to);
    }
    /// Lanes of `mask` only.
    #[inline(always)]
    pub fn store_some(self, to: &mut [u32], mask: Mask<G>) {
        self.g.u_store_some(self.v, to, mask.v);
    }
    /// Left-pack: lanes of `mask` to the front of `to` (all `LANES` values may be written); how many.
    #[inline(always)]
    pub fn store_packed(self, to: &mut [u32], mask: Mask<G>) -> usize {
        self.g.u_store_packed(self.v, to, mask.v)
    }
    /// self + 1 in the lanes of `mask`, wrapping.
    #[inline(always)]
    pub fn count(self, mask: Mask<G>) -> Self {
        Self { g: self.g, v: self.g.u_count(self.v, mask.v) }
    }
    /// Sums of each lane and the lanes before it, wrapping, and the sum of all.
    #[inline(always)]
    pub fn prefix_sum(self) -> (Self, u32) {
        let (v, sum) = self.g.u_prefix_sum(self.v);
        (Self { v, ..self }, sum)
    }
    /// Sum of the lanes of `mask`, wrapping.
    #[inline(always)]
    pub fn reduce_add(self, mask: Mask<G>) -> u32 {
        self.g.u_reduce_add(self.v, mask.v)
    }
    /// Smallest lane of `mask`; `u32::MAX` when there is none.
    #[inline(always)]
    pub fn reduce_min(self, mask: Mask<G>) -> u32 {
        self.g.u_reduce_min(self.v, mask.v)
    }
    /// Largest lane of `mask`; 0 when there is none.
    #[inline(always)]
    pub fn reduce_max(self, mask: Mask<G>) -> u32 {
        self.g.u_reduce_max(self.v, mask.v)
    }
}

impl<G: Gang> Mask<G> {
    /// The first `count` lanes.
    #[inline(always)]
    pub fn first(g: G, count: usize) -> Self {
        Self { g, v: g.m_first(count) }
    }
    /// Lane i is bit i.
    #[inline(always)]
    pub fn from_bits(g: G, bits: u64) -> Self {
        Self { g, v: g.m_from_bits(bits) }
    }
    /// Bit i is lane i.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.g.m_bits(self.v)
    }
    /// Whether any lane is on.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.g.m_any(self.v)
    }
    /// Whether all lanes are on.
    #[inline(always)]
    pub fn all(self) -> bool {
        self.g.m_all(self.v)
    }
    /// Number of lanes that are on.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.g.m_count(self.v)
    }
    /// `self ? a : b`
    #[inline(always)]
    pub fn select_f(self, a: F32<G>, b: F32<G>) -> F32<G> {
        F32 { g: self.g, v: self.g.f_select(self.v, a.v, b.v) }
    }
    /// `self ? a : b`
    #[inline(always)]
    pub fn select_i(self, a: I32<G>, b: I32<G>) -> I32<G> {
        I32 { g: self.g, v: self.g.i_select(self.v, a.v, b.v) }
    }
    /// `self ? a : b`
    #[inline(always)]
    pub fn select_u(self, a: U32<G>, b: U32<G>) -> U32<G> {
        U32 { g: self.g, v: self.g.u_select(self.v, a.v, b.v) }
    }
}
