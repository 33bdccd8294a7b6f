//! The files of the command line: outputs appear whole or not at all, nothing that is read is written over, and
//! configuration files are read once.

use crate::{empty_folder, output, path, peloton, stderr};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Few simulated events of each sequence: enough to have tracks.
const VELO: &str = "sim:velo,events=6,seed=4";
const CYLINDER: &str = "sim:cylinder,events=1,tracks=200,seed=2";
const PIXELS: &str = "sim:timepix,hits=3000,seed=2";

/// What a run that must succeed says.
fn succeed(arguments: &[&str]) -> Vec<u8> {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output.stdout
}

/// What a run says to whom standard input brings `input`.
fn fed(arguments: &[&str], input: &str) -> Output {
    let mut command = peloton(arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("a reader");
    child.wait_with_output().expect("an end")
}

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("files-{name}"))
}

#[test]
fn configurations_may_come_through_pipes() {
    let folder = folder("config");
    let file = path(&folder, "config.toml");
    for (sequence, input, config) in [
        ("velo", VELO, "preset = 'paper'"),
        ("cylinder", CYLINDER, "preset = 'paper'"),
        ("timepix", PIXELS, "[timepix]\ndisorder_us = 700.0"),
    ] {
        let config = format!("sequence = '{sequence}'\n{config}\n");
        std::fs::write(&file, &config).unwrap();
        // The checks of pixel hits name no preset.
        let commands =
            if sequence == "timepix" { &["run", "throughput"][..] } else { &["run", "throughput", "check"] };
        for command in commands {
            let short: &[&str] = if *command == "throughput" { &["--seconds", "0.1"] } else { &[] };
            let arguments = |config| [&[*command, input, "--json", "-", "--config", config], short].concat();
            let said = fed(&arguments("/dev/stdin"), &config);
            assert!(said.status.success(), "{command} {sequence}: {}", stderr(&said));
            let piped: Value = serde_json::from_slice(&said.stdout).expect("JSON");
            let named: Value = serde_json::from_slice(&succeed(&arguments(&file))).expect("JSON");
            for key in ["sequence", "preset", "output_hash", "tracks"] {
                assert_eq!(piped[key], named[key], "{command} {sequence}: {key}");
            }
            // What the file says of the preset arrived.
            assert_ne!(piped["preset"], "best", "{command} {sequence}: {piped}");
        }
    }
}

#[test]
fn profiles_may_come_through_pipes() {
    let folder = folder("profile");
    let profile = path(&folder, "profile.toml");
    for (sequence, input) in [("velo", VELO), ("cylinder", CYLINDER), ("timepix", PIXELS)] {
        let tune = ["tune", input, "--sequence", sequence, "--isa", "scalar", "--repetitions", "1"];
        // Pixel code has no lanes.
        let gang: &[&str] = if sequence == "timepix" { &[] } else { &["--gang", "1"] };
        succeed(&[&tune[..], gang, &["--output", &profile, "--quiet"]].concat());
        let profile = std::fs::read_to_string(&profile).unwrap();
        let run = ["run", input, "--sequence", sequence, "--json", "-", "--profile", "/dev/stdin"];
        let said = fed(&run, &profile);
        assert!(said.status.success(), "{sequence}: {}", stderr(&said));
        let summary: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        assert_eq!((&summary["isa"], &summary["gang"]), (&"scalar".into(), &1.into()), "{sequence}");
    }
}

/// What stands in files that must survive.
const PRECIOUS: &str = "precious";

/// Names in a folder, hidden ones as well.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A job that must be refused before it touches any of the files in `folder`; says why it was.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let files = || -> Vec<_> {
        let with_bytes = |name: String| (std::fs::read(folder.join(&name)).ok(), name);
        names(folder).into_iter().map(with_bytes).collect()
    };
    let before = files();
    let output = output(arguments);
    let message = stderr(&output);
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty() && message.starts_with("error: "), "{arguments:?}: {message}");
    assert!(before == files(), "{arguments:?} changed files");
    message
}

/// Simulated events of a sequence in a file.
fn simulate(file: &str, detector: &str) {
    succeed(&["simulate", "--detector", detector, "--events", "3", "--output", file, "--quiet"]);
}

