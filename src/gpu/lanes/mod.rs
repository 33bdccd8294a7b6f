//! GPU kernels compiled from the CPU's code: a thread runs one lane, and rustc compiles the source files to PTX.
//!
//! `ptx/lib.rs` is the crate of these kernels: the scalar gang of one lane, the CPU's steps and, from this folder, the
//! conversion of addresses to slices. The library compiles the same files, so the emulated device gives the same bits.
//! `kernels/compiled/lanes.ptx` is the output of rustc 1.95.0. One test compares the hash of the source files; another
//! test compares the PTX with rustc's output, if rustc 1.95.0 and `rust-src` are installed. After a change of these
//! files, run `PELOTON_KERNELS=renew cargo test --release --features cuda --lib lanes`.

#[allow(unsafe_code, reason = "addresses become slices")]
pub(super) mod ut;

#[cfg(test)]
mod tests;

/// The kernels of [`PTX`].
pub(super) const KERNELS: [&str; 1] = ["ut_tracklets"];

/// Their code for all GPUs from sm_70 on, which the driver compiles.
pub(super) const PTX: &str = include_str!("../kernels/compiled/lanes.ptx");
