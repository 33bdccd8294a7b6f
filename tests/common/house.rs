//! Source files and rules about them, shared by the tests of the house rules.
#![allow(dead_code)] // Each test program uses its own part of it.

use std::path::{Path, PathBuf};

/// A source file: its path below the checkout, with `/`, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn planted(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether users of Python or C++ read its comments; the comments of `peloton.h` come from Rust files.
    pub fn is_binding(&self) -> bool {
        (self.path.starts_with("crates/python/peloton/") && self.path.ends_with(".py"))
            || self.path == "crates/capi/include/peloton.hpp"
    }

    /// Lines of code with their numbers, comments cut off.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let comment = if self.path.ends_with(".py") { "#" } else { "//" };
        let cut = move |line: &'_ str| line.find(comment).unwrap_or(line.len());
        self.text.lines().enumerate().map(move |(i, line)| (i + 1, &line[..cut(line)]))
    }

    /// Lines of code without the unit tests at the end of a file.
    pub fn code_but_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code().take_while(|(_, line)| line.trim() != "mod tests {")
    }

    /// A breach in one line.
    pub fn breach(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

/// Extensions of source files.
pub const ENDS: [&str; 7] = ["rs", "cu", "cuh", "cpp", "hpp", "h", "py"];

/// All source files of the checkout.
pub fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = below(root);
    // These hold the planted breaches.
    files.retain(|file| !["tests/house_rules.rs", "tests/house_order.rs"].contains(&file.path.as_str()));
    files
}

/// All source files below a folder, at any depth.
pub fn below(root: &Path) -> Vec<File> {
    read_below(root, &ENDS)
}

/// All pages of the checkout, without the log of changes and the lists of licences.
pub fn pages(root: &Path) -> Vec<File> {
    let mut pages = read_below(root, &["md"]);
    pages.retain(|page| !["CHANGELOG.md", "THIRD-PARTY.md"].iter().any(|name| page.path.ends_with(name)));
    pages
}

fn read_below(root: &Path, ends: &[&str]) -> Vec<File> {
    let mut paths = Vec::new();
    collect(root, ends, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a text file");
        let below = path.strip_prefix(root).expect("below the root");
        let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        File { path: parts.join("/"), text }
    };
    paths.into_iter().map(read).collect()
}

/// Folders of builds hold a `CACHEDIR.TAG` (cargo) or a `pyvenv.cfg`; hidden folders and links are not ours.
fn collect(folder: &Path, ends: &[&str], paths: &mut Vec<PathBuf>) {
    let made = ["CACHEDIR.TAG", "pyvenv.cfg"].iter().any(|name| folder.join(name).exists());
    if made || folder.ends_with("target") {
        return;
    }
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            collect(&path, ends, paths);
        } else if kind.is_file() && path.extension().is_some_and(|end| ends.iter().any(|of| end == *of)) {
            paths.push(path);
        }
    }
}

/// Fails with all breaches of a rule, after the rule has caught every planted one.
pub fn check(rule: impl Fn(&File) -> Vec<String>, planted: &[(&str, &str)]) {
    for (path, text) in planted {
        assert!(!rule(&File::planted(path, text)).is_empty(), "the rule misses `{text}` in {path}");
    }
    let files = files();
    assert!(files.len() > 30, "the files are found");
    let breaches: Vec<_> = files.iter().flat_map(&rule).collect();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

/// Whether `line` contains `word` as a whole word.
pub fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}
