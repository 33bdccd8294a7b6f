//! [`TableWriter`]: writes a table as Parquet, for data that are not results of a sequence.

use super::fields::{CellKind, TableField, described, element};
use super::parquet::{ended, failed, plain_properties};
use super::{Metadata, OutputFile};
use crate::input::EventId;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use peloton::{Error, Result};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest number of rows in memory.
const ROWS: usize = 1 << 16;

/// One value in a row of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// An unknown value, written as null.
    Null,
    /// A count or an index.
    Count(u64),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// Words.
    Words(Vec<&'static str>),
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}

macro_rules! cells {
    ($($type:ty => $cell:ident,)+) => {
        $(impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                Self::$cell(value.into())
            }
        })+
    };
}

cells! {
    u32 => Count,
    u64 => Count,
    i32 => Int,
    i64 => Int,
    f32 => Float,
    f64 => Float,
    bool => Bool,
}

/// The values of [`ID_FIELDS`](super::ID_FIELDS) for one event.
pub fn id_cells(id: &EventId) -> [Cell; 3] {
    [id.number.into(), id.run.into(), id.event.into()]
}

/// Writes rows as Parquet. The metadata of a column are its `unit` and its `description`; the metadata of the file are
/// the values of [`Metadata`].
pub struct TableWriter {
    writer: ArrowWriter<BufWriter<OutputFile>>,
    schema: SchemaRef,
    fields: Vec<TableField>,
    rows: Vec<Vec<Cell>>,
    path: PathBuf,
}

impl TableWriter {
    /// A writer to the file `to`. Errors name the file by `path`.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn new(to: OutputFile, path: &Path, metadata: &Metadata, fields: &[TableField]) -> Result<Self> {
        let columns = fields.iter().map(|field| {
            let nullable = field.kind != CellKind::Words;
            described(field.name, field.kind.data_type(), field.unit, field.meaning).with_nullable(nullable)
        });
        let schema = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
        let writer =
            ArrowWriter::try_new(BufWriter::new(to), schema.clone(), Some(plain_properties(metadata)));
        let writer = writer.map_err(|e| failed(path, e))?;
        Ok(Self { writer, schema, fields: fields.to_vec(), rows: Vec::new(), path: path.into() })
    }

    /// Writes a row, which has one value for each field.
    ///
    /// # Errors
    /// Errors of the file, and [`Error::Columns`] for values of other types than the fields.
    pub fn push(&mut self, row: Vec<Cell>) -> Result<()> {
        if row.len() != self.fields.len() {
            return Err(Error::Columns(format!("{} values in {} columns", row.len(), self.fields.len())));
        }
        self.rows.push(row);
        if self.rows.len() >= ROWS { self.write() } else { Ok(()) }
    }

    /// Writes the end of the file, and returns the file.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self) -> Result<OutputFile> {
        self.write()?;
        ended(self.writer, &self.path)
    }

    fn write(&mut self) -> Result<()> {
        let column = |(number, field): (usize, &TableField)| column(field, &self.rows, number);
        let arrays = self.fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        let batch = batch.map_err(|e| Error::Columns(e.to_string()))?;
        self.rows.clear();
        self.writer.write(&batch).map_err(|e| failed(&self.path, e))
    }
}

/// The values of one column as an array: one value of each row.
fn column(field: &TableField, rows: &[Vec<Cell>], number: usize) -> Result<ArrayRef> {
    let wrong = |cell: &Cell| Error::Columns(format!("{cell:?} in the column {}", field.name));
    macro_rules! array {
        ($array:ty, $cell:ident, $convert:expr) => {{
            let value = |row: &Vec<Cell>| match &row[number] {
                Cell::Null => Ok(None),
                Cell::$cell(value) => $convert(*value).map(Some).ok_or_else(|| wrong(&row[number])),
                other => Err(wrong(other)),
            };
            Ok(Arc::new(rows.iter().map(value).collect::<Result<$array>>()?))
        }};
    }
    match field.kind {
        CellKind::U32 => array!(UInt32Array, Count, |value: u64| u32::try_from(value).ok()),
        CellKind::U64 => array!(UInt64Array, Count, Some),
        CellKind::I64 => array!(Int64Array, Int, Some),
        CellKind::F64 => array!(Float64Array, Float, Some),
        CellKind::Bool => array!(BooleanArray, Bool, Some),
        CellKind::Words => {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(element(DataType::Utf8));
            for row in rows {
                let Cell::Words(words) = &row[number] else { return Err(wrong(&row[number])) };
                lists.append_value(words.iter().map(Some));
            }
            Ok(Arc::new(lists.finish()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ID_FIELDS;
    use super::*;
    use crate::output::file::tests::in_memory;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt32Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn rows_come_back() {
        let field = |name, kind| TableField { name, kind, unit: "1", meaning: "a test" };
        let mut fields = ID_FIELDS.to_vec();
        fields.extend([field("p", CellKind::F64), field("words", CellKind::Words)]);
        let (file, bytes) = in_memory();
        let mut writer = TableWriter::new(file, Path::new("test"), &Metadata::default(), &fields).unwrap();
        for (run, p) in [(Some(7), Some(1.5)), (None, None)] {
            let mut row = id_cells(&EventId { number: 3, run, event: None }).to_vec();
            row.extend([p.into(), Cell::Words(vec!["a", "b"])]);
            writer.push(row).unwrap();
        }
        assert!(writer.push(vec![Cell::Null]).is_err());
        writer.finish().unwrap().finish().unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(bytes.take()).unwrap().build().unwrap();
        let batch = reader.next().unwrap().unwrap();
        let runs = batch["run_number"].as_primitive::<UInt32Type>();
        assert_eq!(runs.iter().collect::<Vec<_>>(), [Some(7), None]);
        let p = batch["p"].as_primitive::<Float64Type>();
        assert_eq!(p.iter().collect::<Vec<_>>(), [Some(1.5), None]);
        let words = batch["words"].as_list::<i32>().value(1);
        assert_eq!(words.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(batch["event_number"].null_count(), 2);
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let field = TableField { name: "n", kind: CellKind::U32, unit: "1", meaning: "a test" };
        for cell in [Cell::Float(1.0), Cell::Count(1 << 40), Cell::Words(Vec::new())] {
            let (file, metadata) = (in_memory().0, Metadata::default());
            let mut writer = TableWriter::new(file, Path::new("test"), &metadata, &[field]).unwrap();
            writer.push(vec![cell]).unwrap();
            assert!(matches!(writer.finish(), Err(Error::Columns(_))));
        }
    }
}
