//! Tracks of the cylinder detector that lost hits without a word: file, arguments, and what `check` must say.

use crate::{common, json_of, said};

enum Right {
    /// Exit code 0 and this share of the hits on tracks, at least.
    Hits(f64),
    /// Exit code 0 and a smaller share: the published start is kept as it is.
    FewerHits(f64),
    /// Exit code 1, the events' status, and words on standard error.
    Dropped(&'static str, &'static str),
}
use Right::{Dropped, FewerHits, Hits};

struct Case {
    file: &'static str,
    arguments: &'static [&'static str],
    right: Right,
}

const CASES: &[Case] = &[
    Case { file: "32_cylinder_1_tev.bin", arguments: &[], right: Hits(0.99) },
    Case { file: "32_cylinder_1_tev.bin", arguments: &["--builder", "standard"], right: Hits(0.99) },
    Case { file: "32_cylinder_1_tev.bin", arguments: &["--builder", "best-hit"], right: Hits(0.99) },
    Case { file: "32_cylinder_1_tev.bin", arguments: &["--preset", "paper"], right: FewerHits(0.8) },
    Case { file: "33_cylinder_pz_zero.bin", arguments: &[], right: Hits(0.99) },
    Case { file: "33_cylinder_pz_zero.bin", arguments: &["--builder", "standard"], right: Hits(0.99) },
    Case { file: "33_cylinder_pz_zero.bin", arguments: &["--builder", "best-hit"], right: Hits(0.99) },
    Case { file: "33_cylinder_pz_zero.bin", arguments: &["--preset", "paper"], right: FewerHits(0.97) },
    Case {
        file: "34_cylinder_hits_without_errors.bin",
        arguments: &[],
        right: Dropped(
            "bad_errors",
            "bad_errors: A measurement error of a hit is 0, negative, NaN or infinite.",
        ),
    },
];

#[test]
fn cylinder_tracks_keep_their_hits_or_say_why_not() {
    let Some(data) = common::data() else { return };
    for Case { file, arguments, right } in CASES {
        let input = data.join("trouble").join(file).display().to_string();
        let job = [&["check", "--sequence", "cylinder", &input], *arguments].concat();
        let code = i32::from(matches!(right, Dropped(..)));
        let share = |found: &serde_json::Value| found["categories"][0]["hit_efficiency"].as_f64().unwrap();
        let found = json_of(&job, code);
        match right {
            Hits(least) => assert!(share(&found) >= *least, "{job:?}: {}", share(&found)),
            FewerHits(most) => assert!(share(&found) < *most, "{job:?}: {}", share(&found)),
            Dropped(status, words) => {
                assert_eq!(found["dropped"][*status], 5, "{job:?}: {found}");
                let error = said(&job).2;
                assert!(error.contains(words), "{job:?}: {error}");
            }
        }
    }
}
