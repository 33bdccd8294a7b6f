//! [`ParquetWriter`]: writes results as Parquet, one row per event (or cluster), with tracks and hits as list columns.

use super::OutputFile;
use super::arrow::{arrow_batch, arrow_schema};
use super::row_groups::RowGroups;
use super::write_options::WriteOptions;
use crate::input::EventId;
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use peloton::event::{ColumnInfo, Hashes, Kind, SCHEMA_VERSION, Schema as ResultSchema, Table};
use peloton::{Error, Result};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Size of a row group in memory before compression, bytes; the event that reaches it ends the group. Readers read a
/// whole group at once, and the writer keeps one in memory.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// Largest number of events of a row group: programs read groups in parallel. Clusters of pixels are too small to be counted.
const ROW_GROUP_EVENTS: usize = 4096;

/// Bytes of a page before compression: each column has one page in memory, which fits into a cache.
const PAGE_BYTES: usize = 256 << 10;

/// Number of rows that are encoded at once: for events, and for smaller rows.
const BLOCK_ROWS: [usize; 2] = [256, 2048];

/// The origin of results, for the metadata of the file. Empty values are omitted.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// Name of the sequence, for the key `peloton.sequence`.
    pub sequence: String,
    /// The command line, for the key `peloton.command`.
    pub command: String,
    /// The configuration as TOML, for the key `peloton.configuration`.
    pub configuration: String,
    /// The inputs, one per line, for the key `peloton.inputs`.
    pub inputs: String,
    /// The geometry folder, for the key `peloton.geometry`.
    pub geometry: String,
    /// Instruction set and number of lanes, for the key `peloton.level`.
    pub level: String,
}

impl Metadata {
    fn entries(&self) -> Vec<KeyValue> {
        let Self { sequence, command, configuration, inputs, geometry, level } = self;
        let version = SCHEMA_VERSION.to_string();
        let entries = [
            ("schema_version", version.as_str()),
            ("version", env!("CARGO_PKG_VERSION")),
            ("sequence", sequence),
            ("command", command),
            ("configuration", configuration),
            ("inputs", inputs),
            ("geometry", geometry),
            ("level", level),
        ];
        entries.into_iter().filter(|(_, value)| !value.is_empty()).map(entry).collect()
    }
}

fn entry((key, value): (&str, &str)) -> KeyValue {
    KeyValue::new(format!("peloton.{key}"), value.to_string())
}

/// Writes results as Parquet, with the columns of [`arrow_schema()`], which `docs/columns.md` lists. The metadata of
/// the file are `peloton.schema_version`, `peloton.version`, the values of [`Metadata`], `peloton.hash_int` and
/// `peloton.output_hash`. The bytes of the file do not depend on the division of the events into pieces.
pub struct ParquetWriter {
    writer: RowGroups,
    columns: &'static [ColumnInfo],
    schema: SchemaRef,
    /// Whether each extra column is written.
    extra: Vec<bool>,
    /// Indices of the columns that have no values.
    missing: Vec<usize>,
    path: PathBuf,
    /// Bytes of one item of each depth, over all columns.
    item_bytes: [usize; 3],
    /// Bytes in memory of the open row group.
    group: usize,
    /// Rows of the open row group.
    group_rows: usize,
}

impl ParquetWriter {
    /// A writer to `to`, for results with the schema `of` and extra columns. Errors name the file by `path`.
    ///
    /// # Errors
    /// Errors of the file, and [`Error::Config`] for unknown columns.
    pub fn new(
        to: OutputFile,
        path: &Path,
        metadata: &Metadata,
        of: &'static ResultSchema,
        extra: &[Field],
        options: &WriteOptions,
    ) -> Result<Self> {
        let schema = options.chosen(&arrow_schema(of, extra))?;
        let is_missing = |field: &Field| options.missing.contains(&field.name().as_str());
        let fields = schema.fields().iter().map(|field| match is_missing(field) {
            true => field.as_ref().clone().with_nullable(true),
            false => field.as_ref().clone(),
        });
        let schema: SchemaRef = Schema::new(fields.collect::<Vec<_>>()).into();
        let missing = (0..schema.fields().len()).filter(|place| is_missing(schema.field(*place))).collect();
        let properties = properties(&schema, metadata, options, of.has_events());
        let block = BLOCK_ROWS[usize::from(!of.has_events())];
        let writer = RowGroups::new(to, schema.clone(), properties, block, options.threads.clone());
        let extra = extra.iter().map(|field| schema.field_with_name(field.name()).is_ok()).collect();
        Ok(Self {
            writer: writer.map_err(|e| failed(path, e))?,
            columns: of.columns,
            schema,
            extra,
            missing,
            path: path.into(),
            item_bytes: item_bytes(of.columns),
            group: 0,
            group_rows: 0,
        })
    }

    /// Whether the column with this name is written to the file.
    pub fn writes(&self, name: &str) -> bool {
        self.schema.field_with_name(name).is_ok()
    }

