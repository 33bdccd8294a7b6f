//! `peloton reproduce`: every table and figure that can be made is made in its short form, which takes a minute in all. What is
//! deterministic is asserted: equal hashes on any number of threads, more particles found in five sectors than in one. Times are
//! printed.

use peloton_papers::{Entry, entries};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn output(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    command.arg("reproduce").args(arguments).output().expect("the program starts")
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A file of this test's own.
fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

/// The JSON of an entry's short form, made with these flags.
fn quick(name: &str, flags: &[&str]) -> Value {
    let output = output(&[&[name, "--quick", "--json", "-"], flags].concat());
    assert!(output.status.success(), "{name}: {}", words(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The numbers of a column of the first table.
fn column(report: &Value, name: &str) -> Vec<f64> {
    let table = &report["tables"][0];
    let columns = table["columns"].as_array().expect("columns");
    let at = columns.iter().position(|column| column["name"] == name).expect("a column of this name");
    let rows = table["rows"].as_array().expect("rows");
    rows.iter().map(|row| row[at].as_f64().expect("a number")).collect()
}

#[test]
fn everything_that_can_be_made_is_made() {
    for entry in entries().filter(|entry| entry.is_run()) {
        let name = &entry.name;
        let (begin, json) = (Instant::now(), file(&format!("{name}.json")));
        let json_path = json.to_str().expect("a path in UTF-8");
        let svg = file(&format!("{name}.svg"));
        let drawing = if entry.is_drawn() { vec!["--svg", svg.to_str().expect("UTF-8")] } else { Vec::new() };
        let output = output(&[&[name, "--quick", "--json", json_path], &drawing[..]].concat());
        let text = words(&output.stdout);
        assert!(output.status.success(), "{name}: {}", words(&output.stderr));
        println!("{text}{name}: {:.1} s\n", begin.elapsed().as_secs_f64());
        assert!(
            text.starts_with(name.as_str()) && text.contains("paper:  ") && text.contains("--quick"),
            "{text}"
        );
        let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the file")).expect("JSON");
        assert_eq!(report["name"], *name);
        let tables = report["tables"].as_array().expect("tables");
        assert!(!tables.is_empty(), "{name}");
        for table in tables {
            let columns = table["columns"].as_array().expect("columns").len();
            let rows = table["rows"].as_array().expect("rows");
            assert!(rows.iter().all(|row| row.as_array().is_some_and(|row| row.len() == columns)), "{name}");
            // Few events have too few particles for rates of this one.
            let is_few = text.contains("rates are left out");
            let is_empty = |at: &usize| rows.iter().all(|row| row[at].is_null());
            for column in (0..columns).filter(is_empty).map(|at| &table["columns"][at]) {
                let is_allowed = column["origin"] != "here"
                    || column["name"] == "forward with UT"
                    || is_few && column["unit"] == "%";
                assert!(is_allowed, "{name}: nothing in {column} of {}", table["title"]);
            }
            // A stage that is called otherwise would take no time.
            let is_time =
                |at: &usize| ["us", "ms", "kHz"].iter().any(|unit| table["columns"][at]["unit"] == *unit);
            for at in (0..columns).filter(is_time) {
                let values = rows.iter().filter_map(|row| row[at].as_f64());
                assert!(values.into_iter().all(|value| value > 0.0), "{name}: {}", table["columns"][at]);
            }
        }
        assert!(
            tables.iter().all(|table| table["rows"].as_array().is_some_and(|rows| !rows.is_empty())),
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_made_says_why() {
    for entry in entries() {
        let Some(reason) = entry.reason() else { continue };
        let name = &entry.name;
        let output = output(&[name]);
        let message = words(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{name}");
        assert!(message.lines().count() == 1 && message.contains(reason), "{name}: {message}");
    }
    let output = output(&["compass-table4"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output.stderr).contains("choose one of"), "{}", words(&output.stderr));
}

#[test]
fn the_list_and_the_document_name_everything() {
    let text = words(&output(&["list"]).stdout);
    let json: Value = serde_json::from_slice(&output(&["list", "--json", "-"]).stdout).expect("JSON");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers.md");
    let document = std::fs::read_to_string(document).expect("docs/papers.md");
    assert_eq!(json.as_array().map(Vec::len), Some(entries().count()));
    for Entry { name, .. } in entries() {
        assert!(text.contains(name), "the list lacks {name}");
        assert!(document.contains(&format!("`{name}`")), "docs/papers.md lacks {name}");
    }
}

#[test]
fn compass_finds_more_in_five_sectors_than_in_one_on_any_number_of_threads() {
    let one = quick("compass-table3", &["--threads", "1"]);
    let more = quick("compass-table3", &["--threads", "3"]);
    assert_eq!(one["hashes"], more["hashes"]);
    assert_eq!(one["tables"][0]["rows"], more["tables"][0]["rows"]);
    let (found, of) = (column(&one, "found"), column(&one, "of"));
    assert!(of.iter().all(|all| *all == of[0] && *all > 0.0), "{of:?}");
    assert_eq!(found.len(), 15);
    assert_eq!(one["hashes"].as_array().map(Vec::len), Some(15));
    // Three sectors are between: with more hits a wrong tracklet can win, and the count fall a little.
    for candidates in 0..5 {
        let by_sectors = [found[candidates], found[5 + candidates], found[10 + candidates]];
        assert!(by_sectors[0] < by_sectors[2], "{by_sectors:?}");
    }
}

/// A column of a table, whatever its values.
fn cells<'a>(report: &'a Value, table: usize, name: &str, origin: &str) -> Vec<&'a Value> {
    let table = &report["tables"][table];
    let columns = table["columns"].as_array().expect("columns");
    let is_it = |column: &Value| column["name"] == name && column["origin"] == origin;
    let at = columns.iter().position(is_it).expect("a column of this name");
    table["rows"].as_array().expect("rows").iter().map(|row| &row[at]).collect()
}

fn numbers(report: &Value, table: usize, name: &str) -> Vec<f64> {
    cells(report, table, name, "here").into_iter().map(|cell| cell.as_f64().expect("a number")).collect()
}

#[test]
fn global_clusters_and_those_of_a_wider_window_are_local_ones_put_together() {
    let one = quick("pixels-agreement", &["--threads", "1"]);
    assert_eq!(one["hashes"], quick("pixels-agreement", &["--threads", "3"])["hashes"]);
    let [first, second] = ["clusters, first", "clusters, second"].map(|name| numbers(&one, 0, name));
    let (identical, sets) = (numbers(&one, 0, "identical"), numbers(&one, 0, "intersection over union"));
    assert_eq!(first.len(), 30);
    for row in 0..first.len() {
        assert!(second[row] <= first[row] && identical[row] <= second[row] && second[row] > 0.0, "row {row}");
        let of_sets = 100.0 * identical[row] / (first[row] + second[row] - identical[row]);
        assert!((of_sets - sets[row]).abs() < 1e-9, "row {row}");
    }
    // Of small clusters both definitions agree, as in the paper; rows come in threes.
    assert!(sets[..2].iter().all(|share| *share > 99.9), "{sets:?}");
}

#[test]
fn finer_parts_split_all_that_coarser_ones_do() {
    let report = quick("pixels-splitting", &[]);
    for (table, count, is_rising) in [(0, 4, false), (1, 4, false), (2, 3, true)] {
        let split = numbers(&report, table, "split");
        assert_eq!(split.len(), 10 * count);
        for shares in split.chunks(count) {
            let is_ordered = |two: &[f64]| if is_rising { two[0] <= two[1] } else { two[0] >= two[1] };
            assert!(shares.windows(2).all(is_ordered), "table {table}: {shares:?}");
        }
        assert!(split.iter().any(|share| *share > 0.0), "table {table}");
    }
    let (border, split) = (numbers(&report, 0, "border clusters"), numbers(&report, 0, "split"));
    assert!(border.iter().zip(&split).all(|(border, split)| border >= split));
}

#[test]
fn seeds_of_the_scifi_stand_beside_long_tracks() {
    let one = quick("scifi-efficiency", &["--threads", "1"]);
    let more = quick("scifi-efficiency", &["--threads", "3"]);
    assert_eq!((&one["hashes"], &one["tables"]), (&more["hashes"], &more["tables"]));
    assert_eq!(one["hashes"].as_array().map(Vec::len), Some(4));
    // A long track needs a seed: as many particles, and more of them with seeds.
    let of = |table, preset: &str, name: &str| {
        let rows = cells(&one, table, "particles", "setting");
        let at = rows.iter().position(|row| **row == name).expect("the particles");
        let count = cells(&one, table, "of", "here")[at].as_u64().expect("a count");
        (count, cells(&one, table, preset, "here")[at].as_f64().expect("a rate"))
    };
    for preset in ["hlt1", "best"] {
        let [(long, matched), (all, seeded)] = [0, 1].map(|table| of(table, preset, "02_long_P>5GeV"));
        assert!(long == all && matched < seeded, "{preset}: {matched} of {long}, {seeded} of {all}");
    }
}

#[test]
fn hits_of_the_scifi_in_one_block_and_in_place_give_the_same_tracks() {
    let report = quick("scifi-shared-memory", &[]);
    assert_eq!(report["asked"][0]["holds"], true, "{report}");
    let hits = numbers(&report, 1, "hits of an event");
    assert!(hits.is_sorted() && hits[0] > 0.0, "{hits:?}");
    // One of all levels, and one of each size of events.
    assert_eq!(report["hashes"].as_array().map(Vec::len), Some(1 + hits.len()));
}

#[test]
fn slices_and_threads_are_scanned() {
    let report = quick("triplet-figure8", &["--threads", "2"]);
    let [slices, threads] = ["events in a slice", "threads"].map(|name| cells(&report, 0, name, "setting"));
    assert!(
        slices.iter().any(|slice| **slice == 1) && slices.iter().any(|slice| **slice == 16),
        "{slices:?}"
    );
    assert_eq!(threads[..2], [&Value::from(1), &Value::from(2)]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_table_is_not_written() {
    let json = file("interrupted.json");
    // A file of an earlier run would be taken for one of this.
    let _ = std::fs::remove_file(&json);
    let child = Command::new(env!("CARGO_BIN_EXE_peloton"))
        .args(["reproduce", "triplet-figure6", "--quick", "--seconds", "1000", "--json"])
        .arg(&json)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(Duration::from_millis(1500));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let output = child.wait_with_output().expect("the program ends");
    let message = words(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.contains("interrupted before the table was complete"), "{message}");
    assert!(output.stdout.is_empty() && !json.exists(), "{message}");
}

#[test]
fn pictures_are_drawn_where_there_are_any() {
    let path = file("table3.svg");
    let svg = path.to_str().expect("a path in UTF-8");
    assert!(output(&["compass-table3", "--quick", "--svg", svg]).status.success());
    let picture = std::fs::read_to_string(&path).expect("the picture");
    assert!(picture.starts_with("<svg xmlns") && picture.ends_with("</svg>\n"));
    for word in ["paper: long, sectors 5", "candidates, logarithmic", "stroke-dasharray"] {
        assert!(picture.contains(word), "{word}");
    }
}

#[test]
fn what_has_no_drawing_is_refused_before_the_work() {
    let (svg, json) = (file("none.svg"), file("none.json"));
    let paths = [&svg, &json].map(|path| path.to_str().expect("a path in UTF-8"));
    let mut without = 0;
    for Entry { name, .. } in entries().filter(|entry| entry.is_run() && !entry.is_drawn()) {
        let begin = Instant::now();
        let output = output(&[name, "--svg", paths[0], "--json", paths[1]]);
        let message = words(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert!(
            message.contains("a table without a drawing") && message.contains("compass-table3"),
            "{message}"
        );
        assert!(begin.elapsed() < Duration::from_secs(5) && !svg.exists() && !json.exists(), "{name}");
        without += 1;
    }
    assert_eq!(without, 10);
}
