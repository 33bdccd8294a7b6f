//! Displays of what no detector sends: a picture in which nothing is taken for HTML, or an error of one line.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const EVIL: &str = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>";
const ENDINGS: [&str; 3] = ["html", "svg", "json"];
/// How long any of them may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Draws inputs, and counts what became of them.
struct Drawing {
    folder: tempfile::TempDir,
    drawn: usize,
    refused: usize,
    /// Those with an exit code that is not 0, drawn or not.
    failed: usize,
}

impl Drawing {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), drawn: 0, refused: 0, failed: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Draws an input with these words behind `display`, as one of the formats in turn.
    fn draw(&mut self, what: &str, words: &[&str]) -> Option<String> {
        let ending = ENDINGS[(self.drawn + self.refused) % ENDINGS.len()];
        self.draw_as(what, words, ending)
    }

    fn draw_as(&mut self, what: &str, words: &[&str], ending: &str) -> Option<String> {
        let output = self.path(&format!("event.{ending}"));
        let _ = std::fs::remove_file(&output);
        let begin = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
        let done =
            command.arg("display").args(words).arg("--quiet").arg("--output").arg(&output).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(begin.elapsed() < PATIENCE, "{what}: {:?}", begin.elapsed());
        assert!(!said.contains("panicked") && !said.contains("internal"), "{what}: {said}");
        assert!(matches!(done.status.code(), Some(0..=2)), "{what}: {:?} {said}", done.status);
        let page = std::fs::read_to_string(&output).ok();
        self.failed += usize::from(!done.status.success());
        match &page {
            Some(page) => {
                self.drawn += 1;
                is_clean(what, ending, page);
            }
            None => {
                self.refused += 1;
                assert!(said.starts_with("error: ") || said.contains("\nerror: "), "{what}: {said}");
            }
        }
        page
    }

    /// Draws the content of a file.
    fn draw_file(&mut self, what: &str, sequence: &str, name: &str, content: &[u8]) -> Option<String> {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        self.draw(what, &["--sequence", sequence, path.to_str().unwrap()])
    }
}

/// Checks that a picture holds no markup of the input and no number that is none.
fn is_clean(what: &str, ending: &str, page: &str) {
    if ending == "json" {
        serde_json::from_str::<Value>(page).unwrap_or_else(|e| panic!("{what}: {e}"));
        return;
    }
    assert!(!page.contains("<script>alert") && !page.contains("<img"), "{what}: markup of the input");
    // Scripts of pages have words of their own; what is drawn are attributes.
    let drawn = page.split("<script").next().unwrap_or_default();
    for wrong in ["NaN", "inf\"", "inf ", "Infinity", "null\""] {
        assert!(!drawn.contains(wrong), "{what}: {wrong} in the {ending}");
    }
}

