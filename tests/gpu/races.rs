//! Races of the kernels: these tests run other tests of this program again, with the emulated kernels compiled with
//! ThreadSanitizer: every lane of a block is a thread for it (`src/gpu/kernels/emulated.h`). Then they remove every barrier in
//! turn. The loss must be noticed: by a report, by another result, or by a lane that waits for ever.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Harmless races: the function whose reports are suppressed, and the reason.
const HARMLESS: [(&str, &str); 1] = [(
    "set_of",
    "the union-find reads a label that atomicMin lowers: it follows the old one or the new one, both of the same set",
)];

/// Barriers whose loss may go unnoticed with these events: the function, the number of barriers, and their purpose.
const UNNOTICED: [(&str, usize, &str); 3] = [
    (
        "velo_keep_free",
        1,
        "counts are cleared before it, but `sum_before`, which has barriers, comes before they are raised",
    ),
    (
        "velo_join",
        2,
        "a tile of wishes is read before it and written behind it, which needs crowded events; partners are dropped before \
      it, and chains of several partners followed behind it, which are rare",
    ),
    (
        "clone_engine",
        1,
        "the last layer's notes are written before it, and read by another lane where the best candidate is not the first",
    ),
];

/// Tests of this program that run sequences, in the order of their time.
const SEQUENCES: [&str; 4] = [
    "velo::inside_the_sanitizer",
    "timepix::inside_the_sanitizer",
    "cylinder::inside_the_sanitizer",
    "velo::inside_the_sanitizer_with_crowds",
];

/// The sanitizer's library, a compiler that uses it, and a cache for what it compiles.
struct Sanitizer {
    library: PathBuf,
    folder: tempfile::TempDir,
}

