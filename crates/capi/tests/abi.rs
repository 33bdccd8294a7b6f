//! What programs that were built before count on: symbols, and where the fields of structs lie. `abi.txt` lists them; where they
//! differ, programs built with the old header would go wrong, and PELOTON_ABI must be higher.
//!
//! `PELOTON_ABI_TXT=renew cargo test --test abi` writes the list anew, when the number is another one.

mod common;

use common::{Library, missing, package, printed, tool};
use std::fmt::Write;
use std::process::Command;

fn header() -> String {
    std::fs::read_to_string(package().join("include/peloton.h")).expect("the header")
}

/// The structs of the header with the names of their fields, in order.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let (mut found, mut fields) = (Vec::new(), None::<Vec<String>>);
    for line in header.lines() {
        if line.starts_with("typedef struct") && line.ends_with('{') {
            fields = Some(Vec::new());
        } else if let Some(name) = line.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';')) {
            found.extend(fields.take().map(|fields| (name.to_string(), fields)));
        } else if let (Some(fields), Some(field)) = (&mut fields, line.strip_suffix(';')) {
            let name = field.split('[').next().unwrap_or(field).rsplit([' ', '*']).next();
            fields.extend(name.map(String::from));
        }
    }
    found
}

/// Sizes and offsets, as a C compiler lays the structs out.
fn layouts(library: &Library) -> String {
    let mut source = "#include <peloton.h>\n#include <stdio.h>\nint main(void) {\n".to_string();
    let structs = structs(&header());
    assert!(structs.len() >= 9, "{structs:?}");
    for (name, fields) in structs {
        writeln!(source, "printf(\"struct {name} %zu\\n\", sizeof({name}));").expect("text");
        for field in fields {
            let text = format!("printf(\"  {field} %zu\\n\", offsetof({name}, {field}));");
            writeln!(source, "{text}").expect("text");
        }
    }
    source.push_str("return 0;\n}\n");
    let (file, program) = (library.folder().join("abi.c"), library.folder().join("abi"));
    std::fs::write(&file, source).expect("a file");
    let include = format!("-I{}", package().join("include").display());
    printed(Command::new("cc").arg(include).arg(&file).arg("-o").arg(&program));
    printed(&mut Command::new(program))
}

/// What is exported, by name.
fn symbols(library: &Library) -> Vec<String> {
    let listed = printed(
        Command::new("nm").args(["-D", "--defined-only"]).arg(library.folder().join("libpeloton.so")),
    );
    let mut names: Vec<String> =
        listed.lines().filter_map(|line| line.split_whitespace().last()).map(String::from).collect();
    names.sort();
    names
}

/// The number of the interface in a list.
fn number(list: &str) -> Option<u32> {
    list.lines().find_map(|line| line.strip_prefix("PELOTON_ABI "))?.parse().ok()
}

/// Whether a new list may take the place of an old one: it adds functions alone, or has a higher number.
fn may_follow(old: &str, new: &str) -> bool {
    number(new) > number(old) || {
        let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
        let is_function = |line: &&str| line.starts_with("function ");
        old.iter().all(|line| new.contains(line))
            && new.iter().filter(|line| !is_function(line)).eq(old.iter().filter(|line| !is_function(line)))
    }
}

#[test]
fn the_interface_is_the_one_that_is_listed() {
    if tool("nm", "--version").is_none() {
        return missing("nm");
    }
    let library = Library::new();
    let header = header();
    let abi = header.lines().find_map(|line| line.strip_prefix("#define PELOTON_ABI "));
    let mut now = format!("PELOTON_ABI {}\n", abi.expect("a number"));
    let symbols = symbols(&library);
    assert!(symbols.iter().all(|name| name.starts_with("peloton_")), "{symbols:?}");
    symbols.iter().for_each(|name| writeln!(now, "function {name}").expect("text"));
    writeln!(now, "{}", layouts(&library)).expect("text");
    let path = package().join("abi.txt");
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let words = "another interface than abi.txt lists: raise PELOTON_ABI in src/names.rs and peloton.hpp";
    assert!(may_follow(&listed, &now), "{words}\n{now}");
    if std::env::var("PELOTON_ABI_TXT").is_ok_and(|what| what == "renew") {
        std::fs::write(&path, &now).expect("abi.txt");
    } else {
        assert!(listed == now, "abi.txt is old: run this test with PELOTON_ABI_TXT=renew\n{now}");
    }
}

#[test]
fn changes_need_another_number() {
    let old = "PELOTON_ABI 1\nfunction a\nfunction b\nstruct s 8\n  x 0\n";
    assert!(may_follow(old, old) && may_follow("", old));
    assert!(may_follow(old, &old.replace("function b", "function b\nfunction c")));
    for changed in
        [old.replace("function b\n", ""), old.replace("  x 0", "  x 4"), old.replace("s 8", "s 16")]
    {
        assert!(!may_follow(old, &changed), "{changed}");
        assert!(may_follow(old, &changed.replace("ABI 1", "ABI 2")));
    }
}
