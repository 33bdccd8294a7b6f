//! Clusters of pixel hits as hashes, text and Parquet.

mod hash;
mod parquet;
mod text;

pub use hash::ClusterHasher;
pub use parquet::ClusterParquet;
pub use text::{write_clog, write_cluster_ndjson};
