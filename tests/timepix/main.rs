//! Clusters of pixels.

#[path = "../common/mod.rs"]
mod common;

mod chain;
mod find;
mod input;
