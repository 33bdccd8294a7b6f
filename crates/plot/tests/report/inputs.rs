//! Small results that reports are made of.

use peloton_plot::{ReportInput, report};

/// Results as the commands write them, with fewer tables.
pub const INPUTS: [(&str, &str); 8] = [
    ("check", include_str!("inputs/check.json")),
    ("paper", include_str!("inputs/paper.json")),
    ("cylinder", include_str!("inputs/cylinder.json")),
    ("pixels", include_str!("inputs/pixels.json")),
    ("throughput", include_str!("inputs/throughput.json")),
    ("tune", include_str!("inputs/tune.json")),
    ("compare", include_str!("inputs/compare.json")),
    ("soak", include_str!("inputs/soak.json")),
];

/// The text of one of them.
pub fn input(name: &str) -> &'static str {
    INPUTS.iter().find(|(known, _)| *known == name).expect(name).1
}

/// The page of some of them.
pub fn page_of(names: &[&str]) -> String {
    let inputs = names.iter().map(|name| {
        let json = serde_json::from_str(input(name)).expect("JSON");
        ReportInput::from_json(name.to_string(), json).expect(name)
    });
    report(inputs.collect()).expect("a page")
}
