//! Interprets the rows of `.t3pa` files, whose header names the columns.

use super::hit_columns::listed;

/// Columns by their usual names, in their usual order.
const NAMES: [&str; 6] = ["Index", "Matrix Index", "ToA", "ToT", "FToA", "Overflow"];
/// Indices of the columns in [`NAMES`].
const INDEX: usize = 0;
const MATRIX: usize = 1;
const TOA: usize = 2;
const TOT: usize = 3;
const FTOA: usize = 4;
const OVERFLOW: usize = 5;

/// Matrix indices of rows that are not hits but mark a gap in which the device lost hits: its beginning, and its end, whose
/// ToA is the length of the gap.
const LOSS_BEGINS: u64 = 0x74;
const LOSS_ENDS: u64 = 0x75;

/// The values of a row. Times are in clocks of 25 ns, `fine` in steps of 1.5625 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Number of the row in its measurement, if the file has it.
    pub index: Option<u64>,
    /// The pixel (y * 256 + x) in the low 16 bits, and the chip in the bits above.
    pub matrix: u64,
    pub toa: u64,
    pub tot: u64,
    /// Time by which the hit is earlier than `toa`, ticks of 1.5625 ns; 0 if the file has no such column.
    pub fine: u64,
    /// The overflow column of a hit: 0 or the number of the chip. Any other value marks a row that is not a hit.
    pub overflow: Option<u64>,
}

/// Meaning of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A hit on this chip.
    Hit(u64),
    /// The device lost hits from this row on.
    LossBegins,
    /// The device no longer lost hits from this row on.
    LossEnds,
    /// Any other row.
    Unknown,
}

impl Row {
    /// The meaning of the row. Devices of several chips write the chip above the pixel in the matrix index. In the
    /// overflow column, some repeat the chip and others write 0; a row that is not a hit has another value there.
    pub fn meaning(&self) -> Meaning {
        let (chip, pixel) = (self.matrix >> 16, self.matrix & 0xFFFF);
        match self.overflow {
            None => Meaning::Hit(chip),
            Some(overflow) if overflow == 0 || overflow == chip => Meaning::Hit(chip),
            Some(_) if pixel == LOSS_BEGINS => Meaning::LossBegins,
            Some(_) if pixel == LOSS_ENDS => Meaning::LossEnds,
            Some(_) => Meaning::Unknown,
        }
    }
}

/// Order of the values in a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Columns {
    /// There is no header: the number of values determines the columns.
    #[default]
    Unnamed,
    /// A header of `count` names gave the index of each of [`NAMES`].
    Named { count: usize, places: [Option<usize>; 6] },
    /// The header was not understood.
    Refused,
}

impl Columns {
    /// Reads the names of a header.
    ///
    /// # Errors
    /// A message that gives the unknown, duplicate or missing names.
    pub fn of_header(line: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(line);
        let names = names(&text);
        let mut places = [None; 6];
        let mut unknown = Vec::new();
        for (place, name) in names.iter().enumerate() {
            match role(name) {
                Some(role) if places[role].is_some() => {
                    return Err(format!("there are two columns {}", NAMES[role]));
                }
                Some(role) => places[role] = Some(place),
                None => unknown.push(name.as_str()),
            }
        }
        let usual = NAMES.join(", ");
        if !unknown.is_empty() {
            let unknown = listed(&unknown);
            return Err(format!("the header names unknown columns: {unknown} (columns are {usual})"));
        }
        if let Some(missing) = [MATRIX, TOA, TOT].into_iter().find(|role| places[*role].is_none()) {
            return Err(format!("the header names no column {} (columns are {usual})", NAMES[missing]));
        }
        Ok(Self::Named { count: names.len(), places })
    }

    /// The values of a row; none for a line that is not a row.
    ///
    /// Some files name the six usual columns but have shorter rows; the number of values then determines the columns.
    pub fn row(&self, values: &[u64]) -> Option<Row> {
        match self {
            Self::Named { count, places } if *count == values.len() => {
                let value = |role: usize| places[role].map(|place| values[place]);
                Some(Row {
                    index: value(INDEX),
                    matrix: value(MATRIX)?,
                    toa: value(TOA)?,
                    tot: value(TOT)?,
                    fine: value(FTOA).unwrap_or(0),
                    overflow: value(OVERFLOW),
                })
            }
            Self::Named { places, .. } if *places != std::array::from_fn(Some) => None,
            Self::Refused => None,
            Self::Unnamed | Self::Named { .. } => by_count(values),
        }
    }
}

fn by_count(values: &[u64]) -> Option<Row> {
    let (index, [matrix, toa, tot, fine], overflow) = match *values {
        [matrix, toa, tot] => (None, [matrix, toa, tot, 0], None),
        [index, matrix, toa, tot, fine] => (Some(index), [matrix, toa, tot, fine], None),
        [index, matrix, toa, tot, fine, overflow, ..] => {
            (Some(index), [matrix, toa, tot, fine], Some(overflow))
        }
        _ => return None,
    };
    Some(Row { index, matrix, toa, tot, fine, overflow })
}

