//! Jobs in parts, as `peloton plan`, `peloton run --plan` and `peloton manifest` do them. Answers are JSON, with the keys that
//! `--json` gives.

use crate::background::{self, Watch};
use crate::errors::exception;
use crate::jobs::json;
use crate::request::Asked;
use peloton_job::plan;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(make_plan, module)?)?;
    module.add_function(wrap_pyfunction!(run_part, module)?)?;
    module.add_function(wrap_pyfunction!(add_parts, module)?)
}

/// What is waited for when somebody interrupts: whatever puts a file in place. What was lost is counted in the files.
fn to_the_end<'py>() -> Watch<'py> {
    Watch { until_end: true, is_quiet: true, ..Watch::default() }
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

/// Looks at all parts in a folder and writes their sum there.
#[pyfunction]
fn add_parts(
    py: Python<'_>,
    folder: PathBuf,
    plan: PathBuf,
    verify: bool,
    max_bad: Option<u64>,
) -> PyResult<String> {
    let sum = background::run(py, to_the_end(), move |host| {
        plan::manifest(&plan::Plan::read(&plan)?, &folder, verify, max_bad, host)
    })?;
    json(&sum)
}
