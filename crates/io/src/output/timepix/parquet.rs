//! [`ClusterParquet`]: one row per cluster, its hits as list columns.

use crate::output::parquet::lists;
use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder, PrimitiveBuilder, UInt16Builder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, UInt16Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use peloton::event::{PixelClusters, SCHEMA_VERSION, TriggerPairs};
use peloton::{Error, Result};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Writes clusters as Parquet: one row a cluster, with the features of
/// [`ClusterFeatures`](peloton::event::ClusterFeatures) (energy in eV) and the lists `hit_time`, `hit_x`,
/// `hit_y`, `hit_tot`; paired with triggers also `trigger`, the device's count of the latest trigger before the
/// cluster, and the list `hit_since_trigger`, both null where there was none. Each column's metadata hold its `unit`.
pub struct ClusterParquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    path: PathBuf,
}

impl<W: Write + Send> ClusterParquet<W> {
    /// Writes to `to`; `path` names it in errors.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn new(to: W, path: impl Into<PathBuf>, with_triggers: bool) -> Result<Self> {
        let (path, schema) = (path.into(), schema(with_triggers));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("peloton ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let writer = ArrowWriter::try_new(to, schema.clone(), Some(properties))
            .map_err(|e| Error::io(&path, std::io::Error::other(e)))?;
        Ok(Self { writer, schema, path })
    }

    /// Writes the clusters of one piece.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(&mut self, clusters: &PixelClusters, pairs: Option<&TriggerPairs>) -> Result<()> {
        let mut columns = columns(clusters);
        columns.extend(pairs.into_iter().flat_map(|pairs| trigger_columns(clusters, pairs)));
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(|e| Error::Columns(e.to_string()))?;
        self.writer.write(&batch).map_err(|e| Error::io(&self.path, std::io::Error::other(e)))
    }

    /// Writes the file's end and gives the sink back.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(|e| Error::io(&self.path, std::io::Error::other(e)))
    }
}

fn schema(with_triggers: bool) -> SchemaRef {
    let field = |name: &str, kind: DataType, unit: &str| {
        Field::new(name, kind, false).with_metadata(HashMap::from([("unit".to_string(), unit.to_string())]))
    };
    let list = |kind| DataType::List(Arc::new(Field::new("item", kind, true)));
    let mut fields = vec![
        field("time", DataType::Int64, "1.5625 ns"),
        field("duration", DataType::UInt32, "1.5625 ns"),
        field("tot", DataType::UInt32, "25 ns"),
        field("height", DataType::UInt16, "25 ns"),
        field("energy", DataType::UInt64, "eV"),
    ];
    for name in ["x_min", "y_min", "x_max", "y_max"] {
        fields.push(field(name, DataType::UInt16, "pixel"));
    }
    let units = ["pixel", "pixel", "pixel", "pixel", "pixel", "pixel", "1", "1"];
    for ((name, _), unit) in peloton::event::ClusterFeatures::default().floats().into_iter().zip(units) {
        fields.push(field(name, DataType::Float32, unit));
    }
    fields.push(field("hit_time", list(DataType::Int64), "1.5625 ns"));
    for (name, unit) in [("hit_x", "pixel"), ("hit_y", "pixel"), ("hit_tot", "25 ns")] {
        fields.push(field(name, list(DataType::UInt16), unit));
    }
    if with_triggers {
        let null = |field: Field| field.with_nullable(true);
        fields.push(null(field("trigger", DataType::UInt16, "1")));
        fields.push(field("hit_since_trigger", list(DataType::Float64), "ns"));
    }
    let metadata = HashMap::from([
        ("peloton.schema_version".to_string(), SCHEMA_VERSION.to_string()),
        ("peloton.sequence".to_string(), "timepix".to_string()),
    ]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// The columns of one piece, in the order of the schema.
fn columns(clusters: &PixelClusters) -> Vec<ArrayRef> {
    let (features, hits) = (&clusters.features, &clusters.hits);
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(features.time.to_vec())),
        Arc::new(UInt32Array::from(features.duration.to_vec())),
        Arc::new(UInt32Array::from(features.tot.to_vec())),
        Arc::new(UInt16Array::from(features.height.to_vec())),
        Arc::new(UInt64Array::from(features.energy.to_vec())),
    ];
    for column in &features.bounds {
        columns.push(Arc::new(UInt16Array::from(column.to_vec())));
    }
    for (_, column) in features.floats() {
        columns.push(Arc::new(Float32Array::from(column.to_vec())));
    }
    columns.push(per_hit(Int64Builder::new(), clusters, &hits.time));
    for column in [&hits.x, &hits.y, &hits.tot] {
        columns.push(per_hit(UInt16Builder::new(), clusters, column));
    }
    columns
}

