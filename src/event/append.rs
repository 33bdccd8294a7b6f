//! [`append`]: results of many slices as one.

use super::{Column, Results, Starts, Values, ValuesMut};
use crate::{Error, Result};

/// Appends the results of a slice to those of the slices before it.
///
/// # Errors
/// [`Error::Columns`] when lists become too long for 32-bit starts; what was appended before stays.
pub fn append<R: Results>(to: &mut R, slice: &R) -> Result<()> {
    let table = slice.table();
    let mut columns = table.columns.iter();
    let mut fits = true;
    to.for_each_column_mut(&mut |_, to| {
        let (_, from) = columns.next().expect("both have the columns of one type");
        fits &= append_column(to, *from);
    });
    if fits {
        return Ok(());
    }
    Err(Error::Columns("results do not fit 32-bit starts: split the batch".into()))
}

/// Whether all values fitted.
fn append_column(to: ValuesMut<'_>, from: Values<'_>) -> bool {
    match (to, from) {
        (ValuesMut::Status(to), Values::Status(from)) => to.extend_from_slice(from),
        (ValuesMut::Starts(to), Values::Starts(from)) => return append_starts(to, from),
        (ValuesMut::U8(to), Values::U8(from)) => to.extend_from_slice(from),
        (ValuesMut::U16(to), Values::U16(from)) => to.extend_from_slice(from),
        (ValuesMut::U32(to), Values::U32(from)) => to.extend_from_slice(from),
        (ValuesMut::U64(to), Values::U64(from)) => to.extend_from_slice(from),
        (ValuesMut::I64(to), Values::I64(from)) => to.extend_from_slice(from),
        (ValuesMut::F32(to), Values::F32(from)) => to.extend_from_slice(from),
        _ => unreachable!("both have the columns of one type"),
    }
    true
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
