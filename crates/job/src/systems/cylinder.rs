//! The cylinder detector: finds tracks with states in hits, and fits given tracks.

use super::cylinder_check::CylinderCheck;
use super::cylinder_display::GatherCylinder;
use super::event_source::EventSource;
use super::inputs;
use super::over_banks::pool;
use crate::display::gather::Gather;
use crate::embed::{ConfiguredEngine, Events};
use crate::measured::Measured;
use crate::summary::object;
use crate::system::{Detector, Runs};
use crate::totals::Totals;
use crate::{Beside, Check, CheckOptions, Config, Host, Opened, Preset, Request, Source, System};
use peloton::cylinder::{Cylinder, CylinderConfig, CylinderFit, CylinderSample, SeedSource, fit_particles};
use peloton::engine::{Algorithm, AlgorithmInfo, Batch, Sequence, Stage};
use peloton::event::{CylinderBatch, CylinderTracks, CylinderTruth};
use peloton::{Error, Result};
use peloton_io::input::{CylinderReader, Format};
use peloton_sim::{CylinderSim, cylinder_shuffle};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Seed for shuffling the hits.
const SHUFFLE: u64 = 1;

/// A sequence of the cylinder detector. It is also the detector, because the geometry is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CylinderSystem {
    /// Finds tracks with states from hits.
    Find,
    /// Fits given tracks to smoothed states. Files contain tracks with their hits; for simulations each particle is a
    /// track.
    Fit,
}

impl CylinderSystem {
    /// Returns the sequence, and the configuration with the slice size that it uses.
    fn sequence(self, config: &Config) -> Result<(Sequence, Config)> {
        // Events are large: slices of one event are efficient, and spread the events evenly over the threads.
        let with_slices = Config { slice_events: config.slice_events.or(Some(1)), ..config.clone() };
        let (level, parameters) = (config.level()?, config.cylinder.clone());
        let sequence = match self {
            Self::Find => Cylinder::new(level, parameters)?.into(),
            Self::Fit => CylinderFit::new(level, parameters)?.into(),
        };
        Ok((sequence, with_slices))
    }
}

/// Refuses hits without tracks; only events in a program's memory can lack tracks, not files or simulations.
fn has_tracks(events: Events<'_>) -> Result<()> {
    let is_without =
        events.cylinder_hits().is_ok_and(|input| input.seeds.is_empty() && !input.hits.x.is_empty());
    let message = "the sequence cylinder-fit does not take hits of the cylinder detector without tracks";
    if is_without { Err(Error::Config(message.into())) } else { Ok(()) }
}

/// Makes a function that cuts events with `read`, which appends hits and true particles, and numbers them from `first`.
fn numbered(
    first: u64,
    mut read: impl FnMut(usize, &mut CylinderBatch, &mut CylinderTruth) -> Result<usize> + Send + 'static,
) -> impl FnMut(usize, &mut dyn Batch, &mut Beside) -> Result<usize> + Send + 'static {
    let mut next = first;
    move |events, batch, _| {
        let CylinderSample { hits, truth, event_id } = batch.of_mut()?;
        let read = read(events, hits, truth)? as u64;
        event_id.extend(next..next + read);
        next += read;
        Ok(read as usize)
    }
}

fn no_events() -> Box<dyn Batch> {
    Box::new(CylinderSample::default())
}

/// Opens the inputs of a request: hits with their true particles.
fn open(request: &Request) -> Result<EventSource> {
    let (names, first) = (&request.inputs, request.events.first as u64);
    if let Some(spec) = inputs::special(names, &["sim:"])? {
        let count = request.events.count.map(|count| count as u64);
        let (mut sim, threads) =
            (CylinderSim::new(spec.parse()?, first, count), request.config.thread_count());
        let left = sim.left();
        let cut = numbered(first, move |events, hits, truth| sim.read_on(threads, events, hits, truth));
        return Ok(EventSource::simulated(no_events, left, cut));
    }
    let options = inputs::options(request, true);
    let bytes = options.bytes.clone();
    let mut reader = CylinderReader::open(&inputs::sources(names), options)?;
    let problems = reader.problems().clone();
    let cut = numbered(first, move |events, hits, truth| reader.read(events, hits, truth));
    Ok(EventSource::files(no_events, bytes, problems, cut))
}

