//! `unroll!`: a loop over at most 0..6, unrolled so that all indices of matrices in registers are constants and the
//! compiler sees which elements are known zeros.

/// `unroll!(I < N { body })`: repeats the body for `I` = 0, 1, ... N - 1, where `I` is a constant. N is at most 6.
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
