//! The source of the kernels, put together from its pieces.

use super::device::Kernel;
use super::velo;

/// What stands before the kernels on a GPU.
pub const CUDA: &str = include_str!("kernels/cuda.h");
/// What stands before them on the emulated device.
pub const EMULATED: &str = include_str!("kernels/emulated.h");

/// All kernels.
pub const KERNELS: &[Kernel] = &velo::KERNELS;

/// The whole source behind a prelude. Constants and structs that both sides know come from this side.
pub fn source(prelude: &str) -> String {
    let pieces = [
        prelude,
        include_str!("kernels/common.cuh"),
        &velo::definitions(),
        include_str!("kernels/velo.cu"),
    ];
    pieces.join("\n")
}
