//! Describes the columns of results as rows of text, for the documentation and `peloton describe`.

use super::arrow_schema;
use arrow_schema::{DataType, Field};
use peloton::event::{ColumnInfo, Kind, Schema};
use serde::Serialize;

/// The description of one column of results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnRow {
    /// Name of the column.
    pub name: String,
    /// Type of the values, in memory and in files.
    #[serde(rename = "type")]
    pub kind: String,
    /// The items that each have one value in the column, such as `track`.
    pub per: &'static str,
    /// Unit of the values; `1` for none.
    pub unit: String,
    /// Whether `hash_int` covers the column.
    pub in_hash_int: bool,
    /// Meaning of the column's values.
    pub meaning: String,
}

/// Describes the columns of a sequence: first the columns in files that identify the event, then columns of results.
pub fn column_rows(of: &'static Schema) -> Vec<ColumnRow> {
    let Schema { levels, columns } = of;
    let schema = arrow_schema(of, &[]);
    let ids = schema.fields().iter().filter(|field| columns.iter().all(|info| info.name != field.name()));
    let mut rows: Vec<_> = ids.map(|field| field_row(field, levels[0])).collect();
    for info in *columns {
        let in_file = schema.field_with_name(info.name).ok().map(|field| &field.metadata()["unit"][..]);
        let (mut kind, mut unit) = (kind(info), info.unit.to_string());
        if let Some(other) = in_file.filter(|other| *other != unit) {
            kind.push_str(", in files f64");
            unit.push_str(", in files ");
            unit.push_str(other);
        }
        rows.push(ColumnRow {
            name: info.name.into(),
            kind,
            per: levels[info.depth],
            unit,
            in_hash_int: info.in_hash_int,
            meaning: info.meaning.into(),
        });
    }
    rows
}

/// Describes columns that are in files but not in the schema of the results.
pub fn field_rows(schema: &Schema, fields: &[Field]) -> Vec<ColumnRow> {
    let per = |field: &Field| schema.levels[usize::from(field.data_type().is_nested())];
    fields.iter().map(|field| field_row(field, per(field))).collect()
}

fn field_row(field: &Field, per: &'static str) -> ColumnRow {
    let mut kind = field.data_type();
    while let DataType::List(element) = kind {
        kind = element.data_type();
    }
    let kind = kind.to_string().replace("UInt", "u").replace("Float", "f").replace("Utf8", "text");
    let of = |key: &str| field.metadata().get(key).cloned().unwrap_or_default();
    ColumnRow {
        name: field.name().clone(),
        kind,
        per,
        unit: of("unit"),
        in_hash_int: false,
        meaning: of("description"),
    }
}

fn kind(info: &ColumnInfo) -> String {
    match info.kind {
        Kind::Status => "u16".into(),
        Kind::Starts if info.lists > 1 => "u32, in files a list".into(),
        Kind::Starts => "u32, not in files".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}
