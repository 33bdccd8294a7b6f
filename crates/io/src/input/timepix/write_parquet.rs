//! [`ParquetHits`]: writes hits as Parquet.

use super::parquet::TIME_UNIT;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use peloton::event::PixelHits;
use peloton::{Error, Result};
use std::io::{self, Write};
use std::sync::Arc;

/// Unit of the times that are written.
const TICK: &str = "1.5625 ns";

/// Writes hits of one chip as Parquet with the columns t, x, y and tot. The metadata of the file give the unit of times
/// as `peloton.time_unit`; the metadata of each column give its unit.
pub struct ParquetHits {
    schema: SchemaRef,
    writer: ArrowWriter<Vec<u8>>,
}

impl ParquetHits {
    /// A writer that begins a file.
    ///
    /// # Errors
    /// Errors of the Parquet library.
    pub fn new() -> Result<Self> {
        let field = |name: &str, kind: DataType, unit: &str| {
            Field::new(name, kind, false).with_metadata([("unit".to_string(), unit.to_string())].into())
        };
        let schema: SchemaRef = Arc::new(Schema::new(vec![
            field("t", DataType::Int64, TICK),
            field("x", DataType::UInt16, "pixel"),
            field("y", DataType::UInt16, "pixel"),
            field("tot", DataType::UInt16, "25 ns"),
        ]));
        let said = vec![KeyValue::new(TIME_UNIT.to_string(), TICK.to_string())];
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(Some(said))
            .set_created_by(concat!("peloton ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties)).map_err(failed)?;
        Ok(Self { schema, writer })
    }

    /// Writes hits to `to`; some hits stay in memory until there are enough to compress.
    ///
    /// # Errors
    /// [`Error::Io`] when `to` cannot be written, and errors of the Parquet library.
    pub fn write(&mut self, hits: &PixelHits, to: &mut dyn Write) -> Result<()> {
        let small = |column: &[u16]| Arc::new(UInt16Array::from(column.to_vec())) as ArrayRef;
        let time = Arc::new(Int64Array::from(hits.time.to_vec())) as ArrayRef;
        let columns = vec![time, small(&hits.x), small(&hits.y), small(&hits.tot)];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.map_err(|e| Error::Columns(e.to_string()))?;
        self.writer.write(&batch).map_err(failed)?;
        let packed = std::mem::take(self.writer.inner_mut());
        to.write_all(&packed).map_err(|e| Error::io("output", e))
    }

    /// Writes the remaining hits and the end of the file to `to`.
    ///
    /// # Errors
    /// As [`ParquetHits::write`].
    pub fn finish(self, to: &mut dyn Write) -> Result<()> {
        let packed = self.writer.into_inner().map_err(failed)?;
        to.write_all(&packed).map_err(|e| Error::io("output", e))
    }
}

fn failed(error: ParquetError) -> Error {
    Error::io("output", io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::super::{PixelOptions, PixelReader, ReadEnd};
    use super::*;
    use peloton::event::{Layout, PixelBlock};

    #[test]
    fn what_is_written_is_read_back_with_its_unit() {
        let mut hits = PixelHits::default();
        (0..20_000i64).for_each(|i| hits.push((1 << 40) + 3217 * i, (i % 256) as u16, (i % 31) as u16, 7));
        let (mut writer, mut bytes) = (ParquetHits::new().unwrap(), Vec::new());
        for start in (0..hits.len()).step_by(7000) {
            let mut part = PixelHits::default();
            part.extend_from(&hits, start..hits.len().min(start + 7000), 0);
            writer.write(&part, &mut bytes).unwrap();
        }
        writer.finish(&mut bytes).unwrap();
        let options =
            PixelOptions { layout: Some(Layout::single(256, 256).unwrap()), ..PixelOptions::default() };
        let mut reader = PixelReader::from_stream("test", io::Cursor::new(bytes), options).unwrap();
        let mut block = PixelBlock::default();
        while reader.read(block.hits.len() + 777, &mut block).unwrap() != ReadEnd::EndOfSource {}
        assert!(block.hits == hits && reader.problems().1 == 0);
    }
}