fn trigger_columns(clusters: &PixelClusters, pairs: &TriggerPairs) -> [ArrayRef; 2] {
    let has = pairs.has_trigger.iter().zip(&pairs.counter[..]);
    let counters: UInt16Array = has.map(|(has, counter)| (*has == 1).then_some(*counter)).collect();
    let mut since = ListBuilder::new(Float64Builder::new());
    for cluster in 0..clusters.len() {
        since.append_value(clusters.of_cluster(cluster).map(|hit| pairs.since_ns(hit)));
    }
    [Arc::new(counters), Arc::new(since.finish())]
}

/// A column with one value per hit as one list per cluster.
fn per_hit<T: ArrowPrimitiveType>(
    values: PrimitiveBuilder<T>,
    clusters: &PixelClusters,
    column: &[T::Native],
) -> ArrayRef {
    lists(values, (0..clusters.len()).map(|cluster| clusters.of_cluster(cluster)), column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn what_is_written_is_read_back() {
        let mut clusters = PixelClusters::default();
        [(160, 3, 4, 9), (161, 3, 5, 2), (320, 0, 0, 1)]
            .into_iter()
            .for_each(|(t, x, y, tot)| clusters.hits.push(t, x, y, tot));
        clusters.hit_start.extend_from_slice(&[2, 3]);
        clusters.features.set_len(2);
        clusters.features.energy.copy_from_slice(&[77, 5_000_000_000]);
        clusters.features.bounds[3].copy_from_slice(&[8, 9]);
        let path = std::env::temp_dir().join(format!("peloton-clusters-{}.parquet", std::process::id()));
        let mut writer = ClusterParquet::new(std::fs::File::create(&path).unwrap(), "test", true).unwrap();
        let pairs = TriggerPairs {
            has_trigger: [0, 1].into_iter().collect(),
            counter: [0, 9].into_iter().collect(),
            since: [TriggerPairs::NONE, 6, 12].into_iter().collect(),
        };
        writer.write(&clusters, Some(&pairs)).unwrap();
        writer.finish().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.schema().field_with_name("hit_tot").unwrap().metadata()["unit"], "25 ns");
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let energy = batch.column_by_name("energy").unwrap().as_primitive::<UInt64Type>();
        assert_eq!(energy.values(), &[77, 5_000_000_000]);
        let bound = batch.column_by_name("y_max").unwrap().as_primitive::<UInt16Type>();
        assert_eq!(bound.values(), &[8, 9]);
        let trigger = batch.column_by_name("trigger").unwrap().as_primitive::<UInt16Type>();
        assert_eq!(trigger.iter().collect::<Vec<_>>(), [None, Some(9)]);
        let since = batch.column_by_name("hit_since_trigger").unwrap().as_list::<i32>().value(0);
        assert_eq!(since.as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [None, Some(1.5625)]);
        let times = batch.column_by_name("hit_time").unwrap().as_list::<i32>().value(0);
        assert_eq!(times.as_primitive::<Int64Type>().values(), &[160, 161]);
    }
}
