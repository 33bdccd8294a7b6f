//! Formats tables and numbers as text.

/// Returns rows as text with aligned columns: the first column to the left, all others to the right.
pub fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let mut widths = vec![0; columns];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, &width)) in row.as_ref().iter().zip(&widths).enumerate() {
            line.push_str(&if at == 0 { format!("{cell:width$}") } else { format!("  {cell:>width$}") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns a number with a noun, which gets a plural s unless the number is 1.
pub fn count(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// Returns a number in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a rate as text: from 100 on as a whole number, below 100 with one digit after the point.
pub fn rate(per_second: f64) -> String {
    if per_second < 100.0 { format!("{per_second:.1}") } else { grouped(per_second.round() as u64) }
}

/// Returns a share in per cent; `-` for none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.2} %", 100.0 * share))
}

pub(super) fn axis(variable: &str, unit: &str) -> String {
    if unit.is_empty() { variable.into() } else { format!("{variable} ({unit})") }
}

/// Returns an edge of a bin with up to three digits after the point, without zeros at the end.
pub(super) fn edge(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Returns a JSON value as text; a string has no quotation marks.
pub fn unquoted(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// Returns `preset NAME, ` for the middle of a line; an empty text if the sequence has no preset.
pub fn preset_words(preset: Option<&str>) -> String {
    preset.map_or(String::new(), |preset| format!("preset {preset}, "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [["stage", "ns"], ["find", "31000.5"], ["a long one", "7"]].map(|row| row.map(String::from));
        assert_eq!(table(&rows), "stage            ns\nfind        31000.5\na long one        7\n");
    }
}
