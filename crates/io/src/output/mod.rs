//! Writes results down: NDJSON, Arrow and Parquet by the schema of the columns, clusters of pixels as text, and the JSON
//! summaries.

mod arrow;
mod ndjson;
mod parquet;
mod summary;
pub mod timepix;

pub use arrow::{arrow_batch, arrow_schema};
pub use ndjson::NdjsonWriter;
pub use parquet::{Metadata, ParquetWriter};
pub use summary::{StageTime, Summary};
