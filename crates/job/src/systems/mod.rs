//! The systems of all sequences: inputs, checks and outputs for jobs.

mod bank_notes;
mod banks;
mod cylinder;
mod cylinder_check;
mod cylinder_display;
mod device;
mod event_source;
mod hits;
pub mod inputs;
mod long;
mod over_banks;
mod parts;
mod raw;
mod rows;
mod scifi;
mod timepix;
mod track_check;
mod velo;
mod velo_ut;

pub use banks::{NaiveDecoder, diagnose, hits_of, lacking};
pub use cylinder::CylinderSystem;
pub use hits::{SCIFI_HITS, UT};
pub use long::{LONG, LONG_UT};
pub use over_banks::OWN;
pub use parts::{ALGORITHMS, section_of};
pub use scifi::SCIFI;
pub use timepix::{PixelDetector, TimepixSystem};
pub use track_check::{Rows, TrackRows, product};
pub use velo::VeloSystem;
pub use velo_ut::VELO_UT;
