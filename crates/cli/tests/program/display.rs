//! `display` and `describe`: pictures of every sequence, event data for HSF Phoenix, where sensors are.

use crate::output;
use serde_json::Value;
use std::path::{Path, PathBuf};

const LHCB: &str = "sim:lhcb,events=3,seed=5";
/// What has events to draw, with a simulation of it, and the detectors with hits.
const SEQUENCES: [(&str, &str, &[&str]); 9] = [
    ("velo", "sim:velo,events=3,seed=5", &["Velo"]),
    ("velo-ut", LHCB, &["UT", "Velo"]),
    ("ut", LHCB, &["UT"]),
    ("scifi-hits", LHCB, &["SciFi"]),
    ("scifi", LHCB, &["SciFi"]),
    ("long", LHCB, &["SciFi", "Velo"]),
    ("long-ut", LHCB, &["SciFi", "UT", "Velo"]),
    ("cylinder", "sim:cylinder,events=3,tracks=40,seed=5", &["cylinder"]),
    ("cylinder-fit", "sim:cylinder,events=3,tracks=40,seed=5", &["cylinder"]),
];

fn text(arguments: &[&str]) -> String {
    let output = output(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn failure(arguments: &[&str], code: i32) -> String {
    let output = output(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// A folder of its own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("peloton-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(path)).expect(path)
}

fn is_point(value: &Value, numbers: usize) -> bool {
    value.as_array().is_some_and(|all| all.len() == numbers && all.iter().all(Value::is_f64))
}

/// What is wrong with event data by the rules of HSF Phoenix's loader; nothing when it draws all of them.
fn phoenix_faults(data: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let none = serde_json::Map::new();
    for (key, event) in data.as_object().unwrap_or(&none) {
        if !(event["event number"].is_u64() && event["run number"].is_u64()) {
            faults.push(format!("{key}: no numbers"));
        }
        let of = |kind: &str| event[kind].as_object().unwrap_or(&none).iter();
        let mut names: Vec<_> = of("Hits").chain(of("Tracks")).map(|(name, _)| name).collect();
        names.sort();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            faults.push(format!("{key}: a name of two collections"));
        }
        for (name, hits) in of("Hits") {
            // The first hit decides how all are drawn, and how many coordinates each has.
            let hits = hits.as_array().cloned().unwrap_or_default();
            let is_good = match hits.first() {
                Some(first) if first.is_array() => hits.iter().all(|hit| is_point(hit, 3)),
                Some(first) => {
                    first["type"] == "Line"
                        && hits.iter().all(|hit| hit["type"] == "Line" && is_point(&hit["pos"], 6))
                }
                None => false,
            };
            if !is_good {
                faults.push(format!("{key}: hits {name}"));
            }
        }
        for (name, tracks) in of("Tracks") {
            let tracks = tracks.as_array().cloned().unwrap_or_default();
            let is_drawn = |track: &Value| {
                // With fewer points Phoenix extrapolates instead, or leaves the track out.
                let points = track["pos"].as_array().cloned().unwrap_or_default();
                let colour = track["color"].as_str().unwrap_or_default();
                points.len() > 2
                    && points.iter().all(|point| is_point(point, 3))
                    && colour.strip_prefix("0x").is_some_and(|hex| u32::from_str_radix(hex, 16).is_ok())
                    && track["phi"].is_f64()
            };
            if tracks.is_empty() || !tracks.iter().all(is_drawn) {
                faults.push(format!("{key}: tracks {name}"));
            }
        }
    }
    faults
}

#[test]
fn every_sequence_is_drawn_in_every_way() {
    let folder = Folder::new("display-all");
    for (sequence, input, detectors) in SEQUENCES {
        let draw = |name: &str, more: &[&str]| {
            let output = folder.file(name);
            let job =
                ["display", "--sequence", sequence, input, "--output", &output, "--json", "-", "--quiet"];
            let said: Value = serde_json::from_str(&text(&[&job[..], more].concat())).expect("JSON");
            (said, read(&output))
        };
        let (said, page) = draw("event.html", &["--event", "1"]);
        assert_eq!((&said["sequence"], &said["event"]), (&sequence.into(), &1.into()));
        let has_tracks = !matches!(sequence, "ut" | "scifi-hits");
        assert_eq!(said["tracks"].as_u64() > Some(0), has_tracks, "{said}");
        assert_eq!(page.matches("<figure").count(), 3);
        assert!(page.len() < 500_000, "{sequence}: {}", page.len());
        // Counts are those of the check.
        if has_tracks {
            let job = ["check", "--sequence", sequence, input, "--events", "1:1", "--json", "-", "--quiet"];
            let checked: Value = serde_json::from_str(&text(&job)).expect("JSON");
            assert_eq!(said["classes"]["ghosts"], checked["ghosts"], "{sequence}");
            assert_eq!(said["tracks"], checked["tracks"], "{sequence}");
        }
        for view in ["rz", "xy", "xz", "yz"] {
            let (_, figure) = draw("event.svg", &["--view", view]);
            assert!(figure.starts_with("<svg xmlns") && figure.contains(&format!("data-view=\"{view}\"")));
        }
        let (said, data) = draw("event.json", &["--event", "0..3"]);
        let data: Value = serde_json::from_str(&data).expect("JSON");
        assert_eq!(said["events"], 3);
        assert_eq!(data.as_object().expect("events").len(), 3);
        assert_eq!(phoenix_faults(&data), [""; 0], "{sequence}");
        let first = data.as_object().and_then(|events| events.values().next()).expect("an event");
        let found: Vec<_> = first["Hits"].as_object().expect("hits").keys().cloned().collect();
        assert_eq!(found, detectors, "{sequence}");
        assert_eq!(first["Tracks"].as_object().expect("tracks").is_empty(), !has_tracks);
    }
}

#[test]
fn event_data_that_phoenix_would_not_draw_are_noticed() {
    let folder = Folder::new("display-phoenix");
    let output = folder.file("event.json");
    text(&["display", "--sequence", "velo-ut", LHCB, "--output", &output]);
    let data: Value = serde_json::from_str(&read(&output)).expect("JSON");
    assert_eq!(phoenix_faults(&data), [""; 0]);
    let planted = |plant: &dyn Fn(&mut Value)| {
        let mut data = data.clone();
        plant(&mut data["000000: run 5, event 0"]);
        assert_eq!(phoenix_faults(&data).len(), 1, "{:?}", phoenix_faults(&data));
    };
    let track =
        |event: &mut Value, change: &dyn Fn(&mut Value)| change(&mut event["Tracks"]["velo-ut: found"][1]);
    planted(&|event| track(event, &|track| track["pos"].as_array_mut().unwrap().truncate(2)));
    planted(&|event| track(event, &|track| track["pos"][1][2] = Value::Null));
    planted(&|event| track(event, &|track| track["color"] = "green".into()));
    planted(&|event| event["Hits"]["Velo"][3] = serde_json::json!([1.0, 2.0]));
    planted(&|event| event["Hits"]["UT"][0]["type"] = "Point".into());
    planted(&|event| event["run number"] = Value::Null);
}

#[test]
fn events_that_are_not_there_are_told() {
    let folder = Folder::new("display-errors");
    let page = folder.file("event.html");
    let display = |input: &str, more: &[&str], code: i32| {
        failure(
            &[&["display", "--sequence", "velo", input, "--output", &page, "--quiet"], more].concat(),
            code,
        )
    };
    let few = "sim:velo,events=3,seed=5";
    let error = display(few, &["--event", "3"], 1);
    assert!(error.contains("no event 3") && error.contains("3 events, 0 to 2"), "{error}");
    let file = folder.file("three.ndjson");
    text(&["simulate", "--detector", "velo", "--events", "3", "--output", &file, "--quiet"]);
    let error = display(&file, &["--event", "17"], 1);
    assert!(error.contains("no event 17") && error.contains("3 events, 0 to 2"), "{error}");
    for (more, words) in [
        (&["--event", "1..3"][..], "show one event"),
        (&["--event", "2..1"], "B must be more than A"),
        (&["--event", "x"], "neither a number"),
        (&["--event", "1", "--events", "0:2"], "give one of them"),
        (&["--view", "xz"], ".svg"),
        (&["--frame-us", "10"], "--frame-us is for the sequence timepix"),
    ] {
        let error = display(few, more, 2);
        assert!(error.contains(words), "{error}");
    }
    let png = folder.file("event.png");
    let error = failure(&["display", "--sequence", "velo", few, "--output", &png], 2);
    assert!(error.contains(".html") && error.contains(".svg") && error.contains(".json"), "{error}");
    assert!(!Path::new(&page).exists() && !Path::new(&png).exists());
}

#[test]
fn events_without_truth_and_odd_ones_are_drawn() {
    let folder = Folder::new("display-odd");
    let [page, file] = ["event.html", "<script>.ndjson"].map(|name| folder.file(name));
    let display = |more: &[&str]| {
        let job = ["display", "--sequence", "velo", &file, "--output", &page];
        output(&[&job[..], more].concat())
    };
    // An event in which nothing was hit, and one with a coordinate that is absurd.
    let starts = vec![0u32; 53];
    let one = [vec![0u32; 52], vec![1]].concat();
    let event = |starts: &[u32], x: &str| {
        format!("{{\"module_prefix_sum\":{starts:?},\"x\":[{x}],\"y\":[{x}],\"z\":[{x}]}}\n")
    };
    std::fs::write(&file, event(&starts, "") + &event(&one, "1e30")).expect("a file");
    let output = display(&["--event", "0"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = read(&page);
    assert!(html.contains("0 hits, 0 tracks") && !html.contains("<script>."), "the name is escaped");
    let output = display(&["--event", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(read(&page).contains("out_of_range"));
}

#[test]
fn sensors_and_columns_are_described() {
    let csv = text(&["describe", "sim:lhcb"]);
    assert_eq!(csv.lines().count(), 1 + 208 + 1048 + 1024);
    assert!(csv.starts_with("detector,plane,sensor,x0_mm,"));
    let sensors: Value =
        serde_json::from_str(&text(&["describe", "--geometry", "nominal", "--json", "-"])).unwrap();
    let of = |name: &str| sensors.as_array().unwrap().iter().filter(|one| one["detector"] == name).count();
    assert_eq!(["Velo", "UT", "SciFi"].map(of), [208, 1048, 1024]);
    for (sequence, ..) in SEQUENCES.iter().chain(&[("timepix", "", &[][..])]) {
        let rows: Value =
            serde_json::from_str(&text(&["describe", "--sequence", sequence, "--json", "-"])).unwrap();
        let words = text(&["describe", "--sequence", sequence]);
        let document = include_str!("../../../../docs/columns.md");
        let section = if *sequence == "long-ut" { "long" } else { sequence };
        let document = document.split(&format!("## Sequence {section}\n")).nth(1).expect("a section");
        let rows = rows.as_array().expect("rows");
        // The algorithms stand before the columns, and an empty line between them.
        let columns = words.rsplit("\n\n").next().expect("columns");
        assert_eq!(columns.lines().count(), rows.len() + 1);
        for row in rows {
            let [name, meaning] = ["name", "meaning"].map(|key| row[key].as_str().expect("words"));
            assert!(
                document.contains(&format!("| `{name}` |")) && words.contains(meaning),
                "{sequence} {name}"
            );
        }
    }
    assert!(failure(&["describe"], 2).contains("--sequence"));
    assert!(failure(&["describe", "--geometry", "/no/such/folder"], 2).contains("no such folder"));
    assert!(failure(&["describe", "sim:timepix"], 2).contains("sim:lhcb"));
}
