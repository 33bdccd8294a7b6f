//! Writes clusters of pixel hits as text, and makes additional columns of their Parquet files.

mod clog;
mod frames;
mod origin;
mod text;
mod triggers;

pub use clog::ClogWriter;
pub use frames::{WITHOUT_TIMES, frame_columns, frame_fields};
pub use origin::{Origin, origin_columns, origin_fields};
pub use text::write_cluster_ndjson;
pub use triggers::{trigger_columns, trigger_fields};
