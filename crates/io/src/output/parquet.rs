//! [`ParquetWriter`]: one row per event, tracks as list columns.

use arrow_array::builder::{
    Float32Builder, ListBuilder, PrimitiveBuilder, UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use peloton::event::{SCHEMA_VERSION, States, VeloTracks};
use peloton::{Error, Result, Status};
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Units of the columns of a state, in schema order.
const STATE_UNITS: [&str; 8] = ["mm", "mm", "mm", "1", "1", "mm^2", "mm", "1"];

/// Writes tracks as Parquet: one row an event, with the columns `event_id` (u64), `status` (u16, the codes
/// of [`Status`](peloton::Status)), `hits` (list of lists of u32: the hits of each track), and lists with one
/// value per track: `chi2`, `backward`, and the states as `beam_x` ... `beam_cov_tt`, `end_x` ...
/// `end_cov_tt`. The file's metadata hold `peloton.schema_version`, each column's hold its `unit`.
pub struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    path: PathBuf,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Writes to `to`; `path` names it in errors.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn new(to: W, path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let schema = schema();
        let writer =
            ArrowWriter::try_new(to, schema.clone(), Some(properties())).map_err(|e| failed(&path, e))?;
        Ok(Self { writer, schema, path })
    }

    /// Writes the events of one piece; `event_ids` holds the number of each in its source.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(&mut self, event_ids: &[u64], tracks: &VeloTracks) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns(event_ids, tracks))
            .map_err(|e| Error::Columns(e.to_string()))?;
        self.writer.write(&batch).map_err(|e| failed(&self.path, e))
    }

    /// Writes the file's end and gives the sink back.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(|e| failed(&self.path, e))
    }
}

/// How our files are compressed, and who wrote them.
pub(super) fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("peloton ", env!("CARGO_PKG_VERSION")).into())
        .build()
}

pub(super) fn failed(path: &std::path::Path, error: parquet::errors::ParquetError) -> Error {
    Error::io(path, std::io::Error::other(error))
}

pub(super) fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// A column with its unit.
pub(super) fn field(name: String, kind: DataType, unit: &str) -> Field {
    Field::new(name, kind, false).with_metadata(HashMap::from([("unit".to_string(), unit.to_string())]))
}

/// The columns that rows of tracks begin with.
pub(super) fn event_fields() -> Vec<Field> {
    vec![
        field("event_id".into(), DataType::UInt64, "1"),
        field("status".into(), DataType::UInt16, "1"),
        field("hits".into(), list_of(list_of(DataType::UInt32)), "1"),
    ]
}

/// What is in the columns of [`event_fields`].
pub(super) fn event_columns<'a, L: Iterator<Item = &'a [u32]>>(
    event_ids: &[u64],
    statuses: &[Status],
    hit_lists: impl Fn(usize) -> L,
) -> [ArrayRef; 3] {
    let mut ids = UInt64Builder::new();
    ids.append_slice(event_ids);
    let mut status = UInt16Builder::new();
    statuses.iter().for_each(|one| status.append_value(one.code()));
    let mut hits = ListBuilder::new(ListBuilder::new(UInt32Builder::new()));
    for event in 0..statuses.len() {
        for list in hit_lists(event) {
            hits.values().values().append_slice(list);
            hits.values().append(true);
        }
        hits.append(true);
    }
    [Arc::new(ids.finish()), Arc::new(status.finish()), Arc::new(hits.finish())]
}

fn schema() -> SchemaRef {
    let mut fields = event_fields();
    fields.extend([
        field("chi2".into(), list_of(DataType::Float32), "1"),
        field("backward".into(), list_of(DataType::UInt8), "1"),
    ]);
    for place in ["beam", "end"] {
        for ((name, _), unit) in States::default().columns().into_iter().zip(STATE_UNITS) {
            fields.push(field(format!("{place}_{name}"), list_of(DataType::Float32), unit));
        }
    }
    let metadata = HashMap::from([
        ("peloton.schema_version".to_string(), SCHEMA_VERSION.to_string()),
        ("peloton.sequence".to_string(), "velo".to_string()),
    ]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// The columns of one batch, in the order of the schema.
fn columns(event_ids: &[u64], tracks: &VeloTracks) -> Vec<ArrayRef> {
    let lists_of = |event| tracks.hit_lists(event);
    let [ids, status, hits] = event_columns(event_ids, &tracks.status, lists_of);
    let mut columns: Vec<ArrayRef> = vec![
        ids,
        status,
        hits,
        per_track(Float32Builder::new(), tracks, &tracks.chi2),
        per_track(UInt8Builder::new(), tracks, &tracks.backward),
    ];
    for states in [&tracks.beam, &tracks.end] {
        let lists = states.columns().map(|(_, column)| per_track(Float32Builder::new(), tracks, column));
        columns.extend(lists);
    }
    columns
}

/// A column with one value per track as one list per event.
fn per_track<T: ArrowPrimitiveType>(
    values: PrimitiveBuilder<T>,
    tracks: &VeloTracks,
    column: &[T::Native],
) -> ArrayRef {
    lists(values, (0..tracks.events()).map(|event| tracks.of_event(event)), column)
}

/// A column cut into lists.
pub(super) fn lists<T: ArrowPrimitiveType>(
    values: PrimitiveBuilder<T>,
    ranges: impl Iterator<Item = Range<usize>>,
    column: &[T::Native],
) -> ArrayRef {
    let mut lists = ListBuilder::new(values);
    for range in ranges {
        lists.values().append_slice(&column[range]);
        lists.append(true);
    }
    Arc::new(lists.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, UInt32Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn what_is_written_is_read_back() {
        let mut tracks = VeloTracks::default();
        tracks.hits.extend_from_slice(&[3, 17, 40, 8, 21]);
        tracks.hit_start.extend_from_slice(&[3, 5]);
        tracks.chi2.extend_from_slice(&[0.5, 1.5]);
        tracks.backward.extend_from_slice(&[0, 1]);
        for states in [&mut tracks.beam, &mut tracks.end] {
            states.columns_mut().into_iter().for_each(|column| column.extend_from_slice(&[7.0, 8.0]));
        }
        tracks.track_start.extend_from_slice(&[0, 2]);
        tracks.status.extend([Status::NotFinite, Status::Ok]);

        let file = tempfile();
        let mut writer = ParquetWriter::new(file.try_clone().unwrap(), "test").unwrap();
        writer.write(&[40, 41], &tracks).unwrap();
        writer.finish().unwrap();

        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.schema().metadata()["peloton.schema_version"], SCHEMA_VERSION.to_string());
        assert_eq!(reader.schema().field_with_name("end_cov_xt").unwrap().metadata()["unit"], "mm");
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        assert_eq!(batch.num_rows(), 2);
        let lists = batch.column_by_name("hits").unwrap().as_list::<i32>();
        assert_eq!(lists.value(0).len(), 0);
        let second = lists.value(1);
        let hits = second.as_list::<i32>().value(1);
        assert_eq!(hits.as_primitive::<UInt32Type>().values(), &[8, 21]);
        let chi2 = batch.column_by_name("chi2").unwrap().as_list::<i32>().value(1);
        assert_eq!(chi2.as_primitive::<Float32Type>().values(), &[0.5, 1.5]);
    }

    /// An open file without a name.
    fn tempfile() -> std::fs::File {
        let path = std::env::temp_dir().join(format!("peloton-parquet-{}", std::process::id()));
        let file =
            std::fs::File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }
}
