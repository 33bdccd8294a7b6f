//! [`tune`]: which level and gang size is the fastest here.

use crate::measure::{Plan, load, measure};
use crate::registry::Command;
use crate::system::{open, preset_name};
use crate::{Config, Host, Measurement, Profile, Request, System};
use peloton::engine::Stage;
use peloton::simd::Level;
use peloton::{Error, Result};
use std::time::Instant;

/// What a scan over levels found.
#[derive(Debug, Clone)]
pub struct Tuned {
    /// The fastest, and everything that was measured.
    pub profile: Profile,
    /// Threads that it was measured on.
    pub threads: usize,
    /// Wall clock of the whole scan, s.
    pub wall_seconds: f64,
    /// Whether every level was measured.
    pub is_complete: bool,
}

/// Measures the events of a request on every level and gang size, or those that its configuration names.
///
/// # Errors
/// Those of the configuration and the inputs; [`Error::Internal`] when a level gives other results.
pub fn tune(request: &Request, plan: Plan, host: Host<'_>) -> Result<Tuned> {
    struct Tune<'a>(&'a Request, Plan, Host<'a>);
    impl Command for Tune<'_> {
        type Outcome = Result<Tuned>;
        fn on<S: System>(self) -> Result<Tuned> {
            let Self(request, plan, host) = self;
            on_system::<S>(request, plan, host)
        }
    }
    request.config.sequence.run(Tune(request, plan, host))
}

fn on_system<S: System>(request: &Request, plan: Plan, host: Host<'_>) -> Result<Tuned> {
    let begin = Instant::now();
    let mut levels = levels(&request.config);
    levels.retain(|level| S::HAS_LANES || level.is_usual());
    if levels.is_empty() {
        // Says what is wrong with the level or the gang that was asked for.
        request.config.level()?;
    }
    let mut opened = open::<S>(request, false, host)?;
    let batch = load(&mut opened, host)?;
    let (mut scanned, mut expected, mut refused) = (Vec::new(), None, None);
    for (number, level) in levels.iter().enumerate() {
        if host.is_cancelled() {
            break;
        }
        let config = Config { isa: Some(level.isa()), gang: Some(level.gang()), ..request.config.clone() };
        host.progress.stage(&format!("{level} ({} of {})", number + 1, levels.len()));
        let mut runs = match S::executor(request, &config, &opened.context) {
            // Not every sequence has every gang.
            Err(error @ Error::Unsupported(_)) => {
                refused.get_or_insert(error);
                continue;
            }
            runs => runs?,
        };
        let measured = measure::<S>(&mut runs, &opened.context, &batch, plan, host)?;
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
            stages: S::STAGES.iter().zip(&measured.best_counters.stages).map(of_stage).collect(),
        });
    }
    if scanned.is_empty()
        && let Some(error) = refused
    {
        return Err(error);
    }
    let config = &request.config;
    Ok(Tuned {
        profile: Profile::new(config.sequence, preset_name::<S>(config), cpu_name(), scanned),
        threads: config.thread_count(),
        wall_seconds: begin.elapsed().as_secs_f64(),
        is_complete: !host.is_cancelled(),
    })
}

/// The levels to scan: all that run here, or those the configuration names.
fn levels(config: &Config) -> Vec<Level> {
    let wanted = |level: &Level| {
        config.isa.is_none_or(|isa| isa == level.isa()) && config.gang.is_none_or(|gang| gang == level.gang())
    };
    Level::supported().into_iter().filter(wanted).collect()
}

/// The CPU as the system calls it, or its architecture.
pub fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or(std::env::consts::ARCH.into(), |(_, name)| name.trim().to_string())
}
