//! `run --named-fields`: lines say the same as Parquet, by the names that `describe` lists, and can be checked like lists.

use crate::output;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt32Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn done(words: &[&str]) -> String {
    let output = output(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names that `describe` lists of what belongs to tracks and hits and is in files.
fn described(sequence: &str) -> BTreeSet<String> {
    let rows: Vec<Value> =
        serde_json::from_str(&done(&["describe", "--sequence", sequence, "--json", "-"])).unwrap();
    let of_items = rows
        .iter()
        .filter(|row| row["per"] != "event" && !row["type"].as_str().unwrap().contains("not in files"));
    of_items.map(|row| row["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn every_sequence_names_all_its_columns() {
    for (sequence, input, list) in [
        ("velo", "sim:velo,events=3,seed=4", "tracks"),
        ("velo-ut", "sim:lhcb,events=2,seed=4", "tracks"),
        ("scifi", "sim:lhcb,events=2,seed=4", "tracks"),
        ("long", "sim:lhcb,events=2,seed=4", "tracks"),
        ("cylinder", "sim:cylinder,events=2,tracks=20", "tracks"),
        ("cylinder-fit", "sim:cylinder,events=2,tracks=20", "tracks"),
        ("ut", "sim:lhcb,events=2,seed=4", "hits"),
        ("scifi-hits", "sim:lhcb,events=2,seed=4", "hits"),
    ] {
        let run = ["run", "--sequence", sequence, input, "--output", "-"];
        let (lists, named) = (lines(&done(&run)), lines(&done(&[&run[..], &["--named-fields"]].concat())));
        assert_eq!(lists.len(), named.len(), "{sequence}");
        let expected = described(sequence);
        let mut items = 0;
        for (list_line, line) in lists.iter().zip(&named) {
            for key in ["event_id", "run_number", "event_number", "status"] {
                assert_eq!(list_line[key], line[key], "{sequence} {key}");
            }
            for (number, item) in line[list].as_array().unwrap().iter().enumerate() {
                let names: BTreeSet<_> = item.as_object().unwrap().keys().cloned().collect();
                assert_eq!(names, expected, "{sequence}");
                match list {
                    "tracks" => assert_eq!(item["hits"], list_line["tracks"][number], "{sequence}"),
                    _ => assert_eq!(item["id"], list_line["id"][number], "{sequence}"),
                }
                items += 1;
            }
            if list == "hits" {
                assert_eq!(line["start"], list_line["start"], "{sequence}");
            }
        }
        assert!(items > 10, "{sequence}: {items}");
    }
}

#[test]
fn values_are_those_of_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tracks.parquet");
    let input = "sim:lhcb,events=5,seed=9";
    done(&["run", "--sequence", "long", input, "--output", path.to_str().unwrap()]);
    let named = lines(&done(&["run", "--sequence", "long", input, "--output", "-", "--named-fields"]));
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&path).unwrap()).unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let mut compared = 0;
    for (event, line) in named.iter().enumerate() {
        let tracks = line["tracks"].as_array().unwrap();
        for field in batch.schema().fields().iter().filter(|field| field.data_type().is_nested()) {
            let values = batch[field.name()].as_list::<i32>().value(event);
            assert_eq!(values.len(), tracks.len());
            for (number, track) in tracks.iter().enumerate() {
                if let Some(values) = values.as_primitive_opt::<Float32Type>() {
                    assert_eq!(
                        track[field.name()].as_f64().unwrap() as f32,
                        values.value(number),
                        "{}",
                        field.name()
                    );
                } else if let Some(lists) = values.as_list_opt::<i32>() {
                    let hits: Vec<_> = lists.value(number).as_primitive::<UInt32Type>().values().to_vec();
                    assert_eq!(track[field.name()], serde_json::json!(hits), "{}", field.name());
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn what_was_written_with_names_can_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (lists, named, events) =
        (file("lists.ndjson"), file("named.ndjson.zst"), "sim:velo,events=30,seed=2");
    done(&["run", events, "--output", &lists]);
    done(&["run", events, "--output", &named, "--named-fields"]);
    // What is below the name of the file.
    let checked = |file: &str| {
        let text = done(&["check", events, "--tracks", file]);
        text.split_once('\n').unwrap().1.to_string()
    };
    let (lists, named) = (checked(&lists), checked(&named));
    assert!(lists == named && named.contains("01_velo"), "{lists}{named}");
}

#[test]
fn where_names_say_nothing_they_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = folder.path().join("x.parquet");
    let parquet = parquet.to_str().unwrap();
    for (words, told) in [
        (&["run", "sim:velo", "--named-fields"][..], "--output"),
        (&["run", "sim:velo,events=1", "--named-fields", "--output", parquet], "Parquet has all columns"),
        (&["run", "sim:timepix,hits=10", "--named-fields", "--output", "-"], "is for the sequences velo"),
    ] {
        let output = output(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(told), "{words:?}: {said}");
    }
    assert!(!Path::new(parquet).exists());
}
