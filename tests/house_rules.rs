//! The rules of the house, kept by a test. Each rule is a function from a file to its breaches, and is
//! tried on a planted breach first: a rule that cannot fail is no rule.

use std::path::{Path, PathBuf};

/// A source file: its path below the checkout, with `/`, and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn planted(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines of code with their numbers, comments cut off.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let comment = if self.path.ends_with(".py") { "#" } else { "//" };
        let cut = move |line: &'_ str| line.find(comment).unwrap_or(line.len());
        self.text.lines().enumerate().map(move |(i, line)| (i + 1, &line[..cut(line)]))
    }

    /// A breach in one line.
    fn breach(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

/// How the names of source files end.
const ENDS: [&str; 7] = ["rs", "cu", "cuh", "cpp", "hpp", "h", "py"];

/// All source files of the checkout.
fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = below(root);
    // This file holds the planted breaches.
    files.retain(|file| file.path != "tests/house_rules.rs");
    files
}

/// All source files below a folder, wherever they lie.
fn below(root: &Path) -> Vec<File> {
    let mut paths = Vec::new();
    collect(root, &mut paths);
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
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let made = ["CACHEDIR.TAG", "pyvenv.cfg"].iter().any(|name| folder.join(name).exists());
    if made || folder.ends_with("target") {
        return;
    }
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            collect(&path, paths);
        } else if kind.is_file() && path.extension().is_some_and(|end| ENDS.iter().any(|of| end == *of)) {
            paths.push(path);
        }
    }
}

#[test]
fn every_source_file_is_looked_at_wherever_it_lies() {
    let root = std::env::temp_dir().join(format!("peloton-house-{}", std::process::id()));
    let ours = ["crates/capi/include/a.h", "crates/capi/src/lib.rs", "deep/er/b.cu", "e.py", "src/c.cuh"];
    let others = ["target/d.rs", ".hidden/d.rs", "built/d.rs", "built/CACHEDIR.TAG", "notes.md"];
    for path in ours.iter().chain(&others) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, "text").expect("a file");
    }
    let found: Vec<String> = below(&root).into_iter().map(|file| file.path).collect();
    std::fs::remove_dir_all(&root).expect("the folder goes");
    assert_eq!(found, ours);
    for path in
        ["src/lib.rs", "src/gpu/kernels/velo.cu", "src/gpu/kernels/emulated.h", "fuzz/fuzz_targets/mdf.rs"]
    {
        assert!(files().iter().any(|file| file.path == path), "{path} is not looked at");
    }
}

