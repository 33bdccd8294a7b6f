//! A7: an interrupted `tune` leaves the profile alone. A8: jobs that wait for a sender hear signals. B2: exit codes and a
//! word after a signal.

use super::*;
use peloton_plot::text;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

/// A running job; a test that fails does not leave it behind.
struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        // Most have ended by themselves.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Job {
    fn start(arguments: &[&str]) -> Self {
        let mut command = peloton(arguments);
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts"))
    }

    /// Waits until it is at work: until it has used 200 ms of CPU, as far as the system tells, and no longer than [`BEGUN`].
    fn wait_until_at_work(&self) {
        let begin = Instant::now();
        while begin.elapsed() < BEGUN && self.ticks().is_none_or(|ticks| ticks < 20) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// CPU time in hundredths of a second: what Linux tells in fields 14 and 15, of which the name in brackets is the second.
    fn ticks(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        let fields = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
        fields.map(|field| field.parse::<u64>().ok()).sum()
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.0.id().to_string()]).status().expect("kill");
        assert!(kill.success());
    }

    /// Its exit code, when it ends within half a minute, and what is left of standard error.
    fn end(mut self, name: &str) -> (Option<i32>, String) {
        let begin = Instant::now();
        while self.0.try_wait().expect("a state").is_none() {
            assert!(begin.elapsed() < Duration::from_secs(30), "{name}: the signal was not heard");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut error = String::new();
        self.0.stderr.take().map(|mut from| from.read_to_string(&mut error));
        (self.0.wait().expect("an end").code(), error)
    }
}

/// Whether this process was started with SIGHUP ignored, which its children inherit.
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1)
}

/// Time in which a job has begun its work, for certain.
const BEGUN: Duration = Duration::from_millis(1500);

#[test]
fn every_command_ends_with_the_code_of_the_signal() {
    let folder = folder("signals");
    let output = |name: &str| path(&folder, name);
    let [tracks, toy, hits] = ["a.ndjson", "a.bin", "a.txt"].map(output);
    let endless = "sim:cylinder,events=1000000,tracks=100";
    let jobs: &[&[&str]] = &[
        &["run", "sim:velo,events=100000000"],
        &["run", "--sequence", "cylinder", endless],
        &["run", "--sequence", "timepix", "sim:timepix,hits=100000000000"],
        &["run", "--sequence", "ut", "sim:lhcb,events=100000000"],
        &["check", "sim:velo,events=100000000"],
        &["check", "--sequence", "cylinder", endless],
        &["throughput", VELO, "--seconds", "1000"],
        &["throughput", "--sequence", "timepix", PIXELS, "--seconds", "1000"],
        &["compare", "sim:velo,events=100000000"],
        &["simulate", "--events", "100000000", "--output", &tracks],
        &["simulate", "--detector", "cylinder,tracks=100", "--events", "1000000", "--output", &toy],
        &["simulate", "--detector", "timepix", "--events", "100000000000", "--output", &hits],
    ];
    for (number, job) in jobs.iter().enumerate() {
        let (signal, code) = match number % 3 {
            0 => ("-INT", 130),
            // Where the tests themselves run under nohup, jobs are not to hear it.
            1 if !hangups_are_ignored() => ("-HUP", 129),
            _ => ("-TERM", 143),
        };
        let quiet: &[&str] = if number % 2 == 0 { &["--quiet"] } else { &[] };
        let running = Job::start(&[job, quiet].concat());
        running.wait_until_at_work();
        running.signal(signal);
        let (ended, error) = running.end(&job.join(" "));
        assert_eq!(ended, Some(code), "{job:?} {signal}: {error}");
        assert!(error.contains("warning: interrupted"), "{job:?} {signal}: {error}");
    }
}

/// GNU `timeout` sends its signal to the program and to the group that it is in: two within a moment are one wish.
#[test]
fn a_doubled_signal_keeps_what_was_made_and_says_so() {
    let folder = folder("doubled");
    for round in 0..20 {
        let output = path(&folder, &format!("{round}.ndjson"));
        let signal = if round % 4 == 3 { "-INT" } else { "-TERM" };
        let running = Job::start(&["run", "sim:velo,events=100000000", "--quiet", "--output", &output]);
        running.wait_until_at_work();
        running.signal(signal);
        std::thread::sleep(Duration::from_millis(round % 5));
        // It may have ended already.
        let _ =
            Command::new("kill").args([signal, &running.0.id().to_string()]).stderr(Stdio::null()).status();
        let (code, error) = running.end("run");
        assert_eq!(code, Some(if signal == "-INT" { 130 } else { 143 }), "{error}");
        let events = std::fs::read_to_string(&output).expect("what was made").lines().count();
        let events = error.contains(&format!("holds the first {}", text::count(events, "event")));
        assert!(events && error.contains(&output), "{error}");
    }
}

#[test]
fn a_signal_long_after_the_first_ends_at_once() {
    let folder = folder("second-signal");
    let output = path(&folder, "a.ndjson");
    // Nobody reads the pipe, so that the job cannot end by itself.
    let pipe = path(&folder, "pipe.ndjson");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("the pipe");
    let running =
        Job::start(&["run", "sim:velo,events=100000000", "--quiet", "--output", &pipe, "--json", &output]);
    running.wait_until_at_work();
    running.signal("-TERM");
    std::thread::sleep(Duration::from_millis(1300));
    running.signal("-TERM");
    let (code, error) = running.end("run");
    assert_eq!(code, Some(143), "{error}");
    assert!(error.contains("ended at once by a second signal 15"), "{error}");
}

#[test]
fn an_interrupted_tune_leaves_the_profile_alone() {
    let profile = file(&folder("tune"), "profile.toml", "precious");
    let running = Job::start(&["tune", VELO, "--seconds", "1000", "--output", &profile]);
    running.wait_until_at_work();
    running.signal("-INT");
    let (code, error) = running.end("tune");
    assert_eq!(code, Some(130), "{error}");
    assert!(error.contains("profile.toml was not written") && error.contains("interrupted"), "{error}");
    assert_eq!(std::fs::read_to_string(&profile).unwrap(), "precious");
}

#[test]
fn nohup_keeps_a_job_alive() {
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_peloton")).args(["run", "sim:velo,events=100000000", "--quiet"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let running = Job(command.spawn().expect("nohup"));
    running.wait_until_at_work();
    running.signal("-HUP");
    std::thread::sleep(Duration::from_millis(300));
    running.signal("-TERM");
    assert_eq!(running.end("nohup").0, Some(143));
}

#[test]
fn jobs_that_wait_for_data_hear_signals() {
    for (address, connects) in [("tcp", false), ("tcp", true), ("udp", false)] {
        let mut running = Job::start(&["run", "--sequence", "timepix", &format!("{address}://127.0.0.1:0")]);
        let mut error = BufReader::new(running.0.stderr.take().expect("a pipe"));
        let mut line = String::new();
        error.read_line(&mut line).expect("where it listens");
        let place = line.split("://").nth(1).unwrap().split(";").next().unwrap().to_string();
        assert!(line.contains("waiting for"), "{line}");
        // Who connects and says nothing is waited for as well.
        let sender = connects.then(|| TcpStream::connect(&place).expect("it listens"));
        std::thread::sleep(Duration::from_millis(200));
        running.signal("-INT");
        let (code, _) = running.end("tune");
        let mut rest = String::new();
        error.read_to_string(&mut rest).expect("UTF-8");
        assert_eq!(code, Some(130), "{address} {connects}: {rest}");
        assert!(rest.contains("interrupted"), "{rest}");
        drop(sender);
    }
}
