//! The source of the kernels, put together from its pieces.

use super::device::Kernel;
use super::{cylinder, timepix, velo};

/// What stands before the kernels on a GPU.
pub const CUDA: &str = include_str!("kernels/cuda.h");
/// What stands before them on the emulated device.
pub const EMULATED: &str = include_str!("kernels/emulated.h");

/// All kernels.
pub const KERNELS: [Kernel; 38] = {
    let sequences: [&[Kernel]; 3] = [&velo::KERNELS, &timepix::KERNELS, &cylinder::KERNELS];
    let mut all = [Kernel(""); velo::KERNELS.len() + timepix::KERNELS.len() + cylinder::KERNELS.len()];
    let (mut i, mut of, mut number) = (0, 0, 0);
    while i < all.len() {
        all[i] = sequences[of][number];
        (i, number) = (i + 1, number + 1);
        if number == sequences[of].len() {
            (of, number) = (of + 1, 0);
        }
    }
    all
};

/// The whole source behind a prelude. Constants and structs that both sides know come from this side.
pub fn source(prelude: &str) -> String {
    let pieces = [
        prelude,
        include_str!("kernels/common.cuh"),
        include_str!("kernels/sort.cuh"),
        &velo::definitions(),
        include_str!("kernels/velo.cu"),
        include_str!("kernels/velo_find.cu"),
        include_str!("kernels/velo_order.cu"),
        include_str!("kernels/velo_fit.cu"),
        &timepix::definitions(),
        include_str!("kernels/timepix.cu"),
        &cylinder::definitions(),
        include_str!("kernels/cylinder.cu"),
    ];
    pieces.join("\n")
}
