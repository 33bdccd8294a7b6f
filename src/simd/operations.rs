//! The list of the operations that a gang made of other gangs does lane by lane, written once for
//! [`Pair`](super::Pair), [`Stack`](super::Stack) and `Called`.

/// Calls the macro `$define` with all operations by lane of [`Gang`](super::Gang): name, arguments and result.
macro_rules! operations_by_lane {
    ($define:ident) => {
        $define! {
            f_add(a: F, b: F) -> F;
            f_sub(a: F, b: F) -> F;
            f_mul(a: F, b: F) -> F;
            f_div(a: F, b: F) -> F;
            f_mul_add(a: F, b: F, c: F) -> F;
            f_neg_mul_add(a: F, b: F, c: F) -> F;
            f_sqrt(a: F) -> F;
            f_abs(a: F) -> F;
            f_neg(a: F) -> F;
            f_min(a: F, b: F) -> F;
            f_max(a: F, b: F) -> F;
            f_lt(a: F, b: F) -> M;
            f_le(a: F, b: F) -> M;
            f_eq(a: F, b: F) -> M;
            f_select(mask: M, a: F, b: F) -> F;
            f_to_i(a: F) -> I;
            f_bits(a: F) -> U;
            i_add(a: I, b: I) -> I;
            i_sub(a: I, b: I) -> I;
            i_mul(a: I, b: I) -> I;
            i_min(a: I, b: I) -> I;
            i_max(a: I, b: I) -> I;
            i_lt(a: I, b: I) -> M;
            i_eq(a: I, b: I) -> M;
            i_shl<const BITS>(a: I) -> I;
            i_shr<const BITS>(a: I) -> I;
            i_select(mask: M, a: I, b: I) -> I;
            i_to_f(a: I) -> F;
            i_bits(a: I) -> U;
            u_add(a: U, b: U) -> U;
            u_sub(a: U, b: U) -> U;
            u_mul(a: U, b: U) -> U;
            u_count(a: U, mask: M) -> U;
            u_and(a: U, b: U) -> U;
            u_or(a: U, b: U) -> U;
            u_xor(a: U, b: U) -> U;
            u_min(a: U, b: U) -> U;
            u_max(a: U, b: U) -> U;
            u_lt(a: U, b: U) -> M;
            u_eq(a: U, b: U) -> M;
            u_shl<const BITS>(a: U) -> U;
            u_shr<const BITS>(a: U) -> U;
            u_select(mask: M, a: U, b: U) -> U;
            u_as_i(a: U) -> I;
            u_as_f(a: U) -> F;
            m_and(a: M, b: M) -> M;
            m_or(a: M, b: M) -> M;
            m_and_not(a: M, b: M) -> M;
            m_not(a: M) -> M;
        }
    };
}
pub(super) use operations_by_lane;
