//! `THIRD-PARTY.md`: the licences of everything that is compiled into the library, the program and the Python module. It is part of
//! the installed package and of the wheel.
//!
//! `PELOTON_THIRD_PARTY=renew cargo test --test licences` writes it anew, from what cargo says of the crates and from their
//! packages.

mod common;

use common::package;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is handed out as machine code.
const PRODUCTS: [&str; 3] = ["peloton-capi", "peloton-cli", "peloton-python"];

/// Libraries in C that crates bring along, and where their licences are. Of zstd's two (BSD, GPL) and xz's several only the
/// named one is needed.
const IN_C: [(&str, &str); 3] = [
    ("zstd-sys", "zstd/LICENSE"),
    ("liblzma-sys", "xz/COPYING.0BSD"),
    ("libmimalloc-sys", "c_src/mimalloc/v2/LICENSE"),
];

/// Crates that name a library to link with and bring none along: pyo3 is linked with the Python that loads the module, and
/// rayon-core only keeps a second rayon out.
const NOT_IN_C: [&str; 3] = ["pyo3", "pyo3-ffi", "rayon-core"];

/// A crate that is compiled in.
#[derive(Debug)]
struct Crate {
    name: String,
    version: String,
    licence: String,
    repository: String,
    folder: PathBuf,
    /// The library that it links with.
    links: Option<String>,
}

fn root() -> PathBuf {
    package().join("../..")
}

/// The crates that products are made of, on Linux; those that only help to compile (build scripts, procedural macros) are not in
/// them.
fn crates() -> Vec<Crate> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .arg("--manifest-path")
        .arg(package().join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let packages: BTreeMap<_, _> =
        list(&said["packages"]).into_iter().map(|of| (text(&of["id"]), of)).collect();
    let nodes: BTreeMap<_, _> =
        list(&said["resolve"]["nodes"]).into_iter().map(|of| (text(&of["id"]), of)).collect();
    let is_macro = |id: &String| {
        let kinds = |target: &Value| list(&target["kind"]).contains(&"proc-macro".into());
        list(&packages[id]["targets"]).iter().any(kinds)
    };
    let is_product = |of: &Value| PRODUCTS.contains(&text(&of["name"]).as_str());
    let mut open: Vec<_> =
        packages.iter().filter(|(_, of)| is_product(of)).map(|(id, _)| id.clone()).collect();
    assert_eq!(open.len(), PRODUCTS.len());
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        for dependency in list(&nodes[&id]["deps"]) {
            let is_normal = list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let id = text(&dependency["pkg"]);
            if is_normal && !is_macro(&id) {
                open.push(id);
            }
        }
    }
    let of = |id: &String| {
        let of = &packages[id];
        let manifest = PathBuf::from(text(&of["manifest_path"]));
        // Those of the workspace have no source.
        of["source"].as_str().map(|_| Crate {
            name: text(&of["name"]),
            version: text(&of["version"]),
            licence: text(&of["license"]),
            repository: text(&of["repository"]),
            folder: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
            links: of["links"].as_str().map(String::from),
        })
    };
    let mut crates: Vec<_> = seen.iter().filter_map(of).collect();
    crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    crates
}

/// Names of the files that a package says its licence in.
fn licence_files(folder: &Path) -> Vec<String> {
    let begins = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter(|name| begins.iter().any(|begin| name.to_lowercase().starts_with(begin))).collect();
    names.sort();
    names
}

/// The licences that one may choose among.
fn alternatives(licence: &str) -> Vec<&str> {
    licence.split(" OR ").flat_map(|part| part.split('/')).map(str::trim).collect()
}

/// The texts that go with a crate: under MIT where that is a choice, else under Apache-2.0, else all that there are. What is not
/// of the crate itself (notices, other people's parts) always.
fn texts(of: &Crate, all: &[Crate]) -> Vec<String> {
    let names = licence_files(&of.folder);
    let choices = alternatives(&of.licence);
    let chosen = ["MIT", "Apache-2.0"].into_iter().find(|wanted| choices.contains(wanted));
    let of_chosen = |name: &&String| {
        chosen.is_some_and(|chosen| name.to_uppercase().contains(&chosen.to_uppercase()[..3]))
    };
    let one: Vec<_> =
        if choices.len() > 1 { names.iter().filter(of_chosen).take(1).collect() } else { Vec::new() };
    let besides = |name: &&String| name.to_uppercase().contains("NOTICE") || name.contains("THIRD-PARTY");
    let mut wanted: Vec<_> = if one.is_empty() { names.iter().collect() } else { one };
    wanted.extend(names.iter().filter(besides));
    wanted.dedup();
    let in_c = IN_C.iter().filter(|(name, _)| *name == of.name).map(|(_, file)| *file);
    let files = wanted.into_iter().map(String::as_str).chain(in_c);
    let mut texts: Vec<_> = files
        .map(|name| {
            std::fs::read_to_string(of.folder.join(name)).unwrap_or_else(|_| panic!("{of:?}: {name}"))
        })
        .collect();
    if texts.is_empty() && choices.contains(&"Apache-2.0") {
        // The text has no names in it.
        texts.push(std::fs::read_to_string(root().join("LICENSE-APACHE")).expect("our own"));
    } else if texts.is_empty() {
        let sibling = all.iter().find(|other| {
            other.repository == of.repository
                && other.licence == of.licence
                && !licence_files(&other.folder).is_empty()
        });
        texts = self::texts(sibling.unwrap_or_else(|| panic!("no licence text: {of:?}")), all);
    }
    texts
}

