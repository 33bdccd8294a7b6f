//! The source of the kernels, put together from its pieces.

use super::device::Kernel;
use super::{timepix, velo};

/// What stands before the kernels on a GPU.
pub const CUDA: &str = include_str!("kernels/cuda.h");
/// What stands before them on the emulated device.
pub const EMULATED: &str = include_str!("kernels/emulated.h");

/// All kernels.
pub const KERNELS: [Kernel; 23] = {
    let mut all = [Kernel(""); velo::KERNELS.len() + timepix::KERNELS.len()];
    let mut i = 0;
    while i < all.len() {
        let of_velo = velo::KERNELS.len();
        all[i] = if i < of_velo { velo::KERNELS[i] } else { timepix::KERNELS[i - of_velo] };
        i += 1;
    }
    all
};

/// The whole source behind a prelude. Constants and structs that both sides know come from this side.
pub fn source(prelude: &str) -> String {
    let pieces = [
        prelude,
        include_str!("kernels/common.cuh"),
        &velo::definitions(),
        include_str!("kernels/velo.cu"),
        &timepix::definitions(),
        include_str!("kernels/timepix.cu"),
    ];
    pieces.join("\n")
}