/// Fails with all breaches of a rule, after the rule has caught every planted one.
fn check(rule: impl Fn(&File) -> Vec<String>, planted: &[(&str, &str)]) {
    for (path, text) in planted {
        assert!(!rule(&File::planted(path, text)).is_empty(), "the rule misses `{text}` in {path}");
    }
    let files = files();
    assert!(files.len() > 30, "the files are found");
    let breaches: Vec<_> = files.iter().flat_map(&rule).collect();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

/// Whether `word` stands in `line` as a word of its own.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

#[test]
fn intrinsics_only_in_the_backends() {
    let rule = |file: &File| {
        let home = file.path.starts_with("src/simd/backend/") || file.path == HOST;
        let found = file
            .code()
            .filter(|(_, line)| !home && (line.contains("core::arch") || line.contains("std::arch")));
        // The detection macros live in std::arch, too, and are no intrinsics.
        let found = found.filter(|(_, line)| !line.contains("_feature_detected"));
        found.map(|(line, _)| file.breach(line, "core::arch outside src/simd/backend")).collect()
    };
    check(
        rule,
        &[
            ("src/velo/find.rs", "use core::arch::x86_64::*;"),
            ("src/simd/level.rs", "use std::arch::x86_64::_mm256_setzero_ps;"),
            ("crates/capi/src/lib.rs", "use std::arch::x86_64::*;"),
        ],
    );
}

/// The only files and folders that may hold unsafe code; the crates are those of the C and Python interfaces.
const UNSAFE_ROOMS: [&str; 6] = [
    "src/simd/backend/",
    "src/gpu/driver/",
    "crates/capi/src/",
    "crates/python/src/",
    "tests/no_alloc.rs",
    HOST,
];
/// Plays a host in another floating-point mode.
const HOST: &str = "tests/common/host_mode.rs";

#[test]
fn unsafe_code_only_in_its_rooms_and_with_a_reason() {
    let rule = |file: &File| {
        if !file.is_rust() {
            return Vec::new();
        }
        let lines: Vec<&str> = file.text.lines().collect();
        let in_room = UNSAFE_ROOMS.iter().any(|room| file.path.starts_with(room));
        let mut breaches = Vec::new();
        for (number, line) in file.code().filter(|(_, line)| has_word(line, "unsafe")) {
            // `unsafe fn` of a foreign trait says `# Safety` there; blocks and impls say why they are sound.
            let needs_reason = line.contains("unsafe {") || line.contains("unsafe impl");
            let above = &lines[number.saturating_sub(8)..number];
            let reason = above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety"));
            if !in_room {
                breaches.push(file.breach(number, "unsafe outside its rooms"));
            } else if needs_reason && !reason {
                breaches.push(file.breach(number, "unsafe without a SAFETY comment above"));
            }
        }
        breaches
    };
    check(
        rule,
        &[
            ("src/velo/find.rs", "// SAFETY: in bounds\nlet x = unsafe { *p };"),
            ("src/simd/backend/avx2.rs", "let x = unsafe { *p };"),
            ("crates/core/src/lib.rs", "// SAFETY: in bounds\nlet x = unsafe { *p };"),
            ("crates/capi/src/lib.rs", "let x = unsafe { *p };"),
            ("crates/capi/tests/abi.rs", "// SAFETY: in bounds\nlet x = unsafe { *p };"),
        ],
    );
}

/// What may name functions by the rules of C: the C interface, the room that calls the driver, and what it calls.
const C_ROOMS: [&str; 3] = ["crates/capi/", "src/gpu/driver/", "src/gpu/kernels/"];

#[test]
fn c_functions_only_in_the_c_interface() {
    let rule = |file: &File| {
        let in_room = C_ROOMS.iter().any(|room| file.path.starts_with(room));
        let foreign = |line: &str| line.contains("extern \"C") || has_word(line, "no_mangle");
        let found = file.code().filter(|(_, line)| !in_room && foreign(line));
        found.map(|(line, _)| file.breach(line, "a C function outside crates/capi")).collect()
    };
    check(
        rule,
        &[
            ("src/pipeline/engine.rs", "pub extern \"C\" fn peloton_run() {}"),
            ("crates/core/src/lib.rs", "#[unsafe(no_mangle)]"),
            ("crates/python/src/lib.rs", "extern \"C-unwind\" fn f() {}"),
        ],
    );
}

#[test]
fn files_are_short() {
    let rule = |file: &File| {
        let lines = file.text.lines().count();
        if lines > 500 { vec![file.breach(lines, "more than 500 lines")] } else { Vec::new() }
    };
    let long = "\n".repeat(501);
    check(
        rule,
        &ENDS
            .map(|end| format!("crates/core/long.{end}"))
            .each_ref()
            .map(|path| (path.as_str(), long.as_str())),
    );
}

/// What each room of `src` may use; what is not listed may use everything.
const MAY_USE: [(&str, &[&str]); 16] = [
    ("error", &[]),
    ("bytes", &["error"]),
    ("units", &[]),
    ("simd", &["error"]),
    ("event", &["error", "simd", "units"]),
    ("input", &["error", "bytes", "simd", "units", "event"]),
    ("kalman", &["error", "simd", "units", "event"]),
    ("lhcb", &["error", "bytes", "simd", "units", "event"]),
    ("velo", &["error", "bytes", "simd", "units", "event", "kalman", "lhcb"]),
    ("ut", &["error", "bytes", "simd", "units", "event", "kalman", "lhcb"]),
    ("scifi", &["error", "bytes", "simd", "units", "event", "kalman", "lhcb"]),
    ("timepix", &["error", "simd", "units", "event"]),
    ("cylinder", &["error", "simd", "units", "event", "kalman"]),
    ("truth", &["error", "bytes", "simd", "units", "event", "input", "velo", "ut", "scifi", "cylinder"]),
    (
        "pipeline",
        &[
            "error", "bytes", "simd", "units", "event", "input", "kalman", "velo", "ut", "scifi", "timepix",
            "cylinder",
        ],
    ),
    ("output", &["error", "simd", "units", "event", "input", "velo", "timepix", "cylinder", "pipeline"]),
];

#[test]
fn dependence_runs_one_way() {
    let rule = |file: &File| {
        let Some(below) = file.path.strip_prefix("src/") else { return Vec::new() };
        let room = below.split(['/', '.']).next().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else { return Vec::new() };
        let mut breaches = Vec::new();
        for (number, line) in file.code() {
            for (at, prefix) in line.match_indices("crate::") {
                let rest = &line[at + prefix.len()..];
                let names = rest.strip_prefix('{').map_or(vec![rest], |list| list.split(',').collect());
                for name in names {
                    let name: String =
                        name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    let is_room =
                        MAY_USE.iter().any(|(room, _)| *room == name) || name == "cli" || name == "gpu";
                    if is_room && name != room && !allowed.contains(&name.as_str()) {
                        breaches.push(file.breach(number, &format!("{room} may not use {name}")));
                    }
                }
            }
        }
        breaches
    };
    check(
        rule,
        &[
            ("src/simd/gang.rs", "use crate::event::Column;"),
            ("src/velo/find.rs", "use crate::{Result, pipeline::Engine};"),
            ("src/pipeline/engine.rs", "let x = crate::truth::Checker::new();"),
            ("src/output/hash.rs", "use crate::cli::main;"),
        ],
    );
}

#[test]
fn references_share_nothing_with_the_kernels() {
    let rule = |file: &File| {
        let is_reference = file.path.ends_with("/reference.rs") || file.path.contains("/reference/");
        let found = file.code().filter(|(_, line)| is_reference && has_word(line, "simd"));
        found.map(|(line, _)| file.breach(line, "a reference uses simd")).collect()
    };
    check(rule, &[("src/velo/reference.rs", "use crate::simd::Gang;")]);
}

/// Units that a field's doc may name; everything else must say `(no unit)`.
const UNITS: [&str; 10] = ["mm", "mm^2", "cm", "cm^2", "ns", "GeV/c", "MeV", "rad", "T", "(no unit)"];

#[test]
fn fields_of_events_have_units() {
    let rule = |file: &File| {
        if !file.path.starts_with("src/event/") {
            return Vec::new();
        }
        let (mut doc, mut breaches) = (String::new(), Vec::new());
        for (i, line) in file.text.lines().map(str::trim).enumerate() {
            if let Some(text) = line.strip_prefix("///") {
                doc.push_str(text);
                continue;
            }
            let field = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':'));
            let is_field =
                field.is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
            let known = |unit: &&str| doc.contains("(no unit)") || has_word(&doc, unit);
            if is_field && !UNITS.iter().any(known) && !doc.contains("Units are") {
                breaches.push(file.breach(i + 1, "a field without a unit in its doc"));
            }
            // Attributes may stand between a doc and its field.
            if !line.starts_with("#[") {
                doc.clear();
            }
        }
        breaches
    };
    check(rule, &[("src/event/hits.rs", "struct A {\n    /// Position.\n    pub x: f32,\n}")]);
}

