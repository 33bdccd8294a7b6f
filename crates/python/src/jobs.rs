//! The jobs of the command line's subcommands. Functions return JSON with the same keys as `--json`.

use crate::background::{self, Watch};
use crate::errors::{exception, fault};
use crate::request::Asked;
use crate::results::Results;
use peloton_job::{CheckOptions, DisplayOptions, Plan, Simulation, embed};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(collect, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(throughput, module)?)?;
    module.add_function(wrap_pyfunction!(tune, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(display, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}

/// Returns the result of a job as JSON.
pub fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| fault(&e.to_string()))
}

fn watch(progress: Option<Bound<'_, PyAny>>, until_end: bool) -> Watch<'_> {
    Watch { progress, until_end, ..Watch::default() }
}

/// Reconstructs and writes a file. Returns the summary, and why the job as a whole has failed.
#[pyfunction]
fn run(
    py: Python<'_>,
    asked: Asked,
    output: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Option<String>)> {
    let request = asked.request()?;
    let summary = background::run(py, watch(progress, true), move |host| {
        peloton_job::run(&request, Some(&output), host)
    })?;
    Ok((json(&summary)?, summary.failure))
}

/// Reconstructs into memory. Returns the results, the summary, and why the job as a whole has failed.
#[pyfunction]
fn collect(
    py: Python<'_>,
    asked: Asked,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Results, String, Option<String>)> {
    let request = Arc::new(asked.request()?);
    let working = request.clone();
    let (results, summary) =
        background::run(py, watch(progress, false), move |host| embed::collect(&working, host))?;
    Ok((Results::of(results, request)?, json(&summary)?, summary.failure))
}

/// Options of a check: a dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Checking {
    rules: Option<String>,
    tracks: Option<PathBuf>,
    against: Option<PathBuf>,
    losses: bool,
    truth_output: Option<PathBuf>,
}

/// Compares with the truth. Returns the text, JSON, whether all requirements hold, and why the job has failed.
#[pyfunction]
fn check(
    py: Python<'_>,
    asked: Asked,
    checking: Checking,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String, bool, Option<String>)> {
    let request = asked.request()?;
    let Checking { rules, tracks, against, losses, truth_output } = checking;
    let rules = rules.map(|rules| rules.parse()).transpose().map_err(exception)?;
    let until_end = truth_output.is_some();
    let options = CheckOptions { rules, tables: false, losses, tracks, against, truth_output };
    let checked = background::run(py, watch(progress, until_end), move |host| {
        peloton_job::check(&request, &options, host)
    })?;
    let json = json(&checked)?;
    Ok((checked.text, json, checked.is_right, checked.failure))
}

fn plan(seconds: f64, passes: Option<u64>) -> Plan {
    Plan { copies: 1, passes, time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO) }
}

/// Measures events/s with input in memory.
#[pyfunction]
fn throughput(
    py: Python<'_>,
    asked: Asked,
    seconds: f64,
    passes: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let request = asked.request()?;
    let measured = background::run(py, watch(progress, false), move |host| {
        peloton_job::throughput(&request, plan(seconds, passes), false, host)
    })?;
    json(&measured)
}

/// Measures every level and gang. Returns the profile as JSON and as the TOML that `--profile` takes.
#[pyfunction]
fn tune(
    py: Python<'_>,
    asked: Asked,
    seconds: f64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let request = asked.request()?;
    let tuned = background::run(py, watch(progress, false), move |host| {
        peloton_job::tune(&request, plan(seconds, None), host)
    })?;
    Ok((json(&tuned.profile)?, tuned.profile.to_toml()))
}

/// Reconstructs in two ways and compares bit by bit.
#[pyfunction]
fn compare(
    py: Python<'_>,
    asked: Asked,
    left: String,
    right: String,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let request = asked.request()?;
    let compared = background::run(py, watch(progress, false), move |host| {
        peloton_job::compare(&request, [&left, &right], host)
    })?;
    json(&compared)
}

/// Options of a picture: a dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Drawing {
    event: Option<String>,
    view: Option<String>,
    truth: bool,
    frame_us: Option<f64>,
}

/// Draws an event, or a frame of pixel hits. Returns what was drawn, and why the job as a whole has failed.
#[pyfunction]
fn display(
    py: Python<'_>,
    asked: Asked,
    drawing: Drawing,
    output: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Option<String>)> {
    let request = asked.request()?;
    let Drawing { event, view, truth, frame_us } = drawing;
    let events = event.map(|event| event.parse()).transpose().map_err(exception)?;
    let view = view.map(|view| view.parse()).transpose().map_err(exception)?;
    let options = DisplayOptions { events, frame_us, view, truth };
    let drawn = background::run(py, watch(progress, true), move |host| {
        peloton_job::display(&request, &options, &output, host)
    })?;
    Ok((json(&drawn)?, drawn.failure().map(String::from)))
}

/// Writes simulated events with their truth.
#[pyfunction]
fn simulate(
    py: Python<'_>,
    detector: String,
    events: u64,
    seed: u64,
    geometry: Option<PathBuf>,
    output: PathBuf,
) -> PyResult<String> {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let what = Simulation { detector, events, seed, geometry, threads };
    let made =
        background::run(py, watch(None, true), move |host| peloton_job::simulate(&what, &output, host))?;
    json(&made)
}
