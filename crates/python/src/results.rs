//! [`Results`]: the results of a sequence, in memory that every reader keeps alive.

use crate::capsule;
use crate::columns::{Column, innermost};
use crate::errors::{exception, named};
use arrow_array::{Array, ArrayRef, RecordBatch};
use peloton::Status;
use peloton::event::{ColumnInfo, Kind, no_column};
use peloton_job::Request;
use peloton_job::embed::SharedResults;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// One product of a run.
#[pyclass(frozen, module = "peloton._native")]
pub struct Results {
    results: SharedResults,
    batch: RecordBatch,
    request: Arc<Request>,
}

impl Results {
    /// Results from columns and the same columns as Arrow.
    pub fn new(results: SharedResults, batch: RecordBatch, request: Arc<Request>) -> Self {
        Self { results, batch, request }
    }

    /// Of the columns.
    ///
    /// # Errors
    /// For lists too long for Arrow.
    pub fn of(results: SharedResults, request: Arc<Request>) -> PyResult<Self> {
        let batch = results.arrow().map_err(exception)?;
        Ok(Self::new(results, batch, request))
    }

    fn array(&self, name: &str) -> PyResult<&ArrayRef> {
        let Some(array) = self.batch.column_by_name(name) else {
            let schema = self.batch.schema();
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(named("ColumnError", &no_column(name, &names)));
        };
        Ok(array)
    }
}

#[pymethods]
impl Results {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of all products of the run.
    #[getter]
    fn products(&self) -> Vec<&'static str> {
        self.results.products().to_vec()
    }

    /// The product with a name, of the same run.
    fn product(&self, name: &str) -> PyResult<Self> {
        let results = self.results.product(name).map_err(exception)?;
        Self::of(results, self.request.clone())
    }

    /// What there is one value for at each depth: `event`, `track`, `hit`.
    #[getter]
    fn levels(&self) -> Vec<&'static str> {
        self.results.schema().levels.to_vec()
    }

    /// Number of items at a depth.
    fn items(&self, depth: usize) -> usize {
        self.results.items(depth)
    }

    /// Name, depth, unit and meaning of every column of the Arrow table, as JSON.
    #[getter]
    fn schema(&self) -> String {
        let infos = self.results.schema().columns;
        let schema = self.batch.schema();
        let fields = schema.fields().iter().map(|field| {
            let about = |key: &str| field.metadata().get(key).cloned().unwrap_or_default();
            let depth = infos.iter().find(|info| info.name == field.name()).map_or(0, |info| info.depth);
            let (unit, meaning) = (about("unit"), about("description"));
            json!({ "name": field.name(), "depth": depth, "unit": unit, "meaning": meaning })
        });
        Value::from(fields.collect::<Vec<_>>()).to_string()
    }

    /// The hashes that a job over the same events gives, as hexadecimal numbers.
    fn hashes(&self, py: Python<'_>) -> [String; 2] {
        let hashes = py.detach(|| self.results.hashes());
        [hashes.int, hashes.output].map(|hash| format!("{hash:016x}"))
    }

    /// Counts of the run, as JSON.
    #[getter]
    fn counters(&self) -> String {
        let counters = self.results.counters();
        // Partial events are reconstructed; their statuses say which they are.
        let lost = counters.dropped().filter(|(reason, _)| *reason != Status::Partial.name());
        let dropped: Map<_, _> = lost.map(|(reason, n)| (reason.into(), n.into())).collect();
        let stages = self.request.config.stages();
        let stages = stages.iter().zip(&counters.stages);
        let stages = stages.map(|(stage, counter)| {
            json!({
                "name": stage.name, "ns": counter.ns, "items_in": counter.items_in,
                "items_out": counter.items_out, "occupancy": counter.occupancy(),
            })
        });
        json!({ "events": counters.events(), "dropped": dropped, "stages": stages.collect::<Vec<_>>() })
            .to_string()
    }

    /// The values of a column, of all rows behind one another; with `filled` also of a column with values that are missing,
    /// in whose places anything may stand.
    #[pyo3(signature = (name, filled=false))]
    fn column(&self, name: &str, filled: bool) -> PyResult<Column> {
        let array = innermost(self.array(name)?);
        if filled { Ok(Column::filled(array)) } else { Column::new(name, array) }
    }

    /// Whether a column has no value for a row.
    fn is_missing(&self, name: &str, row: usize) -> PyResult<bool> {
        let array = self.array(name)?;
        Ok(row < array.len() && array.is_null(row))
    }

    /// Where the lists of a depth begin and end in the columns of the next one.
    fn starts(&self, depth: usize) -> PyResult<Column> {
        use arrow_array::cast::AsArray;
        let inside = |info: &&ColumnInfo| info.depth > depth && info.kind != Kind::Starts;
        let info = self.results.schema().columns.iter().find(inside);
        let column = info.and_then(|info| self.batch.column_by_name(info.name));
        let wrong = || named("ColumnError", &format!("nothing is in lists at the depth {depth}"));
        let mut lists = column.ok_or_else(wrong)?.as_list_opt::<i32>().ok_or_else(wrong)?;
        for _ in 0..depth {
            lists = lists.values().as_list_opt::<i32>().ok_or_else(wrong)?;
        }
        let offsets = lists.offsets().inner().clone();
        let array = arrow_array::Int32Array::new(offsets, None);
        Column::new("starts", Arc::new(array))
    }

    /// Writes the file of a job whose results these are.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.results.write(&path, &self.request)).map_err(exception)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish, which a producer may ignore.
        let _ = requested_schema;
        capsule::stream(py, &self.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.batch.schema())
    }
}
