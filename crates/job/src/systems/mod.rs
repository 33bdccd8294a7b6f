//! The systems: what jobs know of each sequence.

mod cylinder;
mod inputs;
mod raw;
mod timepix;
mod trackers;
mod velo;
mod velo_ut;

pub use cylinder::CylinderSystem;
pub use timepix::{PixelContext, TimepixSystem};
pub use trackers::{SciFiSystem, UtSystem};
pub use velo::VeloSystem;
pub use velo_ut::VeloUtSystem;
