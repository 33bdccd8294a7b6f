//! Tracks through LHCb's Velo, UT and SciFi, against the truth of simulated events and figures of other programs.

#[path = "../common/mod.rs"]
mod common;

mod categories;
mod fits;
mod hit_pulls;
mod long_tracks;
mod magnet;
mod peer;
mod pulls;
mod realism;
mod scifi_tracks;
mod simulation;
mod ut_find;
