//! The scalar gang of the GPU's kernels, compiled from files of `src/simd/backend`.

#[path = "../../../../simd/backend/arrays.rs"]
mod arrays;
#[path = "../../../../simd/backend/scalar.rs"]
mod scalar;
#[path = "../../../../simd/backend/slices.rs"]
mod slices;

pub(crate) use arrays::{array_of, call_for_each, copies, for_each, make_array};
pub use scalar::Scalar;
pub(crate) use slices::floats;

use super::Isa;

/// The methods are documented in `src/simd/backend/context.rs`.
pub trait Context: Copy + Send + Sync + core::fmt::Debug + 'static {
    const ISA: Isa;
    fn run<R>(self, body: impl FnOnce() -> R) -> R;
    fn mul_add(a: f32, b: f32, c: f32) -> f32;
    fn sqrt(a: f32) -> f32;
}

/// The context of a gang that runs in a thread of a GPU.
#[derive(Debug, Clone, Copy)]
pub struct Thread;

impl Context for Thread {
    const ISA: Isa = Isa::Scalar;
    #[inline(always)]
    fn run<R>(self, body: impl FnOnce() -> R) -> R {
        body()
    }
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        core::intrinsics::fmaf32(a, b, c)
    }
    #[inline(always)]
    fn sqrt(a: f32) -> f32 {
        core::intrinsics::sqrtf32(a)
    }
}
