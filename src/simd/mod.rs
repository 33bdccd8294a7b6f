//! How we compute; knows nothing of detectors.

mod gang;
pub mod varying;

pub use gang::Gang;

/// An instruction set level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isa {
    /// One lane at a time.
    Scalar,
}
