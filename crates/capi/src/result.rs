//! Results: views of their columns, and the export to Arrow.

use crate::engine::{EngineKind, peloton_engine};
use crate::guard::{Result, enter, invalid};
use crate::names::c_text;
use crate::pointers::{check, free, hand_over, look, put, reference, take, text, write_struct};
use crate::structs::{peloton_column, peloton_velo_states, peloton_velo_tracks};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, StructArray};
use peloton_core::event::{ColumnInfo, Columns, Kind, States, Values, VeloTracks, no_column};
use peloton_job::embed::{ClusterStream, ConfiguredOutcome};
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, RwLock, RwLockReadGuard};

/// Results of a run: all of its products. A handle gives access to one product. Each run reuses the memory of results.
/// Views of columns are valid until the result's next run, export or free.
pub struct peloton_result(pub(crate) Arc<RwLock<Held>>, usize);

pub(crate) struct Held {
    pub(crate) outcome: ConfiguredOutcome,
    /// Name, unit and meaning of each column of each product.
    texts: Vec<Vec<[CString; 3]>>,
}

/// The product of a handle, locked against changes.
pub(crate) struct Shown<'a> {
    held: RwLockReadGuard<'a, Held>,
    product: usize,
}

const RESULT: &str = "result";

/// Type of a column: statuses of events, uint16_t.
pub const PELOTON_TYPE_STATUS: i32 = 0;
/// Type of a column: starts of lists, and the end of the last list, uint32_t.
pub const PELOTON_TYPE_STARTS: i32 = 1;
/// Type of a column: uint8_t.
pub const PELOTON_TYPE_U8: i32 = 2;
/// Type of a column: uint16_t.
pub const PELOTON_TYPE_U16: i32 = 3;
/// Type of a column: uint32_t.
pub const PELOTON_TYPE_U32: i32 = 4;
/// Type of a column: uint64_t.
pub const PELOTON_TYPE_U64: i32 = 5;
/// Type of a column: int64_t.
pub const PELOTON_TYPE_I64: i32 = 6;
/// Type of a column: float.
pub const PELOTON_TYPE_F32: i32 = 7;

fn type_of(kind: Kind) -> i32 {
    match kind {
        Kind::Status => PELOTON_TYPE_STATUS,
        Kind::Starts => PELOTON_TYPE_STARTS,
        Kind::U8 => PELOTON_TYPE_U8,
        Kind::U16 => PELOTON_TYPE_U16,
        Kind::U32 => PELOTON_TYPE_U32,
        Kind::U64 => PELOTON_TYPE_U64,
        Kind::I64 => PELOTON_TYPE_I64,
        Kind::F32 => PELOTON_TYPE_F32,
    }
}

fn address(values: Values<'_>) -> *const c_void {
    match values {
        Values::Status(values) => values.as_ptr().cast(),
        Values::Starts(values) | Values::U32(values) => values.as_ptr().cast(),
        Values::U8(values) => values.as_ptr().cast(),
        Values::U16(values) => values.as_ptr().cast(),
        Values::U64(values) => values.as_ptr().cast(),
        Values::I64(values) => values.as_ptr().cast(),
        Values::F32(values) => values.as_ptr().cast(),
    }
}

impl Held {
    fn new(outcome: ConfiguredOutcome) -> Self {
        let texts = |info: &ColumnInfo| [info.name, info.unit, info.meaning].map(c_text);
        let texts = |product: &Columns| product.schema().columns.iter().map(texts).collect();
        Self { texts: outcome.products().columns().iter().map(texts).collect(), outcome }
    }
}

impl<'a> Shown<'a> {
    /// Of a handle.
    ///
    /// # Safety
    /// A pointer that is not NULL points to a result that lives as long as `'a`.
    pub(crate) unsafe fn of(result: *const peloton_result) -> Result<Self> {
        // SAFETY: the caller's promise.
        let result: &'a peloton_result = unsafe { reference(result, RESULT)? };
        Ok(Self { held: look(&result.0, RESULT)?, product: result.1 })
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.held.outcome.products().columns()[self.product]
    }

