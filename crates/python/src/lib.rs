//! The native module of the Python package `peloton`: jobs, engines and results. The Python files in `../peloton` are
//! the public interface.
//!
//! Work runs on threads without the interpreter's lock. Meanwhile the calling thread checks for signals and reports progress
//! (`background`).
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod background;
mod capsule;
mod columns;
mod engine;
mod errors;
mod events;
mod jobs;
mod parts;
mod request;
mod results;
mod stream;

use peloton_job::SequenceName;
use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SCHEMA_VERSION", peloton::event::SCHEMA_VERSION)?;
    module.add_class::<columns::Column>()?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<events::Events>()?;
    module.add_class::<events::Reader>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<capsule::Table>()?;
    module.add("SEQUENCES", SequenceName::ALL.map(SequenceName::name))?;
    parts::register(module)?;
    jobs::register(module)
}
