//! B3: only those files of a geometry are read that are needed. B4: a damaged first record of an .mdf. B5: what is no toy
//! file. B6: text that is no pixel hits. B8, B9: the sequence is chosen by the input. B16: names of outputs.

use super::*;

#[test]
fn a_geometry_of_the_velo_is_enough_for_the_velo() {
    let Some(data) = common::data() else { return };
    let folder = folder("geometry");
    for entry in std::fs::read_dir(data.join("lhcb/geometry")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("velo") || name == "beamline.bin" {
            std::fs::copy(&path, folder.join(name)).unwrap();
        }
    }
    let events = data.join("lhcb/minbias_retina_truth.mdf").display().to_string();
    let whole = data.join("lhcb/geometry").display().to_string();
    let hash = |geometry: &str| json(&["run", &events, "--geometry", geometry])["output_hash"].clone();
    assert_eq!(hash(folder.to_str().unwrap()), hash(&whole));
    let job = ["run", "--sequence", "ut", &events, "--geometry", folder.to_str().unwrap()];
    assert!(failure(&job, 1).contains("ut_"));
}

#[test]
fn damage_in_the_first_record_costs_one_event() {
    let folder = folder("first-record");
    let name = simulated(&folder, "a.mdf", "lhcb", "3");
    let mut bytes = std::fs::read(&name).unwrap();
    bytes[..40].fill(0xA5);
    let name = file(&folder, "a.mdf", &bytes);
    let job = ["run", &name, "--geometry", "nominal"];
    let (code, text, error) = said(&[&job[..], &["--json", "-"]].concat());
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &summary["events"]), (Some(0), &3.into()), "{error}");
    assert_eq!(summary["dropped"]["corrupt"], 1);
    // Under another name nothing says what it is, and all formats are named.
    let name = file(&folder, "a.dat", &bytes);
    let error = failure(&["run", &name], 1);
    for word in ["Velo JSON", "MDF", "cylinder", "pixel hits", "--format"] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn what_is_no_toy_file_is_refused() {
    let folder = folder("toy");
    for (name, bytes, word) in [
        ("empty", &b""[..], "empty"),
        ("words", b"These are words, and no numbers.", "not a file of the cylinder detector"),
        ("noise", &[0xA5; 400], "not a file of the cylinder detector"),
        ("zeros", &[0; 400], "not a file of the cylinder detector"),
        ("short", &[1, 0, 0, 0, 9], "not a file of the cylinder detector"),
    ] {
        let name = file(&folder, name, bytes);
        for command in ["run", "check", "throughput", "compare"] {
            let error = failure(&[command, "--sequence", "cylinder", &name], 1);
            assert!(error.contains(word) && error.contains(&name), "{error}");
        }
    }
}

#[test]
fn text_that_is_no_hit_is_told_with_its_line() {
    let folder = folder("pixel-text");
    let words = file(&folder, "words.txt", "# of all that is no hit\nand more\n");
    let (code, _, error) = said(&["run", "--sequence", "timepix", &words]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("line 2: `and more`") && error.contains("no hit in the input"), "{error}");
    let some = file(&folder, "some.txt", "258 100 3 7\n\n258 200 3 7\n258 300 x 7\n258 400 3\n");
    let (code, _, error) = said(&["run", "--sequence", "timepix", &some]);
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("some.txt: 2 lines are not hits; the first is line 4: `258 300 x 7`"), "{error}");
    // Files of a folder that are something else are passed over.
    file(&folder, "picture.png", b"\x89PNG\r\n\x1a\n and so on");
    let inputs = folder.to_str().unwrap();
    let (code, text, error) = said(&["run", "--sequence", "timepix", inputs, "--json", "-"]);
    assert!(code == Some(0) && error.contains("picture.png: skipped"), "{error}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["hits"], 2);
}

