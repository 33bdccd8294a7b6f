//! Jobs give the same bits in a host in another floating-point mode, whichever thread reads, runs and writes.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

#[path = "../../../tests/common/host_mode.rs"]
mod host_mode;

use host_mode::HostMode;
use peloton_job::{
    Cancel, Config, DisplayOptions, Host, Preset, Request, SequenceName, Silent, Simulation, display, run,
    simulate,
};
use std::path::Path;

/// Hashes and file of a job.
fn job(sequence: SequenceName, input: &str, file: &Path) -> (String, Vec<u8>) {
    let mut config = Config::from_toml("[timepix]\ndisorder_us = 0.3", Some(Preset::Best)).unwrap();
    config.sequence = sequence;
    config.threads = Some(2);
    let geometry = Some("nominal".into());
    let request = Request { inputs: vec![input.into()], config, geometry, ..Request::default() };
    let cancel = Cancel::default();
    let host = Host { progress: &Silent, cancel: &cancel };
    let summary = run(&request, Some(file), host).unwrap();
    let bytes = std::fs::read(file).unwrap();
    assert!(bytes.len() > 1000, "{sequence}");
    (format!("{:?}", summary.hashes), bytes)
}

#[test]
fn jobs_give_the_same_files_in_every_mode_of_the_host() {
    let folder = std::env::temp_dir().join(format!("peloton-job-mode-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (sequence, input) in [
        (SequenceName::Velo, "sim:velo,events=5,seed=3"),
        (SequenceName::Ut, "sim:lhcb,events=2,seed=3"),
        (SequenceName::SciFi, "sim:lhcb,events=2,seed=3"),
        (SequenceName::Cylinder, "sim:cylinder,events=2,tracks=100,seed=3"),
        (SequenceName::Timepix, "sim:timepix,hits=20000,seed=3"),
    ] {
        let of = |name: &str| job(sequence, input, &folder.join(format!("{sequence}-{name}.ndjson")));
        let expected = of("usual");
        for mode in HostMode::ALL {
            assert!(mode.run(|| of("other")) == expected, "{sequence}, {mode:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// What a simulation writes, or a page for the browser.
fn written(detector: &str, file: &Path) -> Vec<u8> {
    let cancel = Cancel::default();
    let host = Host { progress: &Silent, cancel: &cancel };
    if detector == "display" {
        let mut config = Config::from_toml("", None).unwrap();
        config.sequence = SequenceName::Timepix;
        let inputs = vec!["sim:timepix,preset=pion75,hits=20000,seed=3".into()];
        let request = Request { inputs, config, ..Request::default() };
        let first = "0".parse().unwrap();
        let options =
            DisplayOptions { events: Some(first), frame_us: Some(60.0), ..DisplayOptions::default() };
        display(&request, &options, file, host).unwrap();
    } else {
        let detector = detector.into();
        simulate(&Simulation { detector, events: 3, seed: 3, geometry: None, threads: 2 }, file, host)
            .unwrap();
    }
    std::fs::read(file).unwrap()
}

#[test]
fn simulations_and_pages_are_the_same_in_every_mode_of_the_host() {
    let folder = std::env::temp_dir().join(format!("peloton-job-written-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (detector, end) in [
        ("velo", "ndjson"),
        ("lhcb", "mdf"),
        ("cylinder,tracks=100", "bin"),
        ("timepix,hits=20000", "bin"),
        ("display", "html"),
    ] {
        let of = || written(detector, &folder.join(format!("file.{end}")));
        let expected = of();
        assert!(expected.len() > 1000, "{detector}");
        for mode in HostMode::ALL {
            assert!(mode.run(of) == expected, "{detector}, {mode:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn texts_are_read_in_the_default_mode() {
    let read = || {
        let config = Config::from_toml("[timepix]\ndisorder_us = 0.3", None).unwrap();
        config.timepix.disorder_us.unwrap().to_bits()
    };
    for mode in HostMode::ALL {
        assert_eq!(mode.run(read), 0.3f64.to_bits(), "{mode:?}");
    }
}
