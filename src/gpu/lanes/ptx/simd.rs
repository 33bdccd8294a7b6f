//! The gang's part: the files of `src/simd`, and a context whose code is a thread's.

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

/// The levels: one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    Scalar,
}

/// The gang of one lane.
pub fn thread() -> impl Gang {
    backend::Scalar::<1, backend::Thread>::new(backend::Thread)
}
