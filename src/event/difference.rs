//! The first difference between two events' results, in words.

use super::{ColumnInfo, Results, Table, Values};
use std::ops::Range;

/// Describes the first difference between a row of `left` and a row of `right`. Returns `None` if all columns of the
/// two rows are equal, floats bit by bit. Rows are events, or clusters.
///
/// # Panics
/// Panics if a row does not exist, or if `left` and `right` are different products.
pub fn difference(
    left: &dyn Results,
    left_row: usize,
    right: &dyn Results,
    right_row: usize,
) -> Option<String> {
    let schema = left.schema();
    assert!(schema.is(right.schema()), "the results are different products");
    let rows = [Row::new(left.table(), left_row), Row::new(right.table(), right_row)];
    (0..schema.columns.len()).find_map(|column| differs(&rows, column))
}

/// One row: its columns, and its items of every depth.
struct Row<'a> {
    table: Table<'a>,
    ranges: [Range<usize>; super::MAX_DEPTH + 1],
}

impl<'a> Row<'a> {
    fn new(table: Table<'a>, row: usize) -> Self {
        Self { ranges: table.ranges(row..row + 1), table }
    }

    /// The name, type and depth of the column at this index.
    fn info(&self, column: usize) -> &'static ColumnInfo {
        self.table.columns[column].0
    }

    /// The index of the first column of a depth.
    fn first_of(&self, depth: usize) -> Option<usize> {
        self.table.columns.iter().position(|(info, _)| info.depth == depth)
    }

    /// Lengths of the row's lists, from their starts.
    fn lengths(&self, info: &ColumnInfo, starts: &[u32]) -> Vec<u32> {
        let Range { start, end } = self.ranges[info.depth];
        let starts = &starts[start * info.lists..=end * info.lists];
        starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The item at `depth - 1` to which an item belongs; both are counted from the row's first item.
    fn parent(&self, depth: usize, item: usize) -> usize {
        let is_it = |info: &ColumnInfo| info.depth + 1 == depth;
        let starts = self.table.columns.iter().find_map(|(info, values)| match values {
            Values::Starts(starts) if is_it(info) => Some(*starts),
            _ => None,
        });
        let (first, item) = (self.ranges[depth - 1].start, self.ranges[depth].start + item);
        let starts = starts.map_or(&[][..], |starts| &starts[first + 1..]);
        starts.partition_point(|&end| end as usize <= item)
    }

    /// The values of a column that belong to one item of the depth above; `parent` counts from the row's first item.
    fn list(&self, column: usize, parent: usize) -> String {
        let (info, values) = self.table.columns[column];
        let parent = self.ranges[info.depth - 1].start + parent;
        let starts = self.table.columns.iter().find_map(|(other, values)| match values {
            Values::Starts(starts) if other.depth + 1 == info.depth => Some(*starts),
            _ => None,
        });
        let range = starts.map_or(0..0, |starts| starts[parent] as usize..starts[parent + 1] as usize);
        words(values, range)
    }
}