    fn texts(&self) -> &[[CString; 3]] {
        &self.held.texts[self.product]
    }

    /// The column at an index.
    fn column(&self, index: usize) -> Result<peloton_column> {
        let found = self.columns().column(index);
        let missing = || {
            let count = self.texts().len();
            invalid(format!("there is no column {index}: these results have {count} columns"))
        };
        let (info, values) = found.ok_or_else(missing)?;
        let [name, unit, meaning] = &self.texts()[index];
        Ok(peloton_column {
            size: size_of::<peloton_column>(),
            values: address(values),
            count: values.len(),
            r#type: type_of(info.kind),
            depth: info.depth as u32,
            lists: info.lists as u32,
            reserved: 0,
            name: name.as_ptr(),
            unit: unit.as_ptr(),
            meaning: meaning.as_ptr(),
        })
    }
}

/// Makes an empty result for the engine, and for every other engine of the same sequence that writes the same products;
/// it is a handle of the first product. Memory: the caller frees *result with peloton_result_free. Threads: any thread,
/// at any time. Codes: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_new(
    engine: *const peloton_engine,
    result: *mut *mut peloton_result,
) -> i32 {
    // SAFETY: the caller's engine lives, and result may be written to.
    enter(|| unsafe {
        hand_over(result, || {
            let outcome = match &reference(engine, "engine")?.kind {
                EngineKind::Events(engine) => engine.outcome(),
                EngineKind::Stream(_) => ClusterStream::outcome(),
            };
            Ok(peloton_result(Arc::new(RwLock::new(Held::new(outcome))), 0))
        })
    })
}

/// Number of items at a depth: 0 events (or clusters), 1 tracks (or hits where there are no tracks), 2 hits. Memory:
/// none. Threads: do not call this while a run writes to the result. Codes: INVALID_ARGUMENT, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_items(
    result: *const peloton_result,
    depth: u32,
    items: *mut usize,
) -> i32 {
    // SAFETY: the caller's result lives, and items may be written to.
    enter(|| unsafe {
        let shown = Shown::of(result)?;
        let columns = shown.columns();
        let levels = columns.schema().levels;
        if depth as usize >= levels.len() {
            return Err(invalid(format!("depth {depth}: there are {}", levels.join(", "))));
        }
        put(items, columns.items(depth as usize), "items")
    })
}

/// Number of columns. Memory: none. Threads: not during a run into the result. Codes: INVALID_ARGUMENT, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_columns(result: *const peloton_result, columns: *mut usize) -> i32 {
    // SAFETY: the caller's result lives, and columns may be written to.
    enter(|| unsafe { put(columns, Shown::of(result)?.texts().len(), "columns") })
}

/// Fills view with the column at this index, from 0, in the order of docs/columns.md. Memory: the caller owns view and
/// sets its size; values belong to the result until its next run, export or free. Threads: do not call this while a run
/// writes to the result. Codes: INVALID_ARGUMENT (no such column), ABI_MISMATCH, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_column_at(
    result: *const peloton_result,
    index: usize,
    view: *mut peloton_column,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    enter(|| unsafe { write_struct(view, &Shown::of(result)?.column(index)?, "view") })
}

/// Fills view with the column of this name, such as "chi2"; otherwise like peloton_result_column_at. Memory: name is
/// borrowed for the call. Threads: do not call this while a run writes to the result. Codes: INVALID_ARGUMENT (no such
/// column), ABI_MISMATCH, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_column(
    result: *const peloton_result,
    name: *const c_char,
    view: *mut peloton_column,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    enter(|| unsafe {
        let shown = Shown::of(result)?;
        let name = text(name, "name")?;
        let columns = shown.columns().schema().columns;
        let index = columns.iter().position(|info| info.name == name);
        let missing = || {
            let names: Vec<_> = columns.iter().map(|info| info.name).collect();
            invalid(no_column(name, &names))
        };
        write_struct(view, &shown.column(index.ok_or_else(missing)?)?, "view")
    })
}

