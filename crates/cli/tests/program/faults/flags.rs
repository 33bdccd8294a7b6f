//! A10: profiles of another sequence or CPU. A11: times that are none. A14, B14: flags of another sequence. A15: headings
//! of `--help`. B15: what the detector says of itself. B18: files that nobody asked for. C: negative numbers, TOML errors.

use super::*;

#[test]
fn flags_of_another_sequence_are_refused() {
    let cases: &[(&[&str], &str)] = &[
        (&["--builder", "standard"], "--builder is for the sequence cylinder"),
        (&["--seeds", "hits"], "--seeds"),
        (&["--candidates", "3"], "--candidates"),
        (&["--holes", "1"], "--holes"),
        (&["--event-threads", "2"], "--event-threads"),
    ];
    for command in ["run", "check", "throughput", "compare", "tune"] {
        for (flags, word) in cases {
            for (sequence, input) in [("velo", VELO), ("ut", RAW), ("timepix", PIXELS)] {
                let error = failure(&[&[command, "--sequence", sequence, input], *flags].concat(), 2);
                assert!(error.contains(word), "{error}");
            }
        }
    }
    let cases: &[&[&str]] = &[
        &["--definition", "local"],
        &["--algorithm", "open"],
        &["--delta-ns", "10"],
        &["--strict-delta"],
        &["--disorder-us", "1"],
        &["--layout", "quad"],
        &["--calibration", "."],
        &["--filter", "size=2:3"],
        &["--mask-hot", "3"],
        &["--trigger", "rise1"],
        &["--katherine-unit", "2"],
        &["--time-unit", "ns"],
        &["--when-full", "drop"],
    ];
    for flags in cases {
        for (sequence, input) in [("velo", VELO), ("cylinder", CYLINDER)] {
            let error = failure(&[&["run", "--sequence", sequence, input], *flags].concat(), 2);
            assert!(error.contains(&format!("{} is for the sequence timepix", flags[0])), "{error}");
        }
    }
    for (sequence, input) in [("timepix", PIXELS), ("cylinder", CYLINDER)] {
        for flags in [["--geometry", "nominal"], ["--velo-banks", "retina"]] {
            let error = failure(&[&["run", "--sequence", sequence, input], &flags[..]].concat(), 2);
            assert!(error.contains(flags[0]) && error.contains("velo"), "{error}");
        }
    }
    for (job, word) in [
        (&["soak", "--sequence", "velo"][..], "soak feeds the sequence timepix"),
        (&["soak", "--builder", "standard"], "--builder"),
        (&["run", "--sequence", "ut", RAW, "--velo-banks", "retina"], "--velo-banks"),
        (
            &["display", "--sequence", "velo", VELO, "--frame-us", "9", "--output", "a.html"],
            "sequence timepix",
        ),
        (&["run", "--sequence", "cylinder", "--format", "mdf", CYLINDER], "which reads auto, cylinder"),
    ] {
        assert!(failure(job, 2).contains(word), "{job:?}");
    }
}

#[test]
fn profiles_of_other_sequences_and_cpus_are_told() {
    let folder = folder("profiles");
    let profile = path(&folder, "profile.toml");
    json(&["tune", VELO, "--isa", "scalar", "--repetitions", "1", "--output", &profile]);
    let error = failure(&["run", "--sequence", "cylinder", CYLINDER, "--profile", &profile], 2);
    assert!(error.contains("sequence velo") && error.contains("tune --sequence cylinder"), "{error}");
    assert_eq!(said(&["run", VELO, "--profile", &profile, "--quiet"]).2, "");
    let text = std::fs::read_to_string(&profile).unwrap();
    let other =
        |line: &str| if line.starts_with("cpu = ") { "cpu = \"Abacus 1\"".into() } else { line.to_string() };
    let text = text.lines().map(other).collect::<Vec<_>>().join("\n");
    std::fs::write(&profile, text).unwrap();
    let error = failure(&["run", VELO, "--profile", &profile, "--quiet"], 0);
    assert!(error.contains("measured on another CPU (Abacus 1)"), "{error}");
    let nonsense = file(&folder, "nonsense.toml", "sequence = 'velo'\nspeed = 3\n");
    let error = failure(&["run", VELO, "--profile", &nonsense], 2);
    assert!(error.contains("line 2") && error.contains("speed"), "{error}");
}

