//! [`simulate`]: writes simulated events with their truth to a file.

use crate::timepix::{PixelSim, PixelSimSpec};
use crate::{
    CylinderSim, CylinderSpec, LhcbDetector, SimDetector, SimSpec, SimulatedEvent, in_order, simulate_velo,
};
use peloton::cylinder::CylinderSample;
use peloton::event::{PixelHits, RawBatch, VeloBatch};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result};
use peloton_io::Host;
use peloton_io::input::timepix::{ParquetHits, PixelFormat, write_hits};
use peloton_io::input::{Geometry, write_cylinder, write_velo_json};
use peloton_io::output::{ByteSink, Done, is_no_file};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Pixel hits that are simulated at once.
const HITS: usize = 1 << 16;

/// The events to simulate.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The detector and optional parameters, as after `sim:` in the name of an input. The parameters `events`, `hits`
    /// and `seed` take precedence over the fields `events` and `seed`.
    pub detector: String,
    /// Number of events; for `timepix`, of pixel hits.
    pub events: u64,
    /// Seed of the simulation; different seeds give different events.
    pub seed: u64,
    /// Folder of geometry files, for `lhcb` only.
    pub geometry: Option<PathBuf>,
    /// Number of threads, which does not change the written bytes. Pixel hits are simulated on one thread.
    pub threads: usize,
}

/// Summary of the events that were written.
#[derive(Debug, Clone, Serialize)]
pub struct Simulated {
    /// The complete specification of the simulation, which is also the name of an input.
    pub spec: String,
    /// The detector and its parameters, as given in [`Simulation::detector`].
    pub detector: String,
    /// Number of events; for `timepix`, of clusters.
    pub events: u64,
    /// Number of clusters for `timepix`; absent for other detectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// Number of hits; absent for raw banks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Number of words of raw banks, for `lhcb`; absent for other detectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// The file.
    pub output: PathBuf,
    /// Wall clock from the call of [`simulate`] to the finished file, s.
    pub wall_seconds: f64,
}

/// Simulates events and writes them to a file, in the format given by the ending of the name `output`.
///
/// # Errors
/// [`Error::Config`] for an unknown detector, parameter or ending, and errors of writing.
pub fn simulate(what: &Simulation, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let begin = Instant::now();
    // The caller may use another float mode; new threads inherit the mode that is set here.
    let mut made = with_default_float_mode(|| simulated(what, output, host))?;
    made.wall_seconds = begin.elapsed().as_secs_f64();
    Ok(made)
}

fn simulated(what: &Simulation, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let (name, parameters) = what.detector.split_once(',').unwrap_or((&what.detector, ""));
    let count = if name == "timepix" { "hits" } else { "events" };
    let has = |key: &str| parameters.split(',').any(|pair| pair.split('=').next() == Some(key));
    let mut spec = format!("sim:{name}");
    if !has(count) {
        spec.push_str(&format!(",{count}={}", what.events));
    }
    if !has("seed") {
        spec.push_str(&format!(",seed={}", what.seed));
    }
    if !parameters.is_empty() {
        spec.push_str(&format!(",{parameters}"));
    }
    let endings = match name {
        "velo" => &[".ndjson", ".ndjson.zst"][..],
        "lhcb" => &[".mdf", ".mdf.zst"],
        "cylinder" => &[".bin", ".bin.zst"],
        _ => &[],
    };
    let file = output.file_name().unwrap_or_default().to_string_lossy();
    if !endings.is_empty() && !is_no_file(output) && !endings.iter().any(|end| file.ends_with(end)) {
        let endings = endings.join(", ");
        let message = format!("the name for events of {name} must end in {endings}, or be -");
        return Err(Error::Config(format!("--output {}: {message}", output.display())));
    }
    match name {
        "timepix" => pixels(what, &spec, output, host),
        "cylinder" => cylinder(what, &spec, output, host),
        _ => {
            let parsed: SimSpec = spec.parse()?;
            if parsed.detector == SimDetector::Lhcb {
                return lhcb(what, parsed, output, host);
            }
            velo(what, parsed, output, host)
        }
    }
}

impl Simulation {
    fn written(&self, spec: String, events: u64, output: &Path) -> Simulated {
        let Self { detector, seed, .. } = self;
        let (detector, seed, output) = (detector.clone(), *seed, output.into());
        let (clusters, hits, words) = (None, None, None);
        Simulated { spec, detector, events, clusters, hits, words, seed, output, wall_seconds: 0.0 }
    }
}

fn velo(what: &Simulation, spec: SimSpec, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let make = |batch: &mut VeloBatch, number| {
        batch.clear();
        let truth = simulate_velo(&spec, number, batch);
        let mut bytes = Vec::new();
        let written = write_velo_json(batch.view().event(0), Some(&truth), &mut bytes);
        Written { bytes: written.map(|()| bytes), items: batch.x.len() as u64 }
    };
    let (events, hits) = write_events(what, spec.events, make, output, host)?;
    Ok(Simulated { hits: Some(hits), ..what.written(spec.to_string(), events, output) })
}

