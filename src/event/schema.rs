//! The schema of a column type: name, type and depth of each column. A type defines its schema once, in the table for
//! [`results!`](crate::results); clearing, hashing, comparing, writing and documentation use the schema.

use super::{Column, Starts};
use crate::Status;

/// Largest depth of nested items, such as 2 for the hits of tracks of events.
pub const MAX_DEPTH: usize = 2;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`Status`], written as its code (u16).
    Status,
    /// Index of the first entry of each list (u32), counted from the start of the batch, then the end of the last list.
    Starts,
    /// u8.
    U8,
    /// u16.
    U16,
    /// u32.
    U32,
    /// u64.
    U64,
    /// i64.
    I64,
    /// f32.
    F32,
}

/// The columns of a type of results, and how they are nested. Each type has one schema, at one address.
#[derive(Debug)]
pub struct Schema {
    /// Names of the items at each depth, outermost first, such as `event`, `track`, `hit` (no unit).
    pub levels: &'static [&'static str],
    /// The columns, in the order in which they are hashed (no unit): status, starts, and integers that are the same on
    /// every device; then all other columns. Starts are in the order of their depth.
    pub columns: &'static [ColumnInfo],
}

impl Schema {
    /// Returns whether two schemas belong to the same type of results.
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// Returns whether rows are events, which have a status.
    pub fn has_events(&self) -> bool {
        self.columns.first().is_some_and(|info| info.kind == Kind::Status)
    }
}

/// One column of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Name of the column in files and messages (no unit).
    pub name: &'static str,
    /// Type of the values (no unit).
    pub kind: Kind,
    /// Depth of the items that have one value each in this column, an index into [`Schema::levels`]. Starts at depth d
    /// divide the items of depth d + 1 into lists (no unit).
    pub depth: usize,
    /// For starts, the number of lists that each item of their depth has; 1 for all other columns (no unit).
    pub lists: usize,
    /// Whether `hash_int` covers the column: its values are the same on every device (no unit).
    pub in_hash_int: bool,
    /// Unit of the values, `1` for none (no unit).
    pub unit: &'static str,
    /// Meaning of the values (no unit).
    pub meaning: &'static str,
}

