//! `PELOTON_ISA` forces the level: the kernel itself reports its gang, in a child process.

use peloton::dispatch;
#[cfg(feature = "all-gangs")]
use peloton::simd::GANGS;
use peloton::simd::{Gang, Isa, Level};
use std::process::{Command, Output};

/// Variable of the child process, in which `report` prints its gang.
const CHILD: &str = "PELOTON_TEST_CHILD";

#[inline(always)]
fn seen<G: Gang>(_: G) -> String {
    format!("{} x {}", G::ISA, G::LANES)
}

/// No test by itself: the child process of the tests below runs it.
#[test]
fn report() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    match Level::choose(None, None) {
        Ok(level) => println!("ran {}", dispatch!(level, g => seen(g))),
        Err(error) => println!("refused {error}"),
    }
}

/// Runs `report` with `PELOTON_ISA`, through the emulator that cargo runs this architecture's programs with,
/// where there is one.
fn child(isa: &str) -> String {
    let this = std::env::current_exe().unwrap();
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER")
        .ok()
        .filter(|_| cfg!(target_arch = "aarch64"))
        .unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(this);
            command
        }
        None => Command::new(this),
    };
    command.args(["--exact", "simd_isa::report", "--nocapture"]).env(CHILD, "1").env(Isa::VARIABLE, isa);
    let Output { stdout, stderr, status } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[test]
fn a_forced_level_is_the_one_that_runs() {
    for isa in Isa::supported() {
        let output = child(isa.name());
        let usual = Level::choose(Some(isa), None).unwrap().gang();
        assert!(output.contains(&format!("ran {isa} x {usual}\n")), "{output}");
    }
    let output = child("auto");
    assert!(output.contains(&format!("ran {} x ", Isa::best())), "{output}");
}

#[test]
fn what_cannot_be_forced_is_refused() {
    let foreign = if cfg!(target_arch = "aarch64") { "avx512" } else { "neon" };
    for (name, reason) in [("sse9", "no instruction set level `sse9`"), (foreign, "has no")] {
        let output = child(name);
        assert!(output.contains("refused") && output.contains(reason), "{name}: {output}");
    }
}

#[cfg(feature = "all-gangs")]
#[test]
fn a_level_runs_with_its_own_isa_and_gang() {
    for isa in Isa::supported() {
        for gang in GANGS {
            let level = Level::new(isa, gang).unwrap();
            assert_eq!(dispatch!(level, g => seen(g)), format!("{isa} x {gang}"));
        }
    }
}
