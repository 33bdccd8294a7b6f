//! Somebody else's project: the installed package, moved to another place, is found by CMake and by pkg-config, with the shared
//! and with the static library, and the README's program runs.

mod common;

use common::{data, missing, package, printed, tool};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The C++ program of a README.
fn readme_program(readme: &str) -> String {
    let text = std::fs::read_to_string(package().join(readme)).expect("the README");
    let (_, rest) = text.split_once("```cpp\n").expect("a block of C++");
    rest.split_once("```").expect("its end").0.to_string()
}

/// Installs into a folder and moves it.
fn installed(folder: &Path) -> PathBuf {
    let (build, first, moved) = (folder.join("build"), folder.join("first"), folder.join("moved/elsewhere"));
    printed(
        Command::new("cmake")
            .arg("-S")
            .arg(package())
            .arg("-B")
            .arg(&build)
            .arg("-DPELOTON_CARGO_FLAGS=--locked --offline"),
    );
    printed(Command::new("cmake").arg("--install").arg(&build).arg("--prefix").arg(&first));
    std::fs::create_dir_all(moved.parent().expect("a parent")).expect("a folder");
    std::fs::rename(&first, &moved).expect("moved");
    moved
}

/// Runs the README's program and looks at what it says.
fn works(program: &Path, prefix: &Path) {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", library_folder(prefix));
    if let Some(data) = data() {
        let lhcb = data.join("lhcb");
        command.arg(lhcb.join("minbias_retina_truth.mdf")).arg(lhcb.join("geometry"));
        let text = printed(&mut command);
        assert!(text.ends_with("tracks in 7 events"), "{}: {text}", program.display());
    }
}

fn library_folder(prefix: &Path) -> PathBuf {
    let lib = prefix.join("lib");
    let below = std::fs::read_dir(&lib).expect("lib").flatten().map(|entry| entry.path());
    let below: Vec<_> = below.filter(|path| path.join("libpeloton.a").is_file()).collect();
    below.into_iter().next().unwrap_or(lib)
}

#[test]
fn a_moved_package_is_found() {
    if tool("cmake", "--version").is_none() {
        return missing("cmake");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = installed(folder.path());
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"] {
        let (there, ours) = (prefix.join("share/doc/peloton").join(name), package().join("../..").join(name));
        let read = |path: &Path| std::fs::read(path).unwrap_or_else(|_| panic!("no {}", path.display()));
        assert!(read(&there) == read(&ours), "{} differs", there.display());
    }
    let soname = format!("libpeloton.so.{}", common::abi());
    assert!(library_folder(&prefix).join(&soname).is_file(), "no {soname}");
    let main = folder.path().join("main.cpp");
    std::fs::write(&main, readme_program("README.md")).expect("a file");
    for compiler in ["g++", "clang++"] {
        if tool(compiler, "--version").is_none() {
            missing(compiler);
            continue;
        }
        let build = folder.path().join(compiler);
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(package().join("tests/downstream")).arg("-B").arg(&build);
        configure.arg(format!("-DCMAKE_CXX_COMPILER={compiler}")).arg(format!("-DMAIN={}", main.display()));
        printed(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
        printed(Command::new("cmake").arg("--build").arg(&build));
        for program in ["peloton-17", "peloton-20", "static-17", "static-20"] {
            works(&build.join(program), &prefix);
        }
    }
    if tool("pkg-config", "--version").is_none() {
        return missing("pkg-config");
    }
    let configured = library_folder(&prefix).join("pkgconfig");
    for (ways, name) in
        [(&["--cflags", "--libs"][..], "shared"), (&["--static", "--cflags", "--libs"], "static")]
    {
        let flags =
            printed(Command::new("pkg-config").args(ways).arg("peloton").env("PKG_CONFIG_PATH", &configured));
        let program = folder.path().join(name);
        let mut compile = Command::new("c++");
        compile.arg("-std=c++17").arg("-pthread").arg(&main).arg("-o").arg(&program);
        printed(compile.args(flags.split_whitespace()));
        works(&program, &prefix);
        let (text, program) = (folder.path().join("short.cpp"), folder.path().join("short"));
        std::fs::write(&text, readme_program("../../README.md")).expect("a file");
        let mut compile = Command::new("c++");
        compile.arg("-std=c++17").arg("-pthread").arg(&text).arg("-o").arg(&program);
        printed(compile.args(flags.split_whitespace()));
        printed(Command::new(&program).env("LD_LIBRARY_PATH", library_folder(&prefix)));
    }
}
