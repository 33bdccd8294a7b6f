//! Hits from Parquet files: one row a hit, in columns that are found by name.

use super::Output;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::{ChunkReader, Length};
use peloton::{Error, Result};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows that are decoded at once.
const ROWS: usize = 1 << 14;
/// Names that a column may have: time in ticks of 1.5625 ns, x, y, time over threshold in clocks of 25 ns.
const NAMES: [&[&str]; 4] = [&["t", "time"], &["x"], &["y"], &["tot"]];

/// A file that is being read. Memory is that of a few pages of each column.
pub(super) struct Columns {
    name: String,
    rows: ParquetRecordBatchReader,
    /// The columns of [`NAMES`] in a batch.
    places: [usize; 4],
}

impl Columns {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no Parquet file, or one without the columns.
    pub fn open(name: &str, file: impl ChunkReader + 'static) -> Result<Self> {
        let (name, wrong) = (name.to_string(), |what: String| Error::format(name, what));
        let opened = unharmed(|| {
            // The columns' own types say enough; Arrow's own schema in the file is one thing more that may be broken.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(Ending(file), options);
            let builder = builder.map_err(|e| e.to_string())?;
            let schema = builder.schema().clone();
            let wanted = NAMES.map(|names| position(&schema, names));
            if let Some(i) = wanted.iter().position(Option::is_none) {
                let names = NAMES[i].join(" or ");
                return Err(format!("no column of whole numbers named {names} (columns are t, x, y, tot)"));
            }
            let wanted = wanted.map(Option::unwrap_or_default);
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
            let rows = builder.with_projection(mask).with_batch_size(ROWS).build();
            // What is left keeps its order.
            let places = wanted.map(|place| wanted.iter().filter(|other| **other < place).count());
            rows.map(|rows| (rows, places)).map_err(|e| e.to_string())
        });
        let (rows, places) = opened.map_err(&wrong)?;
        Ok(Self { name, rows, places })
    }

    /// Appends hits until there are `hits`; false when the file is at its end.
    ///
    /// # Errors
    /// [`Error::Format`] where the file is broken.
    pub fn read(&mut self, hits: usize, to: &mut Output<'_>) -> Result<bool> {
        while to.block.hits.len() < hits {
            let rows = &mut self.rows;
            let batch = unharmed(|| rows.next().transpose().map_err(|e| e.to_string()));
            let batch = batch.map_err(|what| Error::format(&self.name, what))?;
            let Some(batch) = batch else { return Ok(false) };
            rows_to_hits(&batch, self.places, to);
        }
        Ok(true)
    }
}

/// A file, or what is read of one, whose end is an error. The library skips what it does not know without asking whether
/// there is anything left to skip: two thousand million times for a list that says it is so long.
struct Ending<F>(F);

impl<F: Length> Length for Ending<F> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<F: ChunkReader> ChunkReader for Ending<F> {
    type T = Ending<F::T>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.0.get_read(start).map(Ending)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        self.0.get_bytes(start, length)
    }
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to)? {
            0 if !to.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// Broken files make the library give up in more than one way; either is an error here.
fn unharmed<T>(work: impl FnOnce() -> std::result::Result<T, String>) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("the Parquet file is broken".into()))
}

fn position(schema: &Schema, names: &[&str]) -> Option<usize> {
    let fits = |name: &str, kind: &DataType| names.contains(&name) && kind.is_integer();
    schema.fields().iter().position(|field| fits(field.name(), field.data_type()))
}

/// Rows with a value missing, or out of all bounds, are malformed.
fn rows_to_hits(batch: &RecordBatch, places: [usize; 4], to: &mut Output<'_>) {
    let columns = places.map(|place| whole_numbers(batch.column(place).as_ref()));
    for row in 0..batch.num_rows() {
        let [Some(time), Some(x), Some(y), Some(tot)] = columns.each_ref().map(|column| column[row]) else {
            to.counts.malformed += 1;
            continue;
        };
        to.row([time, x, y, tot]);
    }
}

fn whole_numbers(column: &dyn Array) -> Vec<Option<i64>> {
    macro_rules! of {
        ($kind:ty) => {
            column
                .as_primitive::<$kind>()
                .iter()
                .map(|value| value.and_then(|value| i64::try_from(value).ok()))
                .collect()
        };
    }
    match column.data_type() {
        DataType::Int8 => of!(Int8Type),
        DataType::Int16 => of!(Int16Type),
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        DataType::UInt64 => of!(UInt64Type),
        _ => vec![None; column.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::PixelCounts;
    use super::super::clock::Timeline;
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, UInt8Array, UInt16Array, UInt32Array};
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;
    use peloton::event::{Layout, PixelBlock};
    use std::sync::Arc;

    fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    fn read(bytes: Vec<u8>) -> Result<(PixelBlock, PixelCounts)> {
        let layout = Layout::single(256, 256).unwrap();
        let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
        let mut columns = Columns::open("test", Bytes::from(bytes))?;
        let mut clock = Timeline::unchecked();
        let mut to = Output { block: &mut block, counts: &mut counts, layout: &layout, clock: &mut clock };
        while columns.read(to.block.hits.len() + 1, &mut to)? {}
        Ok((block, counts))
    }

    fn hits() -> Vec<u8> {
        file(vec![
            ("tot", Arc::new(UInt32Array::from(vec![70_000, 2, 3, 4])) as ArrayRef),
            ("chip", Arc::new(UInt8Array::from(vec![0; 4]))),
            ("x", Arc::new(UInt16Array::from(vec![1, 2, 300, 4]))),
            ("time", Arc::new(Int64Array::from(vec![Some(-5), Some(6), Some(7), None]))),
            ("y", Arc::new(UInt8Array::from(vec![9, 8, 7, 6]))),
        ])
    }

    #[test]
    fn columns_are_found_by_name_whatever_their_width() {
        let (block, counts) = read(hits()).unwrap();
        assert_eq!((block.hits.get(0), block.hits.get(1)), ((-5, 1, 9, 65535), (6, 2, 8, 2)));
        assert_eq!((counts.hits, counts.outside, counts.malformed), (2, 1, 1));
    }

    #[test]
    fn a_list_that_says_it_never_ends_is_an_error() {
        let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/timepix_parquet/list_without_end");
        assert!(read(std::fs::read(seed).unwrap()).is_err());
    }

    #[test]
    fn files_that_cannot_be_used_are_refused() {
        let error = |bytes: Vec<u8>| read(bytes).unwrap_err().to_string();
        let without = file(vec![("x", Arc::new(UInt8Array::from(vec![1])) as ArrayRef)]);
        assert!(error(without).contains("t or time"));
        error(b"PAR1 and nothing else PAR1".to_vec());
        let whole = hits();
        let expected = read(whole.clone()).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x41;
            // Either an error, or rows that are all accounted for.
            if let Ok((block, counts)) = read(bytes) {
                assert_eq!(block.hits.len() as u64, counts.hits, "{place}");
            }
        }
        assert_eq!(expected.1.hits, 2);
    }
}
