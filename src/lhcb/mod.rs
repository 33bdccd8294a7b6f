//! Code shared by the detectors of LHCb.

pub(crate) mod banks;
pub mod checksum;
pub(crate) mod decode;
pub mod magnet;
pub(crate) mod material;
mod momentum;

pub use banks::{absent, only_version};
pub use momentum::Bending;
