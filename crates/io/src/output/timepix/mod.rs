//! Clusters of pixel hits as text, and their triggers as columns beside those of the schema.

mod text;
mod triggers;

pub use text::{write_clog, write_cluster_ndjson};
pub use triggers::{trigger_columns, trigger_fields};
