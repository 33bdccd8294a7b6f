//! [`Results`]: the results of a sequence; objects that read the memory of results keep it alive.

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
    /// Makes results from columns and from the same columns in Arrow's format.
    pub fn new(results: SharedResults, batch: RecordBatch, request: Arc<Request>) -> Self {
        Self { results, batch, request }
    }

    /// Makes results from columns.
    ///
    /// # Errors
    /// Fails if lists are too long for Arrow.
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

    /// Returns the names of all products of the run.
    #[getter]
    fn products(&self) -> Vec<&'static str> {
        self.results.products().to_vec()
    }

    /// Returns the product with a name, of the same run.
    fn product(&self, name: &str) -> PyResult<Self> {
        let results = self.results.product(name).map_err(exception)?;
        Self::of(results, self.request.clone())
    }

    /// Returns the name of an item at each depth: `event`, `track`, `hit`.
    #[getter]
    fn levels(&self) -> Vec<&'static str> {
        self.results.schema().levels.to_vec()
    }

    /// Returns the number of items at a depth.
    fn items(&self, depth: usize) -> usize {
        self.results.items(depth)
    }

    /// Returns name, depth, unit and meaning of every column of the Arrow table, as JSON.
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

    /// Returns the hashes that a job over the same events gives, as hexadecimal numbers.
    fn hashes(&self, py: Python<'_>) -> [String; 2] {
        let hashes = py.detach(|| self.results.hashes());
        [hashes.int, hashes.output].map(|hash| format!("{hash:016x}"))
    }

    /// Returns the counts of the run as JSON.
    #[getter]
    fn counters(&self) -> String {
        let counters = self.results.counters();
        // Partial events are reconstructed, so they are not lost; their statuses mark them.
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

    /// Returns the values of a column, row after row. With `filled`, values may be missing: their positions contain arbitrary
    /// data.
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

    /// Returns where the lists of a depth begin and end in the columns of the next depth.
    fn starts(&self, depth: usize) -> PyResult<Column> {
        use arrow_array::cast::AsArray;
        let inside = |info: &&ColumnInfo| info.depth > depth && info.kind != Kind::Starts;
        let info = self.results.schema().columns.iter().find(inside);
        let column = info.and_then(|info| self.batch.column_by_name(info.name));
        let wrong = || named("ColumnError", &format!("there are no lists at depth {depth}"));
        let mut lists = column.ok_or_else(wrong)?.as_list_opt::<i32>().ok_or_else(wrong)?;
        for _ in 0..depth {
            lists = lists.values().as_list_opt::<i32>().ok_or_else(wrong)?;
        }
        let offsets = lists.offsets().inner().clone();
        let array = arrow_array::Int32Array::new(offsets, None);
        Column::new("starts", Arc::new(array))
    }

    /// Writes these results to a file, as a job does.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.results.write(&path, &self.request)).map_err(exception)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the requested schema.
        let _ = requested_schema;
        capsule::stream(py, &self.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.batch.schema())
    }
}
