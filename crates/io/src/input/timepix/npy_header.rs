//! Parses the headers of NumPy files: names, types and offsets of the fields of a record.

use super::hit_columns::{HitColumn, TimeUnit, Values};

/// Longest header, bytes.
pub(super) const MAX_HEADER: usize = 1 << 16;
/// Largest record, bytes.
const MAX_RECORD: usize = 1 << 12;

/// A field of a record: its position, its bytes, and the type of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub start: usize,
    pub bytes: usize,
    pub signed: bool,
    pub is_big_endian: bool,
}

impl Field {
    /// The bytes of a number, lowest first.
    #[inline]
    fn wide(&self, record: &[u8]) -> [u8; 8] {
        let mut wide = [0; 8];
        let bytes = &record[self.start..self.start + self.bytes];
        if self.is_big_endian {
            wide.iter_mut().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from);
        } else {
            wide[..self.bytes].copy_from_slice(bytes);
        }
        wide
    }

    /// The value as a whole number; none if it does not fit into an i64, or is NaT ("not a time", the smallest i64).
    #[inline]
    pub fn whole(&self, record: &[u8]) -> Option<i64> {
        let shift = 64 - 8 * self.bytes as u32;
        let value = i64::from_le_bytes(self.wide(record)) << shift;
        if self.signed {
            (value != i64::MIN || self.bytes < 8).then_some(value >> shift)
        } else {
            i64::try_from(value as u64 >> shift).ok()
        }
    }

    /// The value as a floating-point number.
    #[inline]
    pub fn float(&self, record: &[u8]) -> Option<f64> {
        let wide = self.wide(record);
        match self.bytes {
            8 => Some(f64::from_le_bytes(wide)),
            4 => Some(f32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]).into()),
            _ => None,
        }
    }
}

/// The content of a header.
#[derive(Debug, Clone)]
pub(super) struct Header {
    /// Size of a record, bytes.
    pub size: usize,
    /// The named fields; `fields` has the offsets and types of their values.
    pub columns: Vec<HitColumn>,
    pub fields: Vec<Field>,
    /// Number of records, if the header gives it.
    pub records: Option<u64>,
}

/// The length and content of the header, or the reason why it cannot be used; none while it is incomplete.
pub(super) fn read(bytes: &[u8]) -> Option<(usize, Result<Header, String>)> {
    let &[_, _, _, _, _, _, version, _, a, b, ..] = bytes else { return None };
    let (start, length) = match version {
        1 => (10, usize::from(u16::from_le_bytes([a, b]))),
        _ => (12, u32::from_le_bytes([a, b, *bytes.get(10)?, *bytes.get(11)?]) as usize),
    };
    if length > MAX_HEADER {
        return Some((bytes.len(), Err(format!("its header is longer than {MAX_HEADER} bytes"))));
    }
    let text = bytes.get(start..start + length)?;
    let text = std::str::from_utf8(text).map_err(|_| "its header is not text".to_string());
    Some((start + length, text.and_then(header)))
}

/// Reads `{'descr': [('t', '<i8'), ...], 'fortran_order': False, 'shape': (7,), }`.
fn header(text: &str) -> Result<Header, String> {
    let (_, rest) = text.split_once("'descr':").ok_or("its header has no 'descr'")?;
    let rest = rest.trim_start();
    let Some(list) = rest.strip_prefix('[') else {
        return Err("the file holds an array of numbers, not of records with named fields".into());
    };
    let mut header = Header { size: 0, columns: Vec::new(), fields: Vec::new(), records: records(text) };
    let mut rest = list.trim_start();
    while !rest.starts_with(']') {
        let (name, kind, behind) = pair(rest)?;
        header.add(name, kind)?;
        rest = behind.trim_start().trim_start_matches(',').trim_start();
    }
    if header.size == 0 {
        return Err("its records have no fields".into());
    }
    Ok(header)
}

/// The name and the type of the next field, and the rest of the text.
fn pair(text: &str) -> Result<(&str, &str, &str), String> {
    let broken = || "its header is broken".to_string();
    let inside = text.strip_prefix('(').ok_or_else(broken)?.trim_start();
    let (name, rest) = quoted(inside).ok_or_else(broken)?;
    let rest = rest.trim_start().strip_prefix(',').ok_or_else(broken)?.trim_start();
    let nested = || format!("the column `{}` is an array or a record itself", name.escape_debug());
    let (kind, rest) = quoted(rest).ok_or_else(nested)?;
    let rest = rest.trim_start();
    let behind = rest.strip_prefix(')').ok_or_else(nested)?;
    Ok((name, kind, behind))
}

