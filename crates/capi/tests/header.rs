//! `include/peloton.h` is what cbindgen makes of this crate, documents every function alike, and is C and C++.

mod common;

use common::{missing, package, tool};
use std::process::Command;

/// What made the header that is checked in.
const CBINDGEN: &str = "cbindgen 0.29.4";

fn header() -> String {
    std::fs::read_to_string(package().join("include/peloton.h")).expect("the header")
}

#[test]
fn the_header_is_what_cbindgen_makes() {
    let Some(version) = tool("cbindgen", "--version") else {
        return missing("cbindgen: cargo install cbindgen --version 0.29.4 --locked");
    };
    if version.trim() != CBINDGEN {
        return missing(&format!("{CBINDGEN}; this is {}", version.trim()));
    }
    let lock = package().join("../../Cargo.lock");
    let made = Command::new("cbindgen")
        .current_dir(package())
        .args(["--quiet", "--config", "cbindgen.toml", "--lockfile"])
        .args([lock.as_os_str(), ".".as_ref()])
        .output()
        .expect("cbindgen runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let made = String::from_utf8(made.stdout).expect("text");
    let words = "include/peloton.h is old: in crates/capi, run cbindgen --config cbindgen.toml \
                 --lockfile ../../Cargo.lock --output include/peloton.h .";
    assert!(made == header(), "{words}");
}

/// The comments and declarations of all functions.
fn functions(header: &str) -> Vec<(String, String)> {
    let (mut comment, mut found) = (String::new(), Vec::new());
    for line in header.lines() {
        if let Some(text) = line.strip_prefix("// ") {
            comment.push_str(text);
            comment.push('\n');
        } else if line.contains("peloton_") && line.contains('(') && !line.starts_with(' ') {
            let name = line.split('(').next().and_then(|words| words.rsplit([' ', '*']).next());
            found.push((name.unwrap_or_default().to_string(), std::mem::take(&mut comment)));
        } else {
            comment.clear();
        }
    }
    found
}

/// What is missing in the comment of a function: what it does, then whose memory it is, which threads, which codes.
fn lacks(comment: &str) -> bool {
    let at = ["Memory:", "Threads:", "Codes:"].map(|word| comment.find(word));
    !(at[0].is_some_and(|at| at > 0) && at.is_sorted() && at.iter().all(Option::is_some))
}

#[test]
fn every_function_says_what_callers_must_know() {
    let functions = functions(&header());
    assert!(functions.len() > 40, "{} functions found", functions.len());
    for (name, comment) in &functions {
        assert!(!lacks(comment), "{name}: {comment}");
    }
    assert!(lacks("Frees it.\nThreads: any. Codes: none.\n") && lacks("Memory: a. Threads: b. Codes: c.\n"));
}

#[test]
fn headers_compile_alone_in_every_language() {
    let folder = tempfile::tempdir().expect("a folder");
    let include = format!("-I{}", package().join("include").display());
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
    let c = folder.path().join("a.c");
    std::fs::write(&c, "#include <peloton.h>\nint main(void) { return peloton_abi() != PELOTON_ABI; }\n")
        .expect("a file");
    let cpp = folder.path().join("a.cpp");
    std::fs::write(&cpp, "#include <peloton.hpp>\nint main() { return !peloton::is_right_library(); }\n")
        .expect("a file");
    for (compilers, source, standards) in [
        (["gcc", "clang"], &c, ["-std=c99", "-std=c11"]),
        (["g++", "clang++"], &cpp, ["-std=c++17", "-std=c++20"]),
    ] {
        for compiler in compilers {
            if tool(compiler, "--version").is_none() {
                missing(compiler);
                continue;
            }
            for exceptions in [&[][..], &["-fno-exceptions"]] {
                for standard in standards {
                    let run = Command::new(compiler)
                        .arg(standard)
                        .args(strict)
                        .args(exceptions)
                        .arg(&include)
                        .arg(source)
                        .output();
                    let run = run.expect("a compiler");
                    assert!(
                        run.status.success(),
                        "{compiler} {standard}: {}",
                        String::from_utf8_lossy(&run.stderr)
                    );
                }
            }
        }
    }
}

/// Every `try_` of peloton.hpp is asked of an empty object, and so is the form that throws.
#[test]
fn what_can_fail_throws_or_answers_with_a_code() {
    let read = |name: &str| std::fs::read_to_string(package().join(name)).expect("a text");
    let (header, program) = (read("include/peloton.hpp"), read("tests/programs/twins.cpp"));
    let names = header.split("std::int32_t try_").skip(1).filter_map(|rest| rest.split('(').next());
    let names: std::collections::BTreeSet<_> = names.collect();
    assert!(names.len() > 18, "{names:?}");
    for name in names {
        assert!(program.contains(&format!("try_{name}(")), "try_{name} is not in twins.cpp");
    }
    let library = common::Library::new();
    for flags in [&[][..], &["-fno-exceptions"], &["-std=c++20"]] {
        let twins = library.compile("twins.cpp", flags);
        let text = common::printed(&mut library.command(twins));
        assert!(text.ends_with("operations"), "{text}");
    }
}