/// The whole document.
fn document(crates: &[Crate]) -> String {
    let mut text = "# Licences of others\n\n\
        What is compiled into libpeloton, the program and the Python module, on Linux, besides peloton itself (MIT or Apache-2.0) and \
        the standard library of Rust (MIT or Apache-2.0, the Rust project's contributors). Where a crate leaves the choice, it is used \
        under MIT. Written by `PELOTON_THIRD_PARTY=renew cargo test --release --manifest-path crates/capi/Cargo.toml --test licences`.\n\n\
        | crate | version | licence |\n|---|---|---|\n"
        .to_string();
    for of in crates {
        writeln!(text, "| {} | {} | {} |", of.name, of.version, of.licence).expect("text");
    }
    // The same text, however its lines are cut, is there once.
    let mut groups: Vec<(String, String, BTreeSet<&str>)> = Vec::new();
    for of in crates {
        for licence in texts(of, crates) {
            let same = licence.split_whitespace().collect::<Vec<_>>().join(" ");
            match groups.iter_mut().find(|(other, ..)| *other == same) {
                Some((_, _, names)) => drop(names.insert(&of.name)),
                None => groups.push((same, licence, [of.name.as_str()].into())),
            }
        }
    }
    for (_, licence, names) in groups {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let lines: Vec<_> = licence.lines().map(str::trim_end).collect();
        write!(text, "\n## {names}\n\n~~~text\n{}\n~~~\n", lines.join("\n").trim_matches('\n'))
            .expect("text");
    }
    text
}

#[test]
fn licences_of_all_that_is_compiled_in_are_there() {
    let crates = crates();
    assert!(crates.len() > 80, "{} crates", crates.len());
    for name in ["rayon", "parquet", "pyo3", "clap", "zstd-sys"] {
        assert!(crates.iter().any(|of| of.name == name), "{name} is not found");
    }
    assert!(crates.iter().all(|of| !of.licence.is_empty()));
    let linking: BTreeSet<_> =
        crates.iter().filter(|of| of.links.is_some()).map(|of| of.name.as_str()).collect();
    let known = IN_C.iter().map(|(name, _)| *name).chain(NOT_IN_C).collect();
    assert_eq!(
        linking, known,
        "a library in C has a licence of its own: name it in IN_C, or say why not in NOT_IN_C"
    );
    let made = document(&crates);
    for words in ["Facebook", "Apache Software Foundation", "Permission is hereby granted", "Meta Platforms"]
    {
        assert!(made.contains(words), "no `{words}`");
    }
    let path = root().join("THIRD-PARTY.md");
    if std::env::var("PELOTON_THIRD_PARTY").is_ok_and(|what| what == "renew") {
        std::fs::write(&path, &made).expect("THIRD-PARTY.md");
    }
    let there = std::fs::read_to_string(&path).expect("THIRD-PARTY.md");
    let rows = |text: &str| {
        text.lines().filter(|line| line.starts_with("| ")).map(String::from).collect::<BTreeSet<_>>()
    };
    let (missing, gone): (Vec<_>, Vec<_>) = (
        rows(&made).difference(&rows(&there)).cloned().collect(),
        rows(&there).difference(&rows(&made)).cloned().collect(),
    );
    let words = "THIRD-PARTY.md is old: run this test with PELOTON_THIRD_PARTY=renew";
    assert!(
        missing.is_empty() && gone.is_empty(),
        "{words}\nmissing: {missing:#?}\nno longer used: {gone:#?}"
    );
    assert!(there == made, "{words}: texts have changed");
}

#[test]
fn one_licence_of_several_is_chosen() {
    assert_eq!(alternatives("MIT OR Apache-2.0"), ["MIT", "Apache-2.0"]);
    assert_eq!(alternatives("MIT/Apache-2.0"), ["MIT", "Apache-2.0"]);
    assert_eq!(alternatives("Apache-2.0 AND MIT"), ["Apache-2.0 AND MIT"]);
    let folder = tempfile::tempdir().expect("a folder");
    let of = |licence: &str| Crate {
        name: "a".into(),
        version: "1".into(),
        licence: licence.into(),
        repository: "somewhere".into(),
        folder: folder.path().into(),
        links: None,
    };
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "README.md"] {
        std::fs::write(folder.path().join(name), name).expect("a file");
    }
    assert_eq!(texts(&of("Apache-2.0 OR MIT"), &[]), ["LICENSE-MIT", "NOTICE"]);
    assert_eq!(texts(&of("Zlib OR Apache-2.0"), &[]), ["LICENSE-APACHE", "NOTICE"]);
    assert_eq!(texts(&of("Apache-2.0 AND MIT"), &[]), ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"]);
}