/// Compiles the kernels. None, with a printed line, where the C++ compiler has no ThreadSanitizer.
fn sanitizer() -> Option<&'static Sanitizer> {
    static MADE: OnceLock<Option<Sanitizer>> = OnceLock::new();
    let make = || {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let asked = Command::new(&compiler).arg("-print-file-name=libtsan.so").output().ok()?;
        let library = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
        if !library.is_absolute() {
            assert!(std::env::var_os("CI").is_none(), "{compiler} has no ThreadSanitizer");
            eprintln!("skipped: {compiler} has no ThreadSanitizer");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!("#!/bin/sh\nexec {compiler} \"$@\" -fsanitize=thread -g\n");
        let path = folder.path().join("c++");
        std::fs::write(&path, script).expect("a file");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("a file");
        let suppressions: String = HARMLESS.map(|(function, _)| format!("race:^{function}\n")).concat();
        std::fs::write(folder.path().join("harmless"), suppressions).expect("a file");
        let made = Sanitizer { library, folder };
        // The compiler itself must run without the sanitizer.
        let compiled =
            made.this_program("races::inside_compile", Path::new("")).output().expect("this program runs");
        assert!(compiled.status.success(), "{}", words(&compiled));
        Some(made)
    };
    MADE.get_or_init(make).as_ref()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

impl Sanitizer {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that runs one test of this program, without random addresses, as the sanitizer needs.
    fn this_program(&self, test: &str, preloaded: &Path) -> Command {
        let mut command = Command::new("setarch");
        // Set through `env`, so that `setarch` runs without the sanitizer.
        command.arg(std::env::consts::ARCH).arg("-R").arg("env");
        command.arg(format!("LD_PRELOAD={}", preloaded.display()));
        command.arg(std::env::current_exe().expect("this program"));
        command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
        command.env("CXX", self.file("c++")).env("PELOTON_CACHE", self.folder.path());
        command
    }

    /// Runs a sequence with these variables.
    fn run(&self, sequence: &str, variables: &[(&str, &str)]) -> Output {
        let options = format!(
            "exitcode=66:history_size=4:ignore_noninstrumented_modules=1:print_suppressions=1:suppressions={}",
            self.file("harmless").display()
        );
        let mut command = self.this_program(sequence, &self.library);
        command.env("TSAN_OPTIONS", options).envs(variables.iter().copied());
        command.output().expect("this program runs")
    }
}

#[test]
#[ignore = "started by another test"]
fn inside_compile() {
    peloton::gpu::emulated_library().expect("a C++ compiler");
}

/// Leaves out reports on thread-local memory, which the loader allocates, and on stacks of lanes: unordered blocks use both
/// in turn.
fn reports(text: &str) -> Vec<&str> {
    let is_shared = |report: &str| {
        let place = report.split("Location is ").nth(1).unwrap_or_default();
        let is_one_for_all = |line: &str| line.contains("rtld-malloc") || line.contains("aligned_alloc");
        place.starts_with("TLS") || place.lines().take(4).any(is_one_for_all)
    };
    text.split("WARNING: ThreadSanitizer").skip(1).filter(|report| !is_shared(report)).collect()
}

#[test]
fn kernels_have_no_races_but_those_that_do_no_harm() {
    let Some(sanitizer) = sanitizer() else { return };
    let mut suppressed = String::new();
    for sequence in SEQUENCES {
        let ordered = sanitizer.run(sequence, &[]);
        let text = words(&ordered);
        assert!(ordered.status.success() && text.contains("1 passed"), "{sequence}: {text}");
        suppressed += &text;
        let unordered = words(&sanitizer.run(sequence, &[("EMULATED_BLOCKS", "unordered")]));
        assert!(unordered.contains("1 passed"), "{sequence}, blocks: {unordered}");
        assert_eq!(reports(&unordered), [""; 0], "{sequence}, blocks");
    }
    for (function, reason) in HARMLESS {
        assert!(suppressed.contains(&format!("race:^{function}")), "no longer there: {function}, {reason}");
    }
}

/// The barriers that a sequence meets: numbers and functions.
fn barriers(sanitizer: &Sanitizer, sequence: &str) -> Vec<(u32, String)> {
    let list = sanitizer.file("barriers");
    sanitizer.run(sequence, &[("EMULATED_BARRIERS", &list.display().to_string())]);
    let text = std::fs::read_to_string(&list).expect("a list of barriers");
    std::fs::remove_file(&list).expect("a file");
    let entry = |line: &str| {
        let (number, function) = line.split_once(' ').expect("a number and a function");
        (number.parse().expect("a number"), function.trim_end_matches("_body").to_string())
    };
    text.lines().map(entry).collect()
}

#[test]
fn the_loss_of_a_barrier_is_noticed() {
    let Some(sanitizer) = sanitizer() else { return };
    let mut all: Vec<(u32, String, bool)> = Vec::new();
    for sequence in SEQUENCES {
        let is_noticed =
            |number: u32| all.iter().any(|(known, _, is_noticed)| *known == number && *is_noticed);
        let left = barriers(sanitizer, sequence).into_iter().filter(|(number, _)| !is_noticed(*number));
        let left: BTreeMap<_, _> = left.collect();
        let tried = left.into_par_iter().map(|(number, function)| {
            let output = sanitizer.run(sequence, &[("EMULATED_WITHOUT", &number.to_string())]);
            (number, function, !output.status.success())
        });
        let tried: Vec<_> = tried.collect();
        all.retain(|(known, ..)| tried.iter().all(|(number, ..)| number != known));
        all.extend(tried);
    }
    let noticed = all.iter().filter(|(.., is_noticed)| *is_noticed).count();
    println!("the loss of {noticed} of {} barriers is noticed", all.len());
    let mut unnoticed: Vec<&str> =
        all.iter().filter(|(.., is_noticed)| !is_noticed).map(|(_, name, _)| &name[..]).collect();
    println!("not noticed: {unnoticed:?}");
    for (function, most, _) in UNNOTICED {
        for _ in 0..most {
            let at = unnoticed.iter().position(|name| *name == function);
            at.map(|at| unnoticed.remove(at));
        }
    }
    assert_eq!(unnoticed, [""; 0], "barriers whose loss goes unnoticed, and nobody has said why");
    assert!(33 * noticed >= 26 * all.len(), "{noticed} of {} barriers", all.len());
    assert!(all.len() > 25, "{} barriers", all.len());
}