#[test]
fn an_input_is_not_an_output_under_any_name() {
    for (sequence, detector, name, outputs) in [
        ("velo", "velo", "input.ndjson", &["out.ndjson", "out.ndjson.zst", "out.parquet"][..]),
        ("cylinder", "cylinder,tracks=50", "input.bin", &["out.ndjson", "out.parquet"]),
        ("timepix", "timepix,preset=am241", "input.txt", &["out.ndjson", "out.clog", "out.parquet"]),
    ] {
        let folder = folder(&format!("same-{sequence}"));
        let input = path(&folder, name);
        simulate(&input, detector);
        let with = |command, output: &[&str]| {
            let message = refused(&folder, &[&[command, "--sequence", sequence, &input], output].concat());
            assert!(message.contains(&format!("{} {}", output[0], output[1])), "{message}");
            assert!(message.contains(&format!("input {input}")), "{message}");
        };
        for command in ["run", "check", "throughput", "compare", "tune"] {
            with(command, &["--json", &input]);
        }
        with("tune", &["--output", &input]);
        for output in outputs {
            let output = path(&folder, output);
            std::os::unix::fs::symlink(&input, &output).unwrap();
            with("run", &["--output", &output]);
            std::fs::remove_file(&output).unwrap();
            std::fs::hard_link(&input, &output).unwrap();
            with("run", &["--output", &output]);
            with("tune", &["--output", &output]);
            if sequence == "timepix" {
                with("display", &["--output", &output]);
            }
            // The folder that holds the output as the input, and the input as standard input.
            let folder_name = folder.to_str().unwrap();
            let message =
                refused(&folder, &["run", "--sequence", sequence, folder_name, "--output", &output]);
            assert!(message.contains(folder_name), "{message}");
            let mut redirected = peloton(&["run", "--sequence", sequence, "-", "--output", &output]);
            let said = redirected.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
            assert_eq!(said.status.code(), Some(2), "{}", stderr(&said));
            std::fs::remove_file(&output).unwrap();
        }
    }
}

#[test]
fn configurations_tracks_and_geometries_are_not_outputs() {
    let folder = folder("same-config");
    let [toml, tracks] = ["some.toml", "tracks.ndjson"].map(|name| path(&folder, name));
    std::fs::write(&toml, "preset = 'paper'\n").unwrap();
    std::fs::write(&tracks, "[]\n").unwrap();
    let place = folder.to_str().unwrap();
    for (arguments, flag, file) in [
        (&["run", VELO, "--config", &toml, "--json", &toml][..], "--config", &toml),
        (&["throughput", VELO, "--profile", &toml, "--json", &toml], "--profile", &toml),
        (&["tune", VELO, "--profile", &toml, "--output", &toml], "--profile", &toml),
        (&["soak", "--config", &toml, "--json", &toml], "--config", &toml),
        (&["compare", VELO, "--config", &toml, "--json", &toml], "--config", &toml),
        (&["display", PIXELS, "--config", &toml, "--output", &toml], "--config", &toml),
        (&["check", VELO, "--tracks", &tracks, "--json", &tracks], "--tracks", &tracks),
        (&["run", "sim:lhcb,events=1", "--geometry", place, "--json", &toml], "--geometry", &toml),
        (&["simulate", "--detector", "lhcb", "--geometry", place, "--output", &toml], "--geometry", &toml),
        (&["run", PIXELS, "--calibration", place, "--json", &toml], "--calibration", &toml),
    ] {
        let message = refused(&folder, arguments);
        assert!(message.contains(flag) && message.contains(file.as_str()), "{message}");
    }
}

#[test]
fn two_outputs_are_two_files() {
    let folder = folder("same-outputs");
    let [new, old] = ["new.ndjson", "old.ndjson"].map(|name| path(&folder, name));
    std::fs::write(&old, PRECIOUS).unwrap();
    for output in [&new, &old, "-"] {
        for arguments in [
            &["run", VELO][..],
            &["run", "--sequence", "cylinder", CYLINDER],
            &["run", "--sequence", "timepix", PIXELS],
            &["tune", VELO],
            &["display", "--sequence", "timepix", PIXELS],
            &["simulate", "--events", "1"],
        ] {
            let message = refused(&folder, &[arguments, &["--output", output, "--json", output]].concat());
            assert!(message.contains("--output") && message.contains("--json"), "{message}");
        }
    }
    let winding = format!("{}/../{}", folder.display(), "files-same-outputs/new.ndjson");
    refused(&folder, &["run", VELO, "--output", &new, "--json", &winding]);
    succeed(&["simulate", "--events", "1", "--output", "/dev/null", "--json", "/dev/null"]);
}

