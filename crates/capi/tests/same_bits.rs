//! A C++ program gets the hashes that `peloton run --json` prints: on every instruction set, with any batches and threads, and
//! whatever the floating-point mode of its host is.

mod common;
#[path = "common/samples.rs"]
mod samples;

use common::{Library, data, package, printed};
use peloton_core::simd::{Isa, Level};
use peloton_job::embed::{ConfiguredEngine, Events, OutcomeHasher};
use peloton_job::{Request, SequenceName};
use samples::{banks, cylinder_columns, expected, pixel_columns, simulate, velo_columns, velo_hits};
use std::path::{Path, PathBuf};

/// What the program is asked to do.
struct Ask<'a> {
    how: &'a str,
    file: &'a Path,
    toml: &'a str,
    geometry: &'a str,
    batch: usize,
    threads: usize,
    mode: &'a str,
    isa: Option<Isa>,
}

struct Program {
    library: Library,
    path: PathBuf,
    /// Not only on the best instruction set: by hand, with PELOTON_EVENTS.
    every_way_on_every_isa: bool,
}

/// The instruction sets of this machine.
fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| Level::choose(Some(*isa), None).is_ok())
}

impl Program {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(flags: &[&str]) -> Self {
        let library = Library::new();
        let path = library.compile("same_bits.cpp", flags);
        Self { library, path, every_way_on_every_isa: std::env::var_os("PELOTON_EVENTS").is_some() }
    }

    fn run(&self, ask: &Ask<'_>) -> String {
        let mut command = self.library.command(&self.path);
        command.arg(ask.how).arg(ask.file).args([ask.toml, ask.geometry]);
        command.args([ask.batch.to_string(), ask.threads.to_string()]).arg(ask.mode);
        if let Some(isa) = ask.isa {
            command.env("PELOTON_ISA", isa.name());
        }
        printed(&mut command)
    }

    /// Columns of hits, on every instruction set, in every mode, with batches and threads of all kinds.
    fn hits(&self, file: &Path, hashes: &str) {
        let base = Ask {
            how: "hits",
            file,
            toml: "",
            geometry: "-",
            batch: 64,
            threads: 1,
            mode: "plain",
            isa: None,
        };
        for isa in isas() {
            assert_eq!(self.run(&Ask { isa: Some(isa), ..base }), hashes, "{isa}");
        }
        for (how, batch, threads) in
            [("hits", 1, 1), ("hits", 3, 1), ("hits-pool", 64, 2), ("hits-pool", 3, 1)]
        {
            assert_eq!(self.run(&Ask { how, batch, threads, ..base }), hashes, "{how}, batches of {batch}");
        }
        for mode in ["flush", "up", "thread"] {
            assert_eq!(self.run(&Ask { mode, ..base }), hashes, "{mode}");
            assert_eq!(self.run(&Ask { how: "hits-pool", threads: 2, mode, ..base }), hashes, "pool, {mode}");
        }
    }

    /// Raw banks one by one, as MDF bytes and as blocks.
    fn raw(&self, mdf: &Path, geometry: &str, sequences: &[&str]) {
        let file = mdf.with_extension("banks");
        let file = self.library.folder().join(file.file_name().expect("a name"));
        std::fs::write(&file, banks(mdf)).expect("a file");
        for name in sequences {
            let toml = format!("sequence = '{name}'");
            let hashes = expected(mdf, &toml, Some(Path::new(geometry)));
            let base = Ask {
                how: "banks",
                file: &file,
                toml: &toml,
                geometry,
                batch: 3,
                threads: 1,
                mode: "plain",
                isa: None,
            };
            let file_of = |how: &str| if how.starts_with("mdf") { mdf } else { &file };
            for isa in [None].into_iter().chain(isas().map(Some)) {
                let all = isa.is_none() || self.every_way_on_every_isa;
                for (how, batch) in [("banks", 1), ("banks", 3), ("banks", 64), ("blocks", 1), ("blocks", 3)]
                    .into_iter()
                    .chain([("blocks", 64), ("mdf", 1), ("mdf", 3), ("mdf", 64)])
                    .filter(|way| all || *way == ("banks", 3))
                {
                    let one = Ask { how, file: file_of(how), batch, isa, ..base };
                    assert_eq!(self.run(&one), hashes, "{name}: {how}, batches of {batch}, {isa:?}");
                    if all {
                        let how = &format!("{how}-pool");
                        assert_eq!(
                            self.run(&Ask { how, threads: 2, ..one }),
                            hashes,
                            "{name}: {how} {batch}, {isa:?}"
                        );
                    }
                }
            }
            assert_eq!(self.run(&Ask { mode: "flush", ..base }), hashes, "{name}: denormals flushed");
        }
    }
}

