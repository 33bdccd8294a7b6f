//! [`tune`]: finds the fastest instruction set level and gang size of this machine.

use crate::measure::{Plan, load, measure};
use crate::system::{Sizes, open};
use crate::{Config, Host, Measurement, Profile, Request};
use peloton::engine::Stage;
use peloton::simd::{Level, with_default_float_mode};
use peloton::{Error, Result};
use std::time::Instant;

/// Result of a scan over instruction set levels and gang sizes.
#[derive(Debug, Clone)]
pub struct Tuned {
    /// The fastest level, and all measurements.
    pub profile: Profile,
    /// Number of threads that the scan used.
    pub threads: usize,
    /// Wall clock of the whole scan, s.
    pub wall_seconds: f64,
    /// Whether every level was measured, without an interruption.
    pub is_complete: bool,
    /// Sets of sizes that were tried with the fastest level, each with its time, ns per event.
    pub sizes: Vec<(Sizes, f64)>,
}

/// Measures the events of a request with every level and gang size, or with the level and gang of the configuration.
///
/// # Errors
/// Returns errors of the configuration and the inputs, and [`Error::Internal`] when a level gives other results.
pub fn tune(request: &Request, plan: Plan, host: Host<'_>) -> Result<Tuned> {
    with_default_float_mode(|| tune_levels(request, plan, host))
}

fn tune_levels(request: &Request, plan: Plan, host: Host<'_>) -> Result<Tuned> {
    let begin = Instant::now();
    request.config.one_product("tune")?;
    let mut levels = levels(&request.config);
    let system = request.config.sequence.system();
    levels.retain(|level| system.has_lanes() || level.is_usual());
    if levels.is_empty() {
        // Fails if the requested level or gang size cannot run.
        request.config.level()?;
    }
    let mut opened = open(request, false, host)?;
    let batch = load(&mut opened, &request.config, plan.copies, host)?;
    let (detector, batch) = (&*opened.detector, &*batch);
    let (mut scanned, mut expected, mut refused) = (Vec::new(), None, None);
    for (number, level) in levels.iter().enumerate() {
        if host.is_cancelled() {
            break;
        }
        let config = Config { isa: Some(level.isa()), gang: Some(level.gang()), ..request.config.clone() };
        host.progress.stage(&format!("{level} ({} of {})", number + 1, levels.len()));
        let mut runs = match detector.executor(request, &config) {
            // Some sequences do not have all gang sizes.
            Err(error @ Error::Unsupported(_)) => {
                refused.get_or_insert(error);
                continue;
            }
            runs => runs?,
        };
        let measured = measure(&mut runs, &config, detector, batch, plan, host)?;
        if *expected.get_or_insert(measured.hashes) != measured.hashes {
            return Err(Error::Internal(format!("{level} gave another hash than the levels before it")));
        }
        let events = measured.totals.events.max(1) as f64;
        let of_stage = |(stage, counter): (&Stage, &peloton::event::StageCounter)| {
            (stage.name.to_string(), counter.ns as f64 / (events * measured.best_passes as f64))
        };
        scanned.push(Measurement {
            isa: level.isa().name().into(),
            gang: level.gang(),
            ns_per_event: measured.best_pass.as_nanos() as f64 / events,
            stages: config.stages().iter().zip(&measured.best_counters.stages).map(of_stage).collect(),
        });
    }
    if scanned.is_empty()
        && let Some(error) = refused
    {
        return Err(error);
    }
    let config = &request.config;
    let mut profile = Profile::new(config.sequence, config.preset_name(), cpu_name(), scanned);
    let mut sizes = Vec::new();
    if !system.sizes().is_empty() && request.is_on_cpu() && !host.is_cancelled() {
        let mut time = |config: &Config| -> Result<f64> {
            let mut runs = detector.executor(request, config)?;
            let measured = measure(&mut runs, config, detector, batch, plan, host)?;
            if expected.is_some_and(|expected| expected != measured.hashes) {
                return Err(Error::Internal("a size that must change only speed gave another hash".into()));
            }
            Ok(measured.best_pass.as_nanos() as f64 / measured.totals.events.max(1) as f64)
        };
        sizes = try_sizes(config, &mut profile, host, &mut time)?;
    }
    Ok(Tuned {
        profile,
        sizes,
        threads: config.thread_count(),
        wall_seconds: begin.elapsed().as_secs_f64(),
        is_complete: !host.is_cancelled(),
    })
}

/// Tries sizes with the fastest level, and stores sizes in the profile that are faster by more than 1 %.
fn try_sizes(
    config: &Config,
    profile: &mut Profile,
    host: Host<'_>,
    time: &mut dyn FnMut(&Config) -> Result<f64>,
) -> Result<Vec<(Sizes, f64)>> {
    let mut base = config.clone();
    profile.apply(&mut base)?;
    let mut tried = Vec::new();
    let system = config.sequence.system();
    for group in system.sizes() {
        host.progress.stage("sizes");
        // The base sizes are measured again for each group, since the speed of the machine may change with time.
        let (mut best, mut chosen) = (0.99 * time(&base)?, None);
        for sizes in group.iter().take_while(|_| !host.is_cancelled()) {
            let mut config = base.clone();
            sizes.iter().for_each(|(name, value)| {
                system.set_size(&mut config, name, *value);
            });
            let ns = time(&config)?;
            tried.push((*sizes, ns));
            if ns < best {
                (best, chosen) = (ns, Some((sizes, config)));
            }
        }
        if let Some((sizes, config)) = chosen {
            profile.sizes.extend(sizes.iter().map(|(name, value)| (name.to_string(), *value)));
            base = config;
        }
    }
    Ok(tried)
}

/// Returns the levels to scan: all levels that run here, or the levels that the configuration names.
fn levels(config: &Config) -> Vec<Level> {
    let wanted = |level: &Level| {
        let is_of = |isa| isa == level.isa() || level.gathers() == Some(isa);
        config.isa.is_none_or(is_of) && config.gang.is_none_or(|gang| gang == level.gang())
    };
    Level::supported().into_iter().filter(wanted).collect()
}

/// Returns the CPU's name as the system reports it, or if there is none, the CPU's architecture.
pub fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or(std::env::consts::ARCH.into(), |(_, name)| name.trim().to_string())
}
