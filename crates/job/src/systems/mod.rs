//! The systems: what jobs know of each sequence.

mod banks;
mod cylinder;
mod inputs;
mod raw;
mod timepix;
mod trackers;
mod velo;

pub use banks::HitNames;
pub use cylinder::CylinderSystem;
pub use timepix::{PixelContext, TimepixSystem};
pub use trackers::{SciFiSystem, UtSystem};
pub use velo::VeloSystem;