/// What `peloton simulate` writes.
fn simulated(folder: &Path, words: &[&str], name: &str) -> Vec<u8> {
    let path = folder.join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    let done =
        command.arg("simulate").args(words).arg("--quiet").arg("--output").arg(&path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(path).unwrap()
}

/// Events whose text says what cannot be.
fn texts(event: &Value) -> Vec<(String, String)> {
    let text = event.to_string();
    let mut all: Vec<(String, String)> = Vec::new();
    for value in [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "1e308",
        "-1e39",
        "1e30",
        "-0.0",
        "5e-324",
        "null",
        "\"x\"",
        "[]",
    ] {
        // The first coordinate of the list.
        let begin = text.find("\"x\":[").unwrap() + 5;
        let end = begin + text[begin..].find([',', ']']).unwrap();
        all.push((format!("x = {value}"), format!("{}{value}{}", &text[..begin], &text[end..])));
    }
    for share in 1..20 {
        all.push((format!("cut at {share}/20"), text[..text.len() * share / 20].into()));
    }
    for key in ["x", "y", "z", "module_prefix_sum", "montecarlo"] {
        let changed = |value: Option<Value>| {
            let mut changed = event.clone();
            match value {
                Some(value) => changed[key] = value,
                None => drop(changed.as_object_mut().unwrap().remove(key)),
            }
            changed.to_string()
        };
        all.push((format!("no {key}"), changed(None)));
        for value in [json!([]), json!(null), json!(7), json!(EVIL), json!({ EVIL: EVIL }), json!([[[1e9]]])]
        {
            all.push((format!("{key} = {value}"), changed(Some(value))));
        }
    }
    let mut sums = event.clone();
    sums["module_prefix_sum"][3] = json!(u32::MAX);
    all.push(("offsets that fall".into(), sums.to_string()));
    let mut named = event.clone();
    named[EVIL] = EVIL.into();
    all.push(("a key with markup".into(), named.to_string()));
    all.push(("nothing".into(), String::new()));
    all.push(("a list".into(), "[1, 2, 3]".into()));
    all.push(("brackets".into(), "[".repeat(50_000)));
    all.push(("another program's event".into(), json!({ "event_number": 3, "tracks": [] }).to_string()));
    all
}

#[test]
fn events_of_hits_that_cannot_be() {
    let mut drawing = Drawing::new();
    let bytes = simulated(drawing.folder.path(), &["--events", "1", "--seed", "3"], "one.ndjson");
    let event: Value = serde_json::from_slice(&bytes).unwrap();
    let texts = texts(&event);
    assert!(texts.len() > 60, "{}", texts.len());
    for (what, text) in &texts {
        drawing.draw_file(what, "velo", "event.ndjson", text.as_bytes());
    }
    // Most are events that cannot be reconstructed, and are shown with the reason.
    let Drawing { drawn, refused, failed, .. } = drawing;
    assert!(failed > 50 && drawn + refused > failed + 3, "{drawn} drawn, {refused} refused, {failed} failed");
}

#[test]
fn names_of_files_are_text() {
    let mut drawing = Drawing::new();
    let bytes = simulated(drawing.folder.path(), &["--events", "1"], "one.ndjson");
    for name in
        ["<script>alert(1)<script>", "a\"b'c", "&amp;&lt;", "a\nb", "]]>", "-->", "\u{202e}fdp", "${x}`y`"]
    {
        for ending in ENDINGS {
            let path = drawing.path(&format!("{name}.ndjson"));
            std::fs::write(&path, &bytes).unwrap();
            let words = ["--sequence", "velo", path.to_str().unwrap()];
            assert!(drawing.draw_as(name, &words, ending).is_some(), "{name}");
        }
    }
}

#[test]
fn events_with_very_many_hits_are_drawn() {
    let mut drawing = Drawing::new();
    for ending in ENDINGS {
        let words = ["--sequence", "velo", "sim:velo,events=1,pileup=70,noise=9000"];
        let page = drawing.draw_as("many hits", &words, ending).unwrap();
        assert!(page.len() > 100_000);
    }
    let words = ["--sequence", "cylinder", "sim:cylinder,events=1,tracks=2000"];
    drawing.draw_as("20,000 hits", &words, "html").unwrap();
}

#[test]
fn damaged_banks_and_toy_files() {
    let mut drawing = Drawing::new();
    let folder = drawing.folder.path().to_owned();
    let raw = simulated(&folder, &["--detector", "lhcb", "--events", "1"], "one.mdf");
    let toy = simulated(&folder, &["--detector", "cylinder,tracks=30", "--events", "1"], "one.bin");
    for number in 0..12usize {
        let damaged = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            let at = 40 + number * (bytes.len() - 80) / 12;
            match number % 3 {
                0 => bytes[at..at + 16].fill(0xff),
                1 => bytes.truncate(at),
                _ => bytes[at..at + 4].fill(0),
            }
            bytes
        };
        let sequence = ["velo", "velo-ut", "scifi", "long", "ut", "scifi-hits"][number % 6];
        let path = folder.join("damaged.mdf");
        std::fs::write(&path, damaged(&raw)).unwrap();
        let words = ["--sequence", sequence, path.to_str().unwrap(), "--geometry", "nominal"];
        drawing.draw(&format!("{sequence}, damage {number}"), &words);
        drawing.draw_file(&format!("toy file, damage {number}"), "cylinder", "damaged.bin", &damaged(&toy));
    }
    let events = ["--event", "999999999999"];
    for (sequence, input) in
        [("velo", "sim:velo,events=2"), ("long", "sim:lhcb,events=2"), ("cylinder", "sim:cylinder,tracks=9")]
    {
        let words = ["--sequence", sequence, input, events[0], events[1]];
        assert!(drawing.draw("an event beyond the end", &words).is_none(), "{sequence}");
    }
    // No track at all.
    let words = ["--sequence", "cylinder", "sim:cylinder,events=1,tracks=1,inefficiency=1"];
    drawing.draw("no hits", &words);
}

#[test]
fn hits_of_pixels_that_cannot_be() {
    let mut drawing = Drawing::new();
    for (what, text) in [
        ("nothing", String::new()),
        ("a heading alone", "Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n".into()),
        ("markup", format!("{EVIL}\n")),
        ("beyond the sensor", "# burda\n999999 999999 5 3\n".into()),
        ("negative", "-1 -1 -1 -1\n".into()),
        ("huge", "18446744073709551615 1 99999999999999999999 1\n".into()),
        ("numbers", "1 2 3 4\n5 6 7 8\n".into()),
        ("NaN", "NaN NaN NaN NaN\n".into()),
        ("binary", "\u{0}\u{1}\u{2}TPX3\u{3}".into()),
    ] {
        for name in ["hits.txt", "hits.t3pa", "hits.tpx3"] {
            let path = drawing.path(name);
            std::fs::write(&path, &text).unwrap();
            drawing.draw_as(what, &["--sequence", "timepix", path.to_str().unwrap()], "html");
        }
    }
    for flags in [
        ["--frame-us", "1e-9"],
        ["--frame-us", "1e12"],
        ["--event", "99999999"],
        ["--frame-us", "NaN"],
        ["--frame-us", "-1"],
    ] {
        let words = ["--sequence", "timepix", "sim:timepix,hits=200", flags[0], flags[1]];
        drawing.draw_as(&flags.join(" "), &words, "html");
    }
    let most = "sim:timepix,preset=lead90large,hits=30000";
    drawing.draw_as("large clusters", &["--sequence", "timepix", most], "html").unwrap();
}
