//! `unroll!`: a loop over 0..6, unrolled, so that a matrix in registers is only ever indexed by constants and its
//! structural zeros are known to the compiler.

/// `unroll!(I < N { body })`: the body for `I` = 0, 1, ... N - 1, each time with `I` a constant. N is at most 6.
macro_rules! unroll {
    ($i:ident < $n:expr; $body:block) => {{
        unroll!(@one $i 0 $n; $body);
        unroll!(@one $i 1 $n; $body);
        unroll!(@one $i 2 $n; $body);
        unroll!(@one $i 3 $n; $body);
        unroll!(@one $i 4 $n; $body);
        unroll!(@one $i 5 $n; $body);
    }};
    (@one $i:ident $at:literal $n:expr; $body:block) => {
        if $at < $n {
            const $i: usize = $at;
            $body
        }
    };
}
pub(crate) use unroll;
