//! A5, A6: `display` looks at what `run` looks at. A9: Parquet of other programs. A12: a key comes once. A13: why hashes
//! of `throughput` differ. B10, B11: tracks that do not belong to the events.

use super::*;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// Lines of pixel hits: one pixel again and again among others.
fn hot(hits: u64) -> String {
    (0..hits)
        .map(|i| format!("{} {} 0 5\n", if i % 2 == 0 { 515 } else { 7 * i % 60_000 }, 400 * i))
        .collect()
}

#[test]
fn display_masks_hot_pixels_as_run_does() {
    let folder = folder("display-mask");
    let (hits, page) = (file(&folder, "hits.txt", hot(2000)), path(&folder, "page.html"));
    let mask = ["--sequence", "timepix", &hits, "--mask-hot", "100"];
    let ran = json(&[&["run"], &mask[..]].concat());
    let drawn = json(&[&["display"], &mask[..], &["--output", &page]].concat());
    assert_eq!(ran["dropped"]["masked_hits"], 1000);
    for key in ["dropped", "hits", "clusters"] {
        assert_eq!(drawn[key], ran[key], "{key}");
    }
}

#[test]
fn display_reads_all_files_and_tells_what_is_lost() {
    let folder = folder("display-folder");
    let hits = folder.join("hits");
    std::fs::create_dir(&hits).unwrap();
    file(&hits, "a.txt", hot(100));
    file(&hits, "b.txt", format!("{}no hit\n", hot(300)));
    let (inputs, page) = (hits.to_str().unwrap(), path(&folder, "page.html"));
    let ran = json(&["run", "--sequence", "timepix", inputs]);
    let drawn = json(&["display", "--sequence", "timepix", inputs, "--output", &page]);
    assert_eq!((&drawn["hits"], &drawn["dropped"]["malformed"]), (&400.into(), &1.into()));
    for key in ["dropped", "hits", "clusters"] {
        assert_eq!(drawn[key], ran[key], "{key}");
    }
}

