//! Results of many slices as one.

use peloton::event::{Column, Results, Starts, Values, ValuesMut};
use peloton::{Error, Result};

/// Appends the results of a slice.
///
/// # Errors
/// [`Error::Columns`] when lists become too long for 32-bit starts; what was appended before stays.
pub fn append<R: Results>(to: &mut R, slice: &R) -> Result<()> {
    let columns = slice.columns();
    let mut columns = columns.iter().map(|(_, values)| *values);
    let mut fits = true;
    to.for_each_column_mut(&mut |_, to| match (to, columns.next()) {
        (ValuesMut::Status(to), Some(Values::Status(values))) => to.extend_from_slice(values),
        (ValuesMut::Starts(to), Some(Values::Starts(starts))) => fits &= append_starts(to, starts),
        (ValuesMut::U8(to), Some(Values::U8(values))) => to.extend_from_slice(values),
        (ValuesMut::U16(to), Some(Values::U16(values))) => to.extend_from_slice(values),
        (ValuesMut::U32(to), Some(Values::U32(values))) => to.extend_from_slice(values),
        (ValuesMut::U64(to), Some(Values::U64(values))) => to.extend_from_slice(values),
        (ValuesMut::I64(to), Some(Values::I64(values))) => to.extend_from_slice(values),
        (ValuesMut::F32(to), Some(Values::F32(values))) => to.extend_from_slice(values),
        _ => unreachable!("both have the columns of one type"),
    });
    if fits {
        return Ok(());
    }
    Err(Error::Columns("results do not fit 32-bit starts: split the batch".into()))
}

fn append_starts(to: &mut Starts, starts: &[u32]) -> bool {
    let before = to.last().copied().unwrap_or(0);
    if before.checked_add(starts.last().copied().unwrap_or(0)).is_none() {
        return false;
    }
    let first = to.len();
    let column: &mut Column<u32> = to;
    column.set_len(first + starts.len() - 1);
    column[first..].iter_mut().zip(&starts[1..]).for_each(|(to, start)| *to = before + start);
    true
}
