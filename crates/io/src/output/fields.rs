//! [`TableField`]: a column of a table, and fields of Arrow with units and descriptions.

use arrow_schema::{DataType, Field};
use std::collections::HashMap;
use std::sync::Arc;

/// Type of the values of a column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// u32.
    U32,
    /// u64.
    U64,
    /// i64.
    I64,
    /// f64.
    F64,
    /// bool.
    Bool,
    /// A list of words.
    Words,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableField {
    /// Name of the column.
    pub name: &'static str,
    /// Kind of the values.
    pub kind: CellKind,
    /// Unit of the values, `1` for none.
    pub unit: &'static str,
    /// Meaning of the values.
    pub meaning: &'static str,
}

/// The columns that identify the event to which a row belongs.
pub const ID_FIELDS: [TableField; 3] = [
    TableField {
        name: "event_id",
        kind: CellKind::U64,
        unit: "1",
        meaning: "number of the event over all inputs, from 0",
    },
    TableField {
        name: "run_number",
        kind: CellKind::U32,
        unit: "1",
        meaning: "number of the run; null if the input has none",
    },
    TableField {
        name: "event_number",
        kind: CellKind::U64,
        unit: "1",
        meaning: "number that the detector gave the event; null if the input has none",
    },
];

impl CellKind {
    /// The type in Arrow.
    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::I64 => DataType::Int64,
            Self::F64 => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Words => DataType::List(element(DataType::Utf8)),
        }
    }
}

/// A field with its unit and description as metadata.
pub(super) fn described(name: &str, kind: DataType, unit: &str, description: &str) -> Field {
    let metadata = [("unit", unit), ("description", description)];
    Field::new(name, kind, false)
        .with_metadata(HashMap::from(metadata.map(|(key, value)| (key.to_string(), value.to_string()))))
}

/// The field of the elements of a list.
pub(super) fn element(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("element", kind, false))
}