#[test]
fn an_output_survives_a_job_that_fails() {
    let folder = folder("survive");
    let [noise, cut, output] = ["noise.mdf", "cut.bin", "precious.ndjson"].map(|name| path(&folder, name));
    std::fs::write(&noise, [0xA5u8; 5000]).unwrap();
    let [velo, zero, nothing] = ["velo.ndjson", "zero.ndjson", "nothing.txt"].map(|name| path(&folder, name));
    simulate(&velo, "velo");
    [&zero, &nothing].iter().for_each(|file| std::fs::write(file, "").unwrap());
    simulate(&cut, "cylinder,tracks=50");
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let missing = path(&folder, "missing");
    std::fs::write(&output, PRECIOUS).unwrap();
    let jobs: &[&[&str]] = &[
        &["run", &noise, "--geometry", "nominal", "--output", &output],
        &["run", &noise, "--format", "mdf", "--strict", "--geometry", "nominal", "--output", &output],
        &["run", &noise, "--format", "velo-ndjson", "--strict", "--output", &output],
        &["run", &missing, "--output", &output],
        &["run", &velo, &zero, "--strict", "--output", &output],
        &["run", "--sequence", "cylinder", &missing, "--output", &output],
        &["run", "--sequence", "cylinder", &cut, "--strict", "--output", &output],
        &["run", "--sequence", "timepix", &missing, "--output", &output],
        &["run", "--sequence", "timepix", "--format", "tpx3", "--strict", &noise, "--output", &output],
        &["display", "--sequence", "timepix", &nothing, "--format", "burda", "--output", &output],
        &["tune", &zero, "--output", &output],
        &["simulate", "--detector", "lhcb", "--geometry", &missing, "--output", &output],
        &["check", &zero, "--json", &output],
        &["throughput", &missing, "--json", &output],
        &["compare", &missing, "--json", &output],
    ];
    let before = names(&folder);
    for job in jobs {
        let said = self::output(job);
        assert!(!said.status.success(), "{job:?}: {}", stderr(&said));
        assert_eq!(std::fs::read_to_string(&output).unwrap(), PRECIOUS, "{job:?}");
        assert_eq!(names(&folder), before, "{job:?}");
    }
    // Of several events before an error there is something to say, and where nothing is lost to keep.
    let job = |output: &str| self::output(&["run", &velo, &zero, "--strict", "--output", output]);
    let said = stderr(&job(&output));
    assert!(said.contains("precious.ndjson: the file was not changed"), "{said}");
    let part = path(&folder, "part.ndjson");
    let said = job(&part);
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    assert_eq!(std::fs::read_to_string(&part).unwrap().lines().count(), 3);
}

/// A running job; a test that fails does not leave it behind.
struct Job(Child);

