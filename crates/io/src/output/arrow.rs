//! Results as Arrow: one row an event (or cluster), everything below it as list columns, by the schema alone.

use super::table::{ID_FIELDS, TableField};
use super::units::Form;
use crate::input::EventId;
use arrow_array::{
    ArrayRef, Float32Array, Int64Array, ListArray, RecordBatch, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use peloton::event::{ColumnInfo, Kind, Results, Values};
use peloton::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The Arrow schema of results: `event_id`, `run_number` and `event_number` where rows are events, then the columns of
/// [`Results::COLUMNS`] in their order, those of tracks and hits as lists, then `extra`. Lists are never null, nor is what
/// is in them (a field named `element`). Times are in ns and energies in keV, whatever they are in memory. Starts of lists are what the lists themselves say, and left out, unless an event has several lists
/// of hits: then they are a list, counted from the event's first hit. Each field's metadata hold its `unit` and its
/// `description`.
pub fn arrow_schema<R: Results>(extra: &[Field]) -> SchemaRef {
    let ids = R::has_events().then(id_fields).into_iter().flatten();
    let columns = R::COLUMNS.iter().filter(|info| is_written(info));
    let columns = columns.map(|info| {
        let form = Form::of(info);
        let mut kind = form.data_type(info.kind);
        for _ in 0..info.depth + usize::from(info.kind == Kind::Starts) {
            kind = DataType::List(element(kind));
        }
        described(info.name, kind, form.unit(info.unit), info.meaning).with_nullable(form.is_nullable())
    });
    Arc::new(Schema::new(ids.chain(columns).chain(extra.iter().cloned()).collect::<Vec<_>>()))
}

/// Results as a batch of [`arrow_schema()`]. `ids` says of each event which it is (none where rows are no events), `extra` the columns of the extra fields.
///
/// # Errors
/// [`Error::Columns`] when lengths do not belong together, or lists are too long for Arrow's 32-bit offsets.
pub fn arrow_batch<R: Results>(
    schema: &SchemaRef,
    ids: &[EventId],
    results: &R,
    extra: Vec<ArrayRef>,
) -> Result<RecordBatch> {
    let columns = results.columns();
    let starts = |depth| {
        columns.iter().find_map(|(info, values)| match values {
            Values::Starts(starts) if info.depth == depth => Some((info.lists, *starts)),
            _ => None,
        })
    };
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    if R::has_events() {
        arrays.push(Arc::new(UInt64Array::from_iter_values(ids.iter().map(|id| id.number))));
        arrays.push(Arc::new(ids.iter().map(|id| id.run).collect::<UInt32Array>()));
        arrays.push(Arc::new(ids.iter().map(|id| id.event).collect::<UInt64Array>()));
    }
    for (info, values) in columns.iter().filter(|(info, _)| is_written(info)) {
        let converted = Form::of(info).convert(*values);
        let mut array = converted.unwrap_or_else(|| array(*values, info.lists));
        if info.kind == Kind::Starts {
            let rows = results.items(info.depth) as u32;
            let ends: Vec<u32> = (0..=rows).map(|row| row * (info.lists as u32 + 1)).collect();
            array = list(array, &ends)?;
        }
        for depth in (0..info.depth).rev() {
            let Some((lists, starts)) = starts(depth) else { continue };
            let ends: Vec<u32> = starts.iter().step_by(lists).copied().collect();
            array = list(array, &ends)?;
        }
        arrays.push(array);
    }
    arrays.extend(extra);
    RecordBatch::try_new(schema.clone(), arrays).map_err(|e| Error::Columns(e.to_string()))
}

/// What tells an event from others, by name and meaning: its number in the inputs, which is always known, and the numbers
/// that the detector gave.
fn id_fields() -> [Field; 3] {
    ID_FIELDS.map(|TableField { name, kind, unit, meaning }| {
        described(name, kind.data_type(), unit, meaning).with_nullable(name != ID_FIELDS[0].name)
    })
}

fn is_written(info: &ColumnInfo) -> bool {
    info.kind != Kind::Starts || info.lists > 1
}

/// A field that says what it is.
pub(super) fn described(name: &str, kind: DataType, unit: &str, description: &str) -> Field {
    let metadata = [("unit", unit), ("description", description)];
    Field::new(name, kind, false)
        .with_metadata(HashMap::from(metadata.map(|(key, value)| (key.to_string(), value.to_string()))))
}

/// What is in a list.
pub(super) fn element(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("element", kind, false))
}

fn array(values: Values<'_>, lists: usize) -> ArrayRef {
    match values {
        Values::Status(values) => Arc::new(UInt16Array::from_iter_values(values.iter().map(|s| s.code()))),
        Values::Starts(starts) => {
            let rows = (starts.len() - 1) / lists;
            let of_row = |row: usize| &starts[row * lists..=(row + 1) * lists];
            let counted = |row| of_row(row).iter().map(move |start| start - of_row(row)[0]);
            Arc::new(UInt32Array::from_iter_values((0..rows).flat_map(counted)))
        }
        Values::U8(values) => Arc::new(UInt8Array::from(values.to_vec())),
        Values::U16(values) => Arc::new(UInt16Array::from(values.to_vec())),
        Values::U32(values) => Arc::new(UInt32Array::from(values.to_vec())),
        Values::U64(values) => Arc::new(UInt64Array::from(values.to_vec())),
        Values::I64(values) => Arc::new(Int64Array::from(values.to_vec())),
        Values::F32(values) => Arc::new(Float32Array::from(values.to_vec())),
    }
}

/// Cuts values into lists.
fn list(values: ArrayRef, starts: &[u32]) -> Result<ArrayRef> {
    let wrong = |what: String| Error::Columns(what);
    if i32::try_from(values.len()).is_err() || starts.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(wrong(format!("{} values in falling or too long lists", values.len())));
    }
    let offsets: ScalarBuffer<i32> = starts.iter().map(|&start| start as i32).collect();
    let field = element(values.data_type().clone());
    let list = ListArray::try_new(field, OffsetBuffer::new(offsets), values, None);
    Ok(Arc::new(list.map_err(|e| wrong(e.to_string()))?))
}
