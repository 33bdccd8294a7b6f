//! What the environment forces is what runs: the kernel itself reports its gang, in a child process.

use peloton::dispatch;
use peloton::simd::{GANGS, Gang, Isa, Level};
use std::process::{Command, Output};

/// Set for the child, so that `report` says something.
const CHILD: &str = "PELOTON_TEST_CHILD";

#[inline(always)]
fn seen<G: Gang>(_: G) -> String {
    format!("{} x {}", G::ISA, G::LANES)
}

/// Not a test of its own: the child's part of those below.
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

/// Runs `report` with `PELOTON_ISA`; `None` where this machine cannot start it (user-mode emulation).
fn child(isa: &str) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "report", "--nocapture"]).env(CHILD, "1").env(Isa::VARIABLE, isa);
    let Output { stdout, .. } = match command.output() {
        Err(error) if cfg!(target_arch = "aarch64") && error.raw_os_error() == Some(8) => return None,
        output => output.unwrap(),
    };
    Some(String::from_utf8(stdout).unwrap())
}

#[test]
fn a_forced_level_is_the_one_that_runs() {
    for isa in Isa::supported() {
        let Some(output) = child(isa.name()) else { return };
        let usual = Level::choose(Some(isa), None).unwrap().gang();
        assert!(output.contains(&format!("ran {isa} x {usual}\n")), "{output}");
    }
    let Some(output) = child("auto") else { return };
    assert!(output.contains(&format!("ran {} x ", Isa::best())), "{output}");
}

#[test]
fn what_cannot_be_forced_is_refused() {
    let foreign = if cfg!(target_arch = "aarch64") { "avx512" } else { "neon" };
    for (name, reason) in [("sse9", "no instruction set level `sse9`"), (foreign, "has no")] {
        let Some(output) = child(name) else { return };
        assert!(output.contains("refused") && output.contains(reason), "{name}: {output}");
    }
}

#[test]
fn a_level_runs_with_its_own_isa_and_gang() {
    for isa in Isa::supported() {
        for gang in GANGS {
            let level = Level::new(isa, gang).unwrap();
            assert_eq!(dispatch!(level, g => seen(g)), format!("{isa} x {gang}"));
        }
    }
}
