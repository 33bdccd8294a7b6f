//! Jobs in parts, as `peloton plan`, `peloton run --plan` and `peloton manifest` do them. Answers are JSON, with the keys that
//! `--json` gives.

use crate::background::{self, Watch};
use crate::errors::exception;
use crate::jobs::json;
use crate::request::Asked;
use peloton_job::plan;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_request, module)?)?;
    module.add_function(wrap_pyfunction!(make_plan, module)?)?;
    module.add_function(wrap_pyfunction!(run_part, module)?)?;
    module.add_function(wrap_pyfunction!(add_parts, module)?)
}

/// What is waited for when somebody interrupts: whatever puts a file in place. What was lost is counted in the files.
fn to_the_end<'py>() -> Watch<'py> {
    Watch { until_end: true, is_quiet: true, ..Watch::default() }
}

/// Whether parts can be run in this way. Names and numbers alone are looked at: files and CPUs are those of the workers.
#[pyfunction]
fn check_request(asked: Asked) -> PyResult<()> {
    plan::check_request(&asked.request()?).map_err(exception)
}

/// Cuts the inputs of a request into parts and writes the plan.
#[pyfunction]
fn make_plan(py: Python<'_>, asked: Asked, part_events: u64, output: PathBuf) -> PyResult<String> {
    let request = asked.request()?;
    let made = background::run(py, to_the_end(), move |host| {
        let made = plan::make(&request.inputs, request.format, part_events, host)?;
        made.write(&output).map(|()| made)
    })?;
    json(&made)
}

/// Runs one part of a plan, unless it is done; how it was made, and whether that was before.
#[pyfunction]
fn run_part(
    py: Python<'_>,
    plan: PathBuf,
    part: usize,
    asked: Asked,
    output: PathBuf,
    force: bool,
) -> PyResult<(String, bool)> {
    let plan = py.detach(|| plan::Plan::read(&plan)).map_err(exception)?;
    let how = asked.of_plan(&plan)?;
    let ran = background::run(py, to_the_end(), move |host| {
        plan::run_part(&plan, part, &output, &how, force, host)
    })?;
    Ok((json(&ran.report)?, ran.was_done))
}

/// Looks at all parts in a folder and writes their sum there; parts that were not made fail for these reasons.
#[pyfunction]
fn add_parts(
    py: Python<'_>,
    folder: PathBuf,
    plan: PathBuf,
    max_bad: Option<u64>,
    not_made: BTreeMap<usize, String>,
) -> PyResult<String> {
    let sum = background::run(py, to_the_end(), move |host| {
        plan::manifest_after(&plan::Plan::read(&plan)?, &folder, false, max_bad, &not_made, host)
    })?;
    json(&sum)
}
