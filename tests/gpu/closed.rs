//! Safe code of other crates cannot launch kernels: programs that try do not compile, with the error code given here.
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that compiles by itself; the line under test follows it.
const PROGRAM: &str = "#![forbid(unsafe_code)]
pub fn open() -> peloton::Result<()> {
    let (device, _faults) = peloton::gpu::Device::failing(peloton::gpu::Order::Forward)?;
    let mut stream = peloton::gpu::timepix::PixelStream::open(&device, &Default::default(), None, 100)?;
    stream.times(&mut |_, _| ())?;
    let _ = (device.kind(), device.name(), peloton::gpu::KERNELS[0]);
";

/// Lines of hostile or mistaken programs, and the compiler's error code for each.
const ATTEMPTS: [(&str, &str); 12] = [
    ("device.open(256, 256)?;", "E0624"),
    ("stream.queue.wait()?;", "E0616"),
    ("stream.args = Default::default();", "E0616"),
    ("let _: peloton::gpu::Queue;", "E0425"),
    ("let _: peloton::gpu::driver::Queue;", "E0603"),
    ("let _: peloton::gpu::Arguments;", "E0425"),
    ("use peloton::gpu::Arguments;", "E0432"),
    ("use peloton::gpu::mirror::Arguments;", "E0603"),
    ("let _: peloton::gpu::Cuda;", "E0425"),
    ("let _: peloton::gpu::timepix::args::PixelArgs;", "E0603"),
    ("let _: peloton::gpu::velo::args::VeloArgs;", "E0603"),
    ("let _ = peloton::gpu::timepix::PixelStream { ..stream };", "E0451"),
];

/// The error of rustc for the program with this line; none when it compiles.
fn compile(library: &Path, line: &str, folder: &Path) -> Option<String> {
    let file = folder.join("program.rs");
    std::fs::write(&file, format!("{PROGRAM}    {line}\n    Ok(())\n}}\n")).expect("a file");
    let dependencies = library.parent().expect("a folder");
    let output = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"])
        .arg(folder)
        .arg("-L")
        .arg(format!("dependency={}", dependencies.display()))
        .arg("--extern")
        .arg(format!("peloton={}", library.display()))
        .arg(&file)
        .output()
        .expect("a compiler beside the tests");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The library's builds in the folder of this test.
fn libraries() -> Vec<PathBuf> {
    let test = std::env::current_exe().expect("a test program");
    let files = std::fs::read_dir(test.parent().expect("a folder")).expect("a folder of builds");
    let of_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libpeloton-") && name.ends_with(".rlib")
    };
    files.filter_map(|file| Some(file.ok()?.path())).filter(of_library).collect()
}

#[test]
fn programs_without_unsafe_code_reach_no_launch() {
    let all = libraries();
    if all.is_empty() {
        eprintln!("skipped: this program stands alone, without the library that it was built with");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // There may be several builds with different features.
    let compiles = |library: &&PathBuf| compile(library, "", folder.path()).is_none();
    let library = all.iter().find(compiles).expect("a library that the program compiles with");
    for (line, code) in ATTEMPTS {
        let message = compile(library, line, folder.path());
        let message = message.unwrap_or_else(|| panic!("this compiles: {line}"));
        assert!(message.contains(&format!("error[{code}]")), "{line}: {message}");
        assert_eq!(message.matches("error[").count(), 1, "{line}: {message}");
    }
}