#[test]
fn parquet_of_other_programs_is_read_whatever_packs_it() {
    let folder = folder("parquet");
    let column = |of: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..500).map(of))) as ArrayRef;
    let rows = RecordBatch::try_from_iter([
        ("t", column(|i| 1000 * i)),
        ("x", column(|i| i % 200)),
        ("y", column(|i| i % 190)),
        ("tot", column(|i| 1 + i % 9)),
    ])
    .unwrap();
    let mut hashes = Vec::new();
    for (name, packing) in [
        ("plain", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("lz4", Compression::LZ4_RAW),
    ] {
        let name = path(&folder, &format!("{name}.parquet"));
        let properties = WriterProperties::builder().set_compression(packing).build();
        let to = std::fs::File::create(&name).unwrap();
        let mut writer = ArrowWriter::try_new(to, rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let ran = json(&["run", "--sequence", "timepix", &name, "--time-unit", "ns"]);
        assert_eq!(ran["hits"], 500, "{name}");
        hashes.push(ran["output_hash"].clone());
    }
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

#[test]
fn no_key_comes_twice() {
    for (sequence, input) in [("cylinder", CYLINDER), ("velo", VELO), ("timepix", PIXELS)] {
        for command in ["check", "run", "throughput", "compare"] {
            let more: &[&str] = if command == "throughput" { &["--repetitions", "1"] } else { &[] };
            let job =
                [&[command, "--sequence", sequence, input, "--json", "-", "--quiet"][..], more].concat();
            let (_, text, error) = said(&job);
            let keys = text.lines().filter(|line| line.starts_with("  \""));
            let mut keys: Vec<_> = keys.filter_map(|line| line.split('"').nth(1)).collect();
            let all = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert!(all > 5 && keys.len() == all, "{command} {sequence}: {error}{text}");
        }
    }
}

#[test]
fn throughput_says_why_its_hashes_are_not_those_of_run() {
    let measured = ["throughput", "--sequence", "cylinder", CYLINDER, "--repetitions", "1"];
    assert_eq!(json(&measured)["hits_shuffled_in_layers"], true);
    assert!(said(&measured).1.contains("hits shuffled in layers: true"));
    assert_ne!(
        json(&measured)["output_hash"],
        json(&["run", "--sequence", "cylinder", CYLINDER])["output_hash"]
    );
    let help = said(&["throughput", "--help"]).1.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("hashes differ"), "{help}");
}

#[test]
fn keys_of_pixel_hits_are_all_there() {
    let pixels = ["--sequence", "timepix", PIXELS];
    let ran = json(&[&["run"], &pixels[..]].concat());
    assert_eq!((&ran["clusters"], &ran["hits_out"]), (&ran["events"], &ran["hits"]));
    assert!(
        ran["clusters"].as_u64() > Some(100) && ran["paired_hits"].is_null() && ran["triggers"] == 0,
        "{ran}"
    );
    let measured = json(&[&["throughput", "--repetitions", "1"], &pixels[..]].concat());
    let compared = json(&[&["compare"], &pixels[..]].concat());
    for key in ["clusters", "hits_out"] {
        assert_eq!(measured[key], ran[key], "{key}");
    }
    let clusters = &ran["clusters"];
    assert_eq!(
        (&compared["hits"], &compared["clusters"]),
        (&ran["hits"], &serde_json::json!([clusters, clusters]))
    );
    let folder = folder("keys");
    let made =
        ["simulate", "--detector", "timepix", "--events", "3000", "--output", &path(&folder, "a.tpx3")];
    assert_eq!(json(&made)["clusters"], json(&made)["events"]);
}

#[test]
fn tracks_of_other_events_are_told() {
    let folder = folder("tracks");
    let events = simulated(&folder, "events.ndjson", "velo", "2");
    let tracks = file(&folder, "tracks.ndjson", "[[1,2,2,3,4000000000]]\n[[5,6,7]]\n");
    let job = ["check", &events, "--tracks", &tracks];
    let checked = json(&job);
    assert_eq!((&checked["repeated_hit_ids"], &checked["unknown_hit_ids"]), (&1.into(), &1.into()));
    let (_, _, error) = said(&job);
    assert!(
        error.contains("1 hit id named more than once")
            && error.contains("1 hit id that no hit of the event has"),
        "{error}"
    );
    file(&folder, "tracks.ndjson", "[[4000000000,4000000001]]\n[]\n");
    let (code, _, error) = said(&job);
    assert!(code == Some(0) && error.contains("no hit of any track is among the hits"), "{error}");
    file(&folder, "tracks.ndjson", "[]\n[]\n");
    assert_eq!(said(&job).2, "");
}

#[test]
fn banks_of_another_kind_than_the_truth_are_told() {
    let Some(data) = common::data() else { return };
    let [events, geometry] =
        ["lhcb/minbias_retina_truth.mdf", "lhcb/geometry"].map(|name| data.join(name).display().to_string());
    let job = ["check", &events, "--geometry", &geometry, "--velo-banks"];
    assert_eq!(said(&[&job[..], &["retina"]].concat()).2, "");
    let (_, _, error) = said(&[&job[..], &["superpixel"]].concat());
    assert!(
        error.contains("no hit of any track is among the hits") && error.contains("--velo-banks"),
        "{error}"
    );
}

#[test]
fn empty_frames_are_told() {
    let folder = folder("frames");
    let page = path(&folder, "page.html");
    let draw = |more: &[&str]| {
        said(&[&["display", PIXELS, "--output", &page, "--json", "-", "--quiet"], more].concat())
    };
    // Without a number it is the frame with the most hits.
    let (code, text, error) = draw(&["--frame-us", "50"]);
    let drawn: Value = serde_json::from_str(&text).unwrap();
    assert!(code == Some(0) && error.is_empty() && drawn["frame_hits"].as_u64() > Some(100), "{error}{text}");
    for event in 0..drawn["frames"].as_u64().unwrap() {
        let (_, text, _) = draw(&["--frame-us", "50", "--event", &event.to_string()]);
        let one: Value = serde_json::from_str(&text).unwrap();
        assert!(one["frame_hits"].as_u64() <= drawn["frame_hits"].as_u64());
    }
    let (code, _, error) = draw(&["--frame-us", "50", "--event", "1000000"]);
    assert!(
        code == Some(0)
            && error.contains("frame 1000000 has no hits")
            && error.contains("its frames are 0 to "),
        "{error}"
    );
    // Whoever gets the page does not learn where files lie here.
    let hits = simulated(&folder, "hits.tpx3", "timepix", "3000");
    json(&["display", &hits, "--output", &page]);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h1>hits.tpx3</h1>") && !text.contains(folder.to_str().unwrap()));
}
