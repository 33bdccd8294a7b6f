//! The SIMD layer: gangs, levels, and functions on lanes. This layer does not depend on detectors.

mod backend;
#[cfg(feature = "small-kernels")]
mod called;
#[cfg(doctest)]
mod closed;
mod dispatch;
mod gang;
mod inlined;
mod isa;
mod level;
pub mod math;
mod operations;
mod pair;
pub mod sort;
mod stack;
#[cfg(test)]
mod tests;
pub mod varying;

pub(crate) use backend::{array_of, call_for_each, copies, floats, for_each, is_amd, make_array};
#[cfg(feature = "cuda")]
pub(crate) use backend::{copy_past_caches, finish_copies};
pub use backend::{copy_to_hand_over, prefetch, set_default_float_mode, with_default_float_mode};
#[cfg(feature = "small-kernels")]
pub use called::Called;
pub(crate) use dispatch::kernels;
#[cfg(feature = "cuda")]
pub(crate) use dispatch::one_lane;
pub use gang::Gang;
pub(crate) use inlined::inlined;
pub use isa::Isa;
#[doc(hidden)]
pub use level::Token;
pub use level::{GANGS, Level};
pub use pair::Pair;
pub use stack::Stack;
