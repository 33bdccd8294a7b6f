//! `peloton run --sequence cylinder`: tracks of toy files or simulated events.

use super::source::{EventSource, Events};
use crate::options::{InputArgs, ReportArgs};
use crate::sink::{Sink, metadata};
use crate::{describe, interrupt};
use peloton::event::{Counters, CylinderTracks, Hasher, Hashes, StageCounter};
use peloton::pipeline::{Config, CylinderPool, CylinderSlot};
use peloton::{Error, Result, Status};
use peloton_io::output::{StageTime, Summary};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Does it.
pub fn run(
    config: &Config,
    input: &InputArgs,
    report: &ReportArgs,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let mut source = EventSource::open(input)?;
    let metadata = metadata(config, config.level()?, &input.inputs, input.geometry.as_deref());
    let mut sink = output.map(|path| Ok((path, Sink::create(path, &metadata)?))).transpose()?;
    let mut report = report.clone();
    report.quiet |= output == Some(Path::new("-"));
    let mut event_id = input.events.first as u64;
    let made = reconstruct(config, &mut source, input.strict, |_, slots| {
        let Some((path, sink)) = &mut sink else { return Ok(()) };
        slots.iter().try_for_each(|slot| {
            event_id += 1;
            sink.write(&[event_id - 1], &slot.tracks, path)
        })
    });
    // What was made before an error is written, and what was seen told.
    let hashes = made.as_ref().ok().map(|(summary, _)| summary.hashes);
    let written = sink.map_or(Ok(()), |(path, sink)| sink.finish(path, hashes));
    source.say_problems(&report);
    let (summary, _) = made?;
    written?;
    report.report(&describe::summary(&summary), &summary)?;
    Ok(ExitCode::SUCCESS)
}

/// Reconstructs all events, a batch at a time, shows `done` each batch, and sums up.
pub fn reconstruct(
    config: &Config,
    source: &mut EventSource,
    strict: bool,
    mut done: impl FnMut(&Events, &[CylinderSlot]) -> Result<()>,
) -> Result<(Summary, Counters)> {
    let pool = CylinderPool::new(config)?;
    let (mut events, mut slots) = (Events::default(), Vec::new());
    let (mut counters, mut hasher) = (Counters::default(), Hasher::<CylinderTracks>::default());
    let (mut tracks, mut hits, mut time) = (0, 0, Duration::ZERO);
    while !interrupt::requested() && source.read(2 * pool.threads(), &mut events)? > 0 {
        let start = Instant::now();
        pool.run(events.input(), &mut slots);
        time += start.elapsed();
        for (event, slot) in slots.iter().enumerate() {
            if strict && slot.tracks.status[0] != Status::Ok {
                let what = slot.tracks.status[0].name();
                return Err(Error::format("event", format!("{event} of a batch: {what}")));
            }
            counters.merge(&slot.counters);
            hasher.update(&slot.tracks);
            tracks += slot.tracks.tracks() as u64;
        }
        hits += events.hits.x.len() as u64;
        done(&events, &slots)?;
        events.clear();
    }
    let made = Made { counters, tracks, hits, hashes: hasher.finish(), passes: 1, time };
    Ok((summary(config, &pool, &made), counters))
}

/// What was made, in how long.
pub struct Made {
    /// Sums over all passes.
    pub counters: Counters,
    /// Tracks of one pass.
    pub tracks: u64,
    /// Hits of one pass.
    pub hits: u64,
    /// Of one pass.
    pub hashes: Hashes,
    /// How many passes.
    pub passes: u64,
    /// Time of all passes on the wall clock.
    pub time: Duration,
}

/// The summary of passes over the same events.
pub fn summary(config: &Config, pool: &CylinderPool, made: &Made) -> Summary {
    let Made { counters, tracks, hits, hashes, passes, time } = made;
    let events = counters.events() / passes.max(&1);
    let per_second = |items: u64| (items * passes) as f64 / time.as_secs_f64();
    let stage = |(stage, counter): (&peloton::pipeline::Stage, &StageCounter)| StageTime {
        name: stage.name,
        ns_per_event: counter.ns as f64 / counters.events().max(1) as f64,
        occupancy: counter.occupancy(),
    };
    Summary {
        sequence: config.sequence,
        preset: config.preset_name(),
        events,
        isa: pool.level().isa().name(),
        gang: pool.level().gang(),
        threads: pool.threads(),
        hashes: *hashes,
        tracks: *tracks,
        hits: *hits,
        dropped: counters.dropped().map(|(reason, count)| (reason, count / passes.max(&1))).collect(),
        events_per_second: per_second(events),
        hits_per_second: per_second(*hits),
        stages: config.sequence.stages().iter().zip(&counters.stages).map(stage).collect(),
    }
}
