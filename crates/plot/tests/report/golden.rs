//! Drawings of fixed results, byte for byte.

use crate::inputs::page_of;
use crate::page::figure;
use std::path::Path;

/// Name of the file, the results, and the heading of the figure.
const DRAWINGS: [(&str, &[&str], &str); 5] = [
    ("efficiency.svg", &["check"], "Efficiency against p: 01_velo"),
    ("ratio.svg", &["check", "paper"], "Efficiency against pT: 01_velo"),
    ("heat.svg", &["tune"], "Whole sequence, \u{b5}s per event"),
    ("stages.svg", &["throughput"], "Time of the stages"),
    ("pull.svg", &["cylinder"], "1/pT"),
];

#[test]
fn drawings_are_those_of_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/refs");
    for (name, inputs, title) in DRAWINGS {
        let page = page_of(inputs);
        let drawn = format!("{}\n", figure(&page, title));
        let file = folder.join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &drawn).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            drawn == expected,
            "{name} has changed: if it should, look at it and run this test with UPDATE=1"
        );
    }
}
