//! [`dispatch!`](crate::dispatch): runs a kernel on the gang of a [`Level`](super::Level).

/// Runs an expression on the gang of a level: `dispatch!(level, g => kernel(g, input, output))`.
///
/// `g` is the gang's token, of a different type for each level and size, so the expression is compiled once
/// for each of them. Functions that it calls are compiled for the level's instructions only if they are
/// `#[inline(always)]`. Dispatch once per batch of events, never per vector. The expression is the body of a closure:
/// no `return`, `?` or `break` to the outside. It runs in the default floating-point mode, also if the calling thread
/// is in another mode ([`with_default_float_mode`](crate::simd::with_default_float_mode)).
///
/// ```
/// use peloton::simd::{Gang, Level};
///
/// #[inline(always)]
/// fn count_below<G: Gang>(g: G, values: &[f32], limit: f32) -> usize {
///     let mut count = 0;
///     for chunk in values.chunks(G::LANES) {
///         let active = g.m_first(chunk.len());
///         let below = g.f_lt(g.f_load_some(chunk, active), g.f_splat(limit));
///         count += g.m_count(g.m_and(active, below));
///     }
///     count
/// }
///
/// let values: Vec<f32> = (0..100).map(|i| i as f32).collect();
/// for level in Level::supported() {
///     assert_eq!(peloton::dispatch!(level, g => count_below(g, &values, 41.5)), 42);
/// }
/// ```
#[macro_export]
macro_rules! dispatch {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_gangs!($level, $g => $body; by token once [Avx2x8] twice [])
    };
}

/// [`dispatch!`](crate::dispatch) for kernels in which each operation waits for the previous one. On AVX2, the gang of 8 lanes
/// becomes a pair of 16 lanes, because two registers at once are faster than one. All other gangs are unchanged.
///
/// ```
/// use peloton::simd::{Gang, Isa, Level};
///
/// fn lanes<G: Gang>(_: G) -> usize {
///     G::LANES
/// }
///
/// for level in Level::usual() {
///     let twice = if level.isa() == Isa::Avx2 { 2 } else { 1 };
///     assert_eq!(peloton::dispatch_wide!(level, g => lanes(g)), twice * level.gang());
/// }
/// ```
#[macro_export]
macro_rules! dispatch_wide {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_gangs!($level, $g => $body; by token once [] twice [Avx2x8])
    };
}

/// [`dispatch!`](crate::dispatch) for kernels that gather much. They are compiled for two gangs of 16 lanes of AVX-512: one
/// gathers by an instruction, one by loads. The level selects the gang that runs
/// ([`Level::gathers`](crate::simd::Level::gathers)).
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_gathers {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_gangs!($level, $g => $body; by gathering_token once [Avx2x8 Avx512Gathers] twice [])
    };
}

/// Dispatches to all gangs of the build; gangs in `once` run directly, gangs in `twice` as a pair. `by` names the
/// function of the level that returns the token.
#[cfg(feature = "all-gangs")]
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_gangs {
    ($level:expr, $g:ident => $body:expr; by $token:ident once [$($once:ident)*] twice [$($twice:ident)*]) => {
        $crate::dispatch_arms!($level, $g => $body; by $token
            any [Scalar1 Scalar4 Scalar8 Scalar16 Scalar32 Scalar64
                Portable1 Portable4 Portable8 Portable16 Portable32 Portable64]
            x86_64 [SoftwareScalar1
                Avx2x1 Avx2x4 $($once)* Avx2x16 Avx2x32 Avx2x64
                Avx512x1 Avx512x4 Avx512x8 Avx512x16 Avx512x32 Avx512x64]
            x86_64_twice [$($twice)*]
            aarch64 [Neon1 Neon4 Neon8 Neon16 Neon32 Neon64]
            other [])
    };
}

/// Dispatches to the gangs that exist without the feature `all-gangs`.
#[cfg(not(feature = "all-gangs"))]
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_gangs {
    ($level:expr, $g:ident => $body:expr; by $token:ident once [$($once:ident)*] twice [$($twice:ident)*]) => {
        $crate::dispatch_arms!($level, $g => $body; by $token
            any [Scalar1]
            x86_64 [SoftwareScalar1 $($once)* Avx512x16]
            x86_64_twice [$($twice)*]
            aarch64 [Neon8]
            other [Portable8])
    };
}

