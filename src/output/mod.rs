//! Writes results down: hashes of the output columns, tracks as NDJSON or Parquet, and the JSON summaries.

mod cylinder;
#[cfg(feature = "cli")]
mod cylinder_parquet;
mod hash;
mod ndjson;
#[cfg(feature = "cli")]
mod parquet;
mod summary;
pub mod timepix;

pub use cylinder::CylinderHasher;
#[cfg(feature = "cli")]
pub use cylinder_parquet::CylinderParquet;
pub use hash::{Hashes, ResultHasher, TrackHasher};
pub use ndjson::NdjsonWriter;
#[cfg(feature = "cli")]
pub use parquet::ParquetWriter;
pub use summary::{StageTime, Summary};
