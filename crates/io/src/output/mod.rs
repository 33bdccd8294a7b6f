//! Writes results as NDJSON, Arrow or Parquet, according to the schema of their columns, and clusters of pixels as
//! text. Output files get their final names at the end of the job.

mod arrow;
mod byte_sink;
mod column_rows;
mod columns;
mod fields;
mod file;
mod job_files;
mod ndjson;
mod parquet;
pub mod phoenix;
mod row_groups;
mod side_by_side;
mod table;
pub mod timepix;
mod units;
mod write_options;

pub use arrow::{arrow_batch, arrow_schema, arrow_shared};
pub use arrow_array::RecordBatch;
pub use byte_sink::ByteSink;
pub use column_rows::{ColumnRow, column_rows, field_rows};
pub use fields::{CellKind, ID_FIELDS, TableField};
pub use file::{
    Done, OutputFile, is_no_file, is_standard_output, remove_unfinished, write_durably, write_whole,
};
pub use job_files::JobFiles;
pub use ndjson::{Fields, NdjsonWriter};
pub use parquet::{Metadata, ParquetWriter};
pub use side_by_side::SideBySide;
pub use table::{Cell, TableWriter, id_cells};
pub use write_options::{TableCompression, WriteOptions};
