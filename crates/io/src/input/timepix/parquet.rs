//! Reads hits from Parquet files: one row per hit, with columns that are found by their names.

use super::Output;
use super::hit_columns::{HitColumn, Roles, TimeUnit, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, TimeUnit as ArrowUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{ChunkReader, Length};
use peloton::{Error, Result};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows that are decoded at once.
const ROWS: usize = 1 << 14;
/// Key in the file's metadata for the unit of times, as peloton writes it.
pub(super) const TIME_UNIT: &str = "peloton.time_unit";
/// Key in the file's metadata that results of peloton have.
const SEQUENCE: &str = "peloton.sequence";

/// A file that is being read; needs memory for a few pages of each column.
pub(super) struct Columns {
    name: String,
    rows: ParquetRecordBatchReader,
    roles: Roles,
}

impl Columns {
    /// Opens a file; `unit` is the unit of times if the file gives none.
    ///
    /// # Errors
    /// [`Error::Format`] for a file in another format, and for missing or unknown columns.
    pub fn open(name: &str, file: impl ChunkReader + 'static, unit: Option<TimeUnit>) -> Result<Self> {
        let (name, wrong) = (name.to_string(), |what: String| Error::format(name, what));
        let opened = unharmed(|| {
            let builder =
                ParquetRecordBatchReaderBuilder::try_new(Ending(file)).map_err(|e| e.to_string())?;
            let entries = builder.metadata().file_metadata().key_value_metadata();
            let said = |key: &str| {
                let entry = |entry: &&KeyValue| entry.key == key;
                entries.into_iter().flatten().find(entry).and_then(|entry| entry.value.clone())
            };
            if said(SEQUENCE).is_some() {
                return Err("the file contains results of peloton, not hits".into());
            }
            let time_unit = said(TIME_UNIT);
            let fields = builder.schema().fields().iter();
            let columns: Vec<_> = fields.map(|field| column(field, time_unit.as_deref())).collect();
            let all = Roles::find(&columns, unit, None)?;
            let wanted: Vec<_> = [all.time, all.x, all.y, all.tot].into_iter().chain(all.chip).collect();
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
            let rows = builder.with_projection(mask).with_batch_size(ROWS).build();
            // The remaining columns keep their order.
            let place = |place: usize| wanted.iter().filter(|other| **other < place).count();
            let chip = all.chip.map(place);
            let [time, x, y, tot] = [all.time, all.x, all.y, all.tot].map(place);
            rows.map(|rows| (rows, Roles { time, x, y, tot, chip, ..all })).map_err(|e| e.to_string())
        });
        let (rows, roles) = opened.map_err(&wrong)?;
        Ok(Self { name, rows, roles })
    }

    /// Whether the file has the chip of each hit.
    pub fn has_chips(&self) -> bool {
        self.roles.chip.is_some()
    }

    /// Appends hits until the block has `hits` hits; false at the end of the file.
    ///
    /// # Errors
    /// [`Error::Format`] if the file is broken.
    pub fn read(&mut self, hits: usize, to: &mut Output<'_>) -> Result<bool> {
        while to.block.hits.len() < hits {
            let rows = &mut self.rows;
            let batch = unharmed(|| rows.next().transpose().map_err(|e| e.to_string()));
            let batch = batch.map_err(|what| Error::format(&self.name, what))?;
            let Some(batch) = batch else { return Ok(false) };
            rows_to_hits(&batch, &self.roles, to);
        }
        Ok(true)
    }
}

/// A file or reader whose end is an error. The library skips unknown data without checking for the end: two thousand
/// million times for a list that claims this length.
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

/// Runs library code. Broken files make it return an error or panic; both are errors here.
fn unharmed<T>(work: impl FnOnce() -> std::result::Result<T, String>) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("the Parquet file is broken".into()))
}

