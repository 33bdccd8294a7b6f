//! [`Reader`] and [`Events`]: inputs read batch by batch.

use crate::background::{self, Watch, lock};
use crate::capsule::Table;
use crate::columns::Column;
use crate::errors::{exception, named};
use crate::request::Asked;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, UInt32Builder};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, UInt16Array, UInt32Array, UInt64Array};
use peloton::event::{BankKind, Particle};
use peloton_io::input::mdf::nominal_bank;
use peloton_job::Cancel;
use peloton_job::embed::{self, ReadEvents};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex};

/// Events in memory.
#[pyclass(frozen, module = "peloton._native")]
pub struct Events {
    /// The events, shared with the thread that reconstructs them.
    pub read: Arc<ReadEvents>,
}

/// A raw bank: kind, version, source, payload.
type Bank<'py> = (u8, u8, u16, Bound<'py, PyBytes>);

#[pymethods]
impl Events {
    fn __len__(&self) -> usize {
        self.read.ids().len()
    }

    /// Returns the kind of the events: `banks`, `velo hits` or `cylinder hits`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.read.events() {
            embed::Events::Banks(_) => "banks",
            embed::Events::VeloHits(_) => "velo hits",
            embed::Events::CylinderHits(_) => "cylinder hits",
            other => other.kind(),
        }
    }

    /// Returns number, run number and event number of each event.
    fn ids(&self) -> Vec<(u64, Option<u32>, Option<u64>)> {
        self.read.ids().iter().map(|id| (id.number, id.run, id.event)).collect()
    }

    /// Returns a column of hits of the Velo, event after event.
    fn hits(&self, name: &str) -> PyResult<Column> {
        let embed::Events::VeloHits(hits) = self.read.events() else {
            let words = format!("these events are {}, not hits of the Velo", self.kind());
            return Err(named("UnsupportedError", &words));
        };
        let ([x, y, z], [id, module_start], status) = hits.columns();
        let floats = |values: &[f32]| Arc::new(Float32Array::from(values.to_vec())) as ArrayRef;
        let numbers = |values: &[u32]| Arc::new(UInt32Array::from(values.to_vec())) as ArrayRef;
        let array = match name {
            "x" => floats(x),
            "y" => floats(y),
            "z" => floats(z),
            "id" => numbers(id),
            "module_start" => numbers(module_start),
            "status" => Arc::new(UInt16Array::from_iter_values(status.iter().map(|status| status.code()))),
            _ => return Err(named("ColumnError", &format!("no column `{name}` of hits"))),
        };
        Column::new(name, array)
    }

    /// Returns the raw banks of an event that detectors sent. An event of the nominal detector also has the bank that marks it.
    fn banks<'py>(&self, py: Python<'py>, event: usize) -> PyResult<Vec<Bank<'py>>> {
        let embed::Events::Banks(events) = self.read.events() else {
            let words = format!("these events are {}, not raw banks", self.kind());
            return Err(named("UnsupportedError", &words));
        };
        if event >= events.len() {
            return Err(pyo3::exceptions::PyIndexError::new_err(format!(
                "{event} of {} events",
                events.len()
            )));
        }
        let (is_nominal, event) = (events.is_nominal(event), events.event(event));
        let of_kind = |kind: BankKind| {
            event.banks(kind).iter().map(move |bank| (kind, bank)).map(|(kind, bank)| {
                let payload = PyBytes::new(py, event.bytes(bank));
                (kind.code(), bank.version, bank.source, payload)
            })
        };
        let mut banks: Vec<_> = BankKind::ALL.into_iter().flat_map(of_kind).collect();
        if is_nominal {
            let bank = nominal_bank();
            banks.push((bank.kind, bank.version, bank.source, PyBytes::new(py, bank.payload)));
        }
        Ok(banks)
    }

    /// Returns the true particles, one a row; none where they were not read or the input has none.
    fn truth(&self) -> PyResult<Option<Table>> {
        let events = self.read.ids().iter().zip(self.read.truth());
        let rows = events.flat_map(|(id, truth)| truth.particles.iter().map(|one| (id.number, one)));
        let rows: Vec<(u64, &Particle)> = rows.collect();
        if self.read.truth().is_empty() {
            return Ok(None);
        }
        let wrong = |e: arrow_schema::ArrowError| crate::errors::fault(&format!("true particles: {e}"));
        RecordBatch::try_from_iter_with_nullable(particles(&rows)).map(Table).map(Some).map_err(wrong)
    }
}

