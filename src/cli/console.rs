//! What the user sees: results on standard output, everything else on standard error.

use crate::output::{is_standard_output, write_whole};
use crate::{Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes to standard output. A reader that has seen enough (a closed pipe) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::io("-", e)),
        _ => Ok(()),
    }
}

/// One line on standard error that says what went wrong.
pub fn error(message: &str) {
    note("error", message);
}

/// One line on standard error that says what is worth knowing.
pub fn warn(message: &str) {
    note("warning", message);
}

/// One line on standard error about what goes on.
pub fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

fn note(kind: &str, message: &str) {
    let line: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // Nowhere is left to complain to when standard error is gone.
    let _ = writeln!(std::io::stderr(), "{kind}: {}", line.join(" "));
}

/// Results to `--json`: a file, or standard output for `-`.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| Error::io(path, e.into()))?;
    text.push('\n');
    if is_standard_output(path) {
        return print(&text);
    }
    write_whole(path, text.as_bytes())
}

/// A progress bar on standard error; it shows only on a terminal and stays away with `--quiet`.
pub fn progress(total: Option<u64>, quiet: bool) -> ProgressBar {
    let bar = match (quiet, total) {
        (true, _) => ProgressBar::hidden(),
        (false, Some(total)) => ProgressBar::new(total),
        (false, None) => ProgressBar::no_length(),
    };
    let template = match total {
        Some(_) => "{wide_bar} {human_pos}/{human_len} {per_sec} {eta}",
        None => "{spinner} {human_pos} {per_sec}",
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a template of known keys"))
}

/// Rows of text in aligned columns, the first to the left and the others to the right.
pub fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
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
