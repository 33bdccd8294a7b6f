//! The examples of `docs/formats.md` are read as the page says.

use crate::common::data;
use crate::{empty_folder, path, peloton, said};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A block of code: what stands behind its first three quotes, and its lines.
fn blocks(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            blocks.push((kind, lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    blocks
}

/// Bytes that are written down in hexadecimal, with comments.
fn bytes(lines: &[&str]) -> Vec<u8> {
    let digits = lines.iter().flat_map(|line| line.split('#').next().unwrap_or("").split_whitespace());
    digits.map(|digits| u8::from_str_radix(digits, 16).expect("two hexadecimal digits")).collect()
}

/// Runs a line such as `peloton run FILE   # 3 hits, 2 clusters`, which says what must come out.
fn run(line: &str, folder: &Path) -> usize {
    let (command, right) = line.split_once('#').unwrap_or((line, ""));
    let (right, warning) = right.split_once("; ").unwrap_or((right, ""));
    let words: Vec<_> = command.split_whitespace().skip(1).collect();
    let Output { status, stdout, stderr } =
        peloton(&[&words[..], &["--json", "-", "--quiet"]].concat()).current_dir(folder).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success() && said.starts_with(warning.trim()), "{line}: {said}");
    assert_eq!(said.is_empty(), warning.is_empty(), "{line}: {said}");
    if right.is_empty() {
        return 0;
    }
    let found: Value = serde_json::from_slice(&stdout).unwrap();
    for right in right.split(',') {
        let (count, name) = right.trim().split_once(' ').unwrap();
        assert_eq!(found[name], count.parse::<u64>().unwrap(), "{line}: {name}");
    }
    1
}

#[test]
fn examples_of_all_formats_are_read_as_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(page).unwrap();
    let folder = empty_folder("formats_page");
    let (mut written, mut ran) = (0, 0);
    for (kind, lines) in blocks(&page) {
        let file = |contents: Vec<u8>, name: &str| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, contents).unwrap();
            1
        };
        match kind.split_once(' ') {
            Some(("text", name)) => written += file((lines.join("\n") + "\n").into_bytes(), name),
            Some(("hex", name)) => written += file(bytes(&lines), name),
            Some(("bash", "program")) => ran += lines.iter().map(|line| run(line, &folder)).sum::<usize>(),
            _ => assert_eq!(kind, "python"),
        }
    }
    assert!(written >= 10 && ran >= 12, "{written} files, {ran} commands with results");
    // Of all formats there is a section.
    for (name, _) in peloton_io::input::Format::NAMES.iter().skip(1) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    // Raw banks that are not simulated need the geometry of their detector.
    let Some(geometry) = data().map(|data| path(&data, "lhcb/geometry")) else { return };
    let containers = path(&folder, "containers");
    let job = ["run", "--sequence", "velo", "--geometry", &geometry, &containers, "--json", "-", "--quiet"];
    let found: Value = serde_json::from_str(&said(&job).1).unwrap();
    let (events, broken) = (&found["events"], &found["dropped"]["truncated_bank"]);
    assert_eq!((events, broken), (&1.into(), &Value::Null), "{found}");
}
