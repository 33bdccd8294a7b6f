//! Given tracks of the cylinder detector to smoothed states.

use super::cylinder::{open, refuse, shuffle, us_per_track};
use super::cylinder_display::GatherCylinder;
use super::over_banks::pool;
use crate::display::Gather;
use crate::embed::{AnyEngine, Events};
use crate::measured::Measured;
use crate::summary::object;
use crate::system::{Detector, Runs};
use crate::truth_output::TruthOutput;
use crate::{
    Check, CheckOptions, Checked, Chunk, Config, Host, Opened, Preset, Request, Source, Summary, System,
};
use peloton::cylinder::{CylinderFit, CylinderSample};
use peloton::engine::{Algorithm, AlgorithmInfo, Batch, Sliced};
use peloton::event::CylinderFits;
use peloton::kalman::FitStatus;
use peloton::{Error, Result};
use peloton_io::input::Format;
use peloton_plot::text;
use peloton_truth::{CylinderChecker, CylinderFitPulls, EventRows};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const NAME: &str = "cylinder-fit";

/// Fits given tracks of the cylinder detector to smoothed states: tracks of files, with the hits that they name, or
/// particles of simulations.
pub struct CylinderFitSystem;

fn engine(config: &Config) -> Result<(CylinderFit, Config)> {
    // Events are large: slices of one event are efficient, and spread the events evenly over the threads.
    let with_slices = Config { slice_events: config.slice_events.or(Some(1)), ..config.clone() };
    Ok((CylinderFit::new(config.level()?, config.cylinder.clone())?, with_slices))
}

/// Refuses hits without tracks, which a program may have in memory; events of files and simulations have tracks.
fn has_tracks(events: Events<'_>) -> Result<()> {
    let is_without =
        events.cylinder_hits().is_ok_and(|input| input.seeds.is_empty() && !input.hits.x.is_empty());
    let message = "the sequence cylinder-fit does not take hits of the cylinder detector without tracks";
    if is_without { Err(Error::Config(message.into())) } else { Ok(()) }
}

impl System for CylinderFitSystem {
    fn name(&self) -> &'static str {
        NAME
    }

    fn algorithms(&self, _config: &Config) -> Vec<&'static AlgorithmInfo> {
        vec![CylinderFit::INFO]
    }

    fn presets(&self) -> &'static [Preset] {
        &[Preset::Best, Preset::Paper]
    }

    fn open(&'static self, request: &Request, _truth: bool, _host: Host<'_>) -> Result<Opened> {
        Ok(Opened { source: open(request)?, detector: Box::new(FitDetector) })
    }

    fn embed(&self, request: &Request) -> Result<AnyEngine> {
        let (fit, config) = engine(&request.config)?;
        Ok(AnyEngine::of(fit, config).with_check(has_tracks))
    }

    fn batch_items(&self, _config: &Config, threads: usize) -> usize {
        2 * threads
    }

    fn is_preset(&self, config: &Config) -> bool {
        config.cylinder == config.with_preset(config.preset).cylinder
    }

    fn reads(&self, format: Format) -> bool {
        matches!(format, Format::Auto | Format::Cylinder)
    }
}

/// The cylinder detector; its geometry is fixed.
struct FitDetector;

impl Detector for FitDetector {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        request.cpu_only(NAME)?;
        let (fit, config) = engine(config)?;
        pool(fit, &config)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        _source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
        refuse(NAME, options)?;
        if options.losses {
            return Err(Error::Config(format!("--losses is not for the sequence {}", NAME)));
        }
        Ok(Box::new(FitCheck {
            checker: CylinderChecker::default(),
            pulls: CylinderFitPulls::new(f64::from(request.config.cylinder.field)),
            fits: BTreeMap::new(),
            tables: options.tables,
            rows: options.truth_tables(request)?,
        }))
    }

    fn gather(&self, request: &Request, _source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        Ok(Box::new(GatherCylinder::of_fits(f64::from(request.config.cylinder.field))))
    }

    fn prepare_for_measuring(&self, batch: &mut dyn Batch) -> Result<()> {
        batch.of_mut().map(shuffle)
    }

    /// Returns the time of each stage, us per track on one thread, in the fastest round.
    fn measured_facts(
        &self,
        _config: &Config,
        _batch: &dyn Batch,
        measured: &Measured,
    ) -> Result<Map<String, Value>> {
        Ok(us_per_track(CylinderFit::INFO.stages, measured, &[]))
    }
}

/// Compares smoothed states with true particles.
struct FitCheck {
    checker: CylinderChecker,
    pulls: CylinderFitPulls,
    /// Numbers of tracks by the status of their fit.
    fits: BTreeMap<&'static str, u64>,
    tables: bool,
    rows: Option<TruthOutput>,
}

impl Check for FitCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let batch: &CylinderSample = chunk.batch.of()?;
        for (number, (fits, event)) in chunk.result.events_of::<CylinderFits>().enumerate() {
            self.checker.event(&batch.hits, &batch.truth, number, fits.hit_lists(event));
            if let Some(rows) = &mut self.rows {
                let (id, matches) = (&chunk.beside.ids[number], self.checker.last_event());
                rows.add(EventRows::of_cylinder(id, &batch.truth, number, matches))?;
            }
            self.pulls.event(fits, event, &batch.hits, &batch.truth, number);
            for code in &fits.fit[fits.of_event(event)] {
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
        let layers = self.pulls.report();
        let mut text = text::cylinder_fit(&layers);
        for (name, count) in &self.fits {
            text.push_str(&format!("{count} fits: {name}\n"));
        }
        if self.tables {
            text.push_str(&text::cylinder_fit_tables(&layers));
        }
        let mut json = object(&check);
        json.extend(object(&json!({
            "rules": "cylinder", "fits": self.fits, "compared": self.pulls.tracks(), "layers": layers,
        })));
        Ok(Checked { text, json, is_right: true, failure: None })
    }
}
