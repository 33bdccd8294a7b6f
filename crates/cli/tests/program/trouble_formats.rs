//! Inputs that say something of themselves which was not believed, or not known: `trouble` of the data.

use crate::common::data;
use crate::{empty_folder, path, peloton, said};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;

/// A file, the flags, and what must come out.
struct Case {
    file: &'static str,
    arguments: &'static [&'static str],
    right: Right,
}

enum Right {
    /// Time of each cluster in ns, and its hits: x, y on the sensor, time over threshold. What standard error says beside it.
    Clusters(&'static [(f64, &'static [[u64; 3]])], &'static str),
    /// An exit code and words of standard error.
    Refused(i32, &'static [&'static str]),
}
use Right::{Clusters, Refused};

const ASSUMED: &str = "`t` has no unit";

const CASES: &[Case] = &[
    Case {
        file: "15_integrated_tot_frame.tpx3",
        arguments: &[],
        right: Refused(1, &["4 words of integrated time over threshold (kind 0xA"]),
    },
    Case {
        file: "18_columns_in_another_order.t3pa",
        arguments: &[],
        right: Clusters(&[(2495.3125, &[[10, 10, 20], [11, 10, 21]])], ""),
    },
    Case {
        file: "19_other_columns_itot_event.t3pa",
        arguments: &[],
        right: Refused(1, &["unknown columns: `iToT`, `Event`"]),
    },
    Case {
        file: "20_chips_in_index_overflow_zero.t3pa",
        arguments: &[],
        right: Clusters(
            &[(2495.3125, &[[10, 10, 20]]), (2495.3125, &[[10, 268, 20]]), (2495.3125, &[[268, 10, 20]])],
            "",
        ),
    },
    Case {
        file: "24_big_endian.npy",
        arguments: &[],
        right: Clusters(
            &[(1562.5, &[[10, 10, 5], [11, 10, 6]]), (78125.0, &[[50, 60, 7], [51, 60, 8]])],
            ASSUMED,
        ),
    },
    Case {
        file: "24_big_endian.npy",
        arguments: &["--time-unit", "ns"],
        right: Clusters(&[(1000.0, &[[10, 10, 5], [11, 10, 6]]), (50000.0, &[[50, 60, 7], [51, 60, 8]])], ""),
    },
    Case {
        file: "25_chip_column.npy",
        arguments: &["--time-unit", "ticks"],
        right: Clusters(&[(1562.5, &[[10, 10, 5]]), (1562.5, &[[268, 10, 5]])], ""),
    },
    Case {
        file: "26_time_as_duration_ns.parquet",
        arguments: &[],
        right: Clusters(&[(1000.0, &[[10, 10, 5], [11, 10, 6]]), (50000.0, &[[50, 60, 7], [51, 60, 8]])], ""),
    },
    Case {
        file: "26_time_as_duration_ns.parquet",
        arguments: &["--time-unit", "ns"],
        right: Refused(1, &["--time-unit is for times without a unit", "`t`"]),
    },
    Case { file: "27_pymepix.raw", arguments: &[], right: Refused(1, &["pymepix", "docs/formats.md"]) },
    Case { file: "28_spidr.dat", arguments: &[], right: Refused(1, &["SPIDR", "docs/formats.md"]) },
    Case { file: "28_spidr.dat", arguments: &["--format", "tpx3"], right: Refused(1, &["SPIDR"]) },
];

