//! Converts results to Arrow: one row per event (or cluster), with tracks and hits as list columns.

use super::columns::{Memory, Owner, kept};
use super::fields::{ID_FIELDS, TableField, described, element};
use super::units::Form;
use crate::input::EventId;
use arrow_array::{ArrayRef, ListArray, RecordBatch, UInt32Array, UInt64Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use peloton::event::{ColumnInfo, Kind, Schema as ResultSchema, Table, Values};
use peloton::{Error, Result};
use std::sync::Arc;

/// The Arrow schema of results with the schema `of`: `event_id`, `run_number` and `event_number` if rows are events,
/// then the columns of `of`, with columns of tracks and hits as lists, then `extra`. Lists and their values (a field
/// named `element`) are never null. Times are in ns and energies in keV, also if the unit in memory differs. List
/// starts are omitted, because they follow from the lists. If an event has several lists of hits, the starts are a list
/// column, counted from the event's first hit. The metadata of each field have its `unit` and its `description`.
pub fn arrow_schema(of: &'static ResultSchema, extra: &[Field]) -> SchemaRef {
    let ids = of.has_events().then(id_fields).into_iter().flatten();
    let columns = of.columns.iter().filter(|info| is_written(info));
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

/// Copies results to a batch with the schema [`arrow_schema()`], or with some of its fields in the same order. `ids`
/// identifies each event (empty if rows are not events), and `extra` has the columns of the extra fields.
///
/// # Errors
/// [`Error::Columns`] when columns have contradictory lengths, or lists are too long for Arrow's 32-bit offsets.
pub fn arrow_batch(
    schema: &SchemaRef,
    ids: &[EventId],
    table: &Table<'_>,
    extra: Vec<ArrayRef>,
) -> Result<RecordBatch> {
    let is_wanted = |name: &str| schema.field_with_name(name).is_ok();
    let mut arrays = columns(ids, table, &Memory::Copied, &is_wanted)?;
    arrays.extend(extra);
    RecordBatch::try_new(schema.clone(), arrays).map_err(|e| Error::Columns(e.to_string()))
}

/// Makes the batch of [`arrow_batch`] without a copy: it uses the memory of the results, which live as long as any part
/// of the batch. Only statuses are copied, and columns that files have in another unit or shape: times and energies of
/// pixels, and starts if an event has several lists.
///
/// # Errors
/// As [`arrow_batch`].
pub fn arrow_shared<T: Owner>(ids: &[EventId], results: &Arc<T>) -> Result<RecordBatch> {
    let memory = Memory::Shared(&|index| kept(results, index));
    let arrays = columns(ids, &results.table(), &memory, &|_| true)?;
    RecordBatch::try_new(arrow_schema(results.schema(), &[]), arrays)
        .map_err(|e| Error::Columns(e.to_string()))
}

/// The requested columns of [`arrow_schema()`].
fn columns(
    ids: &[EventId],
    table: &Table<'_>,
    memory: &Memory<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<ArrayRef>> {
    let columns = table.columns();
    let starts = |depth| {
        columns.iter().enumerate().find_map(|(index, (info, values))| match values {
            Values::Starts(starts) if info.depth == depth => Some((index, info.lists, *starts)),
            _ => None,
        })
    };
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len() + ID_FIELDS.len());
    if table.schema().has_events() {
        let [number, run, event] = ID_FIELDS.map(|field| is_wanted(field.name));
        let mut add = |is_wanted: bool, array: ArrayRef| arrays.extend(is_wanted.then_some(array));
        add(number, Arc::new(UInt64Array::from_iter_values(ids.iter().map(|id| id.number))));
        add(run, Arc::new(ids.iter().map(|id| id.run).collect::<UInt32Array>()));
        add(event, Arc::new(ids.iter().map(|id| id.event).collect::<UInt64Array>()));
    }
    let written =
        |(_, (info, _)): &(usize, &(&ColumnInfo, Values<'_>))| is_written(info) && is_wanted(info.name);
    for (index, (info, values)) in columns.iter().enumerate().filter(written) {
        let converted = Form::of(info).convert(*values);
        let mut array = converted.unwrap_or_else(|| match values {
            Values::Starts(starts) => Arc::new(counted_starts(starts, info.lists)),
            values => memory.array(index, *values),
        });
        if let Values::Starts(starts) = values {
            let rows = (starts.len() - 1) / info.lists;
            let ends: Vec<u32> = (0..=rows).map(|row| (row * (info.lists + 1)) as u32).collect();
            array = list(array, &ends, |ends| Memory::Copied.offsets(0, ends))?;
        }
        for depth in (0..info.depth).rev() {
            let Some((index, lists, starts)) = starts(depth) else { continue };
            array = if lists == 1 {
                list(array, starts, |starts| memory.offsets(index, starts))?
            } else {
                let ends: Vec<u32> = starts.iter().step_by(lists).copied().collect();
                list(array, &ends, |ends| Memory::Copied.offsets(0, ends))?
            };
        }
        arrays.push(array);
    }
    Ok(arrays)
}

/// Fields that identify an event: its number in the inputs, which is always known, and the numbers from the detector.
fn id_fields() -> [Field; 3] {
    ID_FIELDS.map(|TableField { name, kind, unit, meaning }| {
        described(name, kind.data_type(), unit, meaning).with_nullable(name != ID_FIELDS[0].name)
    })
}

fn is_written(info: &ColumnInfo) -> bool {
    info.kind != Kind::Starts || info.lists > 1
}

/// Starts of an event's several lists, counted from the event's first item.
fn counted_starts(starts: &[u32], lists: usize) -> UInt32Array {
    let rows = (starts.len() - 1) / lists;
    let of_row = |row: usize| &starts[row * lists..=(row + 1) * lists];
    let counted = |row| of_row(row).iter().map(move |start| start - of_row(row)[0]);
    UInt32Array::from_iter_values((0..rows).flat_map(counted))
}

/// Divides values into lists by starts. `offsets` converts the starts to Arrow's offsets after a check that they rise.
fn list(
    values: ArrayRef,
    starts: &[u32],
    offsets: impl FnOnce(&[u32]) -> ScalarBuffer<i32>,
) -> Result<ArrayRef> {
    let wrong = |what: String| Error::Columns(what);
    if i32::try_from(values.len()).is_err() || starts.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(wrong(format!("{} values are too many for lists, or starts decrease", values.len())));
    }
    let field = element(values.data_type().clone());
    let list = ListArray::try_new(field, OffsetBuffer::new(offsets(starts)), values, None);
    Ok(Arc::new(list.map_err(|e| wrong(e.to_string()))?))
}
