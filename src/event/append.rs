//! [`append`] joins the results of slices.

use super::{Column, Results, Starts, Values, ValuesMut};
use crate::{Error, Result};

/// Number of columns that are appended in one pass over all columns: their addresses need no allocated memory.
const AT_ONCE: usize = 8;

/// Appends the results of a slice to the results of earlier slices. Allocates nothing if the memory of `to` suffices.
///
/// # Errors
/// Returns [`Error::Columns`] and appends nothing if the number of items becomes too large for 32-bit offsets.
///
/// # Panics
/// Panics if `to` and `slice` are different products.
pub fn append(to: &mut dyn Results, slice: &dyn Results) -> Result<()> {
    assert!(to.schema().is(slice.schema()), "the results are different products");
    let fits = |depth: usize| u32::try_from(to.items(depth) + slice.items(depth)).is_ok();
    if !(1..slice.schema().levels.len()).all(fits) {
        return Err(Error::Columns("too many results for 32-bit offsets: split the batch".into()));
    }
    for first in (0..slice.schema().columns.len()).step_by(AT_ONCE) {
        let (mut from, mut number) = ([None; AT_ONCE], 0_usize);
        slice.for_each_column(&mut |_, values| {
            if let Some(entry) = number.checked_sub(first).and_then(|at| from.get_mut(at)) {
                *entry = Some(values);
            }
            number += 1;
        });
        number = 0;
        to.for_each_column_mut(&mut |_, to| {
            if let Some(Some(from)) = number.checked_sub(first).and_then(|at| from.get(at)) {
                append_column(to, *from);
            }
            number += 1;
        });
    }
    Ok(())
}

fn append_column(to: ValuesMut<'_>, from: Values<'_>) {
    match (to, from) {
        (ValuesMut::Status(to), Values::Status(from)) => to.extend_from_slice(from),
        (ValuesMut::Starts(to), Values::Starts(from)) => append_starts(to, from),
        (ValuesMut::U8(to), Values::U8(from)) => to.extend_from_slice(from),
        (ValuesMut::U16(to), Values::U16(from)) => to.extend_from_slice(from),
        (ValuesMut::U32(to), Values::U32(from)) => to.extend_from_slice(from),
        (ValuesMut::U64(to), Values::U64(from)) => to.extend_from_slice(from),
        (ValuesMut::I64(to), Values::I64(from)) => to.extend_from_slice(from),
        (ValuesMut::F32(to), Values::F32(from)) => to.extend_from_slice(from),
        _ => unreachable!("both columns are of one type"),
    }
}

/// Appends lists whose ends fit into 32 bits.
fn append_starts(to: &mut Starts, starts: &[u32]) {
    let before = to.last().copied().unwrap_or(0);
    let first = to.len();
    let column: &mut Column<u32> = to;
    column.set_len(first + starts.len() - 1);
    column[first..].iter_mut().zip(&starts[1..]).for_each(|(to, start)| *to = before + start);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::event::VeloTracks;

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let one_track = |hits: u32| {
            let mut tracks = VeloTracks::default();
            tracks.status.push(Status::Ok);
            tracks.track_start.push(1);
            tracks.hit_start.push(hits);
            tracks
        };
        let mut tracks = one_track(u32::MAX - 1);
        append(&mut tracks, &one_track(1)).unwrap();
        assert_eq!((tracks.events(), tracks.hits()), (2, u32::MAX as usize));
        assert!(matches!(append(&mut tracks, &one_track(1)), Err(Error::Columns(_))));
        assert_eq!(tracks.table().ranges(1..2), [1..2, 1..2, u32::MAX as usize - 1..u32::MAX as usize]);
        assert_eq!((tracks.status.len(), tracks.track_start.len(), tracks.hit_start.len()), (2, 3, 3));
    }
}