#[test]
fn hits_of_the_velo() {
    let program = Program::new();
    let folder = program.library.folder();
    let (events, columns) = (folder.join("velo.ndjson"), folder.join("velo.columns"));
    simulate("velo", 70, &events);
    std::fs::write(&columns, velo_columns(&velo_hits(&events))).expect("a file");
    program.hits(&columns, &expected(&events, "", None));
    if let Some(data) = data() {
        let events = data.join("velo/public200.ndjson.zst");
        std::fs::write(&columns, velo_columns(&velo_hits(&events))).expect("a file");
        program.hits(&columns, &expected(&events, "", None));
    }
    // For bench/boundary.cpp.
    if let Some(path) = std::env::var_os("PELOTON_COLUMNS") {
        std::fs::copy(&columns, path).expect("a copy");
    }
}

/// Coordinates below the normal numbers are what a host that flushes them to zero would change.
#[test]
fn hits_with_denormal_coordinates() {
    let program = Program::new();
    let folder = program.library.folder();
    let (events, columns) = (folder.join("velo.ndjson"), folder.join("velo.columns"));
    simulate("velo", 20, &events);
    let mut hits = velo_hits(&events);
    hits.x.iter_mut().step_by(7).for_each(|x| *x *= 1e-42);
    hits.y.iter_mut().step_by(11).for_each(|y| *y *= 1e-42);
    assert!(hits.x.iter().any(|x| x.is_subnormal()));
    std::fs::write(&columns, velo_columns(&hits)).expect("a file");
    let engine = ConfiguredEngine::new(&Request::default()).expect("an engine");
    let (mut workspace, mut outcome, mut hasher) =
        (engine.workspace(), engine.outcome(), OutcomeHasher::default());
    engine.run(Events::VeloHits(hits.view()), &mut workspace, &mut outcome).expect("a run");
    hasher.add(outcome.columns()).expect("results");
    let hashes = hasher.finish().expect("hashes");
    let hashes = format!("{:016x} {:016x}", hashes.int, hashes.output);
    program.hits(&columns, &hashes);
    // Linked so, a program begins with denormals flushed, and so do all of its threads.
    Program::with(&["-ffast-math"]).hits(&columns, &hashes);
}

/// The named sequences over raw banks. A new one is tested here and must be named in the README.
fn raw_sequences() -> Vec<&'static str> {
    let others =
        [SequenceName::Timepix, SequenceName::Cylinder, SequenceName::CylinderFit, SequenceName::Own];
    SequenceName::ALL.into_iter().filter(|name| !others.contains(name)).map(SequenceName::name).collect()
}

#[test]
fn the_readme_names_every_sequence() {
    let readme = std::fs::read_to_string(package().join("README.md")).expect("README.md");
    let (_, table) = readme.split_once("| sequence | events | function |").expect("the table");
    let (table, _) = table.split_once("\n\n").expect("its end");
    for name in SequenceName::ALL {
        assert!(table.contains(&format!("`{name}`")), "no row has `{name}`");
    }
}

