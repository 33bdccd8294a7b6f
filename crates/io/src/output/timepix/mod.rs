//! Clusters of pixel hits as text, and what files hold of them beside the columns of the schema.

mod origin;
mod text;
mod triggers;

pub use origin::{Origin, origin_columns, origin_fields};
pub use text::{write_clog, write_cluster_ndjson};
pub use triggers::{trigger_columns, trigger_fields};
