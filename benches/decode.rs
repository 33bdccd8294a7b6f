//! Speed of the decoders on the seven public LHCb events: least CPU time of many passes, by level.
//!
//! `cargo bench --bench decode` prints what reading the events costs and one table per decoder: µs and events/s of one core, and the rate of
//! raw banks that go in; arguments keep only rows that contain one of them (`-- "UT, avx2"`). Levels
//! take turns by rounds of many passes, so that a noisy machine is noisy to all.

mod common;

use common::{data, now};
use peloton::event::{BankKind, Outcome, RawBatch, SciFiBatch, UtBatch, VeloBatch};
use peloton::scifi::{self, SciFiScratch};
use peloton::simd::Level;
use peloton::ut::{self, UtScratch};
use peloton::velo::{self, DecodeScratch, VeloBanks, VeloDecoder};
use peloton_io::input::{Geometry, RawReader, ReadOptions, Source};
use std::path::Path;

/// Rounds, and passes over all events in each: in all far more than the machine's noise lasts.
const ROUNDS: usize = 20;
const PASSES: usize = 150;

fn read(path: &Path) -> RawBatch {
    let mut reader = RawReader::open(&[Source::Path(path.into())], ReadOptions::default()).expect("events");
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(64, &mut batch, &mut notes).expect("events") > 0 {}
    batch
}

/// Bytes of all banks of a kind.
fn bytes(batch: &RawBatch, kind: BankKind) -> usize {
    let of =
        |event| batch.view().event(event).banks(kind).iter().map(|bank| bank.bytes as usize).sum::<usize>();
    (0..batch.len()).map(of).sum()
}

/// Runs `decode` on every level in turn and prints the least times; it returns hits.
fn table(name: &str, batch: &RawBatch, kind: BankKind, mut decode: impl FnMut(Level) -> usize) {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |text: &str| words.is_empty() || words.iter().any(|word| text.contains(word.as_str()));
    let label = |level: &Level| format!("{name}, {level}");
    let levels: Vec<_> = Level::supported().into_iter().filter(|level| wanted(&label(level))).collect();
    if levels.is_empty() {
        return;
    }
    let mut least = vec![f64::INFINITY; levels.len()];
    let mut hits = 0;
    for _ in 0..ROUNDS {
        for (level, least) in levels.iter().zip(&mut least) {
            for _ in 0..PASSES {
                let start = now();
                hits = decode(*level);
                *least = least.min(now() - start);
            }
        }
    }
    let events = batch.len() as f64;
    println!(
        "\n{name}: {:.0} hits per event, {:.0} bytes",
        hits as f64 / events,
        bytes(batch, kind) as f64 / events
    );
    for (level, least) in levels.iter().zip(least) {
        let (micros, rate) = (least / events / 1e3, bytes(batch, kind) as f64 / least);
        println!("{:16} {micros:8.2} µs {:10.0} events/s {rate:6.2} GB/s", level.to_string(), 1e6 / micros);
    }
}

/// What reading costs, from a file and from the same bytes in memory, as a mapped file would be.
fn reading(path: &Path) {
    let bytes = std::fs::read(path).expect("events");
    let size = bytes.len() as f64;
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    let mut time = |reader: &mut dyn FnMut() -> RawReader| {
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = now();
            let mut reader = reader();
            while reader.read(64, &mut batch, &mut notes).expect("events") > 0 {
                batch.clear();
                notes.clear();
            }
            least = least.min(now() - start);
        }
        size / least
    };
    let file =
        time(&mut || RawReader::open(&[Source::Path(path.into())], ReadOptions::default()).expect("events"));
    let memory = time(&mut || {
        RawReader::from_stream("memory", std::io::Cursor::new(bytes.clone()), ReadOptions::default())
    });
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    println!("reading {name}: {file:.2} GB/s from the file, {memory:.2} GB/s from memory");
}

fn main() {
    let folder = data("lhcb");
    if !folder.is_dir() {
        eprintln!("skipped: no event data in {} (PELOTON_DATA names its place)", folder.display());
        return;
    }
    let geometry = Geometry::Folder(folder.join("geometry"));
    let (ut_geometry, scifi_geometry) =
        (geometry.ut().expect("geometry"), geometry.scifi().expect("geometry"));
    let sensors = geometry.velo().expect("geometry");
    let old_sensors = Geometry::Folder(folder.join("geometry_2018")).velo().expect("geometry");
    let retina = read(&folder.join("minbias_retina_truth.mdf"));
    let superpixel = read(&folder.join("minbias_superpixel.mdf"));
    reading(&folder.join("minbias_retina_truth.mdf"));
    reading(&folder.join("minbias_superpixel.mdf"));

    let (mut scratch, mut out) = (DecodeScratch::default(), Outcome::<VeloBatch>::default());
    for (name, batch, kind, sensors) in [
        ("Velo, retina clusters", &retina, BankKind::VeloRetina, &sensors),
        ("Velo, superpixels", &superpixel, BankKind::VeloSuperpixel, &old_sensors),
    ] {
        table(name, batch, kind, |level| {
            out.results.clear();
            let decoder = VeloDecoder { sensors, banks: VeloBanks::Auto };
            velo::decode(level, decoder, batch.view(), 0..batch.len(), &mut scratch, &mut out);
            out.results.x.len()
        });
    }
    let (mut scratch, mut out) = (UtScratch::default(), Outcome::<UtBatch>::default());
    table("UT", &retina, BankKind::Ut, |level| {
        out.clear();
        let (events, range) = (retina.view(), 0..retina.len());
        ut::decode(level, &ut_geometry, events, range, &mut scratch, &mut out);
        out.results.hits()
    });
    let (mut scratch, mut out) = (SciFiScratch::default(), Outcome::<SciFiBatch>::default());
    table("SciFi", &retina, BankKind::SciFi, |level| {
        out.clear();
        let (events, range) = (retina.view(), 0..retina.len());
        scifi::decode(level, &scifi_geometry, events, range, &mut scratch, &mut out);
        out.results.hits()
    });
}
