//! [`Table`]: results of any type as one type, for code that is compiled once for all of them.

use super::{ColumnInfo, Kind, MAX_DEPTH, Results, Values};
use crate::Status;
use std::ops::Range;

/// Results seen as their columns alone, see [`Results::table`]. What writes, hashes or compares works on this and not on
/// each type of results: it is compiled once.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    /// What there is one value for at each depth, see [`Results::LEVELS`] (no unit).
    pub(crate) levels: &'static [&'static str],
    /// All columns, in the order of [`Results::COLUMNS`]. Units are those that each one says.
    pub(crate) columns: Vec<(&'static ColumnInfo, Values<'a>)>,
}

impl<'a, R: Results> From<&'a R> for Table<'a> {
    fn from(results: &'a R) -> Self {
        let mut columns = Vec::with_capacity(R::COLUMNS.len());
        results.for_each_column(&mut |info, values| columns.push((info, values)));
        Self { levels: R::LEVELS, columns }
    }
}

impl<'a> Table<'a> {
    /// What there is one value for at each depth, see [`Results::LEVELS`].
    pub fn levels(&self) -> &'static [&'static str] {
        self.levels
    }

    /// All columns, in the order of [`Results::COLUMNS`].
    pub fn columns(&self) -> &[(&'static ColumnInfo, Values<'a>)] {
        &self.columns
    }

    /// Whether rows are events, which have a status.
    pub fn has_events(&self) -> bool {
        self.columns.first().is_some_and(|(info, _)| info.kind == Kind::Status)
    }

    /// What became of each event.
    pub fn statuses(&self) -> &'a [Status] {
        match self.columns.first() {
            Some((_, Values::Status(statuses))) => statuses,
            _ => &[],
        }
    }

    /// The items of every depth that belong to some rows, as ranges into the columns; those of depths that do not
    /// exist are empty.
    ///
    /// # Panics
    /// When `rows` reaches beyond the rows.
    pub fn ranges(&self, rows: Range<usize>) -> [Range<usize>; MAX_DEPTH + 1] {
        let mut ranges = [rows, 0..0, 0..0];
        for (info, values) in &self.columns {
            if let Values::Starts(starts) = values {
                let Range { start, end } = ranges[info.depth];
                ranges[info.depth + 1] =
                    starts[start * info.lists] as usize..starts[end * info.lists] as usize;
            }
        }
        ranges
    }
}
