//! [`Results`]: the interface of all results: columns, with events or clusters as rows.

use super::{ColumnInfo, Columns, Schema, Table, Values, ValuesMut};
use crate::Status;
use std::any::Any;
use std::fmt::Debug;

/// Results of a batch of events, as columns with their schema. [`Columns`] owns results of any type.
///
/// The macro [`results!`](crate::results) implements this trait from a table of columns. Columns are nested: columns of
/// depth 0 have one value per row, starts at depth d divide the items of depth d + 1 into lists. Rows are events. Only
/// rows of [`PixelClusters`](super::PixelClusters) are clusters. They have no status: `statuses` is empty, `events` is
/// 0 and `push_failed` does nothing.
///
/// [`table`](Self::table), for writing and comparing, allocates; the other methods allocate only to grow columns.
pub trait Results: Any + Debug + Send + Sync {
    /// The columns and their nesting.
    fn schema(&self) -> &'static Schema;

    /// Empty results of the same type.
    fn empty(&self) -> Columns;

    /// Passes each column to the visitor, in the order of the schema.
    fn for_each_column<'a>(&'a self, visit: &mut dyn FnMut(&'static ColumnInfo, Values<'a>));

    /// Passes each column, for writing, to the visitor, in the order of the schema.
    fn for_each_column_mut(&mut self, visit: &mut dyn FnMut(&'static ColumnInfo, ValuesMut<'_>));

    /// Returns the columns of these results in a form that is independent of the type of the results.
    fn table(&self) -> Table<'_> {
        let schema = self.schema();
        let mut columns = Vec::with_capacity(schema.columns.len());
        self.for_each_column(&mut |info, values| columns.push((info, values)));
        Table { schema, columns }
    }

    /// Status of each event.
    fn statuses(&self) -> &[Status];

    /// Number of events.
    fn events(&self) -> usize {
        self.statuses().len()
    }

    /// Returns the number of items at a depth; depth 0 counts the rows.
    fn items(&self, depth: usize) -> usize;

    /// Returns the number of tracks; 0 for results without tracks.
    fn tracks(&self) -> usize {
        self.schema().levels.iter().position(|level| *level == "track").map_or(0, |depth| self.items(depth))
    }

    /// Returns the number of hits on tracks or in clusters; for results that are hits, the number of all hits.
    fn hits(&self) -> usize {
        self.items(self.schema().levels.len() - 1)
    }

    /// Removes all events and keeps the allocated memory.
    fn clear(&mut self) {
        self.truncate(0);
    }

    /// Removes all rows from index `rows` on, and the items of a row that is not complete.
    ///
    /// # Panics
    /// Panics if there are fewer than `rows` rows.
    fn truncate(&mut self, rows: usize);

    /// Appends an event without items, with this status.
    fn push_failed(&mut self, status: Status) {
        if !self.schema().has_events() {
            return;
        }
        self.for_each_column_mut(&mut |info, values| match values {
            ValuesMut::Status(statuses) => statuses.push(status),
            ValuesMut::Starts(starts) if info.depth == 0 => {
                let end = starts.last().copied().unwrap_or(0);
                (0..info.lists).for_each(|_| starts.push(end));
            }
            _ => {}
        });
    }

    /// Ends the event whose items have been appended, and gives it this status.
    fn push_status(&mut self, status: Status) {
        self.for_each_column_mut(&mut |_, values| {
            if let ValuesMut::Status(statuses) = values {
                statuses.push(status);
            }
        });
    }

    /// Sets the length of all columns of a depth, except starts, to `items`; new values are undefined.
    fn set_items(&mut self, depth: usize, items: usize) {
        self.for_each_column_mut(&mut |info, values| {
            if info.depth == depth && info.kind != super::Kind::Starts {
                values.set_len(items);
            }
        });
    }
}

impl dyn Results {
    /// Returns the column at an index of the schema; `None` if there is no such column.
    pub fn column(&self, index: usize) -> Option<(&'static ColumnInfo, Values<'_>)> {
        let (mut found, mut at) = (None, 0);
        self.for_each_column(&mut |info, values| {
            if at == index {
                found = Some((info, values));
            }
            at += 1;
        });
        found
    }

    /// Returns the results as their type `P`; `None` if they are another product.
    pub fn get<P: Product>(&self) -> Option<&P> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }

    /// Returns the results as their type `P` for writing; `None` if they are another product.
    pub fn get_mut<P: Product>(&mut self) -> Option<&mut P> {
        let any: &mut dyn Any = self;
        any.downcast_mut()
    }
}

/// A type of results that one algorithm makes and other algorithms can read.
pub trait Product: Results + Default {
    /// The columns and their nesting: a reference to a `static` made by [`results!`](crate::results). Schemas are
    /// distinguished by the address of this `static`.
    const SCHEMA: &'static Schema;
}