impl Job {
    fn start(arguments: &[&str]) -> Self {
        let mut command = peloton(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("the program starts"))
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.0.id().to_string()]).status().expect("kill");
        assert!(kill.success());
    }

    /// Its exit code; none when a signal ended it.
    fn end(mut self) -> Option<i32> {
        self.0.wait().expect("an end").code()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Most have ended by themselves.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a temporary file of at least so many bytes is in a folder.
fn wait_for_part(folder: &Path, bytes: u64) {
    let is_part = |name: &&String| name.starts_with(".peloton-") && name.ends_with(".part");
    let size = |name: &String| std::fs::metadata(folder.join(name)).map_or(0, |kind| kind.len());
    for _ in 0..1200 {
        if names(folder).iter().find(is_part).is_some_and(|name| size(name) >= bytes) {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("no temporary file of {bytes} bytes: {:?}", names(folder));
}

#[test]
fn what_was_made_before_a_signal_is_put_in_place() {
    let folder = folder("signal");
    for (name, job) in [
        ("run.ndjson", &["run", "sim:velo,events=100000000"][..]),
        ("run.parquet", &["run", "sim:velo,events=100000000"]),
        ("cylinder.ndjson", &["run", "--sequence", "cylinder", "sim:cylinder,events=1000000,tracks=100"]),
        ("timepix.ndjson", &["run", "--sequence", "timepix", "sim:timepix,hits=100000000000"]),
        ("velo.ndjson", &["simulate", "--events", "100000000"]),
        ("lhcb.mdf", &["simulate", "--detector", "lhcb", "--events", "100000000"]),
        ("hits.txt", &["simulate", "--detector", "timepix", "--events", "100000000000"]),
        ("toy.bin", &["simulate", "--detector", "cylinder,tracks=100", "--events", "100000000"]),
    ] {
        for end in ["-INT", "-TERM"] {
            let output = path(&folder, name);
            std::fs::write(&output, PRECIOUS).unwrap();
            let running = Job::start(&[job, &["--output", &output, "--quiet"]].concat());
            // Toy files begin with the number of events, and nothing is written before it is known.
            wait_for_part(&folder, if name == "toy.bin" || name == "run.parquet" { 0 } else { 1 << 16 });
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(std::fs::read_to_string(&output).unwrap(), PRECIOUS, "{name}");
            running.signal(end);
            let code = running.end();
            assert_eq!(names(&folder), [name], "exit code {code:?}");
            let bytes = std::fs::read(&output).unwrap();
            assert!(bytes.len() > 1000, "{name}: {} bytes", bytes.len());
            if name.ends_with(".ndjson") {
                let lines = String::from_utf8(bytes).unwrap();
                assert!(lines.ends_with('\n'), "{name}");
                assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{name}");
            } else if name.ends_with(".parquet") {
                assert!(bytes.ends_with(b"PAR1"));
            }
        }
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn an_end_at_once_leaves_what_was_there() {
    let folder = folder("kill");
    let output = path(&folder, "toy.bin");
    std::fs::write(&output, PRECIOUS).unwrap();
    let job = ["simulate", "--detector", "cylinder,tracks=1000000", "--events", "1", "--output", &output];
    // Within one event the first Ctrl-C is not heard; a second one ends at once, unless it is taken for a repeat of the first.
    let running = Job::start(&job);
    wait_for_part(&folder, 0);
    running.signal("-INT");
    std::thread::sleep(Duration::from_millis(1100));
    running.signal("-INT");
    assert_eq!(running.end(), Some(130));
    assert_eq!(names(&folder), ["toy.bin"]);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), PRECIOUS);
    let running = Job::start(&job);
    wait_for_part(&folder, 0);
    running.signal("-KILL");
    assert_eq!(running.end(), None);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), PRECIOUS);
}

#[test]
fn what_is_no_file_is_written_as_it_is() {
    let folder = folder("streams");
    let expected = succeed(&["run", VELO, "--output", "-"]);
    let pipe = path(&folder, "pipe.ndjson");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let from = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read(from));
    succeed(&["run", VELO, "--output", &pipe, "--quiet"]);
    assert_eq!(reader.join().unwrap().unwrap(), expected);
    assert_eq!(names(&folder), ["pipe.ndjson"]);
    let link = path(&folder, "full.ndjson");
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    let said = output(&["run", VELO, "--output", &link, "--quiet"]);
    assert!(said.status.code() == Some(1) && stderr(&said).contains("No space left"), "{}", stderr(&said));
    assert!(Path::new(&link).is_symlink());
    let by_name = |name| serde_json::from_slice::<Value>(&succeed(&["run", VELO, "--json", name])).unwrap();
    assert_eq!(by_name("/dev/stdout")["output_hash"], by_name("-")["output_hash"]);
    // Standard output that is a file takes what is said, one after the other.
    let file = folder.join("out.html");
    let mut drawn = peloton(&["display", "--sequence", "timepix", PIXELS, "--output", "/dev/stdout"]);
    assert!(drawn.stdout(std::fs::File::create(&file).unwrap()).status().unwrap().success());
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>"), "{} bytes", page.len());
}

#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("permissions");
    let [file, link] = ["tracks.ndjson", "link.ndjson"].map(|name| folder.join(name));
    std::fs::write(&file, PRECIOUS).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("tracks.ndjson", &link).unwrap();
    succeed(&["run", VELO, "--output", link.to_str().unwrap(), "--quiet"]);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, link.is_symlink()), (0o640, true));
    assert_eq!(std::fs::read(&file).unwrap(), succeed(&["run", VELO, "--output", "-"]));
}
