//! Speed of the decoders on the seven public LHCb events, or on simulated events: CPU time by level, and events/s.
//!
//! `cargo bench --bench decode` measures each decoder on each level, and the speed of reading the events, in bytes/s. A
//! filter such as `-- "UT/avx2"` selects the rows whose names contain it. Rows are measured in turns, in several rounds:
//! compare rows of one round.

mod common;

use common::{CpuTime, Work, criterion, data, in_turns, say_events};
use criterion::{Criterion, Throughput};
use peloton::engine::{Engine, Sequence};
use peloton::event::{Outcome, RawBatch, VeloBatch};
use peloton::scifi::SciFiHits;
use peloton::simd::Level;
use peloton::ut::UtHits;
use peloton::velo::{DecodeScratch, Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::{Geometry, RawReader, ReadOptions, Source};
use peloton_sim::{LhcbDetector, LhcbReader, SimulatedEvent};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two samples with their geometry: retina clusters, and superpixels.
struct Events {
    retina: PathBuf,
    superpixels: PathBuf,
    geometry: Geometry,
    sensors_of_superpixels: VeloSensors,
    /// Folder of the simulated files.
    _folder: Option<tempfile::TempDir>,
}

impl Events {
    fn public(folder: &Path) -> Self {
        say_events("the seven public ones");
        let of_superpixels = Geometry::Folder(folder.join("geometry_2018"));
        Self {
            retina: folder.join("minbias_retina_truth.mdf"),
            superpixels: folder.join("minbias_superpixel.mdf"),
            geometry: Geometry::Folder(folder.join("geometry")),
            sensors_of_superpixels: of_superpixels.velo().expect("geometry"),
            _folder: None,
        }
    }

    fn simulated() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let geometry = Geometry::Nominal;
        let (ut, scifi) = (geometry.ut().expect("geometry"), geometry.scifi().expect("geometry"));
        let detector =
            LhcbDetector { ut: &ut, scifi: &scifi, polarity: geometry.polarity().expect("geometry") };
        let file = |name: &str, spec: &str| {
            say_events(spec);
            let mut bytes = Vec::new();
            let mut reader = LhcbReader::new(spec.parse().expect("a simulation"), 0, None);
            let events = std::iter::from_fn(|| reader.next(&detector));
            events.for_each(|event: SimulatedEvent| event.write(&mut bytes).expect("memory"));
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("a file");
            path
        };
        Self {
            retina: file("retina.mdf", "sim:lhcb,events=20,seed=1"),
            superpixels: file("superpixel.mdf", "sim:lhcb,events=20,seed=1,velo=superpixel"),
            sensors_of_superpixels: geometry.velo().expect("geometry"),
            geometry,
            _folder: Some(folder),
        }
    }
}

fn read(mut reader: RawReader) -> RawBatch {
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(64, &mut batch, &mut notes).expect("events") > 0 {}
    batch
}

fn open(path: &Path) -> RawReader {
    RawReader::open(&[Source::Path(path.into())], ReadOptions::default()).expect("events")
}

/// Measures reading the events, from a file and from the same bytes in memory, as a mapped file would be.
fn reading(criterion: &mut Criterion<CpuTime>, path: &Path) {
    let bytes = std::fs::read(path).expect("events");
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut group = criterion.benchmark_group(format!("reading {name}"));
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let from_memory = || {
        let bytes = std::io::Cursor::new(bytes.clone());
        drop(read(RawReader::from_stream("memory", bytes, ReadOptions::default())));
    };
    let from_file = || drop(read(open(path)));
    in_turns(
        &mut group,
        &mut [("file".into(), Box::new(from_file)), ("memory".into(), Box::new(from_memory))],
    );
    group.finish();
}

/// Measures rows by level.
fn levels<'a>(
    criterion: &mut Criterion<CpuTime>,
    name: &str,
    events: usize,
    work: impl Fn(Level) -> Box<dyn FnMut() + 'a>,
) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(events as u64));
    let mut rows: Vec<Work> =
        Level::supported().into_iter().map(|level| (level.to_string(), work(level))).collect();
    in_turns(&mut group, &mut rows);
    group.finish();
}

/// Returns a work that runs a sequence which only decodes.
fn decoding(sequence: impl Into<Sequence>, batch: &RawBatch) -> Box<dyn FnMut() + '_> {
    let engine = Engine::new(sequence);
    let (mut workspace, mut hits) = (engine.workspace(), engine.products());
    Box::new(move || {
        engine.run(batch.view(), &mut workspace, &mut hits).expect("raw banks");
    })
}

fn main() {
    let events = data("lhcb").map_or_else(Events::simulated, |folder| Events::public(&folder));
    let mut criterion = criterion(CpuTime);
    for path in [&events.retina, &events.superpixels] {
        reading(&mut criterion, path);
    }
    let (retina, superpixels) = (read(open(&events.retina)), read(open(&events.superpixels)));
    let sensors = Arc::new(events.geometry.velo().expect("geometry"));
    let of_superpixels = Arc::new(events.sensors_of_superpixels);
    for (name, batch, sensors) in
        [("Velo, retina clusters", &retina, &sensors), ("Velo, superpixels", &superpixels, &of_superpixels)]
    {
        levels(&mut criterion, name, batch.len(), |level| {
            let velo = Velo::new(level, VeloConfig::default()).expect("a sequence");
            let velo = velo.with_sensors(sensors.clone(), VeloBanks::Auto);
            let (mut scratch, mut hits) = (DecodeScratch::default(), Outcome::<VeloBatch>::default());
            Box::new(move || {
                let range = 0..batch.len();
                velo.decode(batch.view(), range, &mut scratch, &mut hits).expect("raw banks");
            })
        });
    }
    let ut = Arc::new(events.geometry.ut().expect("geometry"));
    levels(&mut criterion, "UT", retina.len(), |level| decoding(UtHits::new(level, ut.clone()), &retina));
    let scifi = Arc::new(events.geometry.scifi().expect("geometry"));
    levels(&mut criterion, "SciFi", retina.len(), |level| {
        decoding(SciFiHits::new(level, scifi.clone()), &retina)
    });
    criterion.final_summary();
}