/// Writes raw events as MDF.
fn lhcb(what: &Simulation, spec: SimSpec, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let geometry = what.geometry.as_deref().map_or(Ok(Geometry::Nominal), Geometry::named)?;
    let (ut, scifi, polarity) = (geometry.ut()?, geometry.scifi()?, geometry.polarity()?);
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity };
    let make = |batch: &mut RawBatch, number| {
        let event = SimulatedEvent::new(&spec, &detector, number);
        batch.clear();
        event.push(batch);
        let mut bytes = Vec::new();
        let written = event.write(&mut bytes);
        Written { bytes: written.map(|()| bytes), items: batch.words() as u64 }
    };
    let (events, words) = write_events(what, spec.events, make, output, host)?;
    Ok(Simulated { words: Some(words), ..what.written(spec.to_string(), events, output) })
}

/// An event in the form of its file.
struct Written {
    bytes: std::io::Result<Vec<u8>>,
    /// Number of its hits, or of its words of raw banks.
    items: u64,
}

/// Writes the result of `make` for each event, in order; returns the numbers of events and items.
fn write_events<S: Default>(
    what: &Simulation,
    events: u64,
    make: impl Fn(&mut S, u64) -> Written + Sync,
    output: &Path,
    host: Host<'_>,
) -> Result<(u64, u64)> {
    host.begin("simulating", "events", Some(events));
    let mut sink = ByteSink::create(output, host.cancel)?;
    let (mut count, mut items, mut failed) = (0, 0, Ok(()));
    in_order(0..events, what.threads, make, |event: Written| {
        if host.is_cancelled() {
            return false;
        }
        failed = event.bytes.and_then(|bytes| sink.write_all(&bytes));
        host.progress.advance(1);
        (count, items) = (count + 1, items + event.items);
        failed.is_ok()
    })?;
    failed.map_err(|e| Error::io(output, e))?;
    sink.finish(Done::All)?;
    host.progress.end();
    Ok((count, items))
}

/// Writes a file of the cylinder detector after simulating all events, since it begins with their number.
fn cylinder(what: &Simulation, spec: &str, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let spec: CylinderSpec = spec.parse()?;
    let (text, events) = (spec.to_string(), spec.events);
    let mut sink = ByteSink::create(output, host.cancel)?;
    let mut made = CylinderSample::default();
    let mut simulation = CylinderSim::new(spec, 0, None);
    host.begin("simulating", "events", Some(events));
    let ahead = 2 * what.threads;
    while !host.is_cancelled() {
        let read = simulation.read_on(what.threads, ahead, &mut made.hits, &mut made.truth)?;
        if read == 0 {
            break;
        }
        host.progress.advance(read as u64);
    }
    host.progress.end();
    write_cylinder(&made.hits, &made.truth, &mut sink).map_err(|e| Error::io(output, e))?;
    sink.finish(Done::All)?;
    let (events, hits) = (made.hits.len() as u64, made.hits.x.len() as u64);
    Ok(Simulated { hits: Some(hits), ..what.written(text, events, output) })
}

/// Writes pixel hits: .tpx3, .bin (records of 16 bytes), .parquet, .frames, or burda text.
fn pixels(what: &Simulation, spec: &str, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let spec: PixelSimSpec = spec.parse()?;
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let format = match name.trim_end_matches(".zst").rsplit_once('.') {
        Some((_, "tpx3")) => PixelFormat::Tpx3,
        Some((_, "bin")) => PixelFormat::Hits16,
        Some((_, "parquet")) => PixelFormat::Parquet,
        Some((_, "frames")) => PixelFormat::Frames,
        Some((_, "txt")) => PixelFormat::Burda,
        None if name == "-" => PixelFormat::Burda,
        _ => {
            let message = format!(
                "--output {name}: the name must end in .tpx3, .bin, .parquet, .frames or .txt, or be -"
            );
            return Err(Error::Config(message));
        }
    };
    if (format == PixelFormat::Frames) != (spec.frame_us > 0.0) {
        let message =
            "frames (frame=US) need a name that ends in .frames, and single hits need another ending";
        return Err(Error::Config(format!("--output {name}: {message}")));
    }
    let mut sink = ByteSink::create(output, host.cancel)?;
    let mut parquet = (format == PixelFormat::Parquet).then(ParquetHits::new).transpose()?;
    let (mut simulation, mut hits, mut written) = (PixelSim::new(spec), PixelHits::default(), 0);
    host.begin("simulating", "hits", Some(spec.hits));
    loop {
        let is_more = simulation.read(HITS, &mut hits);
        match &mut parquet {
            Some(parquet) => parquet.write(&hits, &mut sink)?,
            None => write_hits(&hits, format, &mut sink)?,
        }
        written += hits.len() as u64;
        host.progress.advance(hits.len() as u64);
        hits.clear();
        if !is_more || host.is_cancelled() {
            break;
        }
    }
    parquet.map_or(Ok(()), |parquet| parquet.finish(&mut sink))?;
    sink.finish(Done::All)?;
    host.progress.end();
    let clusters = simulation.clusters();
    Ok(Simulated {
        clusters: Some(clusters),
        hits: Some(written),
        ..what.written(spec.to_string(), clusters, output)
    })
}
