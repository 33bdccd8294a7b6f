//! Lane programs of the CPU as kernels of a GPU: a lane is a thread, and rustc compiles the CPU's own files to PTX.
//!
//! `ptx/lib.rs` is the crate of these kernels. It has the scalar gang of one lane, the steps of the CPU and, in this folder,
//! what turns addresses into slices. The library has the same files: the emulated device runs them, and so shows the bits.
//! `kernels/compiled/lanes.ptx` is the output of rustc 1.95.0. A test compares it byte by byte where this compiler and the
//! source of its `core` are installed (`rustup component add rust-src`), and its source by a hash everywhere. After a change of
//! these files: `PELOTON_KERNELS=renew cargo test --release --features cuda --lib lanes`.

#[allow(unsafe_code, reason = "addresses become slices")]
pub(super) mod ut;

#[cfg(test)]
mod tests;

/// The kernels of [`PTX`].
pub(super) const KERNELS: [&str; 1] = ["ut_tracklets"];

/// Their code for all GPUs from sm_70 on, which the driver compiles.
pub(super) const PTX: &str = include_str!("../kernels/compiled/lanes.ptx");
