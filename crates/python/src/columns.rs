//! Python reads Rust's columns in place, by `__array_interface__`; Rust copies columns from Python.

use crate::errors::{fault, named};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Values of one column, which numpy reads in place.
#[pyclass(frozen, module = "peloton._native")]
pub struct Column(ArrayRef);

/// Returns the innermost values of nested lists, row after row.
pub fn innermost(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::List(_) => innermost(array.as_list::<i32>().values()),
        _ => array.clone(),
    }
}

impl Column {
    /// Makes a column of values that are not lists.
    ///
    /// # Errors
    /// Fails for types that numpy does not have, and for columns with missing values.
    pub fn new(name: &str, array: ArrayRef) -> PyResult<Self> {
        if array.null_count() > 0 {
            let words =
                "values are missing, which numpy cannot represent: read the column with pyarrow or polars";
            return Err(named("ColumnError", &format!("{name}: {words}")));
        }
        Ok(Self(array))
    }

    /// Makes a column in which values may be missing: at the positions of missing values, numpy reads arbitrary data.
    pub fn filled(array: ArrayRef) -> Self {
        Self(array)
    }

    fn kind(&self) -> Option<&'static str> {
        Some(match self.0.data_type() {
            DataType::UInt8 => "|u1",
            DataType::UInt16 => "<u2",
            DataType::UInt32 => "<u4",
            DataType::UInt64 => "<u8",
            DataType::Int32 => "<i4",
            DataType::Int64 => "<i8",
            DataType::Float32 => "<f4",
            DataType::Float64 => "<f8",
            _ => return None,
        })
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Address, type and length of the values, in the form that numpy reads. They are read-only, and live as long as this object.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kind = self.kind().ok_or_else(|| fault("a column of a type that numpy does not have"))?;
        let data = self.0.to_data();
        // The offset of a slice is a number of values; the last digit of the kind is the size of a value, bytes.
        let size = usize::from(kind.as_bytes()[2] - b'0');
        let address = data.buffers()[0].as_ptr() as usize + size * data.offset();
        let interface = PyDict::new(py);
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (address, true))?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }
}

/// Copies a contiguous, one-dimensional column of the right type from Python into `values`, whose memory is reused. The
/// Python code has checked the column before, so an error here only names the column.
///
/// The copy is made while this thread holds the interpreter's lock. Other threads may write to the column during a run,
/// which then uses the copied values.
///
/// # Errors
/// Fails for columns of another type or shape.
pub fn copy_column<T: Element + Default>(
    py: Python<'_>,
    name: &str,
    object: &Bound<'_, PyAny>,
    values: &mut Vec<T>,
) -> PyResult<()> {
    let wrong = |why: &str| named("ColumnError", &format!("{name}: {why}"));
    let buffer = PyBuffer::<T>::get(object).map_err(|e| wrong(&e.to_string()))?;
    if buffer.dimensions() != 1 || !buffer.is_c_contiguous() {
        return Err(wrong("not one contiguous dimension: convert it with numpy.ascontiguousarray"));
    }
    values.resize(buffer.item_count(), T::default());
    buffer.copy_to_slice(py, values)
}
