//! Gives the shared library its SONAME, libpeloton.so.PELOTON_ABI, so that programs look for the ABI that they were
//! built with, independent of the version of peloton.

/// The file that contains the number of the interface.
const NAMES: &str = "src/names.rs";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={NAMES}");
    let names = std::fs::read_to_string(NAMES).expect(NAMES);
    let number =
        names.lines().find_map(|line| line.strip_prefix("pub const PELOTON_ABI: u32 = ")?.strip_suffix(';'));
    let number = number.expect("src/names.rs says `pub const PELOTON_ABI: u32 = N;`");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|target| target == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpeloton.so.{number}");
    }
}
