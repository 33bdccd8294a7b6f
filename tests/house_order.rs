//! The order of the modules of the library and of the crates, and the crates that may print. As in `house_rules`, each
//! rule is tried on planted breaches first.

#[path = "common/house.rs"]
mod house;
#[path = "common/imports.rs"]
mod imports;

use house::{File, check, files, has_word};
use imports::circles;
use std::path::Path;

/// Modules that every module in `src` may use.
const BASE: [&str; 4] = ["error", "names", "bytes", "units"];
/// Modules that detectors may use.
const BELOW_DETECTORS: [&str; 4] = ["simd", "event", "engine", "lhcb"];

/// Modules that each module of `src` may use in addition to [`BASE`], in their order. Modules not listed may use all.
const MAY_USE: [(&str, &[&str]); 17] = [
    ("error", &[]),
    ("names", &[]),
    ("bytes", &[]),
    ("units", &[]),
    ("simd", &[]),
    ("event", &["simd"]),
    ("engine", &["simd", "event"]),
    ("lhcb", &["simd", "event", "engine"]),
    ("kalman", &["simd", "event"]),
    ("velo", &BELOW_DETECTORS),
    ("ut", &BELOW_DETECTORS),
    ("scifi", &BELOW_DETECTORS),
    ("long", &["simd", "event", "engine", "lhcb", "velo", "scifi", "ut", "chain"]),
    ("timepix", &BELOW_DETECTORS),
    ("cylinder", &["simd", "event", "engine", "lhcb", "kalman"]),
    ("chain", &["simd", "event", "engine", "lhcb", "velo", "ut", "scifi"]),
    ("gpu", &["simd", "event", "engine", "lhcb", "kalman", "velo", "ut", "timepix", "cylinder"]),
];

/// Whether a module may use another; a module of [`BASE`] uses only the modules before it.
fn may_use(room: &str, allowed: &[&str], name: &str) -> bool {
    let own = BASE.iter().position(|base| *base == room);
    let in_base = BASE.iter().position(|base| *base == name);
    name == room || allowed.contains(&name) || in_base.is_some_and(|at| own.is_none_or(|own| at < own))
}

#[test]
fn dependence_runs_one_way() {
    let rule = |file: &File| {
        let Some(below) = file.path.strip_prefix("src/") else { return Vec::new() };
        let room = below.split(['/', '.']).next().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else { return Vec::new() };
        let mut breaches = Vec::new();
        for (number, line) in file.code() {
            for name in rooms_named(line) {
                if MAY_USE.iter().any(|(room, _)| *room == name) && !may_use(room, allowed, &name) {
                    breaches.push(file.breach(number, &format!("{room} may not use {name}")));
                }
            }
        }
        breaches
    };
    check(
        rule,
        &[
            ("src/error.rs", "use crate::units::PI;"),
            ("src/bytes.rs", "use crate::simd::Level;"),
            ("src/simd/gang.rs", "use crate::event::Column;"),
            ("src/event/schema.rs", "use crate::engine::Sequence;"),
            ("src/event/schema.rs", "let x = crate::velo::Velo::default();"),
            ("src/engine/mod.rs", "use crate::{Result, velo::Velo};"),
            ("src/engine/mod.rs", "use crate::lhcb::decode_each;"),
            ("src/lhcb/decode.rs", "use crate::ut::UtGeometry;"),
            ("src/velo/find.rs", "use crate::{Result, kalman::State};"),
            ("src/ut/sequence.rs", "use crate::scifi::SciFiGeometry;"),
            ("src/scifi/seeding.rs", "use crate::long::Long;"),
            ("src/timepix/chain.rs", "use crate::gpu::Device;"),
            ("src/kalman/mod.rs", "use crate::cylinder::Hit;"),
            ("src/cylinder/fit.rs", "use crate::velo::VeloConfig;"),
            ("src/ut/find/mod.rs", "use crate::velo::VeloConfig;"),
            ("src/velo/run.rs", "use crate::chain::VeloUt;"),
            ("src/gpu/velo/mod.rs", "use crate::scifi::SciFi;"),
        ],
    );
}

/// The names behind `crate::` in a line.
fn rooms_named(line: &str) -> Vec<String> {
    let one = |text: &str| -> String {
        text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let after = line.match_indices("crate::").map(|(at, prefix)| &line[at + prefix.len()..]);
    after
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list.split(',').map(one).collect(),
            None => vec![one(rest)],
        })
        .collect()
}