    /// Writes the events of one piece. `ids` identifies each event (empty if rows are not events). `extra` has the
    /// values of the extra columns; for a column that is not [written](Self::writes), any values will do.
    ///
    /// # Errors
    /// Errors of the file, and [`Error::Columns`](peloton::Error::Columns) for results with other columns.
    pub fn write(&mut self, ids: &[EventId], table: &Table<'_>, extra: Vec<ArrayRef>) -> Result<()> {
        if !table.columns().iter().map(|(info, _)| *info).eq(self.columns) {
            return Err(Error::Columns(
                "these results have other columns than the file that they are written to".into(),
            ));
        }
        let mut written = self.extra.iter();
        let extra = extra.into_iter().filter(|_| written.next() == Some(&true)).collect();
        let batch = self.without_missing(arrow_batch(&self.schema, ids, table, extra)?)?;
        let (mut from, rows) = (0, batch.num_rows());
        for row in 0..rows {
            let items = table.ranges(row..row + 1).map(|range| range.len());
            self.group +=
                items.iter().zip(self.item_bytes).map(|(items, bytes)| items * bytes).sum::<usize>();
            self.group_rows += 1;
            let has_events = table.schema().has_events() && self.group_rows == ROW_GROUP_EVENTS;
            let is_full = self.group >= ROW_GROUP_BYTES || has_events;
            if is_full || row + 1 == rows {
                let part = batch.slice(from, row + 1 - from);
                self.writer.write(part).map_err(|e| failed(&self.path, e))?;
                from = row + 1;
            }
            if is_full {
                self.writer.end_group().map_err(|e| failed(&self.path, e))?;
                (self.group, self.group_rows) = (0, 0);
            }
        }
        Ok(())
    }

    fn without_missing(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.missing.is_empty() {
            return Ok(batch);
        }
        let mut columns = batch.columns().to_vec();
        for &place in &self.missing {
            columns[place] = new_null_array(self.schema.field(place).data_type(), batch.num_rows());
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|e| Error::Columns(e.to_string()))
    }

    /// Writes the end of the file, with the hashes of all results if given, and returns the file.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self, hashes: Option<Hashes>) -> Result<OutputFile> {
        if let Some(Hashes { int, output }) = hashes {
            for (key, hash) in [("hash_int", int), ("output_hash", output)] {
                let done = self.writer.append_metadata(entry((key, &format!("{hash:016x}"))));
                done.map_err(|e| failed(&self.path, e))?;
            }
        }
        let buffer = self.writer.finish().map_err(|e| failed(&self.path, e))?;
        buffer.into_inner().map_err(|e| Error::io(&self.path, e.into_error()))
    }
}

/// Bytes of one item of each depth, over all columns.
fn item_bytes(columns: &[ColumnInfo]) -> [usize; 3] {
    let mut bytes = [0; 3];
    for info in columns {
        bytes[info.depth] += match info.kind {
            Kind::U8 => 1,
            Kind::Status | Kind::U16 => 2,
            Kind::U32 | Kind::F32 => 4,
            Kind::Starts => 4 * info.lists,
            Kind::U64 | Kind::I64 => 8,
        };
    }
    bytes
}

/// Encodings of the columns. Results of fits hardly ever repeat: a dictionary would be as long as the values, but their first
/// bytes are alike and compress well when stored together. Ids of events and hits rise slowly, so that their differences are
/// short. Numbers of clusters are many and small: their bytes, grouped by position, are about as short as with a dictionary, and
/// written in half the time.
fn properties(
    schema: &Schema,
    metadata: &Metadata,
    options: &WriteOptions,
    has_events: bool,
) -> WriterProperties {
    let mut properties = common_properties(metadata, options).set_max_row_group_row_count(None);
    for field in schema.fields() {
        let (mut path, mut kind) = (vec![field.name().clone()], field.data_type());
        while let DataType::List(element) = kind {
            path.extend(["list".to_string(), element.name().clone()]);
            kind = element.data_type();
        }
        let encoding = match kind {
            DataType::Float32 | DataType::Float64 if path.len() > 1 || !has_events => {
                Encoding::BYTE_STREAM_SPLIT
            }
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 if !has_events => {
                Encoding::BYTE_STREAM_SPLIT
            }
            DataType::UInt32 | DataType::Int64 => Encoding::DELTA_BINARY_PACKED,
            _ => continue,
        };
        let path = ColumnPath::new(path);
        properties =
            properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
    }
    properties.build()
}

/// Metadata and compression of all files.
fn common_properties(metadata: &Metadata, options: &WriteOptions) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(options.compression.codec())
        .set_data_page_size_limit(PAGE_BYTES)
        .set_key_value_metadata(Some(metadata.entries()))
        .set_created_by(concat!("peloton ", env!("CARGO_PKG_VERSION")).into())
}

/// Properties for columns of unknown content.
pub(super) fn plain_properties(metadata: &Metadata) -> WriterProperties {
    common_properties(metadata, &WriteOptions::default()).build()
}

/// Writes the remaining data and the file's end, and returns the file.
pub(super) fn ended(writer: ArrowWriter<BufWriter<OutputFile>>, path: &Path) -> Result<OutputFile> {
    let buffer = writer.into_inner().map_err(|e| failed(path, e))?;
    buffer.into_inner().map_err(|e| Error::io(path, e.into_error()))
}

pub(super) fn failed(path: &Path, error: parquet::errors::ParquetError) -> Error {
    Error::io(path, std::io::Error::other(error))
}

#[cfg(test)]
mod tests;