/// Fills view with all columns of the product velo_tracks at once; otherwise like peloton_result_column_at. Memory: the
/// caller owns view and sets its size; its pointers are valid as in peloton_result_column_at. Threads: do not call this
/// while a run writes to the result. Codes: INVALID_ARGUMENT (another product), ABI_MISMATCH, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_velo_tracks(
    result: *const peloton_result,
    view: *mut peloton_velo_tracks,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    enter(|| unsafe {
        let shown = Shown::of(result)?;
        let words =
            "these results are not velo_tracks: peloton_result_product makes a handle for velo_tracks";
        let tracks = shown.columns().get::<VeloTracks>().ok_or_else(|| invalid(words))?;
        let states = |states: &States| peloton_velo_states {
            x: states.x.as_ptr(),
            y: states.y.as_ptr(),
            z: states.z.as_ptr(),
            tx: states.tx.as_ptr(),
            ty: states.ty.as_ptr(),
            cov_xx: states.cov_xx.as_ptr(),
            cov_xtx: states.cov_xtx.as_ptr(),
            cov_txtx: states.cov_txtx.as_ptr(),
        };
        let filled = peloton_velo_tracks {
            size: size_of::<peloton_velo_tracks>(),
            events: tracks.status.len(),
            tracks: tracks.chi2.len(),
            entries: tracks.hits.len(),
            track_start: tracks.track_start.as_ptr(),
            hit_start: tracks.hit_start.as_ptr(),
            hits: tracks.hits.as_ptr(),
            status: tracks.status.as_ptr().cast(),
            chi2: tracks.chi2.as_ptr(),
            backward: tracks.backward.as_ptr(),
            beam: states(&tracks.beam),
            end: states(&tracks.end),
        };
        write_struct(view, &filled, "view")
    })
}

/// Exports the columns through Arrow's C data interface: a record batch as a struct array, with the schema of the
/// Parquet files (units in the fields' metadata). Values are moved without a copy, except statuses, and times and
/// energies of pixels, which are converted to the units of files. Afterwards the product is empty, and runs may fill it
/// again. Memory: *schema and *array are empty before; the caller owns them, and calls their release. Threads: one
/// thread at a time. Codes: INVALID_ARGUMENT, COLUMNS (2^31 or more entries in lists; the product is then lost), BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_arrow(
    result: *mut peloton_result,
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
) -> i32 {
    // SAFETY: the caller's result lives, and schema and array may be written to.
    enter(|| unsafe {
        check(schema, "schema")?;
        check(array, "array")?;
        let result = reference(result, RESULT)?;
        let batch = take(&result.0, RESULT)?.outcome.take_arrow(result.1)?;
        let made = FFI_ArrowSchema::try_from(batch.schema().as_ref());
        let made = made.map_err(|error| peloton_core::Error::Internal(error.to_string()))?;
        put(schema, made, "schema")?;
        put(array, FFI_ArrowArray::new(&StructArray::from(batch).to_data()), "array")
    })
}

/// Makes another handle of the same results, for the product with this name, such as "long_tracks". A run into
/// any handle of the results writes all products; otherwise this handle is like a handle of peloton_result_new. Memory:
/// name is borrowed for the call; the caller frees *product with peloton_result_free, before or after the other
/// handles. Threads: do not call this while a run writes to any handle of the results. Codes: INVALID_ARGUMENT, CONFIG
/// (the configuration does not write this product), BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_product(
    result: *const peloton_result,
    name: *const c_char,
    product: *mut *mut peloton_result,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory, and product may be written to.
    enter(|| unsafe {
        hand_over(product, || {
            let number = Shown::of(result)?.held.outcome.products().position(text(name, "name")?)?;
            Ok(peloton_result(reference(result, RESULT)?.0.clone(), number))
        })
    })
}

/// Frees a result; NULL is allowed. Memory: when the last handle of the results is freed, all their memory is freed,
/// except columns that peloton_result_arrow exported. Threads: after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_result_free(result: *mut peloton_result) {
    // SAFETY: the caller's last use of it.
    enter(|| unsafe {
        free(result);
        Ok(())
    });
}
