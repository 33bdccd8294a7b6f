//! `--device`, `--right gpu` and what they say where there is no GPU.
#![cfg(feature = "cuda")]

use peloton::gpu::Libraries;
use std::process::{Command, Output};

fn peloton(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peloton")).args(args).output().expect("the program runs")
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = peloton(&[args, &["--json", "-"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_device_is_compared_with_the_cpu() {
    for right in ["emulated", "emulated:reverse,slice=3,threads=1", "emulated:9"] {
        let report = json(&["compare", "sim:velo,events=12,seed=4", "--right", right]);
        assert_eq!(report["equal"], true, "{right}");
        assert_eq!((&report["events"], &report["right"]["isa"]), (&12.into(), &"emulated".into()));
        assert_eq!(report["left"]["hash_int"], report["right"]["hash_int"]);
    }
    for right in ["emulated", "emulated:reverse"] {
        let input = "sim:timepix,preset=am241,hits=20000,seed=4";
        let report = json(&["compare", "--sequence", "timepix", input, "--right", right]);
        assert_eq!(report["equal"], true, "{right}");
        assert!(report["hits"].as_u64().is_some_and(|hits| hits >= 20_000), "{report}");
    }
}

/// One table has the stages of one side and the kernels of the other, and copies apart.
#[test]
fn a_comparison_tells_stages_and_kernels_of_both_sides() {
    let args = ["compare", "sim:velo,events=12,seed=4", "--left", "cpu", "--right", "emulated,threads=1"];
    let report = json(&args);
    let parts = |side: &str| report[side]["parts"].as_array().map(Vec::len);
    assert_eq!((&report["equal"], parts("right")), (&true.into(), Some(14)));
    assert!(
        report["left"]["parts"].as_array().is_some_and(|all| all.iter().any(|part| part["name"] == "find")),
        "{report}"
    );
    let ns = |side: &str| report[side]["wall_ns_per_event"].as_f64().expect("a time");
    let kernels: f64 = report["right"]["parts"]
        .as_array()
        .expect("kernels")
        .iter()
        .map(|part| part["ns_per_event"].as_f64().expect("a time"))
        .sum();
    assert!(ns("left") > 0.0 && kernels > 0.0 && ns("right") >= kernels, "{report}");
    let text = String::from_utf8(peloton(&args).stdout).expect("text");
    assert!(
        text.contains("host and waiting") && text.contains("copy_in") && text.contains("wall clock"),
        "{text}"
    );
}

#[test]
fn throughput_tells_the_kernels_apart_and_scans() {
    let input = "sim:velo,events=20,seed=4";
    let args = ["throughput", input, "--device", "emulated", "--repetitions", "1", "--slice", "5", "--scan"];
    let report = json(&args);
    let cpu = json(&["throughput", input, "--repetitions", "1"]);
    assert_eq!(report["hash_int"], cpu["hash_int"]);
    assert_eq!(
        (&report["isa"], &report["slice"], &report["events"]),
        (&"emulated".into(), &5.into(), &20.into())
    );
    let kernels = report["kernels"].as_array().expect("kernels");
    let shares: f64 = kernels.iter().map(|kernel| kernel["share"].as_f64().expect("a share")).sum();
    assert!(kernels.len() == 14 && (shares - 1.0).abs() < 1e-9, "{kernels:?}");
    let scan = report["scan"].as_array().expect("points");
    // The slice that was asked for, on one to sixteen streams.
    let streams: Vec<_> = scan.iter().map(|point| point["streams"].as_u64().expect("streams")).collect();
    assert_eq!(streams, [1, 2, 3, 4, 6, 8, 12, 16]);
    assert!(scan.iter().all(|point| point["slice"] == 5), "{scan:?}");
}

#[test]
fn copies_of_the_input() {
    for input in [
        &["sim:velo,events=3,seed=4"][..],
        &["--sequence", "cylinder", "sim:cylinder,events=2,tracks=30,seed=4"],
        &["--sequence", "timepix", "sim:timepix,preset=am241,hits=1500,seed=2"],
        &["sim:lhcb,events=2,seed=4", "--geometry", "nominal"],
    ] {
        let args = [&["throughput", "--repetitions", "1"], input].concat();
        let one = json(&args);
        let copies = |device| json(&[&args[..], &["--copies", "3", "--device", device]].concat());
        let [cpu, device] = ["cpu", "emulated"].map(copies);
        for key in ["hash_int", "output_hash", "events", "hits"] {
            assert_eq!(device[key], cpu[key], "{input:?}, {key}");
        }
        assert_eq!(
            device["hits"].as_u64().expect("hits"),
            3 * one["hits"].as_u64().expect("hits"),
            "{input:?}"
        );
        assert_eq!((&device["copies"], &one["copies"]), (&3.into(), &1.into()));
    }
}

#[test]
fn throughput_of_pixel_hits() {
    let input = ["throughput", "--sequence", "timepix", "sim:timepix,preset=am241,hits=5000,seed=2"];
    let on = |device: &str| json(&[&input[..], &["--repetitions", "1", "--device", device]].concat());
    let (cpu, device) = (on("cpu"), on("emulated"));
    assert_eq!((&device["hash_int"], &device["hits"]), (&cpu["hash_int"], &cpu["hits"]));
    assert_eq!(device["output_hash"], cpu["output_hash"]);
    assert_eq!(device["kernels"].as_array().map(Vec::len), Some(16));
    // No slice but the smallest is smaller than the stream.
    let scan = json(&[&input[..], &["--repetitions", "1", "--device", "emulated", "--scan"]].concat());
    let points = scan["scan"].as_array().expect("points");
    let streams: Vec<_> = points.iter().map(|point| point["streams"].as_u64().expect("streams")).collect();
    assert_eq!(streams, [1, 2, 3, 4], "{points:?}");
}

#[test]
fn raw_banks_are_decoded_on_the_host() {
    let input = ["sim:lhcb,events=5,seed=4", "--geometry", "nominal"];
    let report = json(&[&["compare", "--right", "emulated:reverse,slice=2"], &input[..]].concat());
    assert_eq!((&report["equal"], &report["events"]), (&true.into(), &5.into()));
    let args = [&["throughput", "--repetitions", "1"], &input[..]].concat();
    let (cpu, device) = (json(&args), json(&[&args[..], &["--device", "emulated"]].concat()));
    for key in ["hash_int", "output_hash", "tracks", "hits", "dropped"] {
        assert_eq!(device[key], cpu[key], "{key}");
    }
}

#[test]
fn tracks_of_the_cylinder() {
    let input = "sim:cylinder,events=3,tracks=60,seed=4";
    for right in ["emulated", "emulated:reverse,slice=2,threads=1", "emulated:3,builder=clone-engine"] {
        let report = json(&["compare", "--sequence", "cylinder", input, "--right", right]);
        assert_eq!((&report["equal"], &report["events"]), (&true.into(), &3.into()), "{right}");
    }
    let best_hit = ["compare", "--sequence", "cylinder", input, "--right", "emulated,builder=best-hit"];
    assert_eq!(peloton(&best_hit).status.code(), Some(1));
    let args = ["throughput", "--sequence", "cylinder", input, "--repetitions", "1"];
    let (cpu, device) = (json(&args), json(&[&args[..], &["--device", "emulated:reverse"]].concat()));
    for key in ["hash_int", "output_hash", "tracks", "hits", "builder"] {
        assert_eq!(device[key], cpu[key], "{key}");
    }
    assert_eq!(device["kernels"].as_array().map(Vec::len), Some(15));
    let scan = json(&[&args[..], &["--device", "emulated", "--scan"]].concat());
    assert_eq!((&scan["hash_int"], scan["scan"].as_array().map(Vec::len)), (&cpu["hash_int"], Some(8)));
    let seeds = [&args[..], &["--device", "emulated", "--seeds", "hits"]].concat();
    let output = peloton(&seeds);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("seeds come from truth"), "{output:?}");
}

#[test]
fn what_cannot_be_had_is_said() {
    if !Libraries::find().driver {
        let output = peloton(&["compare", "sim:velo,events=2", "--right", "gpu"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("no GPU: libcuda.so"), "{output:?}");
        let report = json(&["isa"]);
        assert!(report["gpu"].as_str().expect("words").contains("no GPU"), "{report}");
    }
    let wrong = [
        (
            &["throughput", "sim:velo,events=2", "--device", "tpu"][..],
            "choose one of cpu, gpu, gpu:NUMBER, gpu:all, emulated",
        ),
        (&["compare", "sim:velo,events=2", "--right", "emulated:sideways"], "gpu:all, emulated"),
        (
            &["throughput", "sim:velo,events=2", "--device", "emulated", "--preset", "paper"],
            "runs on CPUs only",
        ),
    ];
    for (args, message) in wrong {
        let output = peloton(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(message), "{args:?}: {output:?}");
    }
}
