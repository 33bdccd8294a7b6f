//! What the tests of this crate share: places, tools, C++ programs.
// Each test uses a part of it.
#![allow(dead_code, unused_imports)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../../../tests/common/data.rs"]
mod data;
pub use data::data;

/// The folder of this crate.
pub fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of what was built: that of the profile, above that of this program.
pub fn built() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    program.ancestors().nth(2).expect("target/PROFILE/deps/PROGRAM").to_path_buf()
}

/// What a tool says of its version; none when it is not there.
pub fn tool(name: &str, version: &str) -> Option<String> {
    let output = Command::new(name).arg(version).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Says that a test is passed over for want of a tool, which fails in CI.
pub fn missing(what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "missing: {what}");
    eprintln!("skipped: missing {what}");
}

/// The number of the interface, with which the SONAME ends.
pub fn abi() -> u32 {
    let header = std::fs::read_to_string(package().join("include/peloton.h")).expect("the header");
    let number = header.lines().find_map(|line| line.strip_prefix("#define PELOTON_ABI ")?.parse().ok());
    number.expect("PELOTON_ABI")
}

/// The shared library under the name that programs look for, in a folder of its own.
pub struct Library(tempfile::TempDir);

impl Library {
    /// The one that was built with this test.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let library = built().join("deps/libpeloton.so");
        assert!(library.is_file(), "{} is not there: cargo build first", library.display());
        let soname = format!("libpeloton.so.{}", abi());
        for name in ["libpeloton.so", &soname] {
            std::fs::copy(&library, folder.path().join(name)).expect("a copy");
        }
        Self(folder)
    }

    /// Its folder, where programs can be put, too.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Compiles a program, named from `tests/programs` on, and gives its path.
    pub fn compile(&self, source: &str, flags: &[&str]) -> PathBuf {
        let number = std::fs::read_dir(self.folder()).map_or(0, Iterator::count);
        let name = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
        let program = self.folder().join(format!("{name}-{number}"));
        let output = Command::new("c++")
            .args(["-std=c++17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .args(flags)
            .arg(format!("-I{}", package().join("include").display()))
            .arg(package().join("tests/programs").join(source))
            .arg("-o")
            .arg(&program)
            .arg(format!("-L{}", self.folder().display()))
            .arg("-lpeloton")
            .output()
            .expect("a C++ compiler");
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        program
    }

    /// A command that finds the library.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.folder());
        command
    }
}

/// What a command prints, when it succeeds.
pub fn printed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}
