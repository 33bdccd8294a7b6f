//! Pixel clusters on a device: a block of a stream, hits in the order of the readout, to clusters with features.
//!
//! Sort by time (radix, stable, least digit first: pixel, then time), links within chunks in shared memory, links over
//! the borders of chunks, clusters numbered in the order of their first hits, sort by cluster, features. Local
//! definition only.

mod args;
mod output;
mod plan;
mod slices;
mod stream;

pub(in crate::gpu) use args::definitions;
pub use slices::PixelDevice;
pub use stream::PixelStream;

use super::driver::{COPY_IN, COPY_OUT};

/// The kernels of the sequence.
pub const KERNELS: [&str; 14] = [
    "pixels_keys",
    "pixels_time_keys",
    "pixels_count",
    "pixels_stretches",
    "pixels_sums",
    "pixels_scatter",
    "pixels_gather",
    "pixels_link",
    "pixels_join",
    "pixels_roots",
    "pixels_number",
    "pixels_cluster_keys",
    "pixels_write",
    "pixels_features",
];

/// The stage of [`Timepix`](crate::timepix::Timepix) that a kernel belongs to; none for copies. The kernels of the sort by time sort by
/// cluster, too, and count for the former.
fn stage_of(kernel: &str) -> Option<usize> {
    let stage = match kernel {
        COPY_IN | COPY_OUT => return None,
        "pixels_keys" | "pixels_time_keys" | "pixels_count" | "pixels_stretches" | "pixels_sums"
        | "pixels_scatter" | "pixels_gather" => 1,
        "pixels_features" => 3,
        _ => 2,
    };
    Some(stage)
}
