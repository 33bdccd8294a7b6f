//! Events for the C++ programs: files of columns, beside what reads them by the names of the command line.
// Each test uses a part of it.
#![allow(dead_code)]

use peloton_core::event::{BankKind, CylinderBatch, CylinderTruth, PixelBlock, RawBatch, VeloBatch};
use peloton_io::input::mdf::nominal_bank;
use peloton_io::input::timepix::{PixelDecoder, PixelFormat};
use peloton_io::input::{CylinderReader, Format, RawReader, ReadOptions, Source, VeloReader};
use peloton_job::{Cancel, Config, Host, Request, Silent, Simulation};
use std::path::Path;

/// Writes simulated events to a file.
pub fn simulate(detector: &str, events: u64, to: &Path) {
    let detector = detector.to_string();
    let what = Simulation { detector, events, seed: 5, geometry: None, threads: 2 };
    let (progress, cancel) = (Silent, Cancel::default());
    peloton_job::simulate(&what, to, Host { progress: &progress, cancel: &cancel }).expect("simulated");
}

/// What `peloton run --json` prints of a file as hash_int and output_hash.
pub fn expected(input: &Path, toml: &str, geometry: Option<&Path>) -> String {
    let request = Request {
        inputs: vec![input.display().to_string()],
        geometry: geometry.map(Path::to_path_buf),
        config: Config::from_toml(toml, None).expect("a configuration"),
        ..Request::default()
    };
    let (progress, cancel) = (Silent, Cancel::default());
    let host = Host { progress: &progress, cancel: &cancel };
    let summary = peloton_job::run(&request, None, host).expect("a run");
    let hashes = summary.hashes;
    format!("{:016x} {:016x}", hashes.int, hashes.output)
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Columns of Velo hits.
pub fn velo_columns(batch: &VeloBatch) -> Vec<u8> {
    let mut bytes = words(&[batch.len() as u64, batch.x.len() as u64]);
    for column in [&batch.x, &batch.y, &batch.z] {
        bytes.extend(column.iter().flat_map(|value| value.to_le_bytes()));
    }
    for column in [&batch.id, &batch.module_start] {
        bytes.extend(column.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes.extend(batch.status.iter().flat_map(|status| status.code().to_le_bytes()));
    bytes
}

/// The hits of a file of Velo events.
pub fn velo_hits(path: &Path) -> VeloBatch {
    let mut reader = VeloReader::open(&[Source::Path(path.into())], ReadOptions::default()).expect("events");
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    while reader.read(1000, &mut batch, &mut truth).expect("events") > 0 {}
    batch
}

/// Columns of the cylinder's hits.
pub fn cylinder_columns(path: &Path) -> Vec<u8> {
    let options = ReadOptions { truth: true, ..ReadOptions::default() };
    let mut reader = CylinderReader::open(&[Source::Path(path.into())], options).expect("events");
    let (mut batch, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    while reader.read(1000, &mut batch, &mut truth).expect("events") > 0 {}
    let mut bytes = words(&[batch.len() as u64, batch.x.len() as u64]);
    for column in batch.columns_mut() {
        bytes.extend(column.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes.extend(batch.layer_start.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// Columns of the hits in a `.tpx3` file, in the order in which they lie there.
pub fn pixel_columns(path: &Path) -> Vec<u8> {
    let mut decoder = PixelDecoder::tpx3(PixelFormat::Tpx3.default_layout().expect("a layout"), None);
    let mut block = PixelBlock::default();
    decoder.push(&std::fs::read(path).expect("a file"), &mut block);
    decoder.finish(&mut block);
    let hits = block.hits;
    let mut bytes = words(&[hits.len() as u64]);
    bytes.extend(hits.time.iter().flat_map(|value| value.to_le_bytes()));
    for column in [&hits.x, &hits.y, &hits.tot] {
        bytes.extend(column.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

/// The raw banks of a file of whole events: for each event their number, then type, version, source and length of each (u32)
/// and its payload.
pub fn banks(path: &Path) -> Vec<u8> {
    let options = ReadOptions { format: Format::Mdf, ..ReadOptions::default() };
    let mut reader = RawReader::open(&[Source::Path(path.into())], options).expect("events");
    let (mut raw, mut notes, mut bytes) = (RawBatch::default(), Vec::new(), Vec::new());
    while reader.read(1000, &mut raw, &mut notes).expect("events") > 0 {}
    for number in 0..raw.len() {
        let event = raw.view().event(number);
        let all = BankKind::ALL.map(|kind| event.banks(kind).iter().map(move |bank| (kind, bank)));
        let all: Vec<_> = all.into_iter().flatten().collect();
        let nominal = Some(nominal_bank()).filter(|_| raw.view().is_nominal(number));
        bytes.extend(words(&[all.len() as u64 + u64::from(nominal.is_some())]));
        if let Some(bank) = nominal {
            let head = [bank.kind.into(), bank.version.into(), bank.source.into(), bank.payload.len() as u32];
            bytes.extend(head.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend_from_slice(bank.payload);
        }
        for (kind, bank) in all {
            let head = [kind.code().into(), bank.version.into(), bank.source.into(), u32::from(bank.bytes)];
            bytes.extend(head.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend_from_slice(event.bytes(bank));
        }
    }
    bytes
}
