//! What a person at a terminal expects: names that are mistyped are understood, and nothing but text goes into a pipe.

use std::process::{Command, Output};

fn peloton(words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peloton")).args(words.split(' ')).output().unwrap()
}

#[test]
fn mistyped_names_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let config = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("run --config {} sim:velo,events=1", path.display())
    };
    let flags = [
        ("run --sequence velx sim:velo", "velo"),
        ("run --preset bst sim:velo", "best"),
        ("run --isa avx sim:velo", "avx2"),
        ("run --format mfd sim:lhcb", "mdf"),
        ("run --device gpx sim:velo", "gpu"),
        ("run --velo-banks retna sim:lhcb", "retina"),
        ("run --builder clone sim:cylinder", "clone-engine"),
        ("run --algorithm fats sim:timepix", "fast"),
        ("run --filter sice=2:3 sim:timepix", "size"),
        ("check --rules jsn sim:velo", "json"),
        ("compare sim:velo --left iso=avx2", "isa"),
        ("compare sim:velo --left preset=papr", "paper"),
        ("reproduce compas-table3", "compass-table3"),
        ("run vleo", "sim:velo"),
        ("run smi:velo", "sim:velo"),
        ("run tpc://localhost:9", "tcp://localhost:9"),
        ("run sim:vel", "velo"),
        ("run sim:velo,evnts=4", "events"),
        ("run sim:timepix,preset=am24", "am241"),
        ("describe sim:lhbc", "sim:lhcb"),
        ("rnu sim:velo", "run"),
    ];
    let configs = [
        (config("key.toml", "sequenc = \"velo\"\n"), "sequence"),
        (config("table.toml", "[velo]\nbst = 1\n"), "best"),
        (config("nested.toml", "[velo.best]\nforward_chi = 1\n"), "forward_chi2"),
        (config("preset.toml", "preset = \"besst\"\n"), "best"),
    ];
    let flags = flags.map(|(words, meant)| (words.to_string(), meant));
    for (words, meant) in flags.into_iter().chain(configs) {
        let output = peloton(&words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words}");
        assert!(told.contains(&format!("did you mean `{meant}`?")), "{words}: {told}");
    }
    for (words, flag) in [("run --sequnce velo", "--sequence"), ("run sim:velo --ouput x", "--output")] {
        let told = String::from_utf8_lossy(&peloton(words).stderr).into_owned();
        assert!(told.contains(&format!("a similar argument exists: '{flag}'")), "{words}: {told}");
    }
    // What is like nothing has no suggestion.
    let told = String::from_utf8_lossy(&peloton("run --sequence banana sim:velo").stderr).into_owned();
    assert!(told.contains("unknown sequence") && !told.contains("did you mean"), "{told}");
}

#[test]
fn pipes_get_no_colours_and_no_bars() {
    for words in [
        "--help",
        "run --help",
        "run",
        "rnu",
        "check sim:velo,events=20",
        "tune sim:velo,events=2 --seconds 0 --json -",
    ] {
        let output = peloton(words);
        for bytes in [&output.stdout, &output.stderr] {
            assert!(!bytes.contains(&0x1b), "{words}: {}", String::from_utf8_lossy(bytes));
            assert!(!bytes.contains(&b'\r'), "{words}: {}", String::from_utf8_lossy(bytes));
        }
    }
}
