//! The cylinder detector: hits to tracks with states.

use super::cylinder_display::GatherCylinder;
use super::inputs;
use super::over_banks::pool;
use crate::display::Gather;
use crate::embed::AnyEngine;
use crate::measured::Measured;
use crate::summary::object;
use crate::system::{Detector, Runs};
use crate::totals::{Totals, UNUSABLE_INPUTS};
use crate::truth_output::TruthOutput;
use crate::{
    Beside, Check, CheckOptions, CheckRules, Checked, Chunk, Config, Host, Opened, Preset, Request, Source,
    Summary, System,
};
use peloton::cylinder::{Cylinder, CylinderConfig, CylinderSample, SeedSource, fit_particles};
use peloton::engine::{Algorithm, AlgorithmInfo, Batch, Sliced, Stage};
use peloton::event::CylinderTracks;
use peloton::kalman::FitStatus;
use peloton::{Error, Result};
use peloton_io::input::{CylinderReader, Format};
use peloton_plot::text;
use peloton_sim::{CylinderSim, cylinder_shuffle};
use peloton_truth::{CylinderChecker, CylinderLosses, CylinderPulls, EventRows};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Seed for shuffling the hits.
const SHUFFLE: u64 = 1;

const NAME: &str = "cylinder";

/// Finds tracks with states from hits of the cylinder detector.
pub struct CylinderSystem;

/// The origin of events: files, or the simulation.
enum CylinderSource {
    Files(CylinderReader),
    /// The simulation and its threads.
    Simulation(CylinderSim, usize),
}

/// The source and the number of its next event.
struct Numbered(CylinderSource, u64);

impl Source for Numbered {
    fn empty(&self) -> Box<dyn Batch> {
        Box::new(CylinderSample::default())
    }

    fn bytes_read(&self) -> Option<u64> {
        match &self.0 {
            CylinderSource::Files(reader) => Some(reader.bytes_read()),
            CylinderSource::Simulation(..) => None,
        }
    }

    fn cut(&mut self, events: usize, batch: &mut dyn Batch, _: &mut Beside) -> Result<usize> {
        let CylinderSample { hits, truth, event_id } = batch.of_mut()?;
        let read = match &mut self.0 {
            CylinderSource::Files(reader) => reader.read(events, hits, truth)?,
            CylinderSource::Simulation(sim, threads) => sim.read_on(*threads, events, hits, truth)?,
        };
        event_id.extend(self.1..self.1 + read as u64);
        self.1 += read as u64;
        Ok(read)
    }

    fn known_items(&self) -> Option<u64> {
        match &self.0 {
            CylinderSource::Files(_) => None,
            CylinderSource::Simulation(sim, _) => Some(sim.left()),
        }
    }

    fn problems(&self) -> (Vec<String>, u64) {
        match &self.0 {
            CylinderSource::Files(reader) => {
                let (problems, count) = reader.problems();
                (problems.to_vec(), count)
            }
            CylinderSource::Simulation(..) => (Vec::new(), 0),
        }
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        match &self.0 {
            CylinderSource::Files(reader) => vec![(UNUSABLE_INPUTS, reader.unusable_inputs())],
            CylinderSource::Simulation(..) => Vec::new(),
        }
    }
}

/// Opens the inputs of a request: hits with their true particles.
pub(super) fn open(request: &Request) -> Result<Box<dyn Source>> {
    let names = &request.inputs;
    let first = request.events.first as u64;
    let source = match inputs::special(names, &["sim:"])? {
        Some(spec) => {
            let count = request.events.count.map(|count| count as u64);
            let sim = CylinderSim::new(spec.parse()?, first, count);
            CylinderSource::Simulation(sim, request.config.thread_count())
        }
        None => {
            let (sources, options) = (inputs::sources(names), inputs::options(request, true));
            CylinderReader::open(&sources, options).map(CylinderSource::Files)?
        }
    };
    Ok(Box::new(Numbered(source, first)))
}

/// Refuses options that checks of the cylinder detector do not have.
pub(super) fn refuse(sequence: &str, options: &CheckOptions) -> Result<()> {
    if let Some(CheckRules::Tracker(rules)) = options.rules {
        let message = format!("--rules {rules} is not for the sequence {sequence}: its rules are cylinder");
        return Err(Error::Config(message));
    }
    if options.against.is_some() {
        return Err(Error::Config(format!("--against is not for the sequence {sequence}")));
    }
    Ok(())
}

/// Shuffles the hits in each layer: files contain them in the order of their particles, but a real detector does not.
pub(super) fn shuffle(batch: &mut CylinderSample) {
    let all = 0..batch.hits.len();
    cylinder_shuffle(&mut batch.hits, &mut batch.truth, all, SHUFFLE);
}

impl System for CylinderSystem {
    fn name(&self) -> &'static str {
        NAME
    }

    fn algorithms(&self, _config: &Config) -> Vec<&'static AlgorithmInfo> {
        vec![Cylinder::INFO]
    }

    fn presets(&self) -> &'static [Preset] {
        &[Preset::Best, Preset::Paper]
    }

    fn open(&'static self, request: &Request, _truth: bool, _host: Host<'_>) -> Result<Opened> {
        Ok(Opened { source: open(request)?, detector: Box::new(CylinderDetector) })
    }

    fn embed(&self, request: &Request) -> Result<AnyEngine> {
        let Request { config, .. } = request;
        if config.cylinder.seeds == SeedSource::Truth {
            let words = "seeds = \"truth\" needs true particles, which only files and simulations have";
            return Err(Error::Config(format!("[cylinder] {words}: say seeds = \"hits\"")));
        }
        let cylinder = Cylinder::new(config.level()?, config.cylinder.clone())?;
        let config = Config { slice_events: config.slice_events.or(Some(1)), ..config.clone() };
        Ok(AnyEngine::of(cylinder, config))
    }

    fn batch_items(&self, _config: &Config, threads: usize) -> usize {
        2 * threads
    }

    fn is_preset(&self, config: &Config) -> bool {
        config.cylinder == config.with_preset(config.preset).cylinder
    }

    fn override_key(&self, config: &mut Config, key: &str, value: &str) -> Result<bool> {
        match key {
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
        object(&json!({ "builder": builder.to_string(), "seeds": seeds.to_string() }))
    }
}

