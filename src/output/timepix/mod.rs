//! Clusters of pixel hits as hashes, text and Parquet.

mod hash;
#[cfg(feature = "cli")]
mod parquet;
mod text;

pub use hash::ClusterHasher;
#[cfg(feature = "cli")]
pub use parquet::ClusterParquet;
pub use text::{write_clog, write_cluster_ndjson};