#[test]
fn what_files_say_of_themselves_is_used_or_refused_by_name() {
    let Some(folder) = data().map(|data| data.join("trouble")).filter(|folder| folder.is_dir()) else {
        return;
    };
    for Case { file, arguments, right } in CASES {
        let input = path(&folder, file);
        let job = [&["run", "--sequence", "timepix", &input, "--output", "-"], *arguments].concat();
        let (code, text, error) = said(&job);
        match right {
            Clusters(expected, words) => {
                assert!(code == Some(0) && error.contains(words), "{job:?}: {error}");
                assert_eq!(error.is_empty(), words.is_empty(), "{job:?}: {error}");
                let lines: Vec<Value> =
                    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                assert_eq!(lines.len(), expected.len(), "{job:?}: {text}");
                for (line, (time, hits)) in lines.iter().zip(*expected) {
                    let found =
                        line["hits"].as_array().unwrap().iter().map(|hit| [0, 1, 2].map(|i| hit[i].as_u64()));
                    assert!(found.eq(hits.iter().map(|hit| hit.map(Some))), "{job:?}: {line}");
                    assert_eq!(line["time_ns"], *time, "{job:?}");
                }
            }
            Refused(expected, words) => {
                assert_eq!((code, &text[..]), (Some(*expected), ""), "{job:?}: {error}");
                assert!(words.iter().all(|words| error.contains(words)), "{job:?}: {error}");
            }
        }
    }
}

#[test]
fn frames_keep_their_numbers_in_every_output() {
    let Some(data) = data() else { return };
    let (input, folder) = (data.join("trouble/31_frames_for_clog.txt"), empty_folder("frames"));
    let run = |name: &str| {
        let output = path(&folder, name);
        let job = ["run", "--format", "frames", input.to_str().unwrap(), "--output", &output, "--quiet"];
        assert_eq!(said(&job), (Some(0), String::new(), String::new()));
        std::fs::read(output).unwrap()
    };
    let clog = String::from_utf8(run("a.clog")).unwrap();
    let frames: Vec<_> = clog.lines().filter(|line| line.starts_with("Frame")).collect();
    let expected = [1, 2, 4].map(|number| format!("Frame {number} (0.000000000, 0.000000000 s)"));
    assert_eq!(frames, expected);
    assert!(clog.contains("\n[3, 4, 10] [4, 4, 11] \n"), "{clog}");
    let lines = String::from_utf8(run("a.ndjson")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().map(|line| &line["frame"]).eq([0, 1, 3].map(Value::from).iter()));
    assert!(lines.iter().all(|line| line["time_ns"].is_null() && line["duration_ns"].is_null()));
    assert_eq!(lines[0]["hits"], json!([[3, 4, 10, null], [4, 4, 11, null]]));
    let parquet = run("a.parquet");
    assert!(parquet.windows(5).any(|bytes| bytes == b"frame"), "there is no column frame");
}

#[test]
fn one_calibration_is_not_that_of_several_chips() {
    let Some(data) = data() else { return };
    let (trouble, folder) = (data.join("trouble"), empty_folder("calibrations"));
    let one = path(&trouble, "calibration_const");
    let four = path(&trouble, "23_four_chips.tpx3");
    let serval = path(&data, "timepix/nsls2_tpx3/raw_test_data_serval_4_3_0.tpx3");
    let real = path(&data, "timepix/calib_abct/I4-W00036");
    for (input, calibration) in [(&four, &one), (&serval, &real)] {
        let output = path(&folder, "none.ndjson");
        let (code, _, error) = said(&["run", "-q", input, "--calibration", calibration, "--output", &output]);
        assert!(
            code == Some(2) && error.contains("it is for one chip") && error.contains("chips"),
            "{error}"
        );
        assert!(!Path::new(&output).exists());
    }
    // A folder for each chip, of which one is another.
    let copy = |chip: usize, a: &str| {
        let to = folder.join(format!("each/chip{chip}"));
        std::fs::create_dir_all(&to).unwrap();
        for name in ["b.txt", "c.txt", "t.txt"] {
            std::fs::write(to.join(name), std::fs::read(Path::new(&one).join(name)).unwrap()).unwrap();
        }
        std::fs::write(to.join("a.txt"), vec![a; 1 << 16].join(" ")).unwrap();
    };
    (0..3).for_each(|chip| copy(chip, "1"));
    let each = path(&folder, "each");
    let job = ["run", "-q", &four, "--calibration", &each, "--output", "-"];
    let (code, _, error) = said(&job);
    assert!(code == Some(2) && error.contains("no folder chip3"), "{error}");
    copy(3, "2");
    let (code, text, error) = said(&job);
    assert_eq!((code, &error[..]), (Some(0), ""));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let energies: Vec<_> =
        lines.iter().map(|line| (&line["hit_chip"][0], line["energy_keV"].as_f64())).collect();
    // ToT 50 = a E + 10 - 50 / (E - 3).
    let root = |a: f64| {
        let (b, c) = (-3.0 * a - 40.0, 120.0 - 50.0);
        let kev = (-b + (b * b - 4.0 * a * c).sqrt()) / (2.0 * a);
        (kev * 1000.0).round() / 1000.0
    };
    let expected = |chip: u64| (json!(chip), Some(root(if chip == 3 { 2.0 } else { 1.0 })));
    for (chip, energy) in energies {
        assert_eq!((chip.clone(), energy), expected(chip.as_u64().unwrap()));
    }
    assert_eq!(lines.len(), 4);
}

