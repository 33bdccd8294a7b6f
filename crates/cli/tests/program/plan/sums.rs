//! Parts of any size add up to one run over everything.

use super::{folder, json, path, plan, results, said, simulated};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;

/// The numbers of the events in all parts, in the order of the parts.
fn event_ids(parts: &[(String, Vec<u8>)]) -> Vec<u64> {
    let ids = |(_, bytes): &(String, Vec<u8>)| {
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes.clone())).unwrap();
        let batches = reader.build().unwrap().map(|batch| batch.unwrap());
        batches
            .flat_map(|batch| batch["event_id"].as_primitive::<UInt64Type>().values().to_vec())
            .collect::<Vec<_>>()
    };
    parts.iter().flat_map(ids).collect()
}

/// Runs all parts of a plan in one process, and compares their sum with one run over the same inputs.
fn add_up(folder: &Path, inputs: &[&str], part_events: u64, how: &[&str]) -> usize {
    let whole = json(&[&["run"], inputs, how].concat());
    let (plan, _) = plan(folder, inputs, part_events);
    let to = path(folder, &format!("parts-{part_events}"));
    let made = json(&[&["run", "--plan", &plan, "--part", ":", "--output", &to], how].concat());
    let sum = json(&["manifest", &to, "--plan", &plan, "--verify"]);
    for key in ["hash_events", "events", "tracks", "hits", "clusters", "sequence"] {
        assert_eq!(sum[key], whole[key], "{key} of {inputs:?} in parts of {part_events}");
    }
    for (reason, count) in whole["dropped"].as_object().unwrap() {
        assert_eq!(&sum["dropped"][reason], count, "{reason}");
    }
    assert_eq!((&sum["is_complete"], &sum["failed"]), (&true.into(), &serde_json::json!([])));
    if whole.get("clusters").is_none() {
        let expected: Vec<_> = (0..whole["events"].as_u64().unwrap()).collect();
        assert_eq!(event_ids(&results(&to)), expected);
    }
    let parts = made.as_array().unwrap().len();
    assert_eq!((sum["parts"].as_u64(), sum["runs"].as_u64()), (Some(parts as u64), Some(parts as u64)));
    parts
}

#[test]
fn parts_of_raw_files_add_up_to_the_whole() {
    let folder = folder("raw");
    let files = [("a.mdf", 9), ("b.mdf", 5), ("c.mdf", 8)]
        .map(|(name, events)| simulated(&folder, name, "lhcb", events));
    let files = files.each_ref().map(|file| &file[..]);
    let nominal = ["--geometry", "nominal"];
    for (size, parts) in [(1, 22), (7, 5), (1000, 3)] {
        for sequence in ["velo", "long", "ut"] {
            let how = [&nominal[..], &["--sequence", sequence]].concat();
            assert_eq!(add_up(&folder, &files, size, &how), parts, "{sequence}");
            std::fs::remove_dir_all(folder.join(format!("parts-{size}"))).unwrap();
        }
    }
    // A folder is its files.
    let only_files = folder.join("files");
    std::fs::create_dir(&only_files).unwrap();
    files.iter().for_each(|file| {
        let name = Path::new(file).file_name().unwrap();
        std::fs::rename(file, only_files.join(name)).unwrap();
    });
    std::fs::write(only_files.join("notes.txt"), "no events").unwrap();
    assert_eq!(add_up(&folder, &[only_files.to_str().unwrap()], 4, &nominal), 7);
}

#[test]
fn damage_is_counted_as_one_run_counts_it() {
    let folder = folder("damage");
    let files = ["a.mdf", "b.mdf"].map(|name| simulated(&folder, name, "lhcb", 6));
    // A header in the middle of the first file; the second one ends inside an event.
    let (_, made) = plan(&folder, &[&files[0]], 1);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    bytes[made["parts"][2]["byte"].as_u64().unwrap() as usize] ^= 1;
    bytes[made["parts"][4]["byte"].as_u64().unwrap() as usize + 60] ^= 1;
    std::fs::write(&files[0], bytes).unwrap();
    let bytes = std::fs::read(&files[1]).unwrap();
    std::fs::write(&files[1], &bytes[..bytes.len() - 10]).unwrap();
    let files = files.each_ref().map(|file| &file[..]);
    for size in [1, 2, 100] {
        add_up(&folder, &files, size, &["--geometry", "nominal"]);
    }
    let sum = json(&["manifest", &path(&folder, "parts-1"), "--plan", &path(&folder, "plan-1.json")]);
    assert_eq!((&sum["events"], &sum["bad_events"]), (&12.into(), &3.into()));
    let (code, _, error) = said(&[
        "manifest",
        &path(&folder, "parts-1"),
        "--plan",
        &path(&folder, "plan-1.json"),
        "--max-bad",
        "2",
    ]);
    assert!(code == Some(1) && error.contains("3 of 12 events could not be reconstructed"), "{error}");
}