/// The cylinder detector; its geometry is fixed.
struct CylinderDetector;

impl Detector for CylinderDetector {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        if !request.is_on_cpu() {
            return super::device::cylinder(request, config);
        }
        // Events are large: slices of one event are efficient, and spread the events evenly over the threads.
        let config = Config { slice_events: config.slice_events.or(Some(1)), ..config.clone() };
        pool(Cylinder::new(config.level()?, config.cylinder.clone())?, &config)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        _source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
        refuse(NAME, options)?;
        let Config { cylinder, .. } = &request.config;
        let level = request.config.level()?;
        Ok(Box::new(CylinderCheck {
            checker: CylinderChecker::default(),
            pulls: CylinderPulls::new(f64::from(request.config.cylinder.field)),
            fits: BTreeMap::new(),
            tables: options.tables,
            losses: options.losses.then(|| CylinderLosses::new(level, cylinder)),
            rows: options.truth_tables(request)?,
        }))
    }

    fn gather(&self, request: &Request, _source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        Ok(Box::new(GatherCylinder::of_tracks(f64::from(request.config.cylinder.field))))
    }

    fn prepare_for_measuring(&self, batch: &mut dyn Batch) -> Result<()> {
        batch.of_mut().map(shuffle)
    }

    /// Returns the time of each stage and of the fit of given particles (`fit_particles`), us per track on one thread,
    /// in the fastest round.
    fn measured_facts(
        &self,
        config: &Config,
        batch: &dyn Batch,
        measured: &Measured,
    ) -> Result<Map<String, Value>> {
        let batch: &CylinderSample = batch.of()?;
        let particles = batch.truth.particles.len().max(1) as f64;
        let fit = particle_fit(config, batch)? / particles;
        Ok(us_per_track(Cylinder::INFO.stages, measured, &[("fit_particles", fit)]))
    }
}

/// Returns the time of each stage on one thread in the fastest round, and of `others` (ns per track), us per track.
pub(super) fn us_per_track(
    stages: &[Stage],
    measured: &Measured,
    others: &[(&'static str, f64)],
) -> Map<String, Value> {
    let tracks = measured.best_passes as f64 * measured.totals.tracks.max(1) as f64;
    let stages = stages.iter().zip(&measured.best_counters.stages);
    let ns = stages.map(|(stage, counter)| (stage.name, counter.ns as f64 / tracks));
    let us: Vec<_> = ns.chain(others.iter().copied()).map(|(name, ns)| (name, ns / 1e3)).collect();
    object(&json!({ "us_per_track_best": us, "hits_shuffled_in_layers": true }))
}

/// The shortest time of the fit of all particles on one thread, ns.
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

/// Compares tracks with true particles, and fitted states with true states.
struct CylinderCheck {
    checker: CylinderChecker,
    pulls: CylinderPulls,
    /// Numbers of tracks by the status of their fit.
    fits: BTreeMap<&'static str, u64>,
    tables: bool,
    losses: Option<CylinderLosses>,
    rows: Option<TruthOutput>,
}

impl Check for CylinderCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let batch: &CylinderSample = chunk.batch.of()?;
        for (number, (tracks, event)) in chunk.result.events_of::<CylinderTracks>().enumerate() {
            self.checker.event(&batch.hits, &batch.truth, number, tracks.hit_lists(event));
            if let Some(rows) = &mut self.rows {
                let (id, matches) = (&chunk.beside.ids[number], self.checker.last_event());
                rows.add(EventRows::of_cylinder(id, &batch.truth, number, matches))?;
            }
            if let Some(losses) = &mut self.losses {
                let found = (tracks, tracks.of_event(event));
                let matches = &self.checker.last_event().particles;
                losses.event((&batch.hits, &batch.truth), number, found, matches);
            }
            self.pulls.event(tracks, event, &batch.hits, &batch.truth, number);
            for code in &tracks.fit[tracks.of_event(event)] {
                *self.fits.entry(FitStatus::ALL[usize::from(*code)].name()).or_insert(0) += 1;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, _host: Host<'_>) -> Result<Checked> {
        self.rows.map_or(Ok(()), TruthOutput::finish)?;
        let check = self.checker.report();
        if check.events == 0 {
            return Err(Error::format("input", "there is no event to check"));
        }
        let (pulls, resolutions) = (self.pulls.pulls(), self.pulls.resolutions());
        let mut text = text::cylinder(&check, &pulls);
        for (name, count) in self.fits.iter().filter(|(name, _)| **name != FitStatus::Ok.name()) {
            text.push_str(&format!("{count} fits: {name}\n"));
        }
        if self.tables {
            text.push_str(&text::cylinder_tables(&check, &resolutions));
        }
        let mut json = object(&check);
        if let Some(losses) = &self.losses {
            let tables = losses.report();
            text.push_str(&text::stage_losses(&tables));
            json.insert("lost".into(), json!(tables));
        }
        json.extend(object(&json!({
            "rules": "cylinder", "fits": self.fits, "pulls": pulls, "resolutions": resolutions,
        })));
        Ok(Checked { text, json, is_right: true, failure: None })
    }
}
