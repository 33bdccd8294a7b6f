//! [`inlined!`]: marks closures in kernels as always inlined.

/// Makes a closure that is always inlined: `let real = inlined!(|value: f32| F32::splat(g, value));`. A function that
/// the compiler does not inline into a kernel is compiled without the level's instructions. With wide gangs, which make
/// more code, a loop that called such a closure took many times as long.
macro_rules! inlined {
    ($($closure:tt)+) => {
        // An attribute may stand on an argument only.
        ::std::convert::identity(#[inline(always)] $($closure)+)
    };
}
pub(crate) use inlined;