/// The first difference in a column. Columns before it are equal: all lists up to its depth have equal lengths.
fn differs(rows: &[Row<'_>; 2], column: usize) -> Option<String> {
    let levels = rows[0].table.schema.levels;
    let [(info, a), (_, b)] = rows.each_ref().map(|row| row.table.columns[column]);
    let [in_a, in_b] = rows.each_ref().map(|row| row.ranges[info.depth].clone());
    if let (Values::Starts(a), Values::Starts(b)) = (a, b) {
        return lengths_differ(rows, info, [a, b]);
    }
    let item = first_difference(a, in_a.clone(), b, in_b.clone())?;
    let [value_a, value_b] = [(a, in_a.start + item), (b, in_b.start + item)].map(|(v, i)| word(v, i));
    let name = info.name;
    Some(match info.depth {
        0 => format!("{name} {value_a} and {value_b}"),
        1 => format!("{} {item}: {name} {value_a} and {value_b}", levels[1]),
        depth => {
            let parent = rows[0].parent(depth, item);
            let [a, b] = rows.each_ref().map(|row| row.list(column, parent));
            format!("{} {parent}: {name} {a} and {b}", levels[depth - 1])
        }
    })
}

/// The first list whose length differs.
fn lengths_differ(rows: &[Row<'_>; 2], info: &'static ColumnInfo, [a, b]: [&[u32]; 2]) -> Option<String> {
    let levels = rows[0].table.schema.levels;
    let (a, b) = (rows[0].lengths(info, a), rows[1].lengths(info, b));
    let list = a.iter().zip(&b).position(|(a, b)| a != b)?;
    let counts = format!("{} and {} {}s", a[list], b[list], levels[info.depth + 1]);
    if info.depth > 0 {
        let inner = rows[0].first_of(info.depth + 1);
        let [a, b] = rows.each_ref().map(|row| inner.map_or(String::new(), |column| row.list(column, list)));
        let name = inner.map_or("", |column| rows[0].info(column).name);
        return Some(format!("{} {list}: {name} {a} and {b}", levels[info.depth]));
    }
    if info.lists > 1 {
        return Some(format!("{} {list}: {counts}", info.name.trim_end_matches("_start")));
    }
    // An additional track shifts all later tracks, so the message also names the first track that differs.
    let inner = rows[0].first_of(info.depth + 2);
    let first = inner.and_then(|column| {
        let lists = |item| rows.each_ref().map(|row| row.list(column, item));
        let mut items = (0..a[list].min(b[list]) as usize).map(|item| (item, lists(item)));
        let (item, [a, b]) = items.find(|(_, [a, b])| a != b)?;
        let level = levels[info.depth + 1];
        Some(format!("; the first difference is {level} {item}: {} {a} and {b}", rows[0].info(column).name))
    });
    Some(counts + &first.unwrap_or_default())
}

/// The first item that differs, counted from the beginning of the ranges, which are equally long.
fn first_difference(a: Values<'_>, in_a: Range<usize>, b: Values<'_>, in_b: Range<usize>) -> Option<usize> {
    fn first<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> Option<usize> {
        a.iter().zip(b).position(|(a, b)| !same(a, b))
    }
    match (a, b) {
        (Values::Status(a), Values::Status(b)) => first(&a[in_a], &b[in_b], |a, b| a == b),
        (Values::U8(a), Values::U8(b)) => first(&a[in_a], &b[in_b], |a, b| a == b),
        (Values::U16(a), Values::U16(b)) => first(&a[in_a], &b[in_b], |a, b| a == b),
        (Values::U32(a), Values::U32(b)) => first(&a[in_a], &b[in_b], |a, b| a == b),
        (Values::U64(a), Values::U64(b)) => first(&a[in_a], &b[in_b], |a, b| a == b),
        (Values::I64(a), Values::I64(b)) => first(&a[in_a], &b[in_b], |a, b| a == b),
        (Values::F32(a), Values::F32(b)) => first(&a[in_a], &b[in_b], |a, b| a.to_bits() == b.to_bits()),
        _ => None,
    }
}

/// One value.
fn word(values: Values<'_>, at: usize) -> String {
    match values {
        Values::Status(values) => values[at].name().into(),
        Values::Starts(values) | Values::U32(values) => values[at].to_string(),
        Values::U8(values) => values[at].to_string(),
        Values::U16(values) => values[at].to_string(),
        Values::U64(values) => values[at].to_string(),
        Values::I64(values) => values[at].to_string(),
        // NaNs are shown with their bits, because NaNs that differ have different bits.
        Values::F32(values) if values[at].is_nan() => format!("NaN ({:08x})", values[at].to_bits()),
        Values::F32(values) => format!("{:e}", values[at]),
    }
}

/// A list of values.
fn words(values: Values<'_>, range: Range<usize>) -> String {
    let words: Vec<_> = range.map(|at| word(values, at)).collect();
    format!("[{}]", words.join(", "))
}