/// Crates that each crate may use; crates not listed may use all.
const CRATES_MAY_USE: [(&str, &[&str]); 11] = [
    ("src/", &["peloton"]),
    ("crates/io/src/", &["peloton"]),
    ("crates/sim/src/", &["peloton", "peloton_io"]),
    ("crates/truth/src/", &["peloton", "peloton_io"]),
    ("crates/plot/src/", &["peloton", "peloton_io", "peloton_truth"]),
    ("crates/job/src/", &["peloton", "peloton_io", "peloton_sim", "peloton_truth", "peloton_plot"]),
    ("crates/plan/src/", &["peloton", "peloton_io", "peloton_sim", "peloton_plot", "peloton_job"]),
    ("crates/papers/src/", &["peloton", "peloton_plot", "peloton_job"]),
    (
        "crates/cli/src/",
        &["peloton", "peloton_io", "peloton_plot", "peloton_job", "peloton_plan", "peloton_papers"],
    ),
    ("crates/python/src/", &["peloton", "peloton_io", "peloton_job", "peloton_plan"]),
    ("crates/capi/src/", &["peloton", "peloton_io", "peloton_job"]),
];
/// The only file that uses a crate not listed for it: the command of a sensor that sends simulated hits.
const CRATE_EXCEPTIONS: [(&str, &str); 1] = [("crates/cli/src/soak.rs", "peloton_sim")];
/// All crates, and the parser of the command line.
const CRATES: [&str; 9] = [
    "peloton_io",
    "peloton_sim",
    "peloton_truth",
    "peloton_plot",
    "peloton_job",
    "peloton_plan",
    "peloton_papers",
    "peloton_cli",
    "clap",
];

#[test]
fn crates_use_only_those_below() {
    let rule = |file: &File| {
        let Some((_, allowed)) = CRATES_MAY_USE.iter().find(|(place, _)| file.path.starts_with(place)) else {
            return Vec::new();
        };
        let reads_flags = file.path.starts_with("crates/cli/");
        let mut breaches = Vec::new();
        for (number, line) in file.code_but_tests() {
            let named = CRATES.iter().filter(|name| has_word(line, name) && !allowed.contains(name));
            let named = named.filter(|name| **name != "clap" || !reads_flags);
            let named = named.filter(|name| !CRATE_EXCEPTIONS.contains(&(file.path.as_str(), **name)));
            breaches.extend(named.map(|name| file.breach(number, &format!("may not use {name}"))));
        }
        breaches
    };
    check(
        rule,
        &[
            ("src/velo/find.rs", "use peloton_io::input::Source;"),
            ("crates/io/src/lib.rs", "use peloton_sim::SimReader;"),
            ("crates/sim/src/lib.rs", "use peloton_truth::Checker;"),
            ("crates/truth/src/lib.rs", "use peloton_job::Request;"),
            ("crates/truth/src/lib.rs", "use peloton_sim::SimReader;"),
            ("crates/truth/src/lib.rs", "use peloton_plot::text;"),
            ("crates/plot/src/event/mod.rs", "use peloton_job::Request;"),
            ("crates/plot/src/event/mod.rs", "use peloton_sim::SimReader;"),
            ("crates/job/src/lib.rs", "use peloton_cli::main;"),
            ("crates/job/src/lib.rs", "use peloton_papers::papers;"),
            ("crates/job/src/lib.rs", "use peloton_plan::Plan;"),
            ("crates/plan/src/lib.rs", "use peloton_truth::Checker;"),
            ("crates/papers/src/driver.rs", "use peloton_io::input::Source;"),
            ("crates/job/src/request.rs", "#[derive(clap::Args)]"),
            ("src/velo/config.rs", "use clap::ValueEnum;"),
            ("crates/io/src/input/mod.rs", "use clap::Parser;"),
            ("crates/cli/src/run.rs", "use peloton_truth::Checker;"),
            ("crates/cli/src/run.rs", "use peloton_sim::SimReader;"),
            ("crates/python/src/jobs.rs", "use peloton_truth::Checker;"),
            ("crates/capi/src/run.rs", "use peloton_truth::Checker;"),
        ],
    );
}