impl System for CylinderSystem {
    fn name(&self) -> &'static str {
        match self {
            Self::Find => "cylinder",
            Self::Fit => "cylinder-fit",
        }
    }

    fn algorithms(&self, _config: &Config) -> Vec<&'static AlgorithmInfo> {
        match self {
            Self::Find => vec![Cylinder::INFO],
            Self::Fit => vec![CylinderFit::INFO],
        }
    }

    fn presets(&self) -> &'static [Preset] {
        &[Preset::Best, Preset::Paper]
    }

    fn open(&'static self, request: &Request, _truth: bool, _host: Host<'_>) -> Result<Opened> {
        Ok(Opened { source: Box::new(open(request)?), detector: Box::new(*self) })
    }

    fn embed(&self, request: &Request) -> Result<ConfiguredEngine> {
        let Request { config, .. } = request;
        if *self == Self::Find && config.cylinder.seeds == SeedSource::Truth {
            let words = "seeds = \"truth\" needs true particles, which only files and simulations have";
            return Err(Error::Config(format!("[cylinder] {words}: say seeds = \"hits\"")));
        }
        let (sequence, config) = self.sequence(config)?;
        let engine = ConfiguredEngine::of(sequence, config);
        Ok(if *self == Self::Fit { engine.with_check(has_tracks) } else { engine })
    }

    fn batch_items(&self, _config: &Config, threads: usize) -> usize {
        2 * threads
    }

    fn is_preset(&self, config: &Config) -> bool {
        config.cylinder == config.with_preset(config.preset).cylinder
    }

    fn override_key(&self, config: &mut Config, key: &str, value: &str) -> Result<bool> {
        match key {
            _ if *self == Self::Fit => return Ok(false),
            "builder" => config.cylinder.builder = value.parse()?,
            "seeds" => config.cylinder.seeds = value.parse()?,
            "event_threads" => {
                let wrong = |_| Error::Config(format!("event_threads={value}: this is not a number"));
                config.cylinder.event_threads = value.parse().map_err(wrong)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn reads(&self, format: Format) -> bool {
        matches!(format, Format::Auto | Format::Cylinder)
    }

    fn facts(&self, config: &Config, _totals: &Totals) -> Map<String, Value> {
        let CylinderConfig { builder, seeds, .. } = config.cylinder;
        match self {
            Self::Find => object(&json!({ "builder": builder.to_string(), "seeds": seeds.to_string() })),
            Self::Fit => Map::new(),
        }
    }
}

impl Detector for CylinderSystem {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        match self {
            Self::Find if !request.is_on_cpu() => return super::device::cylinder(request, config),
            Self::Find => {}
            Self::Fit => request.cpu_only(self.name())?,
        }
        let (sequence, config) = self.sequence(config)?;
        pool(sequence, &config)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        _source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
        Ok(Box::new(CylinderCheck::new(*self, request, options)?))
    }

    fn gather(&self, request: &Request, _source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        Ok(Box::new(GatherCylinder { field: f64::from(request.config.cylinder.field) }))
    }

    /// Shuffles the hits in each layer, because files list them by particle, and a real detector does not.
    fn prepare_for_measuring(&self, batch: &mut dyn Batch) -> Result<()> {
        let CylinderSample { hits, truth, .. } = batch.of_mut()?;
        let all = 0..hits.len();
        cylinder_shuffle(hits, truth, all, SHUFFLE);
        Ok(())
    }

    /// Returns the time of each stage in the fastest round, us per track on one thread. The sequence that finds tracks
    /// also returns the time of a fit of the true particles (`fit_particles`).
    fn measured_facts(
        &self,
        config: &Config,
        batch: &dyn Batch,
        measured: &Measured,
    ) -> Result<Map<String, Value>> {
        match self {
            Self::Find => {
                let batch: &CylinderSample = batch.of()?;
                let particles = batch.truth.particles.len().max(1) as f64;
                let fit = particle_fit(config, batch)? / particles;
                Ok(us_per_track(Cylinder::INFO.stages, measured, &[("fit_particles", fit)]))
            }
            Self::Fit => Ok(us_per_track(CylinderFit::INFO.stages, measured, &[])),
        }
    }
}

/// Returns times per track on one thread, us: of each stage in the fastest round, and of `others` (given in ns).
fn us_per_track(stages: &[Stage], measured: &Measured, others: &[(&'static str, f64)]) -> Map<String, Value> {
    let tracks = measured.best_passes as f64 * measured.totals.tracks.max(1) as f64;
    let stages = stages.iter().zip(&measured.best_counters.stages);
    let ns = stages.map(|(stage, counter)| (stage.name, counter.ns as f64 / tracks));
    let us: Vec<_> = ns.chain(others.iter().copied()).map(|(name, ns)| (name, ns / 1e3)).collect();
    object(&json!({ "us_per_track_best": us, "hits_shuffled_in_layers": true }))
}

/// Returns the shortest time of a fit of all true particles on one thread, ns.
fn particle_fit(config: &Config, batch: &CylinderSample) -> Result<f64> {
    let (mut out, mut best) = (CylinderTracks::default(), Duration::MAX);
    let level = config.level()?;
    for _ in 0..20 {
        peloton::event::Results::clear(&mut out);
        let start = Instant::now();
        fit_particles(level, &config.cylinder, batch.view(), 0..batch.hits.len(), &mut out);
        best = best.min(start.elapsed());
    }
    Ok(best.as_nanos() as f64)
}
