//! Makes a book of the pages in docs/.

use crate::{Result, command, root};
use std::io::{Read, Write};
use std::path::Path;

/// Builds the book, if mdbook is installed.
pub fn build() -> Result<()> {
    command("mdbook", &["build", "docs"])
}

/// Preprocesses the book for mdbook: reads `[context, book]` as JSON and writes the book. Links are replaced in the
/// JSON text itself, in which the characters of links need no escapes.
pub fn replace_links() -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    let book = second_element(&text).ok_or("standard input is not a JSON list of a context and a book")?;
    let changed = without_outer_links(book, &root());
    std::io::stdout().write_all(changed.as_bytes()).map_err(|error| error.to_string())
}

/// Returns the second element of a JSON list of two objects.
fn second_element(text: &str) -> Option<&str> {
    let (mut depth, mut in_string, mut escaped, mut begin) = (0, false, false, None);
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => in_string = !in_string,
            ',' if !in_string && depth == 1 => begin = Some(at + 1),
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => depth -= 1,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if depth == 0 && begin.is_some() {
            return Some(&text[begin?..at]);
        }
    }
    None
}

/// Replaces links to files outside of docs/ by the names of these files.
fn without_outer_links(text: &str, root: &Path) -> String {
    let (mut changed, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("](../") {
        let target = &rest[at + 2..];
        let end = target.find(')').unwrap_or(target.len());
        let target = &target[..end];
        let path = target.trim_start_matches("../").split('#').next().unwrap_or_default();
        let is_inside = path != "README.md" && root.join("docs").join(path).exists();
        changed.push_str(&rest[..at]);
        if is_inside {
            changed.push_str(&rest[at..at + 2 + end]);
            rest = &rest[at + 2 + end..];
        } else {
            changed.push_str(&format!("] (`{path}`"));
            rest = &rest[at + 2 + end..];
        }
    }
    changed.push_str(rest);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_is_the_second_element() {
        assert_eq!(second_element(r#"[{"a": "],{"}, {"b": [1]}]"#), Some(r#" {"b": [1]}"#));
        assert_eq!(second_element("{}"), None);
    }

    #[test]
    fn only_links_out_of_the_folder_change() {
        let text = "[a](../formats.md#mdf) [b](../../src/lib.rs) [c](../README.md#x)";
        let expected = "[a](../formats.md#mdf) [b] (`src/lib.rs`) [c] (`README.md`)";
        assert_eq!(without_outer_links(text, &root()), expected);
    }
}
