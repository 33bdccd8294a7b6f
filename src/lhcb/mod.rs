//! What the detectors of LHCb share.

pub(crate) mod decode;
pub mod magnet;
pub mod momentum;
