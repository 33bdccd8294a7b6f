//! The GPU modules, run on the CPU by an emulation of CUDA.
#![cfg(feature = "cuda")]

#[path = "../common/mod.rs"]
mod common;

mod closed;
mod cylinder;
mod faults;
mod kernels;
mod timepix;
mod velo;
