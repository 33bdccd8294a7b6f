//! The folder of the data that tests read.

use std::path::PathBuf;

/// Returns the folder of real events: `PELOTON_DATA`, or `../shared/data` next to the checkout. Without it a test
/// prints a note and passes; in CI it fails.
pub fn data() -> Option<PathBuf> {
    let named = std::env::var_os("PELOTON_DATA").map(PathBuf::from);
    let root = named.unwrap_or_else(|| checkout().join("../shared/data"));
    if root.join("velo").is_dir() {
        return Some(root);
    }
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "no event data in {}: set PELOTON_DATA", root.display());
    eprintln!("skipped: no event data in {} (PELOTON_DATA names its place)", root.display());
    None
}

/// Returns the root of the checkout: tests of the library and of the crates in `crates` use this file.
fn checkout() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    if package.join("crates").is_dir() { package } else { package.join("../..") }
}
