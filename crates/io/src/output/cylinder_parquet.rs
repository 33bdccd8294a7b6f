//! [`CylinderParquet`]: tracks of the cylinder detector, one row per event.

use super::parquet::{event_columns, event_fields, failed, field, list_of, lists, properties};
use arrow_array::builder::{Float32Builder, UInt8Builder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use peloton::event::{CylinderTracks, SCHEMA_VERSION};
use peloton::{Error, Result};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Names and units of the columns of a state: radius, parameters.
const PARAMETERS: [(&str, &str); 6] =
    [("radius", "cm"), ("azimuth", "rad"), ("z", "cm"), ("qpt", "c/GeV"), ("phi", "rad"), ("theta", "rad")];

/// Names and units of what the covariance is of.
const COVARIANCE: [(&str, &str); 5] =
    [("rphi", "cm"), ("z", "cm"), ("qpt", "c/GeV"), ("phi", "rad"), ("theta", "rad")];

/// Writes tracks as Parquet: one row an event, with the columns `event_id` (u64), `status` (u16, the codes of
/// [`Status`](peloton::Status)), `hits` (list of lists of u32), and lists with one value per track: `seed` (u32), `chi2`
/// (f32), `fit` (u8, the codes of [`FitStatus`](peloton::kalman::FitStatus)), then the state (f32): `radius`, `azimuth`,
/// `z`, `qpt` (charge / pT), `phi`, `theta`, and the covariance `cov_rphi_rphi`, `cov_z_rphi` ... `cov_theta_theta`. Each
/// column's metadata hold its `unit`.
pub struct CylinderParquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    path: PathBuf,
}

impl<W: Write + Send> CylinderParquet<W> {
    /// Writes to `to`; `path` names it in errors.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn new(to: W, path: impl Into<PathBuf>) -> Result<Self> {
        let (path, schema) = (path.into(), schema());
        let writer = ArrowWriter::try_new(to, schema.clone(), Some(properties()));
        Ok(Self { writer: writer.map_err(|e| failed(&path, e))?, schema, path })
    }

    /// Writes the events of one piece; `event_ids` holds the number of each in its source.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(&mut self, event_ids: &[u64], tracks: &CylinderTracks) -> Result<()> {
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

fn schema() -> SchemaRef {
    let mut fields = event_fields();
    fields.extend([
        field("seed".into(), list_of(DataType::UInt32), "1"),
        field("chi2".into(), list_of(DataType::Float32), "1"),
        field("fit".into(), list_of(DataType::UInt8), "1"),
    ]);
    let float = || list_of(DataType::Float32);
    fields.extend(PARAMETERS.map(|(name, unit)| field(name.into(), float(), unit)));
    for (i, (name, unit)) in COVARIANCE.into_iter().enumerate() {
        for (with, with_unit) in &COVARIANCE[..=i] {
            fields.push(field(format!("cov_{name}_{with}"), float(), &format!("{unit} {with_unit}")));
        }
    }
    let metadata = HashMap::from([
        ("peloton.schema_version".to_string(), SCHEMA_VERSION.to_string()),
        ("peloton.sequence".to_string(), "cylinder".to_string()),
    ]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// The columns of one batch, in the order of the schema.
fn columns(event_ids: &[u64], tracks: &CylinderTracks) -> Vec<ArrayRef> {
    let lists_of = |event| tracks.hit_lists(event);
    let [ids, status, hits] = event_columns(event_ids, &tracks.status, lists_of);
    let ranges = || (0..tracks.events()).map(|event| tracks.of_event(event));
    let mut columns: Vec<ArrayRef> = vec![
        ids,
        status,
        hits,
        lists(UInt32Builder::new(), ranges(), &tracks.seed),
        lists(Float32Builder::new(), ranges(), &tracks.chi2),
        lists(UInt8Builder::new(), ranges(), &tracks.fit),
    ];
    columns.extend(tracks.state.iter().map(|column| lists(Float32Builder::new(), ranges(), column)));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, UInt32Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use peloton::Status;

    #[test]
    fn what_is_written_is_read_back() {
        let mut tracks = CylinderTracks::default();
        tracks.hits.extend_from_slice(&[3, 17, 40, 8, 21]);
        tracks.hit_start.extend_from_slice(&[3, 5]);
        tracks.seed.extend_from_slice(&[6, 9]);
        tracks.chi2.extend_from_slice(&[0.5, 1.5]);
        tracks.fit.extend_from_slice(&[0, 3]);
        for (i, column) in tracks.state.iter_mut().enumerate() {
            column.extend_from_slice(&[i as f32, 100.0 + i as f32]);
        }
        tracks.track_start.extend_from_slice(&[0, 2]);
        tracks.status.extend([Status::NotFinite, Status::Ok]);
        let mut writer = CylinderParquet::new(Vec::new(), "test").unwrap();
        writer.write(&[40, 41], &tracks).unwrap();
        let bytes = bytes::Bytes::from(writer.finish().unwrap());

        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        assert_eq!(reader.schema().metadata()["peloton.sequence"], "cylinder");
        let unit = |name: &str| reader.schema().field_with_name(name).unwrap().metadata()["unit"].clone();
        assert_eq!((unit("cov_theta_qpt"), unit("radius")), ("rad c/GeV".into(), "cm".into()));
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        assert_eq!(batch.num_rows(), 2);
        let column = |name: &str, event: usize| {
            let lists = batch.column_by_name(name).unwrap().as_list::<i32>().clone();
            lists.value(event)
        };
        assert_eq!(column("hits", 0).len(), 0);
        let second = column("hits", 1);
        assert_eq!(second.as_list::<i32>().value(1).as_primitive::<UInt32Type>().values(), &[8, 21]);
        assert_eq!(column("seed", 1).as_primitive::<UInt32Type>().values(), &[6, 9]);
        for (name, at) in [("radius", 0.0), ("theta", 5.0), ("cov_z_rphi", 7.0), ("cov_theta_theta", 20.0)] {
            assert_eq!(column(name, 1).as_primitive::<Float32Type>().values(), &[at, 100.0 + at], "{name}");
        }
    }
}
