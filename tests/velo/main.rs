//! Tracks of the Velo: efficiencies of the papers, pulls, raw banks, broken input.

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod paper;
mod pulls;
mod raw;
