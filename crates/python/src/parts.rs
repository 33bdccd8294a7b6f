//! Jobs in parts, like `peloton plan`, `peloton run --plan` and `peloton manifest`. Functions return JSON with the same
//! keys as `--json`.

use crate::background::{self, Watch};
use crate::errors::exception;
use crate::jobs::json;
use crate::request::{self, Asked};
use peloton_plan as plan;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_request, module)?)?;
    module.add_function(wrap_pyfunction!(make_plan, module)?)?;
    module.add_function(wrap_pyfunction!(claim_folder, module)?)?;
    module.add_function(wrap_pyfunction!(check_part, module)?)?;
    module.add_function(wrap_pyfunction!(run_part, module)?)?;
    module.add_function(wrap_pyfunction!(add_parts, module)?)
}

/// Returns a watch for work that puts files in place: an interruption waits for its end. Losses are counted in the files.
fn to_the_end<'py>() -> Watch<'py> {
    Watch { until_end: true, is_quiet: true, ..Watch::default() }
}

/// Checks the options for running parts: names and numbers alone, since files and CPUs belong to the workers.
#[pyfunction]
fn check_request(asked: Asked) -> PyResult<()> {
    plan::check_request(&asked.request()?).map_err(exception)
}

/// Cuts the inputs of a request into parts, claims the folder for them, and writes the plan there. Returns its path.
#[pyfunction]
fn make_plan(
    py: Python<'_>,
    asked: Asked,
    part_events: u64,
    how: Asked,
    folder: PathBuf,
    force: bool,
) -> PyResult<PathBuf> {
    let request = asked.request()?;
    let made = background::run(py, to_the_end(), move |host| {
        plan::make(&request.inputs, request.format, part_events, host)
    })?;
    let how = how.of_plan(&made)?;
    background::run(py, to_the_end(), move |_| {
        plan::claim(&made, &folder, &how, force)?;
        let output = folder.join("_plan.json");
        made.write(&output).map(|()| output)
    })
}

/// Claims a folder for the parts of a plan.
#[pyfunction]
fn claim_folder(py: Python<'_>, plan: PathBuf, how: Asked, folder: PathBuf, force: bool) -> PyResult<()> {
    let plan = py.detach(|| plan::Plan::read(&plan)).map_err(exception)?;
    let how = how.of_plan(&plan)?;
    background::run(py, to_the_end(), move |_| plan::claim(&plan, &folder, &how, force))
}

/// Fails unless the bytes of a part are the bytes that were written.
#[pyfunction]
fn check_part(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| plan::check_part(&path, content)).map_err(exception)
}

/// Runs one part of a plan, unless it is done. Returns its report, and whether it was done before.
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

/// Adds up all parts in a folder and writes the sum there; `not_made` has the reasons of parts that failed.
#[pyfunction]
fn add_parts(
    py: Python<'_>,
    folder: PathBuf,
    plan: PathBuf,
    max_bad: Option<String>,
    not_made: BTreeMap<usize, String>,
    verify: bool,
) -> PyResult<String> {
    let max_bad = request::max_bad(max_bad).map_err(exception)?;
    let sum = background::run(py, to_the_end(), move |host| {
        plan::manifest_after(&plan::Plan::read(&plan)?, &folder, verify, max_bad, &not_made, host)
    })?;
    json(&sum)
}
