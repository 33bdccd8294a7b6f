//! Clusters of pixel hits as hashes, text and Parquet.

#[cfg(feature = "cli")]
mod display;
mod hash;
#[cfg(feature = "cli")]
mod parquet;
mod text;

#[cfg(feature = "cli")]
pub use display::PixelDisplay;
pub use hash::ClusterHasher;
#[cfg(feature = "cli")]
pub use parquet::ClusterParquet;
pub use text::{write_clog, write_cluster_ndjson};
