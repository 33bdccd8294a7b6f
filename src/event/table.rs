//! [`Table`]: results of any type as one type, for code that is compiled once for all types of results.

use super::{ColumnInfo, MAX_DEPTH, Schema, Values};
use crate::Status;
use std::ops::Range;

/// Columns of results of any type, see [`Results::table`](super::Results::table). Code that writes, hashes or compares
/// results uses this type, so that the code is compiled once.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    /// Schema of the columns (no unit).
    pub(crate) schema: &'static Schema,
    /// All columns, in the order of the schema. Units are in each column's [`ColumnInfo`].
    pub(crate) columns: Vec<(&'static ColumnInfo, Values<'a>)>,
}

impl<'a> Table<'a> {
    /// The schema of the columns.
    pub fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// All columns, in the order of the schema.
    pub fn columns(&self) -> &[(&'static ColumnInfo, Values<'a>)] {
        &self.columns
    }

    /// Status of each event.
    pub fn statuses(&self) -> &'a [Status] {
        match self.columns.first() {
            Some((_, Values::Status(statuses))) => statuses,
            _ => &[],
        }
    }

    /// Returns the items of every depth that belong to `rows`, as ranges into the columns. The ranges of depths that do
    /// not exist are empty.
    ///
    /// # Panics
    /// Panics if `rows` reaches beyond the last row.
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
