//! D: run and event numbers in every output, nulls where nothing was measured, one unit in all files, tables of the truth.
//! B10: tracks made elsewhere belong to events by their numbers. B1: which bank or hit an event failed by.

use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// All rows of a Parquet file.
fn parquet(name: &str) -> RecordBatch {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(name).expect("a file")).unwrap();
    let mut batches = reader.with_batch_size(1 << 20).build().unwrap();
    batches.next().expect("rows").unwrap()
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<Option<u64>> {
    match batch[name].as_primitive_opt::<UInt64Type>() {
        Some(column) => column.iter().collect(),
        None => batch[name].as_primitive::<UInt32Type>().iter().map(|value| value.map(u64::from)).collect(),
    }
}

fn lines(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(name).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Runs with both kinds of output and checks that both tell which events these are.
fn outputs_tell(folder: &Path, job: &[&str], expected: &[[Option<u64>; 3]]) -> Vec<Value> {
    let [text, columns] = ["a.ndjson", "a.parquet"].map(|name| path(folder, name));
    let hashes = [&text, &columns].map(|output| {
        let ran = json(&[&["run"], job, &["--output", output]].concat());
        (ran["hash_int"].clone(), ran["output_hash"].clone())
    });
    // Which event it is, is input and no result.
    let ran = json(&[&["run"], job].concat());
    assert_eq!(hashes, [0, 1].map(|_| (ran["hash_int"].clone(), ran["output_hash"].clone())));
    let names = ["event_id", "run_number", "event_number"];
    let (lines, batch) = (lines(&text), parquet(&columns));
    for (number, name) in names.iter().enumerate() {
        let column: Vec<_> = expected.iter().map(|row| row[number]).collect();
        assert_eq!(numbers(&batch, name), column, "{job:?} {name}");
        let values: Vec<_> = lines.iter().map(|line| line[name].as_u64()).collect();
        assert_eq!(values, column, "{job:?} {name}");
        assert!(lines.iter().all(|line| line.get(name).is_some()), "{name} is null, and not left out");
    }
    lines
}

#[test]
fn outputs_tell_which_events_they_are_of() {
    let folder = folder("identity");
    let simulated = [0, 1, 2].map(|event| [Some(event), Some(1), Some(event)]);
    for sequence in ["velo", "velo-ut", "ut", "scifi", "scifi-hits", "long", "long-ut"] {
        let job = ["--sequence", sequence, "sim:lhcb,events=3"];
        outputs_tell(&folder, &job, &simulated);
        outputs_tell(&folder, &[&job[..], &["--events", "2:1", "--threads", "2"]].concat(), &simulated[2..]);
    }
    let unknown = [0, 1].map(|event| [Some(event), None, None]);
    let lines = outputs_tell(&folder, &["sim:velo,events=2"], &unknown);
    assert!(lines[1]["tracks"].as_array().unwrap().len() > 10 && lines[1]["status"] == "ok");
    outputs_tell(&folder, &[CYLINDER], &unknown);
}

#[test]
fn real_events_keep_their_numbers() {
    let Some(data) = common::data() else { return };
    let [events, banks, geometry] =
        ["lhcb/minbias_retina_truth.mdf", "lhcb/minbias_superpixel.mdf", "lhcb/geometry"]
            .map(|name| data.join(name).display().to_string());
    let folder = folder("real-identity");
    let expected: Vec<_> = (0..7).map(|event| [Some(event), Some(6_718_861), Some(6001 + event)]).collect();
    for sequence in ["velo", "velo-ut", "ut", "scifi", "scifi-hits", "long", "long-ut"] {
        outputs_tell(&folder, &["--sequence", sequence, &events, "--geometry", &geometry], &expected);
    }
    let text = path(&folder, "a.ndjson");
    json(&["run", &banks, "--geometry", &geometry, "--output", &text]);
    for (number, line) in lines(&text).iter().enumerate() {
        assert_eq!(
            (&line["run_number"], &line["event_number"]),
            (&6_718_861.into(), &(6001 + number).into())
        );
    }
}

/// A folder with the energy calibration of one chip, all of whose pixels are alike.
fn calibration(folder: &Path) -> String {
    let calibration = folder.join("calibration");
    std::fs::create_dir(&calibration).unwrap();
    for (name, value) in [("a.txt", "1.5"), ("b.txt", "20"), ("c.txt", "30"), ("t.txt", "1")] {
        let row = vec![value; 256].join(" ");
        file(&calibration, name, vec![row; 256].join("\n"));
    }
    path(folder, "calibration")
}

#[test]
fn hits_of_clusters_tell_their_file_chip_and_energy() {
    let folder = folder("origin");
    let inputs = ["one.tpx3", "two.tpx3"].map(|name| path(&folder, name));
    for (seed, input) in ["2", "3"].into_iter().zip(&inputs) {
        let simulation = ["simulate", "--detector", "timepix", "--events", "2000", "--seed", seed];
        json(&[&simulation[..], &["--output", input]].concat());
    }
    let calibration = calibration(&folder);
    let [text, columns] = ["a.ndjson", "a.parquet"].map(|name| path(&folder, name));
    for output in [&text, &columns] {
        let job = ["run", &inputs[0], &inputs[1], "--calibration", &calibration, "--output", output];
        // The mask is looked for in the first hits, before anything else is read: they are the first file's all the same.
        json(&[&job[..], &["--mask-hot", "100000"]].concat());
    }
    let (lines, batch) = (lines(&text), parquet(&columns));
    let told: Vec<_> = lines.iter().map(|line| line["input"].as_str().unwrap()).collect();
    assert!(batch["input"].as_string::<i32>().iter().eq(told.iter().map(|name| Some(*name))));
    let first = told.iter().filter(|name| **name == inputs[0]).count();
    assert!((100..told.len() - 100).contains(&first) && told[first..].iter().all(|name| *name == inputs[1]));

    let (energies, chips) = (batch["hit_energy"].as_list::<i32>(), batch["hit_chip"].as_list::<i32>());
    for (cluster, line) in lines.iter().enumerate() {
        let (energies, chips) = (energies.value(cluster), chips.value(cluster));
        let energies = energies.as_primitive::<Float64Type>().values();
        let sum: f64 = energies.iter().sum();
        assert!((sum - line["energy_keV"].as_f64().unwrap()).abs() < 1e-6, "{line}");
        let told = line["hit_energy_keV"].as_array().unwrap().iter().map(|energy| energy.as_f64().unwrap());
        assert!(told.eq(energies.iter().copied()), "{line}");
        assert!(
            chips.len() == energies.len()
                && line["hit_chip"].as_array().unwrap().iter().all(|chip| chip == 0)
        );
    }
}

#[test]
fn clusters_have_the_same_units_in_all_files() {
    let folder = folder("units");
    let [text, columns] = ["a.ndjson", "a.parquet"].map(|name| path(&folder, name));
    let calibration = calibration(&folder);
    for with in [&[][..], &["--calibration", &calibration]] {
        let run = |output| json(&[&["run", PIXELS, "--output", output], with].concat());
        assert_eq!(run(&text)["output_hash"], run(&columns)["output_hash"]);
        let (lines, batch) = (lines(&text), parquet(&columns));
        let floats = |name: &str| batch[name].as_primitive::<Float64Type>().iter().collect::<Vec<_>>();
        for (name, key, unit) in
            [("time", "time_ns", "ns"), ("duration", "duration_ns", "ns"), ("energy", "energy_keV", "keV")]
        {
            let told: Vec<_> = lines.iter().map(|line| line[key].as_f64()).collect();
            assert!(told.len() > 50 && floats(name) == told, "{name}");
            let field = batch.schema_ref().field_with_name(name).unwrap().clone();
            assert_eq!(field.metadata()["unit"], unit);
        }
        // Without a calibration no energy was measured.
        let is_measured = !with.is_empty();
        assert!(floats("energy").iter().all(|energy| energy.is_some() == is_measured));
        assert!(floats("energy").iter().flatten().all(|energy| *energy > 0.0));
    }
}

#[test]
fn tables_of_the_truth_add_up_to_the_report() {
    let folder = folder("truth-tables");
    let name = path(&folder, "truth.parquet");
    for (job, run) in [
        (&["check", "sim:velo,events=4,seed=3"][..], None),
        (&["check", "sim:lhcb,events=3,seed=3"], Some(3)),
        (&["check", "sim:velo,events=4,seed=3", "--rules", "json"], None),
        (&["check", "--sequence", "velo-ut", "sim:lhcb,events=2,seed=3"], Some(3)),
        (&["check", "--sequence", "scifi", "sim:lhcb,events=2,seed=3"], Some(3)),
        (&["check", "--sequence", "long", "sim:lhcb,events=2,seed=3"], Some(3)),
        (&["check", "--sequence", "cylinder", CYLINDER, "--seeds", "hits"], None),
    ] {
        let report = json(&[job, &["--truth-output", &name]].concat());
        let [particles, tracks] =
            ["particles", "tracks"].map(|what| parquet(&path(&folder, &format!("truth.{what}.parquet"))));
        assert_eq!(report["tracks"], tracks.num_rows());
        assert!(numbers(&tracks, "run_number").iter().all(|number| *number == run));
        let yes = |batch: &RecordBatch, name: &str| {
            batch[name].as_boolean().iter().filter(|value| *value == Some(true)).count()
        };
        assert_eq!(report["ghosts"], yes(&tracks, "ghost"), "{job:?}");
        assert_eq!(tracks["particle"].null_count(), yes(&tracks, "ghost") + yes(&tracks, "repeated"));
        let found = particles["found"].as_boolean();
        let lists = particles["categories"].as_list::<i32>();
        // Parts of categories, which begin with dashes, share names.
        let categories = report["categories"].as_array().unwrap();
        let is_own = |category: &&serde_json::Value| {
            let name = category["name"].as_str().unwrap();
            categories.iter().filter(|other| other["name"] == name).count() == 1
        };
        assert!(categories.iter().filter(is_own).count() > 0, "{job:?}");
        for category in categories.iter().filter(is_own) {
            let is_in = |row: &usize| {
                lists.value(*row).as_string::<i32>().iter().flatten().any(|name| category["name"] == name)
            };
            let rows: Vec<_> = (0..particles.num_rows()).filter(is_in).collect();
            assert_eq!(category["reconstructible"], rows.len(), "{job:?} {}", category["name"]);
            let rows = rows.iter().filter(|row| found.value(**row)).count();
            // The cylinder's second category is one of tracks, and a particle can have a shorter one.
            if category["name"] != "n_found>=7" {
                assert_eq!(category["reconstructed"], rows, "{job:?} {}", category["name"]);
            }
        }
        // What a track says of its particle, the particle says of its tracks.
        let matched: u64 = numbers(&particles, "tracks").iter().flatten().sum();
        let of_tracks = numbers(&tracks, "particles");
        assert_eq!(of_tracks.iter().flatten().sum::<u64>(), matched, "{job:?}");
        let is_particle = numbers(&tracks, "particle");
        assert!(is_particle.iter().zip(&of_tracks).all(|(one, all)| one.is_some() == (*all > Some(0))));
        let shares = particles["hit_efficiency"].as_primitive::<Float64Type>();
        assert!(shares.iter().zip(found).all(|(share, found)| share.is_some() == (found == Some(true))));
        assert!(shares.iter().flatten().all(|share| (0.0..=1.0).contains(&share)));
        let momenta = particles["p"].as_primitive::<Float64Type>();
        assert!(momenta.iter().all(|p| p > Some(0.0)));
    }
    assert!(failure(&["check", VELO, "--truth-output", "a.csv"], 2).contains(".parquet"));
    assert!(failure(&["check", PIXELS, "--truth-output", &name], 2).contains("--truth-output"));
    let same = ["check", VELO, "--truth-output", &name, "--json", &path(&folder, "truth.tracks.parquet")];
    assert!(failure(&same, 2).contains("the same file"));
}

#[test]
fn tracks_belong_to_events_by_their_numbers() {
    let folder = folder("by-number");
    let [tracks, mixed] = ["tracks.ndjson", "mixed.ndjson"].map(|name| path(&folder, name));
    for (events, geometry) in [("sim:velo,events=5,seed=2", &[][..]), ("sim:lhcb,events=5,seed=2", &[])] {
        let job = |more: &[&str]| json(&[&["check", events], geometry, more].concat());
        let expected = job(&[]);
        json(&["run", events, "--output", &tracks]);
        let mut text: Vec<_> = std::fs::read_to_string(&tracks).unwrap().lines().map(String::from).collect();
        text.reverse();
        text.swap(0, 2);
        file(&folder, "mixed.ndjson", text.join("\n"));
        let found = job(&["--tracks", &mixed]);
        for key in ["categories", "ghosts", "tracks"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
        assert_eq!((&found["unknown_hit_ids"], &found["repeated_hit_ids"]), (&0.into(), &0.into()));
        let part = job(&["--events", "1:2"]);
        assert_eq!(job(&["--events", "1:2", "--tracks", &mixed])["categories"], part["categories"]);
        // Lines of other events are counted, missing ones named, repeated ones refused.
        let (code, _, error) = said(&["check", events, "--events", "1:", "--tracks", &mixed]);
        assert!(code == Some(0) && error.contains("1 line for events that are not in the input"), "{error}");
        file(&folder, "short.ndjson", text[1..].join("\n"));
        let error = failure(&["check", events, "--tracks", &path(&folder, "short.ndjson")], 1);
        assert!(error.contains("no line has event 2"), "{error}");
        file(&folder, "twice.ndjson", [&text[..1], &text[..]].concat().join("\n"));
        let error = failure(&["check", events, "--tracks", &path(&folder, "twice.ndjson")], 1);
        assert!(error.contains("line 2: this line has the same event as line 1"), "{error}");
    }
}

#[test]
fn unknown_hits_of_raw_events_are_counted() {
    let folder = folder("unknown-raw");
    let tracks = path(&folder, "tracks.ndjson");
    json(&["run", "sim:lhcb,events=2", "--output", &tracks]);
    let mut all = lines(&tracks);
    // No sensor has so high a number, and one hit is named twice.
    let first = all[1]["tracks"][0][0].clone();
    all[1]["tracks"][0].as_array_mut().unwrap().extend([first, 0x2FFF_FFFFu32.into()]);
    let name = file(&folder, "more.ndjson", all.iter().map(|line| format!("{line}\n")).collect::<String>());
    let checked = json(&["check", "sim:lhcb,events=2", "--tracks", &name]);
    assert_eq!((&checked["unknown_hit_ids"], &checked["repeated_hit_ids"]), (&1.into(), &1.into()));
}

#[test]
fn hits_of_other_programs_are_known() {
    let Some(data) = common::data() else { return };
    let [events, geometry, tracks] =
        ["lhcb/minbias_retina_truth.mdf", "lhcb/geometry", "lhcb/peer_2023/long.ndjson"]
            .map(|name| data.join(name).display().to_string());
    let job = ["check", &events, "--geometry", &geometry, "--tracks", &tracks, "--rules", "lhcb-long"];
    let checked = json(&job);
    assert_eq!(checked["unknown_hit_ids"], 0);
}

#[test]
fn the_bank_or_hit_that_an_event_failed_by_is_named() {
    let folder = folder("blame");
    let raw = simulated(&folder, "a.mdf", "lhcb", "2");
    let bytes = std::fs::read(&raw).unwrap();
    for (kind, name, sequence) in [(73, "Velo retina", "velo"), (66, "UT", "ut"), (64, "SciFi", "scifi-hits")]
    {
        // A version that no decoder knows, in the second event's third bank of this kind; without a checksum.
        let mut bytes = bytes.clone();
        let second = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        bytes[second + 12..second + 16].fill(0);
        let (mut at, mut seen) = (second + 48, 0);
        let source = loop {
            let word = |place: usize| u16::from_le_bytes([bytes[at + place], bytes[at + place + 1]]);
            let (length, source) = (word(2), word(6));
            seen += usize::from(bytes[at + 4] == kind);
            if seen == 3 {
                bytes[at + 5] = 200;
                break source;
            }
            at += usize::from(length).next_multiple_of(4);
        };
        let damaged = file(&folder, "b.mdf", bytes);
        let job = ["run", "--sequence", sequence, &damaged, "--geometry", "nominal", "--quiet"];
        let error = failure(&job, 0);
        assert!(
            error.contains("1 of 2 events") && error.contains("event 1 (run 4, number 1): bad_bank"),
            "{error}"
        );
        let bank = format!("the {name} bank of source {source} (version 200, ");
        assert!(error.contains(&bank), "{error}");
    }
    let name = simulated(&folder, "events.ndjson", "velo", "2");
    let text = std::fs::read_to_string(&name).unwrap();
    let at = text.find("\"z\":[").unwrap() + 5;
    let comma = at + text[at..].find(',').unwrap() + 1;
    let end = comma + text[comma..].find(',').unwrap();
    let name = file(&folder, "events.ndjson", format!("{}1e30{}", &text[..comma], &text[end..]));
    let error = failure(&["run", &name, "--quiet"], 0);
    assert!(error.contains("event 0: out_of_range: hit 1 in module 0 at x "), "{error}");
    assert!(error.contains("z 1000000000000000000000000000000 mm"), "{error}");
}