#[test]
fn times_that_are_none_are_refused() {
    for value in ["-3", "nan", "inf", "1e300", "soon"] {
        for with in [&["--delta-ns", value][..], &[&format!("--delta-ns={value}")]] {
            let error = failure(&[&["run", "--sequence", "timepix", PIXELS], with].concat(), 2);
            assert!(error.contains("--delta-ns") && error.contains("not a time"), "{error}");
        }
    }
    for (flag, word) in
        [("--disorder-us", "disorder"), ("--threads", "-1"), ("--max-bad", "-1"), ("--gang", "-1")]
    {
        let error = failure(&["run", "--sequence", "timepix", PIXELS, flag, "-1"], 2);
        assert!(error.contains(word) && !error.contains("unexpected argument"), "{error}");
    }
    for (flag, value) in [("--frame-us", "-1"), ("--frame-us", "nan"), ("--event", "-1")] {
        let job = ["display", "--sequence", "timepix", PIXELS, "--output", "a.html", flag, value];
        assert!(failure(&job, 2).contains(flag));
    }
}

#[test]
fn mistakes_are_told_in_plain_words() {
    for (flag, value, word) in [
        ("--max-bad", "few", "is not a whole number from 0"),
        ("--mask-hot", "99999999999999999999999", "too large"),
        ("--disorder-us", "long", "not a number"),
        ("--layout", "ring", "': `ring` is not a layout"),
    ] {
        let error = failure(&["run", "--sequence", "timepix", PIXELS, flag, value], 2);
        assert!(error.contains(word) && error.contains(flag), "{error}");
        assert!(!error.contains("digit") && !error.contains("literal"), "{error}");
    }
}

#[test]
fn general_flags_stand_under_a_general_heading() {
    for command in ["run", "check", "throughput", "tune", "compare", "display", "soak"] {
        let help = said(&[command, "--help"]).1;
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{command}: {text}"));
        for flag in ["--json <", "--quiet", "--sequence <", "--print-config"] {
            assert!(at(flag) > at("\nOptions:") && at(flag) < at("Sequence timepix:"), "{command}: {flag}");
        }
        for flag in ["--output <", "--rules <", "--left <", "--scan", "--frame-us <", "--share <"] {
            assert!(!help.contains(flag) || at(flag) < at("Sequence timepix:"), "{command}: {flag}");
        }
        assert!(at("--builder <") > at("Sequence cylinder:"), "{command}");
    }
}

#[test]
fn what_a_detector_says_of_itself_counts() {
    let folder = folder("detector");
    for (detector, name) in [("velo", "a.ndjson"), ("lhcb", "a.mdf"), ("cylinder,tracks=20", "a.bin")] {
        let output = path(&folder, name);
        let detector = format!("{detector},events=2");
        let made = json(&["simulate", "--detector", &detector, "--events", "9", "--output", &output]);
        assert_eq!(made["events"], 2, "{detector}");
    }
    let output = path(&folder, "a.tpx3");
    let made = json(&["simulate", "--detector", "timepix,hits=300", "--events", "9000", "--output", &output]);
    assert!(made["hits"].as_u64() < Some(1000), "{made}");
}

#[test]
fn results_as_json_leave_no_file_behind() {
    let folder = folder("tune-json");
    let scan = ["tune", VELO, "--isa", "scalar", "--repetitions", "1", "--quiet"];
    let tune = |more: &[&str]| peloton(&[&scan[..], more].concat()).current_dir(&folder).output().unwrap();
    assert!(tune(&["--json", "-"]).stdout.starts_with(b"{"));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert!(tune(&[]).status.success());
    assert!(folder.join("peloton-profile.toml").exists());
}

#[test]
fn configurations_name_their_line() {
    let folder = folder("toml");
    for (text, line, word) in [
        ("\n\nspeed = 1\n", 3, "speed"),
        ("[velo]\n\nno_such_key = 1\n", 3, "no_such_key"),
        ("threads = 2\n[timepix]\nblock_hits = 'many'\n", 3, "many"),
        ("threads = \n", 1, ""),
    ] {
        let config = file(&folder, "config.toml", text);
        let error = failure(&["run", VELO, "--config", &config], 2);
        assert!(error.contains(&format!("config.toml: line {line}: ")) && error.contains(word), "{error}");
    }
}
