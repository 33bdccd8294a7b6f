//! Links of all pages have a target, and the book (docs/SUMMARY.md) names every page of `docs`.

#[path = "common/house.rs"]
mod house;

use house::{File, pages};
use std::collections::BTreeSet;
use std::path::Path;

/// The targets of links outside of code, with their lines.
fn links(page: &File) -> Vec<(usize, String)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (number, line) in page.text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        let plain: String = line.split('`').step_by(2).collect();
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.filter(|_| !fenced).map(|target| (number + 1, target.to_string())));
    }
    found
}

/// The anchors of a page, as web views of repositories and mdBook make them of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let headings = text.lines().filter(move |line| {
        fenced ^= line.starts_with("```");
        !fenced && line.starts_with('#')
    });
    let anchor = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Links of a page without a target.
fn dead_links(root: &Path, page: &File) -> Vec<String> {
    let folder = Path::new(&page.path).parent().expect("a page has a folder");
    let mut dead = Vec::new();
    for (line, target) in links(page).into_iter().filter(|(_, target)| !target.contains("://")) {
        let (path, anchor) = target.split_once('#').map_or((target.as_str(), None), |(p, a)| (p, Some(a)));
        let file = if path.is_empty() { root.join(&page.path) } else { root.join(folder).join(path) };
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if !file.exists() || anchor.is_some_and(|anchor| !anchors(&text).contains(anchor)) {
            dead.push(format!("{}:{line}: {target} does not exist", page.path));
        }
    }
    dead
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let planted =
        File::planted("docs/a.md", "# One\n[a](b.md) [c](../README.md#no-such) [d](#one) `[e](f.md)`");
    assert_eq!(dead_links(root, &File { path: "README.md".into(), ..planted }).len(), 3);
    let dead: Vec<_> = pages(root).iter().flat_map(|page| dead_links(root, page)).collect();
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn the_book_names_every_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = pages(root);
    let summary = all.iter().find(|page| page.path == "docs/SUMMARY.md").expect("docs/SUMMARY.md");
    let named: BTreeSet<_> = links(summary).into_iter().map(|(_, target)| format!("docs/{target}")).collect();
    let written = all.iter().map(|page| page.path.clone());
    let written: BTreeSet<_> =
        written.filter(|path| path.starts_with("docs/") && path != "docs/SUMMARY.md").collect();
    assert_eq!(named, written);
}

/// Rows of tables that name a function and its file, `| `function` | `file` | ...`, without such a function in the file.
fn missing_functions(root: &Path, page: &File) -> Vec<String> {
    let mut missing = Vec::new();
    for (number, line) in page.text.lines().enumerate() {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, function, file, ..] = cells[..] else { continue };
        if !file.ends_with(".rs") || function.contains(['/', '.', ' ']) {
            continue;
        }
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let is_there =
            [format!("fn {function}("), format!("fn {function}<")].iter().any(|at| text.contains(at));
        if !is_there {
            missing.push(format!("{}:{}: {file} has no function {function}", page.path, number + 1));
        }
    }
    missing
}

#[test]
fn functions_of_tables_are_in_their_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let planted = File::planted(
        "a.md",
        "| `main` | `crates/cli/src/main.rs` | x |\n| `no` | `crates/cli/src/main.rs` | x |",
    );
    assert_eq!(missing_functions(root, &planted).len(), 1);
    let page = pages(root).into_iter().find(|page| page.path == "ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let missing = missing_functions(root, &page);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