#[test]
fn nothing_is_left_lying_about() {
    let words = ["dbg!", "todo!", "unimplemented!", "TODO", "FIXME", "XXX"];
    // Absolute places of one machine.
    let places = ["home", "root", "work", "Users"].map(|folder| format!("\"/{folder}/"));
    let rule = |file: &File| {
        let mut breaches = Vec::new();
        for (i, line) in file.text.lines().enumerate() {
            let words = words.iter().filter(|word| line.contains(**word));
            breaches.extend(words.map(|word| file.breach(i + 1, word)));
            if places.iter().any(|place| line.contains(place) || line.contains(&place[1..])) {
                breaches.push(file.breach(i + 1, "a path of one machine"));
            }
        }
        breaches
    };
    check(
        rule,
        &[
            ("src/lib.rs", "dbg!(x);"),
            ("src/lib.rs", "// TODO: later"),
            ("src/lib.rs", "open(\"/home/me/events.json\")"),
            ("crates/python/peloton/io.py", "open(\"/home/me/events.json\")"),
        ],
    );
}

#[test]
fn every_file_says_what_it_is() {
    let rule = |file: &File| {
        let starts: &[&str] = match file.path.rsplit('.').next() {
            Some("rs") => &["//!"],
            Some("py") => &["\"\"\"", "#"],
            _ => &["//", "/*"],
        };
        let says = starts.iter().any(|start| file.text.starts_with(start));
        if says { Vec::new() } else { vec![file.breach(1, "does not begin with what it is")] }
    };
    check(
        rule,
        &[
            ("src/lib.rs", "use std::fmt;"),
            ("crates/capi/src/lib.rs", "// no doc\nuse std::fmt;"),
            ("crates/capi/include/peloton.h", "#pragma once"),
            ("crates/python/peloton/io.py", "import numpy"),
        ],
    );
}

#[test]
fn the_library_denies_unsafe_code_and_missing_docs() {
    let lib = files().into_iter().find(|file| file.path == "src/lib.rs").expect("src/lib.rs");
    assert!(lib.text.contains("#![deny(unsafe_code, missing_docs)]"));
}
