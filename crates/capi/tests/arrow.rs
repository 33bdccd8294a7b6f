//! pyarrow reads the results of every sequence where they lie.

mod common;
#[path = "common/samples.rs"]
mod samples;

use common::{Library, missing, package, printed};
use std::process::Command;

/// A Python that has pyarrow: `PELOTON_PYTHON`, else the usual one.
fn python() -> Option<String> {
    let python = std::env::var("PELOTON_PYTHON").unwrap_or("python3".into());
    let found = Command::new(&python).args(["-c", "import pyarrow"]).output();
    found.is_ok_and(|output| output.status.success()).then_some(python)
}

fn toml(name: &str) -> String {
    let seeds = if name == "cylinder" { "\n[cylinder]\nseeds = 'hits'" } else { "" };
    format!("sequence = '{name}'{seeds}")
}

#[test]
fn results_are_read_where_they_lie() {
    let Some(python) = python() else { return missing("pyarrow, for the Python that PELOTON_PYTHON names") };
    let library = Library::new();
    let (mdf, tpx3) = (library.folder().join("a.mdf"), library.folder().join("a.tpx3"));
    samples::simulate("lhcb", 5, &mdf);
    samples::simulate("timepix", 20_000, &tpx3);
    let (events, cylinder) = (library.folder().join("a.bin"), library.folder().join("a.columns"));
    samples::simulate("cylinder,tracks=300", 2, &events);
    std::fs::write(&cylinder, samples::cylinder_columns(&events)).expect("a file");
    for name in ["velo", "velo-ut", "ut", "scifi-hits", "scifi", "long", "long-ut", "timepix", "cylinder"] {
        let (how, file, geometry) = match name {
            "timepix" => ("tpx3", &tpx3, "-"),
            "cylinder" => ("cylinder", &cylinder, "-"),
            _ => ("mdf", &mdf, "nominal"),
        };
        let mut command = Command::new(&python);
        command.arg(package().join("tests/programs/arrow.py")).arg(library.folder().join("libpeloton.so"));
        command.arg(how).arg(file).args([&toml(name), geometry]);
        let text = printed(&mut command);
        assert!(text.ends_with("columns shared"), "{name}: {text}");
    }
}
