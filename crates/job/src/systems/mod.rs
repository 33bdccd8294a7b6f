//! The systems: what jobs know of each sequence.

mod cylinder;
mod inputs;
mod long;
mod raw;
mod scifi;
mod timepix;
mod trackers;
mod velo;

pub use cylinder::CylinderSystem;
pub use long::LongSystem;
pub use scifi::SciFiTracksSystem;
pub use timepix::{PixelContext, TimepixSystem};
pub use trackers::{SciFiSystem, UtSystem};
pub use velo::VeloSystem;
