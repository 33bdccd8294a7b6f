//! Sequences over several detectors. A sequence runs the algorithms of the detectors one after another on the same
//! slice of events.

mod velo_ut;

pub use velo_ut::{UtDetector, UtHitOrder, VELO_UT_TRACKS, VeloUt, VeloUtByCell};
