//! B1: exit codes, `--max-bad` and one line say that events were lost. B7: events without truth. B12: one bad file among
//! many. B13: `--events` beyond the input.

use super::*;

/// Simulated events of which some lines are damaged, by their numbers.
fn damaged(folder: &Path, events: usize, bad: &[usize]) -> String {
    let name = simulated(folder, "events.ndjson", "velo", &events.to_string());
    let text = std::fs::read_to_string(&name).unwrap();
    let line = |(number, line): (usize, &str)| match bad.contains(&number) {
        true => format!("{}\n", &line[..line.len() / 2]),
        false => format!("{line}\n"),
    };
    file(folder, "events.ndjson", text.lines().enumerate().map(line).collect::<String>())
}

#[test]
fn nothing_reconstructed_is_a_failure() {
    let events = damaged(&folder("nothing"), 3, &[0, 1, 2]);
    for command in ["run", "check", "compare", "throughput", "tune"] {
        for quiet in [&[][..], &["--quiet"]] {
            let (code, _, error) = said(&[&[command, &events], quiet].concat());
            assert_eq!(code, Some(1), "{command}: {error}");
            let last = error.lines().last().unwrap();
            assert!(
                last.starts_with("error: no event could be reconstructed") || last.contains("input: "),
                "{error}"
            );
            assert!(
                error.contains("3 of 3 events") && error.contains("first is event 0: corrupt: "),
                "{error}"
            );
        }
    }
    // What can be said is still said.
    let (code, text, _) = said(&["run", &events, "--json", "-"]);
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &summary["dropped"]["corrupt"]), (Some(1), &3.into()));
}

#[test]
fn so_many_events_may_be_lost() {
    let events = damaged(&folder("max-bad"), 6, &[2, 4]);
    for command in ["run", "check"] {
        for (max, expected) in [(&[][..], 0), (&["--max-bad", "2"], 0), (&["--max-bad", "1"], 1)] {
            let (code, _, error) = said(&[&[command, &events, "--quiet"], max].concat());
            assert_eq!(code, Some(expected), "{command} {max:?}: {error}");
            assert!(
                error.contains("warning: 2 of 6 events could not be reconstructed; the first is event 2"),
                "{error}"
            );
            assert_eq!(error.contains("more than --max-bad 1"), expected == 1, "{error}");
        }
    }
}

#[test]
fn statuses_met_in_decoding_are_told() {
    // Hits of a module that lies behind the moon.
    let folder = folder("status");
    let name = simulated(&folder, "events.ndjson", "velo", "2");
    let text = std::fs::read_to_string(&name).unwrap();
    let at = text.find("\"z\":[").unwrap() + 5;
    let text = format!("{}1e30{}", &text[..at], &text[at + text[at..].find(',').unwrap()..]);
    let name = file(&folder, "events.ndjson", text);
    let error = failure(&["run", &name, "--quiet"], 0);
    assert!(
        error.contains("1 of 2 events")
            && error.contains("event 0: out_of_range: hit 0 in module 0 at ")
            && error.contains(": A coordinate"),
        "{error}"
    );
}

#[test]
fn events_without_truth_are_not_corrupt() {
    let folder = folder("truth");
    let name = simulated(&folder, "events.ndjson", "velo", "3");
    let text = std::fs::read_to_string(&name).unwrap();
    let without = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event.as_object_mut().unwrap().remove("montecarlo");
        format!("{event}\n")
    };
    let name = file(&folder, "events.ndjson", text.lines().map(without).collect::<String>());
    assert_eq!(json(&["run", &name])["dropped"], serde_json::json!({}));
    let (code, text, error) = said(&["check", &name, "--json", "-"]);
    let checked: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &checked["dropped"]), (Some(1), &serde_json::json!({ "no_truth": 3 })), "{error}");
    assert!(error.contains("no simulated truth"), "{error}");
}

#[test]
fn one_bad_file_among_many_does_not_end_the_job() {
    let folder = folder("many");
    let velo = simulated(&folder, "a.ndjson", "velo", "3");
    let mdf = simulated(&folder, "a.mdf", "lhcb", "2");
    let toy = simulated(&folder, "a.bin", "cylinder,tracks=50", "2");
    let pixels = simulated(&folder, "a.txt", "timepix", "500");
    let missing = path(&folder, "missing");
    let [empty, words] = [("empty", ""), ("words", "These are no events at all.\n")]
        .map(|(name, text)| file(&folder, name, text));
    let geometry: &[&str] = &["--geometry", "nominal"];
    for (sequence, good, more, bad) in [
        ("velo", &velo, &[][..], &[&words][..]),
        ("velo", &velo, &[], &[&mdf, &toy]),
        ("velo", &mdf, geometry, &[&words]),
        ("cylinder", &toy, &[], &[&empty, &words]),
        ("timepix", &pixels, &[], &[&words, &toy]),
    ] {
        let alone = json(&[&["run", "--sequence", sequence, good], more].concat());
        for bad in bad {
            for inputs in [[good, bad, good], [good, good, bad]] {
                let inputs = inputs.map(String::as_str);
                let job = [&["run", "--sequence", sequence], &inputs[..], more].concat();
                let (code, text, error) = said(&[&job[..], &["--json", "-"]].concat());
                assert_eq!(code, Some(1), "{inputs:?}: {error}");
                let summary: Value = serde_json::from_str(&text).expect("a summary");
                assert_eq!(
                    summary["hits"].as_u64(),
                    alone["hits"].as_u64().map(|hits| 2 * hits),
                    "{inputs:?}"
                );
                assert_eq!(summary["dropped"]["unusable_inputs"], 1, "{inputs:?}");
                assert!(error.contains(bad.as_str()) && error.contains("1 of the inputs"), "{error}");
            }
            if sequence != "timepix" {
                let strict = [&["run", "--sequence", sequence, good, bad, "--strict"], more].concat();
                assert!(failure(&strict, 1).contains(bad.as_str()));
            }
        }
        // A file without events, or hits, is no bad one, where the format allows it.
        if sequence != "cylinder" {
            let job = [&["run", "--sequence", sequence, good, &empty], more].concat();
            assert!(failure(&job, 0).contains(": there is no "));
        }
        // A name that is wrong is a mistake, and nothing is done.
        let job = [&["run", "--sequence", sequence, good, &missing], more].concat();
        assert!(failure(&job, 1).contains(&missing));
    }
}

#[test]
fn events_beyond_the_input_are_told() {
    for (sequence, input, all) in
        [("velo", VELO, 6), ("cylinder", CYLINDER, 2), ("velo", RAW, 2), ("ut", RAW, 2)]
    {
        let run = |events: &str| said(&["run", "--sequence", sequence, input, "--events", events]);
        let (code, text, error) = run("100:5");
        assert_eq!(code, Some(1), "{sequence}: {error}");
        assert!(error.contains("--events 100:5: the input has no event of this number"), "{error}");
        assert!(!text.contains("NaN"), "{text}");
        let (code, _, error) = run("1:1000");
        assert_eq!(code, Some(0), "{sequence}: {error}");
        assert!(error.contains(&format!("the input has only {} of these events", all - 1)), "{error}");
        let (code, text, error) = run("0:0");
        assert!(code == Some(0) && error.is_empty() && !text.contains("NaN"), "{sequence}: {error}{text}");
    }
    let refused = failure(&["run", "--sequence", "timepix", PIXELS, "--events", "0:5"], 2);
    assert!(
        refused.contains("--events is for the sequences velo, velo-ut, ut, scifi, scifi-hits, long, long-ut, own, cylinder, cylinder-fit, not for timepix"),
        "{refused}"
    );
}
