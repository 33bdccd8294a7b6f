//! Checks the packages of all crates.

use crate::{Result, command};

/// Crates in the order in which they depend on one another.
const CRATES: [&str; 10] = [
    "peloton",
    "peloton-io",
    "peloton-sim",
    "peloton-truth",
    "peloton-plot",
    "peloton-job",
    "peloton-plan",
    "peloton-papers",
    "peloton-cli",
    "peloton-capi",
];

/// Packages every crate without building it.
pub fn check() -> Result<()> {
    let packages = CRATES.iter().flat_map(|name| ["-p", name]);
    let arguments: Vec<_> = ["package", "--no-verify", "--allow-dirty", "--locked", "--quiet"]
        .into_iter()
        .chain(packages)
        .collect();
    command("cargo", &arguments)
}
