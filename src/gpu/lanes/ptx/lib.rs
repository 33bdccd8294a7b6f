//! Kernels for NVIDIA GPUs, compiled by rustc to PTX: the head of `src/gpu/lanes/mod.rs` has the command. The crate
//! compiles files of the library and little code of its own: a lane is a thread, and columns are views of GPU memory.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx, core_intrinsics)]
#![allow(internal_features, dead_code, unused_imports, unused_macros, unsafe_code)]

// The files say `std` where they mean `core`.
extern crate core as std;

pub mod simd;
pub mod ut;
#[path = "../ut.rs"]
mod ut_kernel;

pub mod event {
    pub const UT_PLANES: usize = 4;
}

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _thread_idx_x};

/// # Safety
/// See [`ut_kernel::tracklets`].
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn ut_tracklets(args: ut_kernel::UtArgs) {
    // SAFETY: these instructions read registers alone; the rest is the caller's promise.
    unsafe {
        let thread = _block_idx_x() * _block_dim_x() + _thread_idx_x();
        ut_kernel::tracklets(simd::thread(), &args, thread as usize);
    }
}