/// [`dispatch!`](crate::dispatch) for large kernels, which would take too long to compile for every gang: they are
/// compiled only for the usual gang of each level.
///
/// # Panics
/// On other gangs, see [`Level::is_usual`](super::Level::is_usual).
#[macro_export]
macro_rules! dispatch_usual {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_usual_gangs!($level, $g => $body)
    };
}

/// Dispatches to the usual gangs, the portable level included.
#[cfg(feature = "all-gangs")]
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_usual_gangs {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_arms!($level, $g => $body; by token
            any [Scalar1 Portable8]
            x86_64 [SoftwareScalar1 Avx2x8 Avx512x16]
            x86_64_twice []
            aarch64 [Neon8]
            other [])
    };
}

/// Dispatches to the usual gangs, which are all gangs of this build.
#[cfg(not(feature = "all-gangs"))]
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_usual_gangs {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_gangs!($level, $g => $body; by token once [Avx2x8] twice [])
    };
}

/// [`dispatch!`](crate::dispatch) for code that is faster with other instructions but not with more lanes, and for kernels
/// whose gang size need not be chosen. It is compiled once for each instruction set and ignores the gang size of the level.
#[macro_export]
macro_rules! dispatch_isa {
    ($level:expr, $g:ident => $body:expr) => {
        $crate::dispatch_usual!($crate::simd::Level::with_usual_gang($level), $g => $body)
    };
}

/// Dispatches a detector's kernels: `kernels!(dispatch!(level, g => run(g, input, output)))`.
///
/// The library's unit tests build these kernels only as scalar code: compiling all of them again would take as long
/// as the library itself. `tests/` compares every level of every kernel.
#[cfg(not(test))]
macro_rules! kernels {
    ($dispatch:ident!($($call:tt)*)) => {
        $crate::$dispatch!($($call)*)
    };
}

/// Dispatches a detector's kernels to scalar code, see the definition above.
#[cfg(test)]
macro_rules! kernels {
    ($dispatch:ident!($level:expr, $g:ident => $body:expr)) => {
        $crate::dispatch_arms!($level, $g => $body; by token any [Scalar1] x86_64 [] x86_64_twice [] aarch64 [] other [])
    };
}
pub(crate) use kernels;

/// Runs code on one lane of the scalar level: `one_lane!(g => run(g, input, output))`.
#[cfg(feature = "cuda")]
macro_rules! one_lane {
    ($g:ident => $body:expr) => {
        $crate::dispatch_arms!($crate::simd::Level::one_lane(), $g => $body;
            by token any [Scalar1] x86_64 [SoftwareScalar1] x86_64_twice [] aarch64 [] other [])
    };
}
#[cfg(feature = "cuda")]
pub(crate) use one_lane;

/// The match behind [`dispatch!`](crate::dispatch): one arm for each gang named. `other` is for architectures without
/// a level of their own.
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_arms {
    ($level:expr, $g:ident => $body:expr; by $token:ident
        any [$($any:ident)*] x86_64 [$($x86_64:ident)*] x86_64_twice [$($twice:ident)*] aarch64 [$($aarch64:ident)*]
        other [$($other:ident)*]) => {
        $crate::simd::with_default_float_mode(|| match $crate::simd::Level::$token($level) {
            $($crate::simd::Token::$any($g) =>
                $crate::simd::Gang::vectorize($g, #[inline(always)] || $body),)*
            $(#[cfg(target_arch = "x86_64")]
            $crate::simd::Token::$x86_64($g) =>
                $crate::simd::Gang::vectorize($g, #[inline(always)] || $body),)*
            $(#[cfg(target_arch = "x86_64")]
            $crate::simd::Token::$twice($g) => $crate::simd::Gang::vectorize($g, #[inline(always)] || {
                let $g = $crate::simd::Pair::new($g);
                $body
            }),)*
            $(#[cfg(target_arch = "aarch64")]
            $crate::simd::Token::$aarch64($g) =>
                $crate::simd::Gang::vectorize($g, #[inline(always)] || $body),)*
            $(#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            $crate::simd::Token::$other($g) =>
                $crate::simd::Gang::vectorize($g, #[inline(always)] || $body),)*
            #[allow(unreachable_patterns, reason = "most kernels are built for all gangs")]
            _ => panic!("this kernel is not built for {}", $level),
        })
    };
}