#[test]
fn standard_input_is_recognised_as_files_are() {
    let Some(data) = data() else { return };
    let nominal: &[&str] = &["--geometry", "nominal-forced"];
    for (file, sequence, more) in [
        ("timepix/nsls2_tpx3/raw_test_data_serval_4_3_0.tpx3", "timepix", &[][..]),
        ("timepix/jcmartin76_t3pa/testb.t3pa", "timepix", &[]),
        ("trouble/05_70000_hits_before_heartbeat.tpx3.zst", "timepix", &[]),
        ("trouble/11_one_row_far_ahead_burda.txt", "timepix", &[]),
        ("trouble/25_chip_column.npy", "timepix", &["--time-unit", "ticks"]),
        ("trouble/26_time_as_duration_ns.parquet", "timepix", &[]),
        ("trouble/32_cylinder_1_tev.bin", "cylinder", &[]),
        ("cylinder/toy_2x2k.bin.zst", "cylinder", &[]),
        ("trouble/21_no_error_for_comparison.mdf", "velo", nominal),
        ("velo/public200.ndjson.zst", "velo", &[]),
    ] {
        let run = |input: &str, stdin: Option<File>| {
            let mut command = peloton(&[&["run", input, "--quiet", "--json", "-"], more].concat());
            if let Some(stdin) = stdin {
                command.stdin(stdin);
            }
            let output = command.output().unwrap();
            let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            assert_eq!(found["sequence"], sequence, "{file}: {}", String::from_utf8_lossy(&output.stderr));
            found["output_hash"].clone()
        };
        let file = data.join(file);
        let expected = run(file.to_str().unwrap(), None);
        assert!(expected.is_string());
        assert_eq!(run("-", Some(File::open(&file).unwrap())), expected, "{}", file.display());
    }
    // Compressed, MDF and Parquet as well.
    for (name, more) in [("21_no_error_for_comparison.mdf", nominal), ("26_time_as_duration_ns.parquet", &[])]
    {
        let file = data.join("trouble").join(name);
        let packed = empty_folder("standard_input").join("packed.zst");
        let bytes = zstd::encode_all(&std::fs::read(&file).unwrap()[..], 1).unwrap();
        std::fs::write(&packed, bytes).unwrap();
        let run = |job: &mut std::process::Command| {
            let output = job.output().unwrap();
            let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            found["output_hash"].as_str().unwrap_or("none").to_string()
        };
        let expected =
            run(&mut peloton(&[&["run", "-q", "--json", "-", file.to_str().unwrap()], more].concat()));
        assert_ne!(expected, "none");
        let mut piped = peloton(&[&["run", "-q", "--json", "-", "-"], more].concat());
        assert_eq!(run(piped.stdin(File::open(&packed).unwrap())), expected, "{name}");
        assert_eq!(
            run(&mut peloton(&[&["run", "-q", "--json", "-", packed.to_str().unwrap()], more].concat())),
            expected
        );
    }
}
