//! Tests of the committed PTX: it is of this source, and what the compiler makes of it.

use super::{KERNELS, PTX};
use std::path::{Path, PathBuf};
use std::process::Command;
use xxhash_rust::xxh3::xxh3_128;

/// The compiler whose output is committed.
const RUSTC: &str = "1.95.0";

/// What it is called with, for `core` and for the kernels.
const FLAGS: [&str; 7] = [
    "--target=nvptx64-nvidia-cuda",
    "--edition=2024",
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Copt-level=3",
    "-Ccodegen-units=1",
    "-Ctarget-cpu=sm_70",
];

/// Every file of the crate, from `src` on.
const FILES: [&str; 18] = [
    "gpu/lanes/ptx/lib.rs",
    "gpu/lanes/ptx/simd.rs",
    "gpu/lanes/ptx/simd/backend.rs",
    "gpu/lanes/ptx/ut.rs",
    "gpu/lanes/ut.rs",
    "simd/backend/arrays.rs",
    "simd/backend/scalar.rs",
    "simd/backend/slices.rs",
    "simd/gang.rs",
    "simd/inlined.rs",
    "simd/varying.rs",
    "ut/find/tracklets/choose.rs",
    "ut/find/tracklets/complete.rs",
    "ut/find/tracklets/doublets.rs",
    "ut/find/tracklets/mod.rs",
    "ut/find/tracklets/tracklet.rs",
    "ut/find/tracklets/windows.rs",
    "ut/grid.rs",
];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn compiled(name: &str) -> PathBuf {
    sources().join("gpu/kernels/compiled").join(name)
}

fn is_renewal() -> bool {
    std::env::var("PELOTON_KERNELS").as_deref() == Ok("renew")
}

/// Hash of all that the PTX is made of, but for the compiler.
fn source_hash() -> String {
    let mut all = FLAGS.join(" ").into_bytes();
    for file in FILES {
        all.extend(std::fs::read(sources().join(file)).expect(file));
    }
    format!("{:032x}", xxh3_128(&all))
}

/// Needs no compiler.
#[test]
fn the_ptx_is_of_this_source() {
    if is_renewal() {
        return;
    }
    let hash = std::fs::read_to_string(compiled("lanes.txt")).expect("a hash");
    assert_eq!(hash.trim(), source_hash(), "lane programs changed: see the head of src/gpu/lanes/mod.rs");
    for kernel in KERNELS {
        assert!(PTX.contains(&format!(".entry {kernel}(")), "{kernel}");
    }
    // Each operation is rounded on its own, or fused where the source says so; and nothing has to be linked.
    for wrong in [".approx", ".ftz", "mul.f32", "add.f32", "sub.f32", "div.full", ".extern", "/src/"] {
        assert!(!PTX.contains(wrong), "{wrong}");
    }
}

/// Output of a command; panics with what it says when it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("rustc");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The source of the compiler's `core`, where it is installed and the compiler is [`RUSTC`].
fn core_source() -> Option<PathBuf> {
    let version = rustc().arg("--version").output().ok()?;
    let is_named = String::from_utf8_lossy(&version.stdout).starts_with(&format!("rustc {RUSTC} "));
    let root = PathBuf::from(is_named.then(|| run(rustc().args(["--print", "sysroot"])))?);
    let core = root.join("lib/rustlib/src/rust/library/core/src/lib.rs");
    core.exists().then_some(core)
}

/// The PTX that rustc makes, and the files that it read.
fn made(core: &Path) -> (Vec<u8>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("lib/rustlib/nvptx64-nvidia-cuda/lib");
    std::fs::create_dir_all(&root).expect("a folder");
    // Such targets are for nightly compilers, but for this variable.
    let compile = |name: &str, source: &Path| {
        let mut command = rustc();
        command.env("RUSTC_BOOTSTRAP", "1").args(FLAGS).arg("--crate-type=rlib");
        command.arg(format!("--crate-name={name}")).arg(format!("-Cmetadata={name}")).arg("-Awarnings");
        command.arg("--sysroot").arg(folder.path()).arg(source);
        command
    };
    run(compile("core", core).arg("-o").arg(root.join("libcore.rlib")));
    // Every crate wants it; nothing of it is used.
    let builtins = folder.path().join("compiler_builtins.rs");
    let text = "#![feature(no_core, compiler_builtins)]\n#![no_core]\n#![compiler_builtins]\n";
    std::fs::write(&builtins, text).expect("a file");
    run(compile("compiler_builtins", &builtins).arg("-o").arg(root.join("libcompiler_builtins.rlib")));
    let [ptx, files] = ["lanes.ptx", "lanes.d"].map(|name| folder.path().join(name));
    let emit = format!("--emit=asm={},dep-info={}", ptx.display(), files.display());
    run(compile("lanes", &sources().join("gpu/lanes/ptx/lib.rs")).arg(emit));
    let files = std::fs::read_to_string(files).expect("the files that were read");
    // A line for each: `file:`.
    let files = files.lines().filter_map(|line| line.strip_suffix(':')).map(|file| {
        let file = std::fs::canonicalize(file).expect("a file");
        let file = file.strip_prefix(std::fs::canonicalize(sources()).expect("src")).expect("a file of src");
        file.to_string_lossy().into_owned()
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    (std::fs::read(ptx).expect("PTX"), files)
}

/// The committed PTX equals the output of rustc, byte by byte; `PELOTON_KERNELS=renew` writes the output to the file.
#[test]
fn the_ptx_is_what_the_compiler_makes() {
    let Some(core) = core_source() else {
        let is_promised = std::env::var_os("PELOTON_RUST_SRC").is_some();
        assert!(!is_promised, "PELOTON_RUST_SRC promises rustc {RUSTC} with the source of `core`");
        eprintln!("skipped: no rustc {RUSTC} with the source of `core` (rustup component add rust-src)");
        return;
    };
    let (ptx, files) = made(&core);
    assert_eq!(files, FILES, "the files of the kernels");
    if is_renewal() {
        std::fs::write(compiled("lanes.ptx"), ptx).expect("a file");
        std::fs::write(compiled("lanes.txt"), source_hash() + "\n").expect("a file");
        return;
    }
    assert!(ptx == PTX.as_bytes(), "lanes.ptx is not what rustc makes: see the head of src/gpu/lanes/mod.rs");
}