/// Manifests name only crates that sources may use: an unused dependency has a cost, too.
#[test]
fn manifests_name_only_crates_below() {
    for (place, allowed) in CRATES_MAY_USE {
        let folder = place.strip_suffix("src/").expect("sources");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
        let text = std::fs::read_to_string(&path).expect("a manifest");
        let named = dependencies(&text);
        assert!(!named.is_empty(), "{}", path.display());
        for name in named {
            let exception = CRATE_EXCEPTIONS.iter().any(|(file, of)| file.starts_with(place) && *of == name);
            let foreign = CRATES.contains(&name.as_str()) && !(name == "clap" && folder == "crates/cli/");
            let may = !foreign || allowed.contains(&name.as_str()) || exception;
            assert!(may, "{}: may not depend on {name}", path.display());
        }
    }
    let planted = "[package]\nname = \"a\"\n[dependencies]\nclap.workspace = true\npeloton-job = { path = \"\" }\n[dev-dependencies]\nzstd = \"1\"";
    assert_eq!(dependencies(planted), ["clap", "peloton_job"]);
}

/// Crates under `[dependencies]` of a manifest, by their names in sources.
fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| line.split([' ', '.', '=']).next());
    names.filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

/// Folders without output to terminals: only the command line prints.
const SILENT: [&str; 9] = [
    "src/",
    "crates/io/src/",
    "crates/sim/src/",
    "crates/truth/src/",
    "crates/plot/src/",
    "crates/job/src/",
    "crates/plan/src/",
    "crates/papers/src/",
    "crates/python/src/",
];
/// Files that write results to standard output on request.
const WRITE_RESULTS: [&str; 2] = ["crates/io/src/output/file.rs", "crates/io/src/output/byte_sink.rs"];

#[test]
fn libraries_do_not_print() {
    let rule = |file: &File| {
        if !file.is_rust() || !SILENT.iter().any(|place| file.path.starts_with(place)) {
            return Vec::new();
        }
        // Tests may print. They are at the end of a file, or in folders of their own.
        if file.path.contains("/tests/") {
            return Vec::new();
        }
        let prints = |line: &str| {
            let macros = ["println!", "print!", "eprintln!", "eprint!"];
            let streams = ["stdout()", "stderr()"];
            let writes = !WRITE_RESULTS.contains(&file.path.as_str());
            macros.iter().any(|name| line.contains(name))
                || line.contains("stderr()")
                || (writes && streams.iter().any(|name| line.contains(name)))
        };
        let found = file.code_but_tests().filter(|(_, line)| prints(line));
        found.map(|(line, _)| file.breach(line, "prints")).collect()
    };
    check(
        rule,
        &[
            ("src/velo/find.rs", "println!(\"{x}\");"),
            ("crates/job/src/run.rs", "eprintln!(\"warning\");"),
            ("crates/job/src/sink.rs", "std::io::stderr().write_all(b\"x\")"),
            ("crates/io/src/input/mod.rs", "std::io::stdout().write_all(b\"x\")"),
            ("crates/sim/src/lib.rs", "print!(\".\");"),
            ("crates/python/src/jobs.rs", "println!(\"done\");"),
            ("crates/truth/src/report.rs", "writeln!(std::io::stderr(), \"x\")"),
        ],
    );
}

/// Largest number of files that take names from one another, and therefore must be read together.
const MAX_CIRCLE: usize = 2;
#[test]
fn files_do_not_use_each_other_in_large_circles() {
    let planted = [
        ("src/a.rs", "use crate::d::{self, Deep};\n"),
        ("src/d.rs", "use crate::b::{Broad as Wide, within::Deeper};\n"),
        ("src/lib.rs", "mod a;\npub use b::Broad;\npub mod b;\n"),
        ("src/b.rs", "use crate::{\n    c::Clear,\n};\n#[cfg(test)]\nmod tests {\n    use crate::e::Own;\n"),
        ("src/c.rs", "use crate::a::Shallow as Other;\n"),
        ("src/e.rs", "use crate::b::Broad;\nuse std::fmt;\n"),
    ];
    let mut planted: Vec<File> = planted.iter().map(|(path, text)| File::planted(path, text)).collect();
    assert_eq!(circles(&planted), [["src/a.rs", "src/b.rs", "src/c.rs", "src/d.rs"]]);
    planted[1].text = "use crate::Broad;\n".into();
    assert_eq!(circles(&planted)[0].len(), 4, "a name that a module passes on comes from another file");
    planted[1].text = String::new();
    assert!(circles(&planted).is_empty());

    let large: Vec<_> = circles(&files()).into_iter().filter(|circle| circle.len() > MAX_CIRCLE).collect();
    assert!(large.is_empty(), "{large:#?}");
}
