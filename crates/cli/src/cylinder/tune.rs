//! `peloton tune --sequence cylinder`: which level is the fastest here.

use super::throughput::{hash, load};
use crate::options::{InputArgs, ReportArgs};
use crate::{console, interrupt};
use peloton::pipeline::{Config, CylinderPool, Measurement};
use peloton::simd::Level;
use peloton::{Error, Result};
use std::time::{Duration, Instant};

/// Measures each level: as many passes as asked for, or as fill the time. There is the usual gang of each instruction
/// set alone.
pub fn tune(
    config: &Config,
    input: &InputArgs,
    report: &ReportArgs,
    levels: &[Level],
    (passes, time): (Option<u64>, Duration),
) -> Result<Vec<Measurement>> {
    let events = load(input, report)?;
    let levels: Vec<_> = levels.iter().filter(|level| level.is_usual()).collect();
    if levels.is_empty() {
        let what = "the sequence cylinder is built for the usual gang of each instruction set alone";
        return Err(Error::Unsupported(format!("{what}: leave --gang away")));
    }
    let progress = console::progress(Some(levels.len() as u64), report.quiet);
    let (mut measured, mut expected) = (Vec::new(), None);
    for level in levels {
        let own = Config { isa: Some(level.isa()), gang: Some(level.gang()), ..config.clone() };
        let (pool, mut slots) = (CylinderPool::new(&own)?, Vec::new());
        pool.run(events.input(), &mut slots);
        if *expected.get_or_insert(hash(&slots)) != hash(&slots) {
            return Err(Error::format(level.to_string(), "the hash is not that of the other levels"));
        }
        let (mut best, mut stages) = (Duration::MAX, [u64::MAX; 4]);
        let (start, mut done) = (Instant::now(), 0);
        while done == 0 || passes.map_or(start.elapsed() < time, |passes| done < passes) {
            let pass = Instant::now();
            pool.run(events.input(), &mut slots);
            best = best.min(pass.elapsed());
            for (stage, least) in stages.iter_mut().enumerate() {
                let ns = slots.iter().map(|slot| slot.counters.stages[stage].ns).sum();
                *least = (*least).min(ns);
            }
            done += 1;
        }
        let per_event = |ns: f64| ns / events.hits.len() as f64;
        let names = config.sequence.stages().iter().zip(stages);
        measured.push(Measurement {
            isa: level.isa().name().into(),
            gang: level.gang(),
            ns_per_event: per_event(best.as_nanos() as f64),
            stages: names.map(|(stage, ns)| (stage.name.into(), per_event(ns as f64))).collect(),
        });
        progress.inc(1);
        if interrupt::requested() {
            break;
        }
    }
    progress.finish_and_clear();
    Ok(measured)
}