#[test]
fn raw_banks_of_every_sequence() {
    let program = Program::new();
    let mdf = program.library.folder().join("lhcb.mdf");
    // More by hand: PELOTON_EVENTS=1000.
    let events = std::env::var("PELOTON_EVENTS").ok().and_then(|text| text.parse().ok());
    simulate("lhcb", events.unwrap_or(20), &mdf);
    program.raw(&mdf, "nominal", &raw_sequences());
    if let Some(data) = data() {
        let lhcb = data.join("lhcb");
        let geometry = lhcb.join("geometry").display().to_string();
        program.raw(&lhcb.join("minbias_retina_truth.mdf"), &geometry, &raw_sequences());
    }
}

/// The same bits as of jobs that write one product each, by a named sequence and by listed algorithms.
#[test]
fn several_products_of_one_run() {
    let program = Program::new();
    let mdf = program.library.folder().join("lhcb.mdf");
    simulate("lhcb", 7, &mdf);
    let list = "algorithms = ['velo_tracks', 'scifi_hits', 'scifi_tracks', 'long_tracks']";
    for sequence in ["sequence = 'long'", list] {
        let writing = |names: &[&str]| format!("{sequence}\nwrite = {names:?}");
        let nominal = Some(Path::new("nominal"));
        let alone = ["velo_tracks", "long_tracks"].map(|name| expected(&mdf, &writing(&[name]), nominal));
        assert_ne!(alone[0], alone[1]);
        let toml = &writing(&["velo_tracks", "long_tracks"]);
        for how in ["mdf", "mdf-pool"] {
            let ask = Ask {
                how,
                file: &mdf,
                toml,
                geometry: "nominal",
                batch: 3,
                threads: 2,
                mode: "plain",
                isa: None,
            };
            assert_eq!(program.run(&ask), alone.join("\n"), "{how}: {sequence}");
        }
    }
}

#[test]
fn hits_of_the_cylinder() {
    let program = Program::new();
    let folder = program.library.folder();
    let (events, file) = (folder.join("cylinder.bin"), folder.join("cylinder.columns"));
    simulate("cylinder,tracks=500", 3, &events);
    std::fs::write(&file, cylinder_columns(&events)).expect("a file");
    let toml = "sequence = 'cylinder'\n[cylinder]\nseeds = 'hits'";
    let base = Ask {
        how: "cylinder",
        file: &file,
        toml,
        geometry: "-",
        batch: 1,
        threads: 1,
        mode: "plain",
        isa: None,
    };
    let hashes = expected(&events, toml, None);
    for mode in ["plain", "flush", "up", "thread"] {
        assert_eq!(program.run(&Ask { mode, ..base }), hashes, "{mode}");
    }
}

#[test]
fn streams_of_pixel_hits_cut_anywhere() {
    let program = Program::new();
    let file = program.library.folder().join("hits.tpx3");
    simulate("timepix", 60_000, &file);
    let mut files = vec![file];
    files.extend(data().map(|data| data.join("timepix/nsls2_tpx3/raw_test_data_serval_4_3_0.tpx3")));
    let columns = program.library.folder().join("hits.columns");
    for file in &files {
        std::fs::write(&columns, pixel_columns(file)).expect("a file");
        for toml in ["sequence = 'timepix'", "sequence = 'timepix'\nthreads = 2"] {
            let hashes = expected(file, toml, None);
            let base = Ask {
                how: "tpx3",
                file,
                toml,
                geometry: "-",
                batch: 1,
                threads: 1,
                mode: "plain",
                isa: None,
            };
            for batch in [1, 7, 4096, 1_000_003] {
                let found = program.run(&Ask { batch, ..base });
                assert_eq!(found, hashes, "{} in pieces of {batch}: {toml}", file.display());
                let found = program.run(&Ask { how: "tpx3-hits", file: &columns, batch, ..base });
                assert_eq!(found, hashes, "{}, {batch} hits a call: {toml}", file.display());
            }
            assert_eq!(
                program.run(&Ask { batch: 4096, mode: "thread", ..base }),
                hashes,
                "thread under flush"
            );
        }
    }
}
