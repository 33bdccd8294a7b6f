//! B14: every flag that a command or a sequence would ignore is refused: all flags, sequences and commands.

use super::*;

/// A flag with a value, the sequences and the commands that it is for.
type Row = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const COMMANDS: [&str; 6] = ["run", "check", "throughput", "tune", "compare", "display"];
const SEQUENCES: [(&str, &str); 11] = [
    ("velo", VELO),
    ("velo-ut", RAW),
    ("ut", RAW),
    ("scifi", RAW),
    ("scifi-hits", RAW),
    ("long", RAW),
    ("long-ut", RAW),
    ("own", RAW),
    ("timepix", PIXELS),
    ("cylinder", CYLINDER),
    ("cylinder-fit", CYLINDER),
];
const EVERY: &[&str] = &[
    "velo",
    "velo-ut",
    "ut",
    "scifi",
    "scifi-hits",
    "long",
    "long-ut",
    "own",
    "timepix",
    "cylinder",
    "cylinder-fit",
];
const LHCB: &[&str] = &["velo", "velo-ut", "ut", "scifi", "scifi-hits", "long", "long-ut", "own"];
const EVENTS: &[&str] =
    &["velo", "velo-ut", "ut", "scifi", "scifi-hits", "long", "long-ut", "own", "cylinder", "cylinder-fit"];
const COUNTING: &[&str] = &["run", "check", "throughput", "compare"];

const FLAGS: &[Row] = &[
    (&["--events", "0:1"], EVENTS, &COMMANDS),
    (&["--strict"], EVERY, COUNTING),
    (&["--max-bad", "3"], EVERY, COUNTING),
    (&["--geometry", "nominal"], LHCB, &COMMANDS),
    (&["--velo-banks", "retina"], &["velo", "velo-ut", "long", "long-ut", "own"], &COMMANDS),
    (
        &["--preset", "best"],
        &["velo", "velo-ut", "scifi", "long", "long-ut", "own", "cylinder", "cylinder-fit"],
        &COMMANDS,
    ),
    (&["--write", "ut_hits"], &["velo-ut", "scifi", "long", "long-ut", "own"], &COMMANDS),
    (&["--gang", "auto"], EVENTS, &COMMANDS),
    (&["--slice", "2"], EVENTS, &COMMANDS),
    (
        &["--device", "emulated"],
        &["velo", "timepix", "cylinder"],
        &["run", "check", "throughput", "compare", "display"],
    ),
    (&["--rules", "lhcb"], EVENTS, &["check"]),
    (&["--tables"], EVENTS, &["check"]),
    (&["--losses"], &["velo", "velo-ut", "scifi", "long", "long-ut", "cylinder"], &["check"]),
    (&["--against", "none.ndjson"], LHCB, &["check"]),
    (&["--tracks", "none.ndjson"], LHCB, &["check"]),
    (&["--truth-output", "none.parquet"], EVENTS, &["check"]),
    (&["--scan"], EVERY, &["throughput"]),
    (&["--view", "xz"], EVENTS, &["display"]),
    (&["--no-truth"], EVENTS, &["display"]),
    (&["--frame-us", "9"], &["timepix"], &["display"]),
    (&["--definition", "local"], &["timepix"], &COMMANDS),
    (&["--algorithm", "open"], &["timepix"], &COMMANDS),
    (&["--delta-ns", "10"], &["timepix"], &COMMANDS),
    (&["--strict-delta"], &["timepix"], &COMMANDS),
    (&["--disorder-us", "1"], &["timepix"], &COMMANDS),
    (&["--layout", "quad"], &["timepix"], &COMMANDS),
    (&["--calibration", "."], &["timepix"], &COMMANDS),
    (&["--filter", "size=2:3"], &["timepix"], &COMMANDS),
    (&["--mask-hot", "3"], &["timepix"], &COMMANDS),
    (&["--trigger", "rise1"], &["timepix"], &["run", "throughput"]),
    (&["--katherine-unit", "2"], &["timepix"], &COMMANDS),
    (&["--time-unit", "ns"], &["timepix"], &COMMANDS),
    (&["--when-full", "drop"], &["timepix"], &COMMANDS),
    (&["--builder", "standard"], &["cylinder"], &COMMANDS),
    (&["--seeds", "hits"], &["cylinder"], &COMMANDS),
    (&["--candidates", "3"], &["cylinder"], &COMMANDS),
    (&["--holes", "1"], &["cylinder"], &COMMANDS),
    (&["--event-threads", "2"], &["cylinder"], &COMMANDS),
];

#[test]
fn flags_without_effect_are_refused_everywhere() {
    let (mut refused, mut taken) = (0, 0);
    for (flag, sequences, commands) in FLAGS {
        for command in COMMANDS {
            for (sequence, input) in SEQUENCES {
                // Nothing runs: what is wrong is told before the configuration is printed.
                let job = [&[command, "--sequence", sequence, input, "--print-config"], *flag].concat();
                let output: &[&str] = if command == "display" { &["--output", "a.html"] } else { &[] };
                let (code, _, error) = said(&[&job[..], output].concat());
                let is_for_it = sequences.contains(&sequence) && commands.contains(&command);
                if is_for_it {
                    assert_eq!((code, &error[..]), (Some(0), ""), "{job:?}");
                    taken += 1;
                } else {
                    assert_eq!(code, Some(2), "{job:?}: {error}");
                    assert!(error.contains(flag[0]), "{job:?}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 900 && taken > 200, "{refused} {taken}");
}

#[test]
fn what_a_refusal_says() {
    for (job, words) in [
        (&["run", PIXELS, "--slice", "4"][..], "blocks of hits"),
        (
            &["run", PIXELS, "--preset", "paper"],
            "--preset is for the sequences velo, velo-ut, scifi, long, long-ut, own, cylinder, cylinder-fit, not for timepix",
        ),
        (
            &["tune", VELO, "--max-bad", "2"],
            "--max-bad has no effect on `peloton tune`: it is for run, check",
        ),
        (
            &["display", PIXELS, "--trigger", "rise1", "--output", "a.html"],
            "--trigger has no effect on `peloton display`",
        ),
        (&["soak", "--layout", "quad"], "--layout has no effect on `peloton soak`"),
        (&["soak", "--preset", "best"], "--preset"),
        (
            &["run", "--sequence", "timepix", PIXELS, "--katherine-unit", "2"],
            "--katherine-unit is for the format katherine",
        ),
        (
            &["run", "--sequence", "timepix", PIXELS, "--time-unit", "ns"],
            "--time-unit is for the formats npy and parquet",
        ),
        (
            &["run", CYLINDER, "--builder", "best-hit", "--candidates", "4"],
            "--candidates is for the builders standard",
        ),
        (&["check", VELO, "--tracks", "none.ndjson", "--isa", "scalar"], "--isa has no effect with --tracks"),
        (
            &["simulate", "--detector", "velo", "--geometry", "nominal", "--output", "-"],
            "--geometry is for the detector lhcb",
        ),
        (&["simulate", "--detector", "timepix", "--threads", "2", "--output", "-"], "--threads"),
    ] {
        let error = failure(job, 2);
        assert!(error.contains(words), "{job:?}: {error}");
    }
}
