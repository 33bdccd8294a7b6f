//! Contexts: zero-sized values that prove that the CPU has an instruction set, and compile code for this set. A gang
//! smaller than the register of a level is plain Rust code that is compiled in the context of the level.
//!
//! Only the module `simd` makes contexts, after a check of the CPU: code that has a context may use the instructions.

use super::array_of;
use crate::simd::Isa;
#[cfg(target_arch = "x86_64")]
use bytemuck::cast;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::sync::LazyLock;

/// A proof that the CPU has the instructions of a level.
pub trait Context: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The level that a gang in this context reports.
    const ISA: Isa;

    /// Runs `body`, compiled for the context's instructions.
    fn run<R>(self, body: impl FnOnce() -> R) -> R;

    /// `a * b + c` with one rounding: by an instruction if the context has one, otherwise by exact software.
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    /// Square root, rounded as in IEEE-754.
    #[inline(always)]
    fn sqrt(a: f32) -> f32 {
        a.sqrt()
    }

    /// [`Context::mul_add`] for four lanes.
    #[inline(always)]
    fn mul_add_four(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        array_of!(i => Self::mul_add(a[i], b[i], c[i]))
    }
}

/// Defines contexts that only CPUs with certain features have: `Name = level, [features]`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! contexts {
    ($($(#[$doc:meta])* $name:ident = $isa:ident, $has:ident [$($feature:tt)*];)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        impl $name {
            /// The context, when the CPU has its instructions.
            pub(in crate::simd) fn new() -> Option<Self> {
                // Kept, because levels are made for every dispatch.
                static IS_SUPPORTED: LazyLock<bool> = LazyLock::new(|| $(std::arch::$has!($feature))&&*);
                IS_SUPPORTED.then_some(Self(()))
            }
        }

        impl Context for $name {
            const ISA: Isa = Isa::$isa;
            #[inline(always)]
            fn run<R>(self, body: impl FnOnce() -> R) -> R {
                // With `inline` it is compiled where it is called from, and not with all other kernels in the part of the library
                // that has this file.
                #[inline]
                $(#[target_feature(enable = $feature)])*
                fn run<R>(body: impl FnOnce() -> R) -> R {
                    body()
                }
                // SAFETY: `new`, the only function that makes the context, has found the features.
                unsafe { run(body) }
            }
            // Uses one instruction directly: joining four scalar ones takes the optimiser long.
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn mul_add_four(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
                // SAFETY: the context proves FMA.
                cast(unsafe { std::arch::x86_64::_mm_fmadd_ps(cast(a), cast(b), cast(c)) })
            }
        }
    )*};
}

/// Features of x86-64-v3 that kernels are compiled with, and more.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_contexts {
    ($($(#[$doc:meta])* $name:ident = $isa:ident, [$($feature:tt)*];)*) => {
        contexts! {$(
            $(#[$doc])*
            $name = $isa, is_x86_feature_detected
                ["sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "bmi1" "bmi2" "fma" "lzcnt" $($feature)*];
        )*}
    };
}

/// Defines contexts for all CPUs of the architecture: `Name = level, multiply-add function`.
macro_rules! baseline_contexts {
    ($($(#[$doc:meta])* $name:ident = $isa:ident, $fma:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        impl $name {
            /// The context: every CPU has it.
            pub(in crate::simd) fn new() -> Option<Self> {
                Some(Self(()))
            }
        }

        impl Context for $name {
            const ISA: Isa = Isa::$isa;
            #[inline(always)]
            fn run<R>(self, body: impl FnOnce() -> R) -> R {
                body()
            }
            #[inline(always)]
            fn mul_add(a: f32, b: f32, c: f32) -> f32 {
                $fma(a, b, c)
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
x86_contexts! {
    /// The scalar level on a CPU that has FMA: the multiply-add is one instruction.
    ScalarContext = Scalar, [];
    /// The portable level on a CPU that has FMA.
    PortableContext = Portable, [];
    /// AVX2 with FMA.
    Avx2Context = Avx2, [];
    /// AVX-512.
    Avx512Context = Avx512, ["avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"];
}

#[cfg(target_arch = "aarch64")]
contexts! {
    /// NEON.
    NeonContext = Neon, is_aarch64_feature_detected ["neon"];
}

#[cfg(target_arch = "aarch64")]
baseline_contexts! {
    /// The scalar level: every aarch64 CPU has the multiply-add.
    ScalarContext = Scalar, f32::mul_add;
    /// The portable level.
    PortableContext = Portable, f32::mul_add;
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
baseline_contexts! {
    /// The scalar level, multiply-add in exact software.
    ScalarContext = Scalar, libm::fmaf;
    /// The portable level, multiply-add in exact software.
    PortableContext = Portable, libm::fmaf;
}

#[cfg(target_arch = "x86_64")]
baseline_contexts! {
    /// The scalar level on a CPU without FMA: exact in software, slow.
    SoftwareScalarContext = Scalar, libm::fmaf;
}