/// A column as its file describes it. Files with an Arrow schema have the unit in the metadata of the field;
/// `time_unit` is the unit of times in the metadata of the file.
fn column(field: &Field, time_unit: Option<&str>) -> HitColumn {
    let unit_of = |unit: &ArrowUnit| match unit {
        ArrowUnit::Second => "s",
        ArrowUnit::Millisecond => "ms",
        ArrowUnit::Microsecond => "us",
        ArrowUnit::Nanosecond => "ns",
    };
    let values = match field.data_type() {
        kind if kind.is_integer() => Values::Whole,
        DataType::Float32 | DataType::Float64 => Values::Floats,
        DataType::Duration(unit) => match unit_of(unit).parse() {
            Ok(unit) => Values::Durations(unit),
            Err(_) => Values::Other("durations".into()),
        },
        DataType::Timestamp(..) => Values::Other("points in time (timestamps)".into()),
        other => Values::Other(format!("values of the type {other}")),
    };
    let name = field.name().clone();
    let is_time = matches!(name.to_ascii_lowercase().as_str(), "t" | "time" | "toa");
    let said = field.metadata().get("unit").map(String::as_str);
    let unit = said.or(if is_time { time_unit } else { None }).map(String::from);
    HitColumn { name, values, unit }
}

/// Passes on the hits of a batch. Rows with a missing value, or one that is too large, are malformed.
fn rows_to_hits(batch: &RecordBatch, roles: &Roles, to: &mut Output<'_>) {
    let whole = |place: usize| whole_numbers(batch.column(place).as_ref());
    let times = times(batch.column(roles.time).as_ref(), roles.unit);
    let (x, y, tot) = (whole(roles.x), whole(roles.y), whole(roles.tot));
    let chips = roles.chip.map(whole);
    for row in 0..batch.num_rows() {
        let chip = chips.as_ref().map_or(Some(0), |chips| chips[row]);
        match (times[row], chip, [x[row], y[row], tot[row]]) {
            (Some(time), Some(chip), [Some(x), Some(y), Some(tot)]) => to.row(chip, [time, x, y, tot]),
            _ => to.counts.malformed += 1,
        }
    }
}