/// The quoted text at the beginning, and the rest of the text.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| ['\'', '"'].contains(first))?;
    text[1..].split_once(quote)
}

/// Number of records in the shape.
fn records(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("'shape':")?;
    let (inside, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let sides = inside.split(',').map(str::trim).filter(|side| !side.is_empty());
    sides.map(|side| side.parse::<u64>().ok()).try_fold(1u64, |all, side| all.checked_mul(side?))
}

impl Header {
    fn add(&mut self, name: &str, kind: &str) -> Result<(), String> {
        let unusable = || {
            format!(
                "the column `{}` has the type `{}`, which is not supported",
                name.escape_debug(),
                kind.escape_debug()
            )
        };
        let mut letters = kind.chars();
        let order =
            letters.next().filter(|order| ['<', '>', '|', '='].contains(order)).ok_or_else(unusable)?;
        let letter = letters.next().ok_or_else(unusable)?;
        let rest = letters.as_str();
        let (digits, unit) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let bytes: usize = digits.parse().map_err(|_| unusable())?;
        let start = self.size;
        let size = if letter == 'U' { bytes.saturating_mul(4) } else { bytes };
        self.size = start.checked_add(size).filter(|size| *size <= MAX_RECORD).ok_or_else(unusable)?;
        if name.is_empty() && letter == 'V' {
            // Padding bytes that align the next field.
            return Ok(());
        }
        let values = match (letter, bytes) {
            ('i' | 'u', 1 | 2 | 4 | 8) => Values::Whole,
            ('f', 4 | 8) => Values::Floats,
            ('m', 8) => Values::Durations(duration(unit).ok_or_else(unusable)?),
            ('M', _) => Values::Other("points in time (datetime64)".into()),
            _ => Values::Other(format!("values of the type `{}`", kind.escape_debug())),
        };
        let signed = letter != 'u';
        self.fields.push(Field { start, bytes, signed, is_big_endian: order == '>' });
        self.columns.push(HitColumn { name: name.into(), values, unit: None });
        Ok(())
    }
}

/// The unit in `[ns]` or `[25ns]`.
fn duration(text: &str) -> Option<TimeUnit> {
    let text = text.strip_prefix('[')?.strip_suffix(']')?;
    let (count, name) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit: TimeUnit = match name {
        "ps" | "ns" | "us" | "ms" | "s" => name.parse().ok()?,
        _ => return None,
    };
    unit.times(if count.is_empty() { 1 } else { count.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_cannot_be_used_for_is_named() {
        for (text, words) in [
            ("{'descr': '<i8', 'shape': (3,)}", "not of records"),
            ("{'descr': [('t', '<i8', (2,))]}", "`t` is an array"),
            ("{'descr': [('t', [('a', '<i8')])]}", "`t` is an array or a record"),
            ("{'descr': [('t', '|O')]}", "`t` has the type `|O`"),
            ("{'descr': [('t', '<m8[D]')]}", "`<m8[D]`"),
            ("{'descr': [('t', '<i8'), ('x', 'i2')]}", "`x` has the type `i2`"),
            ("{'descr': [('t', '<V99999')]}", "V99999"),
            ("{'descr': []}", "no fields"),
            ("{'descr': [('t'", "is broken"),
            ("{}", "no 'descr'"),
        ] {
            let error = header(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn fields_have_their_places_and_records_are_counted() {
        let text = "{'descr': [('a', '<U2'), (\"b'\", '>u4'), ('', '|V4'), ('c', '<f4')], 'shape': (7, 2), }";
        let found = header(text).unwrap();
        let names: Vec<_> = found.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((names, found.size, found.records), (vec!["a", "b'", "c"], 20, Some(14)));
        assert_eq!(found.fields[1], Field { start: 8, bytes: 4, signed: false, is_big_endian: true });
        assert_eq!(found.fields[1].whole(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), Some(0x0102_0304));
        assert_eq!((records("{'shape': ()}"), records("{'shape': (x,)}")), (Some(1), None));
    }
}