/// The names of a header, separated by tabs; without tabs, its words, where `Matrix Index` is one word.
fn names(text: &str) -> Vec<String> {
    if text.contains('\t') {
        return text.trim_end().split('\t').map(|name| name.trim().to_string()).collect();
    }
    let mut names: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match names.last_mut() {
            Some(last) if last.eq_ignore_ascii_case("matrix") && word.eq_ignore_ascii_case("index") => {
                last.push_str(" Index");
            }
            _ => names.push(word.to_string()),
        }
    }
    names
}

/// The index of a name in [`NAMES`]; ignores case and the separators of words.
fn role(name: &str) -> Option<usize> {
    let letters = |name: &str| {
        name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase()
    };
    match letters(name).as_str() {
        "matrix" => Some(MATRIX),
        found => NAMES.iter().position(|name| letters(name) == found),
    }
}

/// Whether a line is a header: text that begins with a letter. Any other line is a row, or does not belong to such a file.
pub(super) fn is_header(line: &[u8]) -> bool {
    let is_text = |text: &str| !text.contains(|letter: char| letter.is_control() && letter != '\t');
    line.first().is_some_and(u8::is_ascii_alphabetic) && std::str::from_utf8(line).is_ok_and(is_text)
}

/// Whether text begins with the name of a column.
pub(super) fn begins_header(text: &[u8]) -> bool {
    let Some(end) = text.iter().position(u8::is_ascii_whitespace) else { return false };
    std::str::from_utf8(&text[..end]).is_ok_and(|word| role(word).is_some())
}

/// Checks the first line of a file: an error gives the reason why the file is refused. None while the line is incomplete,
/// unless `all` bytes are there.
pub(super) fn refusal(head: &[u8], all: bool) -> Option<Result<(), String>> {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let line = lines.find(|line| !matches!(line.trim_ascii().first(), None | Some(b'#')));
    match line {
        Some(line) if line.ends_with(b"\n") || all => Some(match line.trim_ascii() {
            header if is_header(header) => Columns::of_header(header).map(drop),
            _ => Ok(()),
        }),
        None if all => Some(Ok(())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_names_in_any_order() {
        let row = |header: &str, values: &[u64]| Columns::of_header(header.as_bytes()).unwrap().row(values);
        let expected = Row { index: Some(9), matrix: 2570, toa: 100, tot: 20, fine: 3, overflow: Some(0) };
        assert_eq!(
            row("Index\tToA\tMatrix Index\tFToA\tToT\tOverflow", &[9, 100, 2570, 3, 20, 0]),
            Some(expected)
        );
        assert_eq!(
            row("overflow\tTOT\tftoa\t matrix index \ttoa\tINDEX", &[0, 20, 3, 2570, 100, 9]),
            Some(expected)
        );
        assert_eq!(
            row("Index  Matrix Index ToA ToT FToA Overflow", &[9, 2570, 100, 20, 3, 0]),
            Some(expected)
        );
        let short = Row { index: None, fine: 0, overflow: None, ..expected };
        assert_eq!(row("ToT\tToA\tMatrix", &[20, 100, 2570]), Some(short));
        // Six usual names and three values; with other names it is not known which values are missing.
        assert_eq!(row("Index\tMatrix Index\tToA\tToT\tFToA\tOverflow", &[2570, 100, 20]), Some(short));
        assert_eq!(row("Index\tToA\tMatrix Index\tFToA\tToT\tOverflow", &[2570, 100, 20]), None);
    }

    #[test]
    fn headers_that_are_not_understood_are_refused_by_name() {
        for (header, words) in [
            ("Index\tMatrix Index\tiToT\tEvent\tOverflow", "`iToT`, `Event`"),
            ("Index\tToA\tToT", "no column Matrix Index"),
            ("Matrix Index\tToA\tToA\tToT", "two columns ToA"),
        ] {
            let error = Columns::of_header(header.as_bytes()).unwrap_err();
            assert!(error.contains(words), "{error}");
            for all in [false, true] {
                assert_eq!(refusal(format!("\n{header}\n1").as_bytes(), all), Some(Err(error.clone())));
            }
            assert_eq!(refusal(header.as_bytes(), false), None);
        }
        assert_eq!(refusal(b"\xEF\xBB\xBF# note\n12 3 4\n", false), Some(Ok(())));
        // Bytes of another format are not a header.
        assert_eq!(refusal(b"x\x03\0\xF0 and more\n", false), Some(Ok(())));
    }

    #[test]
    fn chips_and_losses_are_told_apart() {
        let meaning =
            |matrix, overflow| Row { index: None, matrix, toa: 0, tot: 0, fine: 0, overflow }.meaning();
        assert_eq!(meaning(2 << 16 | 5, None), Meaning::Hit(2));
        assert_eq!(meaning(2 << 16 | 5, Some(0)), Meaning::Hit(2));
        assert_eq!(meaning(2 << 16 | 5, Some(2)), Meaning::Hit(2));
        assert_eq!(meaning(0x74, Some(0)), Meaning::Hit(0));
        assert_eq!(meaning(0x74, Some(1)), Meaning::LossBegins);
        assert_eq!(meaning(3 << 16 | 0x75, Some(1)), Meaning::LossEnds);
        assert_eq!(meaning(5, Some(1)), Meaning::Unknown);
    }
}
