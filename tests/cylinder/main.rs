//! Tracks of the cylinder and the Kalman filter that fits them.

#[path = "../common/mod.rs"]
mod common;

mod fit;
mod global;
mod kalman;
mod kalman_steps;
mod random;
mod tracks;
