//! The systems: what jobs know of each sequence.

mod banks;
mod cylinder;
mod cylinder_display;
mod cylinder_fit;
mod device;
pub mod inputs;
mod long;
mod over_banks;
mod raw;
mod scifi;
mod timepix;
mod track_check;
mod ut;
mod velo;
mod velo_ut;

pub use cylinder::CylinderSystem;
pub use cylinder_fit::CylinderFitSystem;
pub use long::{LongSystem, LongUtSystem};
pub use over_banks::OverBanks;
pub use raw::is_named_mdf;
pub use scifi::{SciFiHitsSystem, SciFiSystem};
pub use timepix::{PixelDetector, TimepixSystem};
pub use track_check::{Rows, TrackRows, product};
pub use ut::UtSystem;
pub use velo::VeloSystem;
pub use velo_ut::VeloUtSystem;
