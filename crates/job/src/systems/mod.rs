//! The systems of all sequences.

mod banks;
mod cylinder;
mod cylinder_display;
mod cylinder_fit;
mod device;
mod hits;
pub mod inputs;
mod long;
mod over_banks;
mod parts;
mod raw;
mod raw_found;
mod rows;
mod scifi;
mod text_source;
mod timepix;
mod track_check;
mod velo;
mod velo_ut;

pub use cylinder::CylinderSystem;
pub use cylinder_fit::CylinderFitSystem;
pub use hits::{SCIFI_HITS, UT};
pub use long::{LONG, LONG_UT};
pub use over_banks::OWN;
pub use parts::{ALGORITHMS, section_of};
pub use raw::is_named_mdf;
pub use scifi::SCIFI;
pub use timepix::{PixelDetector, TimepixSystem};
pub use track_check::{Rows, TrackRows, product};
pub use velo::VeloSystem;
pub use velo_ut::VELO_UT;
