//! [`Traced`]: the gang that records operations.

use super::{Node, node};
use crate::simd::{Gang, Isa};

/// A gang of one lane whose values are operations. It has no memory operations and reductions: they are part of the
/// kernels, not of formulas.
#[derive(Debug, Clone, Copy)]
pub(in crate::gpu) struct Traced;

/// Defines methods that record a C++ expression: `name(arguments) type "text"`, with `{}` around each argument.
macro_rules! expressions {
    ($($name:ident $(<const $bits:ident>)? ($($arg:ident),*) $cpp:literal $text:literal;)*) => {
        $(#[inline]
        fn $name $(<const $bits: u32>)? (self, $($arg: Node),*) -> Node {
            node($cpp, format!($text, $($arg = name($arg),)* $($bits = $bits)?), &[$($arg),*])
        })*
    };
}

/// Defines methods that no formula may use.
macro_rules! meaningless {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        $(#[inline]
        fn $name(self, $($arg: $type),*) $(-> $out)? {
            $(let _ = $arg;)*
            unreachable!(concat!(stringify!($name), " is no part of a formula"))
        })*
    };
}

fn name(node: Node) -> String {
    format!("v{}", node.0)
}

impl Gang for Traced {
    const LANES: usize = 1;
    const ISA: Isa = Isa::Scalar;
    type F = Node;
    type I = Node;
    type U = Node;
    type M = Node;

    fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        body()
    }

    fn f_splat(self, value: f32) -> Node {
        node("float", format!("__uint_as_float({:#010x}u)", value.to_bits()), &[])
    }
    fn i_splat(self, value: i32) -> Node {
        node("int", format!("int({:#x}u)", value as u32), &[])
    }
    fn u_splat(self, value: u32) -> Node {
        node("u32", format!("{value:#x}u"), &[])
    }
    fn u_iota(self) -> Node {
        self.u_splat(0)
    }
    fn m_first(self, count: usize) -> Node {
        node("bool", format!("{}", count > 0), &[])
    }
    fn m_from_bits(self, bits: u64) -> Node {
        node("bool", format!("{}", bits & 1 == 1), &[])
    }

    expressions! {
        f_add(a, b) "float" "{a} + {b}";
        f_sub(a, b) "float" "{a} - {b}";
        f_mul(a, b) "float" "{a} * {b}";
        f_div(a, b) "float" "divided({a}, {b})";
        f_mul_add(a, b, c) "float" "fused({a}, {b}, {c})";
        f_neg_mul_add(a, b, c) "float" "fused(-{a}, {b}, {c})";
        f_sqrt(a) "float" "root({a})";
        f_abs(a) "float" "absolute({a})";
        f_neg(a) "float" "-{a}";
        f_min(a, b) "float" "smaller({a}, {b})";
        f_max(a, b) "float" "larger({a}, {b})";
        f_lt(a, b) "bool" "{a} < {b}";
        f_le(a, b) "bool" "{a} <= {b}";
        f_eq(a, b) "bool" "{a} == {b}";
        f_select(m, a, b) "float" "{m} ? {a} : {b}";
        f_to_i(a) "int" "int(truncated({a}))";
        f_bits(a) "u32" "__float_as_uint({a})";
        i_add(a, b) "int" "int(u32({a}) + u32({b}))";
        i_sub(a, b) "int" "int(u32({a}) - u32({b}))";
        i_mul(a, b) "int" "int(u32({a}) * u32({b}))";
        i_min(a, b) "int" "{a} < {b} ? {a} : {b}";
        i_max(a, b) "int" "{a} > {b} ? {a} : {b}";
        i_lt(a, b) "bool" "{a} < {b}";
        i_eq(a, b) "bool" "{a} == {b}";
        i_shl<const BITS>(a) "int" "int(u32({a}) << {BITS})";
        i_shr<const BITS>(a) "int" "{a} >> {BITS}";
        i_select(m, a, b) "int" "{m} ? {a} : {b}";
        i_to_f(a) "float" "float({a})";
        i_bits(a) "u32" "u32({a})";
        u_add(a, b) "u32" "{a} + {b}";
        u_sub(a, b) "u32" "{a} - {b}";
        u_mul(a, b) "u32" "{a} * {b}";
        u_count(a, m) "u32" "{a} + ({m} ? 1u : 0u)";
        u_and(a, b) "u32" "{a} & {b}";
        u_or(a, b) "u32" "{a} | {b}";
        u_xor(a, b) "u32" "{a} ^ {b}";
        u_min(a, b) "u32" "{a} < {b} ? {a} : {b}";
        u_max(a, b) "u32" "{a} > {b} ? {a} : {b}";
        u_lt(a, b) "bool" "{a} < {b}";
        u_eq(a, b) "bool" "{a} == {b}";
        u_shl<const BITS>(a) "u32" "{a} << {BITS}";
        u_shr<const BITS>(a) "u32" "{a} >> {BITS}";
        u_select(m, a, b) "u32" "{m} ? {a} : {b}";
        u_as_i(a) "int" "int({a})";
        u_as_f(a) "float" "__uint_as_float({a})";
        m_and(a, b) "bool" "{a} && {b}";
        m_or(a, b) "bool" "{a} || {b}";
        m_and_not(a, b) "bool" "{a} && !{b}";
        m_not(a) "bool" "!{a}";
    }

    meaningless! {
        f_load(from: &[f32]) -> Node;
        f_load_some(from: &[f32], mask: Node) -> Node;
        f_store(value: Node, to: &mut [f32]);
        f_store_some(value: Node, to: &mut [f32], mask: Node);
        f_store_packed(value: Node, to: &mut [f32], mask: Node) -> usize;
        f_gather(from: &[f32], index: Node) -> Node;
        f_gather_records(from: &[[f32; 4]], index: Node) -> [Node; 4];
        f_load_records(from: &[[f32; 4]], index: &[u32]) -> [Node; 4];
        f_store_records(columns: [Node; 4], to: &mut [[f32; 4]]);
        f_reduce_min(value: Node, mask: Node) -> f32;
        i_load(from: &[i32]) -> Node;
        i_store(value: Node, to: &mut [i32]);
        u_load(from: &[u32]) -> Node;
        u_load_some(from: &[u32], mask: Node) -> Node;
        u_store(value: Node, to: &mut [u32]);
        u_store_some(value: Node, to: &mut [u32], mask: Node);
        u_store_packed(value: Node, to: &mut [u32], mask: Node) -> usize;
        u_gather(from: &[u32], index: Node) -> Node;
        u_scatter(value: Node, to: &mut [u32], index: Node, mask: Node);
        u_reduce_add(value: Node, mask: Node) -> u32;
        u_prefix_sum(value: Node) -> (Node, u32);
        u_reduce_min(value: Node, mask: Node) -> u32;
        u_reduce_max(value: Node, mask: Node) -> u32;
        m_bits(mask: Node) -> u64;
        m_any(mask: Node) -> bool;
        m_all(mask: Node) -> bool;
        m_count(mask: Node) -> usize;
    }
}
