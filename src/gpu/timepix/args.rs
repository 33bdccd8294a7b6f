//! Arguments of the pixel kernels.

use crate::gpu::mirror::{Arguments, definition, mirrored};

mirrored! {
    /// Arguments of all kernels: addresses, then sizes and parameters.
    struct PixelArgs {
        time: u64 = "const i64*",
        x: u64 = "const u16*",
        y: u64 = "const u16*",
        tot: u64 = "const u16*",
        keys: u64 = "u64*",
        other_keys: u64 = "u64*",
        values: u64 = "u32*",
        other_values: u64 = "u32*",
        counts: u64 = "u32*",
        sums: u64 = "u32*",
        sorted_time: u64 = "i64*",
        sorted_x: u64 = "u16*",
        sorted_y: u64 = "u16*",
        sorted_tot: u64 = "u16*",
        labels: u64 = "u32*",
        numbers: u64 = "u32*",
        /// Two values: the number of clusters; the first cluster that may still grow (upper 32 bits) and its first hit
        /// (lower 32 bits).
        summary: u64 = "u64*",
        out_time: u64 = "i64*",
        out_x: u64 = "u16*",
        out_y: u64 = "u16*",
        out_tot: u64 = "u16*",
        out_end: u64 = "u32*",
        out_first: u64 = "i64*",
        out_duration: u64 = "u32*",
        out_sum: u64 = "u32*",
        out_height: u64 = "u16*",
        out_bounds: u64 = "u16*",
        out_floats: u64 = "float*",
        out_energy: u64 = "u64*",
        /// Four parameters of each pixel.
        calibration: u64 = "const float*",
        /// Time from which sort keys are counted.
        first_time: u64 = "u64",
        window: u64 = "u64",
        /// Time limit: a cluster whose last hit is not before it may still grow.
        reach: i64 = "i64",
        hits: u32 = "u32",
        /// Number of counts to sum.
        count: u32 = "u32",
        /// Lowest bit of the digit by which the pass sorts.
        shift: u32 = "u32",
        /// Bits of y in the pixel's key.
        y_bits: u32 = "u32",
        out_stride: u32 = "u32",
        /// Number of pixels with a calibration: in a row, and in the sensor (`pixels`).
        width: u32 = "u32",
        pixels: u32 = "u32",
        unused: u32 = "u32",
    }
}

impl Arguments for PixelArgs {
    const ADDRESSES: usize = std::mem::offset_of!(PixelArgs, first_time) / 8;
    const KERNELS: &'static [&'static str] = &super::KERNELS;
}

/// The C++ definition of the arguments.
pub(in crate::gpu) fn definitions() -> String {
    definition::<PixelArgs>()
}
