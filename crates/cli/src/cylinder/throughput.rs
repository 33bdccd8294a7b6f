//! `peloton throughput --sequence cylinder`: events from memory, again and again, the hits of each layer shuffled.

use super::run::{Made, summary};
use super::source::{EventSource, Events};
use crate::options::{InputArgs, ReportArgs};
use crate::{describe, interrupt};
use peloton::Result;
use peloton::cylinder::fit_particles;
use peloton::event::{Counters, CylinderTracks, Hasher, Hashes};
use peloton::pipeline::{Config, CylinderPool, CylinderSlot};
use peloton_io::output::Summary;
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: Summary,
    builder: String,
    repetitions: u64,
    seconds: f64,
    /// Rate of the fastest pass.
    events_per_second_best: f64,
    /// Each stage and the fit of given particles (`fit_particles`), us per track on one thread, in the fastest pass.
    us_per_track_best: Vec<(&'static str, f64)>,
}

/// Does it: `passes` passes, or as many as fill `time`.
pub fn throughput(
    config: &Config,
    input: &InputArgs,
    report: &ReportArgs,
    (passes, time): (Option<u64>, Duration),
) -> Result<ExitCode> {
    let events = load(input, report)?;
    let pool = CylinderPool::new(config)?;
    let mut slots = Vec::new();
    pool.run(events.input(), &mut slots);
    let hashes = hash(&slots);
    let of_event: Vec<_> = slots.iter().map(|slot| hash_of([&slot.tracks])).collect();
    let tracks: usize = slots.iter().map(|slot| slot.tracks.tracks()).sum();
    // A pass has each event once for each thread, so that no thread is left without.
    let repeated = pool.threads();
    let mut total = Made {
        counters: Counters::default(),
        tracks: tracks as u64,
        hits: events.hits.x.len() as u64,
        hashes,
        passes: 0,
        time: Duration::ZERO,
    };
    let (mut best, mut stages) = (Duration::MAX, [u64::MAX; 4]);
    while total.passes == 0
        || passes.map_or(total.time < time, |passes| total.passes < passes) && !interrupt::requested()
    {
        let start = Instant::now();
        let same = |event: usize, tracks: &CylinderTracks| hash_of([tracks]) == of_event[event];
        let counters = pool.repeat(events.input(), repeated, same)?;
        let time = start.elapsed();
        total.time += time;
        total.passes += repeated as u64;
        total.counters.merge(&counters);
        best = best.min(time / repeated as u32);
        let shortest = stages.iter_mut().zip(&counters.stages);
        shortest.for_each(|(best, stage)| *best = (*best).min(stage.ns / repeated as u64));
    }
    let per_track = |ns: f64, tracks: usize| ns / 1e3 / tracks.max(1) as f64;
    let names = config.sequence.stages().iter().map(|stage| stage.name);
    let mut us: Vec<_> = names.zip(stages).map(|(name, ns)| (name, per_track(ns as f64, tracks))).collect();
    let particles = events.truth.particles.len();
    us.push(("fit_particles", per_track(particle_fit(&pool, config, &events), particles)));
    let result = Report {
        summary: summary(config, &pool, &total),
        builder: config.cylinder.builder.to_string(),
        repetitions: total.passes,
        seconds: total.time.as_secs_f64(),
        events_per_second_best: events.hits.len() as f64 / best.as_secs_f64(),
        us_per_track_best: us,
    };
    let mut text = describe::summary(&result.summary);
    text.push_str(&format!(
        "{} passes in {:.2} s, equal hashes; fastest pass {:.2} events/s\nbuilder {}, us per track:",
        result.repetitions, result.seconds, result.events_per_second_best, result.builder
    ));
    for (name, us) in &result.us_per_track_best {
        text.push_str(&format!(" {name} {us:.4}"));
    }
    text.push('\n');
    report.report(&text, &result)?;
    Ok(ExitCode::SUCCESS)
}

/// All events, the hits of each layer shuffled.
pub fn load(input: &InputArgs, report: &ReportArgs) -> Result<Events> {
    let mut source = EventSource::open(input)?;
    let events = Events::shuffled(&mut source);
    source.say_problems(report);
    events
}

/// The shortest time of the fit of all particles on one thread, ns.
fn particle_fit(pool: &CylinderPool, config: &Config, events: &Events) -> f64 {
    let (mut out, mut best) = (CylinderTracks::default(), Duration::MAX);
    for _ in 0..20 {
        out.clear();
        let start = Instant::now();
        fit_particles(pool.level(), &config.cylinder, events.input(), 0..events.hits.len(), &mut out);
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64
}

/// The hashes of all events.
pub fn hash(slots: &[CylinderSlot]) -> Hashes {
    hash_of(slots.iter().map(|slot| &slot.tracks))
}

fn hash_of<'a>(events: impl IntoIterator<Item = &'a CylinderTracks>) -> Hashes {
    let mut hasher = Hasher::<CylinderTracks>::default();
    events.into_iter().for_each(|tracks| hasher.update(tracks));
    hasher.finish()
}
