//! Writes results down: hashes of the output columns, tracks as NDJSON or Parquet, and the JSON summaries.

mod cylinder;
mod cylinder_parquet;
mod hash;
mod ndjson;
mod parquet;
mod summary;
pub mod timepix;

pub use cylinder::CylinderHasher;
pub use cylinder_parquet::CylinderParquet;
pub use hash::{Hashes, ResultHasher, TrackHasher};
pub use ndjson::NdjsonWriter;
pub use parquet::ParquetWriter;
pub use summary::{StageTime, Summary};
