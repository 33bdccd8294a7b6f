//! Clusters of pixels.

#[path = "../common/mod.rs"]
mod common;

mod chain;
mod clock;
mod find;
mod hostile;
mod input;
