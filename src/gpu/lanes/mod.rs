//! Lane programs of the CPU as kernels of a GPU: a lane is a thread, and rustc compiles the CPU's own files to PTX.
//!
//! `ptx/lib.rs` is the crate of these kernels. The crate has the scalar gang of one lane, the CPU's steps and, from
//! this folder, the conversion of addresses to slices. The library has the same files, so the emulated device gives the
//! same bits. `kernels/compiled/lanes.ptx` is the output of rustc 1.95.0. One test compares its source's hash, another,
//! where this rustc is installed with `rust-src`, the file itself. After a change of these files, run
//! `PELOTON_KERNELS=renew cargo test --release --features cuda --lib lanes`.

#[allow(unsafe_code, reason = "addresses become slices")]
pub(super) mod ut;

#[cfg(test)]
mod tests;

/// The kernels of [`PTX`].
pub(super) const KERNELS: [&str; 1] = ["ut_tracklets"];

/// Their code for all GPUs from sm_70 on, which the driver compiles.
pub(super) const PTX: &str = include_str!("../kernels/compiled/lanes.ptx");