/// Times as ticks.
fn times(column: &dyn Array, unit: TimeUnit) -> Vec<Option<i64>> {
    let of = |value: Option<f64>| value.and_then(|value| unit.ticks_of_float(value));
    match column.data_type() {
        DataType::Float32 => {
            column.as_primitive::<Float32Type>().iter().map(|v| of(v.map(f64::from))).collect()
        }
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().map(of).collect(),
        _ => {
            let ticks = |value: Option<i64>| value.and_then(|value| unit.ticks(value));
            whole_numbers(column).into_iter().map(ticks).collect()
        }
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
        DataType::Duration(ArrowUnit::Second) => of!(DurationSecondType),
        DataType::Duration(ArrowUnit::Millisecond) => of!(DurationMillisecondType),
        DataType::Duration(ArrowUnit::Microsecond) => of!(DurationMicrosecondType),
        DataType::Duration(ArrowUnit::Nanosecond) => of!(DurationNanosecondType),
        _ => vec![None; column.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::PixelCounts;
    use super::super::clock::Timeline;
    use super::*;
    use arrow_array::{
        ArrayRef, DurationNanosecondArray, Float64Array, Int64Array, TimestampNanosecondArray, UInt8Array,
        UInt16Array, UInt32Array,
    };
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use peloton::event::{Layout, PixelBlock};
    use std::sync::Arc;

    fn file_with(columns: Vec<(&str, ArrayRef)>, said: &[(&str, &str)]) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        let said =
            said.iter().map(|(key, value)| KeyValue::new(key.to_string(), value.to_string())).collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(said)).build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        file_with(columns, &[])
    }

    fn read_as(bytes: Vec<u8>, unit: Option<TimeUnit>) -> Result<(PixelBlock, PixelCounts)> {
        let layout = Layout::apart(4, 256, 256).unwrap();
        let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
        let mut columns = Columns::open("test", Bytes::from(bytes), unit)?;
        let mut clock = Timeline::unchecked();
        let mut to = Output { block: &mut block, counts: &mut counts, layout: &layout, clock: &mut clock };
        while columns.read(to.block.hits.len() + 1, &mut to)? {}
        Ok((block, counts))
    }

    fn read(bytes: Vec<u8>) -> Result<(PixelBlock, PixelCounts)> {
        read_as(bytes, None)
    }

    fn hits() -> Vec<u8> {
        file(vec![
            ("tot", Arc::new(UInt32Array::from(vec![70_000, 2, 3, 4])) as ArrayRef),
            ("chip", Arc::new(UInt8Array::from(vec![0, 1, 0, 0]))),
            ("x", Arc::new(UInt16Array::from(vec![1, 2, 300, 4]))),
            ("time_ticks", Arc::new(Int64Array::from(vec![Some(-5), Some(6), Some(7), None]))),
            ("y", Arc::new(UInt8Array::from(vec![9, 8, 7, 6]))),
        ])
    }

    /// Two hits with these times.
    fn timed(name: &str, times: ArrayRef) -> Vec<(&str, ArrayRef)> {
        let small = || Arc::new(UInt8Array::from(vec![1, 2])) as ArrayRef;
        vec![("x", small()), (name, times), ("y", small()), ("tot", small())]
    }

    #[test]
    fn columns_are_found_by_name_whatever_their_width() {
        let (block, counts) = read(hits()).unwrap();
        assert_eq!((block.hits.get(0), block.hits.get(1)), ((-5, 1, 9, 65535), (6, 260, 8, 2)));
        assert_eq!((counts.hits, counts.outside, counts.malformed), (2, 1, 1));
    }

    #[test]
    fn times_have_the_unit_of_their_type_their_name_or_the_file() {
        let times = |bytes| read(bytes).map(|(block, _)| block.hits.time.to_vec());
        let whole = || Arc::new(Int64Array::from(vec![25, 100])) as ArrayRef;
        let durations = Arc::new(DurationNanosecondArray::from(vec![25, 100])) as ArrayRef;
        assert_eq!(times(file(timed("t", durations))).unwrap(), [16, 64]);
        assert_eq!(times(file(timed("t_ns", whole()))).unwrap(), [16, 64]);
        let floats = Arc::new(Float64Array::from(vec![1.5625, 0.025])) as ArrayRef;
        assert_eq!(times(file(timed("time_us", floats))).unwrap(), [1000, 16]);
        assert_eq!(times(file_with(timed("t", whole()), &[(TIME_UNIT, "1.5625 ns")])).unwrap(), [25, 100]);
        let field = Field::new("t", DataType::Int64, true);
        let field = field.with_metadata([("unit".to_string(), "25 ns".to_string())].into());
        let unit = column(&field, Some("1.5625 ns")).unit;
        assert_eq!(unit.as_deref(), Some("25 ns"), "the column itself knows better than the file");
        // The unit is not given anywhere.
        let error = times(file(timed("t", whole()))).unwrap_err().to_string();
        assert!(error.contains("`t` has no unit") && error.contains("--time-unit"), "{error}");
        let named = read_as(file(timed("t", whole())), "ns".parse().ok()).unwrap();
        assert_eq!(named.0.hits.time[..], [16, 64]);
        let stamps = Arc::new(TimestampNanosecondArray::from(vec![25, 100])) as ArrayRef;
        let error = times(file(timed("t", stamps))).unwrap_err().to_string();
        assert!(error.contains("`t` holds points in time"), "{error}");
    }

    #[test]
    fn a_list_that_says_it_never_ends_is_an_error() {
        let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/timepix_parquet/list_without_end");
        assert!(read_as(std::fs::read(seed).unwrap(), Some(TimeUnit::TICK)).is_err());
    }

    #[test]
    fn files_that_cannot_be_used_are_refused() {
        let error = |bytes: Vec<u8>| read(bytes).unwrap_err().to_string();
        let one = || Arc::new(UInt8Array::from(vec![1])) as ArrayRef;
        assert!(error(file(vec![("x", one())])).contains("no column of times"));
        assert!(error(file(vec![("x", one()), ("energy", one())])).contains("unknown columns: `energy`"));
        let results = file_with(vec![("x", one())], &[(SEQUENCE, "timepix")]);
        assert!(error(results).contains("results of peloton"));
        error(b"PAR1 and nothing else PAR1".to_vec());
        let whole = hits();
        let expected = read(whole.clone()).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x41;
            // The result is an error, or all rows are counted.
            if let Ok((block, counts)) = read(bytes) {
                assert_eq!(block.hits.len() as u64, counts.hits, "{place}");
            }
        }
        assert_eq!(expected.1.hits, 2);
    }
}
