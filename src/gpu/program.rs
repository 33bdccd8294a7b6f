//! The source of the kernels, joined from its pieces.

use super::{cylinder, timepix, velo};

/// Source text that precedes the kernels on a GPU.
pub const CUDA: &str = include_str!("kernels/cuda.h");
/// Source text that precedes the kernels on the emulated device.
pub const EMULATED: &str = include_str!("kernels/emulated.h");

/// All kernels.
pub const KERNELS: [&str; 42] = {
    let sequences: [&[&str]; 3] = [&velo::KERNELS, &timepix::KERNELS, &cylinder::KERNELS];
    let mut all = [""; velo::KERNELS.len() + timepix::KERNELS.len() + cylinder::KERNELS.len()];
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

/// The whole source: a prelude, then the kernels. Constants and structs shared with the host are generated from Rust.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of a kernel's arguments is stated twice: in its source, and in the list of kernels of the arguments.
    #[test]
    fn kernels_take_the_arguments_that_they_are_launched_with() {
        let source = source(CUDA);
        let lists: [(&str, &[&str]); 3] = [
            ("VeloArgs", &velo::KERNELS),
            ("PixelArgs", &timepix::KERNELS),
            ("CylinderArgs", &cylinder::KERNELS),
        ];
        for (args, kernels) in lists {
            let count = source.matches(&format!(", {args}, ")).count();
            for kernel in kernels {
                assert!(source.contains(&format!("KERNEL({kernel}, {args}, ")), "{kernel} takes {args}");
            }
            assert_eq!(count, kernels.len(), "kernels of {args}");
        }
    }
}