#[test]
fn the_sequence_is_chosen_by_the_input() {
    let folder = folder("choice");
    let toy = simulated(&folder, "a.bin.zst", "cylinder,tracks=50", "2");
    let made = [("a.tpx3", "tpx3"), ("a.txt", "burda"), ("a.bin", "hits16")];
    let [words, text, records] = made.map(|(name, _)| simulated(&folder, name, "timepix", "500"));
    for (input, sequence) in [
        (CYLINDER, "cylinder"),
        (PIXELS, "timepix"),
        (&toy, "cylinder"),
        (&words, "timepix"),
        (&text, "timepix"),
        (VELO, "velo"),
        (RAW, "velo"),
    ] {
        for command in ["run", "check", "compare", "throughput"] {
            let more: &[&str] = if command == "throughput" { &["--repetitions", "1"] } else { &[] };
            let job = [&[command, input], more].concat();
            let chosen = json(&job);
            assert_eq!(chosen["sequence"], sequence, "{command} {input}");
            let named = json(&[&job[..], &["--sequence", sequence]].concat());
            // Of a comparison the times differ from run to run.
            for path in ["/output_hash", "/left/output_hash"] {
                assert_eq!(chosen.pointer(path), named.pointer(path), "{command} {input}");
            }
            let hash =
                if command == "compare" { &named["left"]["output_hash"] } else { &named["output_hash"] };
            assert!(hash.is_string() || command == "check", "{command} {input}");
            let told = said(&job).2.contains("because it fits the input");
            assert_eq!(told, sequence != "velo", "{command} {input}");
        }
    }
    assert_eq!(json(&["run", &records, "--format", "hits16"])["sequence"], "timepix");
    // What was named is not chosen otherwise.
    let config = file(&folder, "velo.toml", "sequence = 'velo'\n");
    assert!(failure(&["run", CYLINDER, "--config", &config], 2).contains("--sequence cylinder"));
    assert!(failure(&["run", "sim:muon"], 2).contains("velo, lhcb, cylinder or timepix"));
    let error = failure(&["run", "--sequence", "velo", "--format", "t3pa", &text], 2);
    assert!(error.contains("--format t3pa is not for the sequence velo"), "{error}");
}

#[test]
fn an_mdf_read_as_pixel_text_is_no_success() {
    let folder = folder("mdf-as-text");
    let name = simulated(&folder, "a.mdf", "lhcb", "2");
    let (code, _, error) = said(&["run", "--format", "t3pa", &name]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("no hit"), "{error}");
}

#[test]
fn outputs_are_what_their_names_say() {
    let folder = folder("names");
    for (detector, name, word) in [
        ("velo", "s.mdf", ".ndjson"),
        ("velo", "s.parquet", ".ndjson"),
        ("lhcb", "s.ndjson", ".mdf"),
        ("cylinder,tracks=10", "s.txt", ".bin"),
        ("timepix", "s.ndjson", ".tpx3"),
    ] {
        let output = path(&folder, name);
        let job = ["simulate", "--detector", detector, "--events", "2", "--output", &output];
        let error = failure(&job, 2);
        assert!(error.contains(word) && error.contains(name), "{error}");
    }
    let output = path(&folder, "page.png");
    let error = failure(&["display", "--sequence", "timepix", PIXELS, "--output", &output], 2);
    assert!(error.contains(".html"), "{error}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_pixel_file_that_breaks_off_is_told_and_the_others_are_read() {
    let folder = folder("broken");
    let whole = simulated(&folder, "a.tpx3", "timepix", "200000");
    let bytes = std::fs::read(&whole).unwrap();
    let packed = zstd::encode_all(&bytes[..], 1).unwrap();
    let cut = file(&folder, "cut.tpx3.zst", &packed[..packed.len() / 2]);
    let all = json(&["run", &whole])["hits"].as_u64().unwrap();
    let output = path(&folder, "clusters.ndjson");
    for inputs in [&[&cut[..]][..], &[&cut, &whole], &[&whole, &cut, &whole]] {
        let _ = std::fs::remove_file(&output);
        let job = [&["run", "--json", "-", "--output", &output], inputs].concat();
        let (code, text, error) = said(&job);
        assert_eq!(code, Some(1), "{error}");
        // What there was is read, written and summed up.
        let summary: Value = serde_json::from_str(&text).expect("a summary");
        let others = all * (inputs.len() as u64 - 1);
        let hits = summary["hits"].as_u64().unwrap();
        assert!(hits > others + all / 10 && hits < others + all, "{hits} of {all}");
        let lines = std::fs::read_to_string(&output).unwrap().lines().count() as u64;
        assert_eq!(Some(lines), summary["clusters"].as_u64());
        let told = error.lines().find(|line| line.contains("cut.tpx3.zst")).expect("the file's name");
        let at = told.split(" bytes into it").next().unwrap().rsplit(' ').next().unwrap();
        assert!(at.parse::<u64>().unwrap() > bytes.len() as u64 / 10, "{told}");
        assert!(
            told.contains("events before the damage were read") && error.contains("1 of the inputs"),
            "{error}"
        );
    }
}
