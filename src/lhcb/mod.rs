//! What the detectors of LHCb share.

pub(crate) mod decode;
pub mod magnet;
pub(crate) mod material;
mod momentum;

pub use momentum::Bending;
