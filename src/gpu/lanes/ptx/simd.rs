//! The SIMD layer of the GPU's kernels: files of `src/simd`, with a gang of one lane that a thread of the GPU runs.

#[path = "simd/backend.rs"]
mod backend;
#[path = "../../../simd/gang.rs"]
mod gang;
#[path = "../../../simd/inlined.rs"]
mod inlined;
#[path = "../../../simd/varying.rs"]
pub mod varying;

pub(crate) use backend::{array_of, call_for_each, copies, floats, for_each, make_array};
pub use gang::Gang;
pub(crate) use inlined::inlined;

/// The only instruction set level of these kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    Scalar,
}

/// Returns the gang of one lane that a thread of the GPU runs.
pub fn thread() -> impl Gang {
    backend::Scalar::<1, backend::Thread>::new(backend::Thread)
}
