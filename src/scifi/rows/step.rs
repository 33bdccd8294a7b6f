//! The macro `step!`, which compiles a step of the search as a function of its own.

/// Runs a step in a function of its own, compiled for the gang.
macro_rules! step {
    ($g:ident, $body:expr) => {{
        #[inline(never)]
        fn run<G: $crate::simd::Gang, R>(g: G, body: impl FnOnce() -> R) -> R {
            g.vectorize(body)
        }
        run(
            $g,
            #[inline(always)]
            || $body,
        )
    }};
}
pub(super) use step;
