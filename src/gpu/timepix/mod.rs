//! Finds pixel clusters on a device (GPU), with features, in a block of hits in the order of the readout.
//!
//! Steps: sort by time (stable radix sort, least digit first: pixel, then time), link hits within chunks in shared
//! memory, link hits across the borders of chunks, number clusters in the order of their first hits, sort by cluster,
//! compute features. Only the local definition of clusters is available.

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

/// The stage of [`Timepix`](crate::timepix::Timepix) that a kernel belongs to; none for copies. The same kernels sort by time and
/// by cluster; their time counts for the sort by time.
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
