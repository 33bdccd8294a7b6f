//! What the detectors of LHCb share.

pub(crate) mod decode;
pub mod magnet;
mod momentum;

pub use momentum::Bending;
