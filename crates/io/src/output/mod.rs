//! Writes results down: hashes of the output columns, tracks as NDJSON or Parquet, and the JSON summaries.

mod cylinder;
mod cylinder_parquet;
#[cfg(feature = "cli")]
mod file;
mod hash;
#[cfg(feature = "cli")]
mod job_files;
mod ndjson;
mod parquet;
mod summary;
pub mod timepix;

pub use cylinder::CylinderHasher;
pub use cylinder_parquet::CylinderParquet;
#[cfg(feature = "cli")]
pub use file::{OutputFile, is_standard_output, remove_unfinished, write_whole};
pub use hash::{Hashes, ResultHasher, TrackHasher};
#[cfg(feature = "cli")]
pub use job_files::JobFiles;
pub use ndjson::NdjsonWriter;
pub use parquet::ParquetWriter;
pub use summary::{StageTime, Summary};
