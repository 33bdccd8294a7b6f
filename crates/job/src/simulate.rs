//! [`simulate`]: writes simulated events with their truth.

use crate::Host;
use crate::sink::{ByteSink, Done, is_no_file};
use peloton::cylinder::CylinderSample;
use peloton::event::{PixelHits, RawBatch, VeloBatch};
use peloton::{Error, Result};
use peloton_io::input::timepix::{PixelFormat, write_hits};
use peloton_io::input::{Geometry, write_cylinder, write_velo_json};
use peloton_sim::timepix::{PixelSim, PixelSimSpec};
use peloton_sim::{CylinderSim, CylinderSpec, LhcbDetector, LhcbReader, SimDetector, SimReader, SimSpec};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Velo events that are simulated at once.
const EVENTS: usize = 64;
/// Pixel hits that are simulated at once.
const HITS: usize = 1 << 16;

/// What to simulate.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The detector, with parameters if any: what follows `sim:` in the name of an input. What it says itself goes
    /// before the other fields.
    pub detector: String,
    /// How many events, or pixel hits.
    pub events: u64,
    /// Other seeds give other events.
    pub seed: u64,
    /// Geometry of the detector, for `lhcb`.
    pub geometry: Option<PathBuf>,
}

/// What was written.
#[derive(Debug, Clone, Serialize)]
pub struct Simulated {
    /// The whole specification, as an input takes it.
    pub spec: String,
    /// The detector and its parameters, as they were given.
    pub detector: String,
    /// Number of events; of a pixel detector, of clusters.
    pub events: u64,
    /// The same of a pixel detector; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// Number of hits; absent for raw banks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Number of words of raw banks; absent for hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// The file.
    pub output: PathBuf,
}

/// Simulates and writes; the name of `output` says the format.
///
/// # Errors
/// [`Error::Config`] for specifications and names that are not known, and those of the output.
pub fn simulate(what: &Simulation, output: &Path, host: Host<'_>) -> Result<Simulated> {
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
        let message = format!("events of {name} are written to names that end in {endings}, or to -");
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
        Simulated { spec, detector, events, clusters, hits, words, seed, output }
    }
}

fn velo(what: &Simulation, spec: SimSpec, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let text = spec.to_string();
    host.progress.begin(Some(spec.events));
    let mut simulation = SimReader::new(spec);
    let mut sink = ByteSink::create(output, host.cancel)?;
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    let (mut events, mut hits) = (0, 0);
    while !host.is_cancelled() && simulation.read(EVENTS, &mut batch, &mut truth)? > 0 {
        for (event, truth) in truth.iter().enumerate() {
            write_velo_json(batch.view().event(event), Some(truth), &mut sink)
                .map_err(|e| Error::io(output, e))?;
        }
        host.progress.advance(batch.len() as u64);
        (events, hits) = (events + batch.len() as u64, hits + batch.x.len() as u64);
        batch.clear();
        truth.clear();
    }
    sink.finish(Done::All)?;
    host.progress.end();
    Ok(Simulated { hits: Some(hits), ..what.written(text, events, output) })
}

/// Raw events, as MDF.
fn lhcb(what: &Simulation, spec: SimSpec, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let geometry = what.geometry.as_deref().map_or(Ok(Geometry::Nominal), Geometry::named)?;
    let (ut, scifi, polarity) = (geometry.ut()?, geometry.scifi()?, geometry.polarity()?);
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity };
    let text = spec.to_string();
    host.progress.begin(Some(spec.events));
    let mut simulation = LhcbReader::new(spec, 0, None);
    let mut sink = ByteSink::create(output, host.cancel)?;
    let (mut batch, mut events, mut words) = (RawBatch::default(), 0, 0);
    while !host.is_cancelled()
        && let Some(event) = simulation.next(&detector)
    {
        event.write(&mut sink).map_err(|e| Error::io(output, e))?;
        batch.clear();
        event.push(&mut batch);
        (events, words) = (events + 1, words + batch.words() as u64);
        host.progress.advance(1);
    }
    sink.finish(Done::All)?;
    host.progress.end();
    Ok(Simulated { words: Some(words), ..what.written(text, events, output) })
}

/// A toy file, which begins with the number of its events.
fn cylinder(what: &Simulation, spec: &str, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let spec: CylinderSpec = spec.parse()?;
    let text = spec.to_string();
    let mut sink = ByteSink::create(output, host.cancel)?;
    let mut made = CylinderSample::default();
    let mut simulation = CylinderSim::new(spec, 0, None);
    host.progress.begin(None);
    while !host.is_cancelled() && simulation.read(1, &mut made.hits, &mut made.truth) > 0 {
        host.progress.advance(1);
    }
    host.progress.end();
    write_cylinder(&made.hits, &made.truth, &mut sink).map_err(|e| Error::io(output, e))?;
    sink.finish(Done::All)?;
    let (events, hits) = (made.hits.len() as u64, made.hits.x.len() as u64);
    Ok(Simulated { hits: Some(hits), ..what.written(text, events, output) })
}

/// Pixel hits: .tpx3, .bin (records of 16 bytes), or burda text.
fn pixels(what: &Simulation, spec: &str, output: &Path, host: Host<'_>) -> Result<Simulated> {
    let spec: PixelSimSpec = spec.parse()?;
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let format = match name.trim_end_matches(".zst").rsplit_once('.') {
        Some((_, "tpx3")) => PixelFormat::Tpx3,
        Some((_, "bin")) => PixelFormat::Hits16,
        Some((_, "txt")) => PixelFormat::Burda,
        None if name == "-" => PixelFormat::Burda,
        _ => {
            let message = format!("--output {name}: the name must end in .tpx3, .bin or .txt, or be -");
            return Err(Error::Config(message));
        }
    };
    let mut sink = ByteSink::create(output, host.cancel)?;
    let (mut simulation, mut hits, mut written) = (PixelSim::new(spec), PixelHits::default(), 0);
    host.progress.begin(Some(spec.hits));
    loop {
        let is_more = simulation.read(HITS, &mut hits);
        write_hits(&hits, format, &mut sink)?;
        written += hits.len() as u64;
        host.progress.advance(hits.len() as u64);
        hits.clear();
        if !is_more || host.is_cancelled() {
            break;
        }
    }
    sink.finish(Done::All)?;
    host.progress.end();
    let clusters = simulation.clusters();
    Ok(Simulated {
        clusters: Some(clusters),
        hits: Some(written),
        ..what.written(spec.to_string(), clusters, output)
    })
}
