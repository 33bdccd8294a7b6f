//! Inputs of the folder `trouble` that jobs must be loud about: file, arguments, exit code, and what the one line on standard error says.

use crate::{common, path, said};
use serde_json::Value;

struct Case {
    file: &'static str,
    arguments: &'static [&'static str],
    code: i32,
    /// What standard error says; nothing at all where it is empty.
    right: &'static [&'static str],
    /// Hits in the results.
    hits_out: u64,
}

const CASES: &[Case] = &[
    Case {
        file: "29_eight_chips.tpx3",
        arguments: &[],
        code: 0,
        right: &["(50.0 %) lie on chips 4 to 7, which the layout does not have: see --layout"],
        hits_out: 8,
    },
    Case {
        file: "29_eight_chips.tpx3",
        arguments: &["--layout", "quad"],
        code: 0,
        right: &["(50.0 %) lie on chips 4 to 7"],
        hits_out: 8,
    },
    Case {
        file: "29_eight_chips.tpx3",
        arguments: &["--layout", "single", "--max-bad", "50%"],
        code: 1,
        right: &["(87.5 %) lie on chips 1 to 7", "14 of 16 hits are lost, more than --max-bad 50%"],
        hits_out: 2,
    },
    Case {
        file: "29_eight_chips.tpx3",
        arguments: &["--layout", "apart:8"],
        code: 0,
        right: &[],
        hits_out: 16,
    },
];

#[test]
fn jobs_are_loud_about_what_they_lose() {
    let Some(data) = common::data() else { return };
    let folder = crate::empty_folder("trouble-jobs");
    for (number, Case { file, arguments, code, right, hits_out }) in CASES.iter().enumerate() {
        let input = data.join("trouble").join(file).display().to_string();
        let output = path(&folder, &format!("{number}.json"));
        for more in [
            &["--json", &output[..]][..],
            &["--quiet", "--json", &output],
            &["--output", "-", "--json", &output],
        ] {
            let job = [&["run", "--sequence", "timepix", &input], *arguments, more].concat();
            let (found, _, error) = said(&job);
            assert_eq!((found, error.lines().count()), (Some(*code), right.len()), "{job:?}: {error}");
            for (line, words) in error.lines().zip(*right) {
                assert!(line.contains(words), "{job:?}: {error}");
            }
            let summary: Value = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
            assert_eq!(summary["hits_out"].as_u64(), Some(*hits_out), "{job:?}");
        }
    }
}