#[test]
fn simulations_and_files_that_cannot_seek_add_up() {
    let folder = folder("others");
    for (input, size, parts) in [
        ("sim:lhcb,events=7,seed=3", 3, 3),
        ("sim:velo,events=7,seed=3", 2, 4),
        ("sim:cylinder,events=3,tracks=100,seed=2", 1, 3),
        ("sim:timepix,hits=3000,seed=2", 1, 1),
    ] {
        assert_eq!(add_up(&folder, &[input], size, &[]), parts, "{input}");
        std::fs::remove_dir_all(folder.join(format!("parts-{size}"))).unwrap();
    }
    for (detector, names, part) in [
        ("lhcb", ["a.mdf.zst", "b.mdf.zst"], &["--geometry", "nominal"][..]),
        ("velo", ["a.ndjson", "b.ndjson.zst"], &[]),
        ("cylinder", ["a.bin", "b.bin.zst"], &[]),
        ("timepix", ["a.tpx3", "b.tpx3"], &[]),
        ("timepix", ["a.txt", "b.txt"], &[]),
    ] {
        let events = if detector == "timepix" { 2000 } else { 3 };
        let files = names.map(|name| simulated(&folder, name, detector, events));
        let files = files.each_ref().map(|file| &file[..]);
        assert_eq!(add_up(&folder, &files, 1, part), 2, "{detector}");
        std::fs::remove_dir_all(folder.join("parts-1")).unwrap();
    }
}

#[test]
fn real_events_and_clusters_add_up() {
    let Some(data) = crate::common::data() else { return };
    let folder = folder("real");
    let name = |name: &str| data.join(name).to_str().unwrap().to_string();
    let geometry = name("lhcb/geometry");
    let of_geometry = ["--geometry", &geometry[..], "--sequence", "velo-ut"];
    // A folder of bank containers, two files of records, text and its folder, a folder of pixel hits.
    let files = ["lhcb/minbias_retina_truth.mdf", "lhcb/minbias_superpixel.mdf"].map(name);
    let files = files.each_ref().map(|file| &file[..]);
    assert_eq!(add_up(&folder, &[&name("lhcb/banks")], 3, &of_geometry), 3);
    assert_eq!(add_up(&folder, &files, 5, &of_geometry), 4);
    assert_eq!(add_up(&folder, &[&name("velo/reference10")], 6, &[]), 10);
    // Under names that are not numbered they are runs of their own, as parts are.
    let pixels = folder.join("pixels");
    std::fs::create_dir(&pixels).unwrap();
    for (i, entry) in std::fs::read_dir(name("timepix/nsls2_tpx3")).unwrap().enumerate() {
        let letters = [b'a' + i as u8 / 26, b'a' + i as u8 % 26].map(char::from);
        let copy = pixels.join(format!("{}{}.tpx3", letters[0], letters[1]));
        std::fs::copy(entry.unwrap().path(), copy).unwrap();
    }
    assert_eq!(add_up(&folder, &[pixels.to_str().unwrap()], 7, &[]), 23);
    // The parts know the geometry by its content.
    let to = path(&folder, "parts-5");
    let plan = path(&folder, "plan-5.json");
    let copy = folder.join("geometry");
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(&geometry).unwrap().map(|entry| entry.unwrap().path()) {
        std::fs::copy(&entry, copy.join(entry.file_name().unwrap())).unwrap();
    }
    let part = |geometry: &str, more: &[&str]| {
        let how = ["--geometry", geometry, "--sequence", "velo-ut"];
        let job = ["run", "--plan", &plan, "--part", "2", "--output", &to];
        json(&[&job, &how[..], more].concat())
    };
    let first = part(&geometry, &[]);
    assert_eq!(part(copy.to_str().unwrap(), &[]), first);
    assert_ne!(part("nominal-forced", &["--force"])["geometry_hash"], first["geometry_hash"]);
}

#[test]
fn hash_events_does_not_depend_on_the_order_of_the_parts() {
    let folder = folder("order");
    let how = |events: &'static str| json(&["run", "sim:velo,events=9,seed=4", "--events", events]);
    let hash =
        |run: &serde_json::Value| u64::from_str_radix(run["hash_events"].as_str().unwrap(), 16).unwrap();
    let parts = ["6:3", "0:2", "2:4"].map(|events| hash(&how(events)));
    assert_eq!(parts.into_iter().fold(0, u64::wrapping_add), hash(&how("0:")));
    drop(folder);
}
