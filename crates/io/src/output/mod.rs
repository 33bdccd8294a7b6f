//! Writes results: NDJSON, Arrow and Parquet by the schema of the columns, clusters of pixels as text. Files appear under
//! their names when they are whole.

mod arrow;
mod column_rows;
mod columns;
mod file;
mod job_files;
mod ndjson;
mod parquet;
pub mod phoenix;
mod table;
pub mod timepix;
mod units;

pub use arrow::{arrow_batch, arrow_schema, arrow_shared};
pub use arrow_array::RecordBatch;
pub use column_rows::{ColumnRow, column_rows, field_rows};
pub use file::{OutputFile, is_standard_output, remove_unfinished, write_durably, write_whole};
pub use job_files::JobFiles;
pub use ndjson::{Fields, NdjsonWriter};
pub use parquet::{Metadata, ParquetWriter};
pub use table::{Cell, CellKind, ID_FIELDS, TableField, TableWriter, id_cells};
