//! Inputs of LHCb that failed once, with what must become of them.

use crate::common::data;
use crate::said;
use serde_json::Value;

/// A file of the folder `trouble`, how it is run, and what must come out: a value of the summary by its JSON pointer, and the
/// exit code.
struct Case {
    file: &'static str,
    arguments: &'static [&'static str],
    right: &'static [(&'static str, u64)],
    code: i32,
}

const VELO: &[&str] = &["--sequence", "velo", "--geometry", "nominal-forced"];
/// The only event of the file is lost.
const DAQ_ERROR: &[(&str, u64)] = &[("/dropped/daq_error", 1), ("/tracks", 0)];

const CASES: &[Case] = &[
    Case { file: "21_daq_error_95.mdf", arguments: VELO, right: DAQ_ERROR, code: 1 },
    Case { file: "21_daq_error_96.mdf", arguments: VELO, right: DAQ_ERROR, code: 1 },
    Case { file: "21_daq_error_100.mdf", arguments: VELO, right: DAQ_ERROR, code: 1 },
    Case { file: "21_daq_error_101.mdf", arguments: VELO, right: DAQ_ERROR, code: 1 },
    Case { file: "21_no_error_for_comparison.mdf", arguments: VELO, right: &[("/tracks", 105)], code: 0 },
    // Without the boards that report a fault the others go on.
    Case {
        file: "21_daq_error_95.mdf",
        arguments: &["--sequence", "velo", "--geometry", "nominal-forced", "--bad-banks", "bank"],
        right: &[("/tracks", 99), ("/partial_events", 1), ("/lacking_sources/velo 3", 1)],
        code: 0,
    },
    Case {
        file: "22_ut_version4_zero_adc.mdf",
        arguments: &["--sequence", "ut", "--geometry", "nominal-forced"],
        right: &[("/hits", 3)],
        code: 0,
    },
    Case {
        file: "35_one_scifi_board_absent.mdf",
        arguments: &["--sequence", "scifi", "--geometry", "../lhcb/geometry"],
        right: &[("/events", 2), ("/partial_events", 1), ("/lacking_sources/scifi 100", 1)],
        code: 0,
    },
    Case {
        file: "35_one_scifi_board_absent.mdf",
        arguments: &["--sequence", "velo-ut", "--geometry", "../lhcb/geometry"],
        right: &[("/events", 2)],
        code: 0,
    },
];

#[test]
fn inputs_that_failed_give_the_right_values() {
    let Some(data) = data() else { return };
    let folder = data.join("trouble");
    for Case { file, arguments, right, code } in CASES {
        let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_string();
        let arguments =
            arguments.iter().map(|word| if word.contains('/') { path(word) } else { word.to_string() });
        let arguments: Vec<_> = arguments.collect();
        let words: Vec<_> = arguments.iter().map(String::as_str).collect();
        let (found, text, error) = said(&[&["run", &path(file), "--json", "-"], &words[..]].concat());
        assert_eq!(found, Some(*code), "{file} {arguments:?}: {error}");
        let summary: Value = serde_json::from_str(&text).expect("JSON");
        for (pointer, value) in *right {
            let found = summary.pointer(pointer).and_then(Value::as_u64);
            assert_eq!(found, Some(*value), "{file} {arguments:?}: {pointer} in {summary}");
        }
        let is_partial = summary.get("partial_events").is_some();
        assert_eq!(error.contains(" are partial: "), is_partial, "{file} {arguments:?}: {error}");
    }
}