/// Returns the columns of particles: name, values, whether any may be missing. Units are the units of [`Particle`].
fn particles(rows: &[(u64, &Particle)]) -> Vec<(&'static str, ArrayRef, bool)> {
    type Of<T> = fn(&Particle) -> T;
    let floats: [(&str, Of<Option<f64>>); 8] = [
        ("charge", |one| Some(one.charge)),
        ("p", |one| Some(one.p)),
        ("pt", |one| Some(one.pt)),
        ("eta", |one| Some(one.eta)),
        ("phi", |one| Some(one.phi)),
        ("origin_x", |one| one.origin.map(|origin| origin[0].into())),
        ("origin_y", |one| one.origin.map(|origin| origin[1].into())),
        ("origin_z", |one| one.origin.map(|origin| origin[2].into())),
    ];
    let integers: [(&str, Of<Option<i64>>); 3] =
        [("key", |one| Some(one.key)), ("pid", |one| Some(one.pid.into())), ("mother", |one| one.mother)];
    let flags: [(&str, Of<bool>); 8] = [
        ("is_long", |one| one.is_long),
        ("is_down", |one| one.is_down),
        ("has_velo", |one| one.has_velo),
        ("has_ut", |one| one.has_ut),
        ("has_scifi", |one| one.has_scifi),
        ("from_beauty", |one| one.from_beauty),
        ("from_charm", |one| one.from_charm),
        ("from_strange", |one| one.from_strange),
    ];
    let mut columns: Vec<(&'static str, ArrayRef, bool)> = Vec::new();
    let numbers = UInt64Array::from_iter_values(rows.iter().map(|(event, _)| *event));
    columns.push(("event_id", Arc::new(numbers), false));
    for (name, of) in integers {
        let mut values = Int64Builder::with_capacity(rows.len());
        rows.iter().for_each(|(_, one)| values.append_option(of(one)));
        columns.push((name, Arc::new(values.finish()), name == "mother"));
    }
    for (name, of) in floats {
        let mut values = Float64Builder::with_capacity(rows.len());
        rows.iter().for_each(|(_, one)| values.append_option(of(one)));
        columns.push((name, Arc::new(values.finish()), name.starts_with("origin")));
    }
    for (name, of) in flags {
        let mut values = BooleanBuilder::with_capacity(rows.len());
        rows.iter().for_each(|(_, one)| values.append_value(of(one)));
        columns.push((name, Arc::new(values.finish()), false));
    }
    let mut hits = ListBuilder::new(UInt32Builder::new());
    rows.iter().for_each(|(_, one)| hits.append_value(one.hits.iter().map(|hit| Some(*hit))));
    columns.push(("hits", Arc::new(hits.finish()), false));
    columns
}

/// Reads the inputs of a request.
#[pyclass(frozen, module = "peloton._native")]
pub struct Reader {
    /// None while a thread reads, and after an interruption.
    reader: Mutex<Option<embed::Reader>>,
    cancel: Cancel,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, asked: Asked, truth: bool) -> PyResult<Self> {
        let (request, cancel) = (asked.request()?, Cancel::default());
        let watch = Watch { cancel: cancel.clone(), ..Watch::default() };
        let reader = background::run(py, watch, move |host| embed::Reader::open(&request, truth, host))?;
        Ok(Self { reader: Mutex::new(Some(reader)), cancel })
    }

    /// Returns the next events, at most `events` of them; none at the end.
    fn read(&self, py: Python<'_>, events: usize) -> PyResult<Option<Events>> {
        let taken = lock(&self.reader).take();
        let Some(mut reader) = taken else {
            return Err(named(
                "InputError",
                "this reader was interrupted, or another thread reads: open it again",
            ));
        };
        let watch = Watch { cancel: self.cancel.clone(), ..Watch::default() };
        let (read, reader) = background::run(py, watch, move |_| {
            let read = reader.read(events);
            Ok((read, reader))
        })?;
        *lock(&self.reader) = Some(reader);
        Ok(read.map_err(exception)?.map(|read| Events { read: Arc::new(read) }))
    }

    /// Returns the first problems of the input so far, and the number of all problems.
    fn problems(&self) -> (Vec<String>, u64) {
        let reader = lock(&self.reader);
        reader.as_ref().map_or((Vec::new(), 0), |reader| reader.problems())
    }

    /// Returns reasons and counts of data lost before they became events.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let reader = lock(&self.reader);
        let dropped = reader.as_ref().map(embed::Reader::dropped).unwrap_or_default();
        dropped.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}
