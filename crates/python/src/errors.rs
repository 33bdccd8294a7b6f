//! Converts errors to the exceptions of `peloton.errors`.

use peloton::Error;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Returns the exception for an error.
pub fn exception(error: Error) -> PyErr {
    let name = match &error {
        Error::Config(_) | Error::UnknownName { .. } => "ConfigError",
        Error::Unsupported(_) | Error::Device(_) => "UnsupportedError",
        Error::Io { .. } => "InputError",
        Error::Format { .. } => "FormatError",
        Error::Columns(_) => "ColumnError",
        Error::Internal(_) => "InternalError",
        _ => "Error",
    };
    let message = error.to_string();
    let message = message.strip_prefix("configuration: ").unwrap_or(&message);
    named(name, message.strip_prefix("columns: ").unwrap_or(message))
}

/// Returns the exception with this name in `peloton.errors`.
pub fn named(name: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let made = py.import("peloton.errors").and_then(|errors| errors.getattr(name)?.call1((message,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Returns the exception for a fault of this program.
pub fn fault(message: &str) -> PyErr {
    exception(Error::Internal(message.into()))
}

/// Raises a Python warning; a filter that turns warnings into errors makes it an exception.
pub fn warn(py: Python<'_>, warnings: Vec<String>) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let arguments = PyTuple::new(py, [warnings.join("\n")])?;
    py.import("peloton.errors")?.getattr("warn")?.call1(arguments).map(drop)
}
