//! Rules for source files. Each rule is a function from a file to its breaches, and is tried on a planted breach first:
//! this shows that it can fail.

#[path = "common/house.rs"]
mod house;

use house::{ENDS, File, below, check, files, has_word};

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

#[test]
fn intrinsics_only_in_the_backends() {
    let rule = |file: &File| {
        let rooms = ["src/simd/backend/", PTX];
        let home = rooms.iter().any(|room| file.path.starts_with(room)) || file.path == HOST;
        let found = file
            .code()
            .filter(|(_, line)| !home && (line.contains("core::arch") || line.contains("std::arch")));
        // The detection macros are in std::arch, too, but are no intrinsics.
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

/// The only files and folders that may hold unsafe code; the crate is the C interface.
const UNSAFE_ROOMS: [&str; 6] =
    ["src/simd/backend/", "src/gpu/driver/", "src/gpu/lanes/", "crates/capi/src/", "tests/no_alloc.rs", HOST];
/// The crate that is compiled for GPUs.
const PTX: &str = "src/gpu/lanes/ptx/";
/// Imitates a host in another floating-point mode.
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
        // The security policy of HTML pages contains the word for inline scripts and styles.
        let is_unsafe = |line: &str| has_word(&line.replace("'unsafe-inline'", ""), "unsafe");
        for (number, line) in file.code().filter(|(_, line)| is_unsafe(line)) {
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

/// Files and folders that may have C functions: the C interface, calls of the GPU driver, GPU kernels, and replacements of the
/// driver and of libFuzzer.
const C_ROOMS: [&str; 6] = [
    "crates/capi/",
    "src/gpu/driver/",
    "src/gpu/kernels/",
    PTX,
    "tests/gpu/fake_driver/",
    "fuzz/run_inputs.cpp",
];

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
            ("src/engine/mod.rs", "pub extern \"C\" fn peloton_run() {}"),
            ("crates/core/src/lib.rs", "#[unsafe(no_mangle)]"),
            ("crates/python/src/lib.rs", "extern \"C-unwind\" fn f() {}"),
        ],
    );
}

/// Generated files, which another test compares with the output of their generator.
const GENERATED: [&str; 1] = ["crates/capi/include/peloton.h"];

#[test]
fn files_are_short() {
    let rule = |file: &File| {
        let lines = file.text.lines().count();
        if lines > 500 && !GENERATED.contains(&file.path.as_str()) {
            vec![file.breach(lines, "more than 500 lines")]
        } else {
            Vec::new()
        }
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
const UNITS: [&str; 11] =
    ["mm", "mm^2", "cm", "cm^2", "ns", "GeV/c", "c/GeV", "MeV", "rad", "T", "(no unit)"];

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
    // Absolute paths of one machine.
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