/// The values of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values<'a> {
    /// Values of a column of [`Kind::Status`].
    Status(&'a [Status]),
    /// Values of a column of [`Kind::Starts`].
    Starts(&'a [u32]),
    /// Values of a column of [`Kind::U8`].
    U8(&'a [u8]),
    /// Values of a column of [`Kind::U16`].
    U16(&'a [u16]),
    /// Values of a column of [`Kind::U32`].
    U32(&'a [u32]),
    /// Values of a column of [`Kind::U64`].
    U64(&'a [u64]),
    /// Values of a column of [`Kind::I64`].
    I64(&'a [i64]),
    /// Values of a column of [`Kind::F32`].
    F32(&'a [f32]),
}

/// The values of a column, for writing.
#[derive(Debug)]
pub enum ValuesMut<'a> {
    /// Values of a column of [`Kind::Status`].
    Status(&'a mut Vec<Status>),
    /// Values of a column of [`Kind::Starts`].
    Starts(&'a mut Starts),
    /// Values of a column of [`Kind::U8`].
    U8(&'a mut Column<u8>),
    /// Values of a column of [`Kind::U16`].
    U16(&'a mut Column<u16>),
    /// Values of a column of [`Kind::U32`].
    U32(&'a mut Column<u32>),
    /// Values of a column of [`Kind::U64`].
    U64(&'a mut Column<u64>),
    /// Values of a column of [`Kind::I64`].
    I64(&'a mut Column<i64>),
    /// Values of a column of [`Kind::F32`].
    F32(&'a mut Column<f32>),
}

impl Values<'_> {
    /// Returns the number of values; for starts, one more than the number of lists.
    pub fn len(&self) -> usize {
        match self {
            Values::Status(values) => values.len(),
            Values::Starts(values) | Values::U32(values) => values.len(),
            Values::U8(values) => values.len(),
            Values::U16(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::F32(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items at a depth if these values determine it; depth 0 counts the rows.
    #[doc(hidden)]
    pub fn items(&self, info: &ColumnInfo, depth: usize) -> Option<usize> {
        match self {
            Values::Starts(starts) if depth == 0 && info.depth == 0 => {
                Some(starts.len().saturating_sub(1) / info.lists)
            }
            Values::Starts(starts) if info.depth + 1 == depth => {
                Some(starts.last().map_or(0, |&end| end as usize))
            }
            _ => None,
        }
    }
}

impl ValuesMut<'_> {
    /// Keeps the values of the first `keep[d]` items of each depth d. Starts at depth d set `keep[d + 1]`.
    #[doc(hidden)]
    pub fn truncate(self, info: &ColumnInfo, keep: &mut [usize; MAX_DEPTH + 1]) {
        match self {
            ValuesMut::Starts(starts) => {
                let last = keep[info.depth] * info.lists;
                keep[info.depth + 1] = starts[last] as usize;
                starts.set_len(last + 1);
            }
            values => values.set_len(keep[info.depth]),
        }
    }

    /// Sets the number of values; new values are undefined.
    pub(super) fn set_len(self, len: usize) {
        match self {
            ValuesMut::Status(column) => column.resize(len, Status::Ok),
            ValuesMut::Starts(column) => column.set_len(len),
            ValuesMut::U8(column) => column.set_len(len),
            ValuesMut::U16(column) => column.set_len(len),
            ValuesMut::U32(column) => column.set_len(len),
            ValuesMut::U64(column) => column.set_len(len),
            ValuesMut::I64(column) => column.set_len(len),
            ValuesMut::F32(column) => column.set_len(len),
        }
    }
}

/// Implements [`Results`](crate::event::Results) and [`Product`](crate::event::Product) from a table of the columns of a struct.
/// Clearing, hashing, comparing and writing use this table. The code that runs for each batch is compiled in the crate that
/// defines the type.
///
/// The first line is the type and the name of the items at each depth, outermost first. Each further line is a column:
/// type (a [`Kind`](crate::event::Kind)), depth, `[field of the struct]`, name, unit (`"1"` for none), meaning.
/// `hash_int` covers the columns in `integers`. If rows are events, the first of these columns is the status. Starts at
/// depth d divide the items of depth d + 1 into lists; `* N` after the field means that each item has N lists.
///
/// ```
/// use peloton::Status;
/// use peloton::event::{Column, Product, Results, Starts};
///
/// /// Cells of a calorimeter.
/// #[derive(Debug, Default)]
/// struct Cells {
///     status: Vec<Status>,
///     start: Starts,
///     cell: Column<u32>,
///     energy: Column<f32>,
/// }
///
/// peloton::results! {
///     Cells: "event", "cell";
///     integers {
///         Status 0 [status] "status" "1" "what became of the event";
///         Starts 0 [start] "start" "1" "first cell of the event";
///         U32 1 [cell] "cell" "1" "number of the cell";
///     }
///     others {
///         F32 1 [energy] "energy" "GeV" "energy in the cell";
///     }
/// }
///
/// let mut cells = Cells::default();
/// cells.cell.push(7);
/// cells.energy.push(0.5);
/// cells.start.push(1);
/// cells.push_status(Status::Ok);
/// cells.push_failed(Status::Corrupt);
/// assert_eq!((cells.events(), cells.hits()), (2, 1));
/// assert_eq!(Cells::SCHEMA.columns[3].unit, "GeV");
/// ```
#[macro_export]
macro_rules! results {
    (
        $type:ident: $($level:literal),+;
        integers { $($ikind:ident $idepth:literal [$($iat:tt)+] $(* $lists:ident)? $iname:literal $iunit:literal $imeaning:literal;)+ }
        others { $($kind:ident $depth:literal [$($at:tt)+] $name:literal $unit:literal $meaning:literal;)* }
    ) => {
        impl $crate::event::Product for $type {
            const SCHEMA: &'static $crate::event::Schema = {
                // Schemas are compared by address, and a static has only one.
                static SCHEMA: $crate::event::Schema = $crate::event::Schema {
                    levels: &[$($level),+],
                    columns: &[
                        $($crate::event::ColumnInfo {
                            name: $iname, kind: $crate::event::Kind::$ikind, depth: $idepth, lists: 1 $(* $lists)?,
                            in_hash_int: true, unit: $iunit, meaning: $imeaning,
                        },)+
                        $($crate::event::ColumnInfo {
                            name: $name, kind: $crate::event::Kind::$kind, depth: $depth, lists: 1,
                            in_hash_int: false, unit: $unit, meaning: $meaning,
                        },)*
                    ],
                };
                &SCHEMA
            };
        }

        impl $crate::event::Results for $type {
            fn schema(&self) -> &'static $crate::event::Schema {
                <Self as $crate::event::Product>::SCHEMA
            }

            fn empty(&self) -> $crate::event::Columns {
                $crate::event::Columns::of::<Self>()
            }

            fn for_each_column<'a>(
                &'a self,
                visit: &mut dyn FnMut(&'static $crate::event::ColumnInfo, $crate::event::Values<'a>),
            ) {
                let mut info = <Self as $crate::event::Product>::SCHEMA.columns.iter();
                let mut next = || info.next().expect("a column");
                $(visit(next(), $crate::event::Values::$ikind(&self.$($iat)+));)+
                $(visit(next(), $crate::event::Values::$kind(&self.$($at)+));)*
            }

            fn for_each_column_mut(
                &mut self,
                visit: &mut dyn FnMut(&'static $crate::event::ColumnInfo, $crate::event::ValuesMut<'_>),
            ) {
                let mut info = <Self as $crate::event::Product>::SCHEMA.columns.iter();
                let mut next = || info.next().expect("a column");
                $(visit(next(), $crate::event::ValuesMut::$ikind(&mut self.$($iat)+));)+
                $(visit(next(), $crate::event::ValuesMut::$kind(&mut self.$($at)+));)*
            }

            fn statuses(&self) -> &[$crate::Status] {
                let mut statuses: &[$crate::Status] = &[];
                self.for_each_column(&mut |_, values| {
                    if let $crate::event::Values::Status(values) = values {
                        statuses = values;
                    }
                });
                statuses
            }

            fn items(&self, depth: usize) -> usize {
                let mut items = 0;
                self.for_each_column(&mut |info, values| {
                    items = values.items(info, depth).unwrap_or(items);
                });
                items
            }

            fn truncate(&mut self, rows: usize) {
                let mut keep = [rows, 0, 0];
                self.for_each_column_mut(&mut |info, values| values.truncate(info, &mut keep));
            }
        }
    };
}
pub(crate) use results;
