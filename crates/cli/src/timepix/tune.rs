//! `peloton tune --sequence timepix`: which level is the fastest here.

use super::args::lanes;
use super::throughput::{in_memory, pass};
use crate::options::{ConfigArgs, InputArgs, ReportArgs};
use crate::{console, interrupt};
use peloton::event::Hashes;
use peloton::pipeline::timepix::Lanes;
use peloton::pipeline::{Config, Measurement};
use peloton::simd::Level;
use peloton::{Error, Result};
use std::time::{Duration, Instant};

/// Measures each level: as many passes as asked for, or as fill the time. An event is a cluster.
pub fn tune(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
    levels: &[Level],
    (passes, time): (Option<u64>, Duration),
) -> Result<Vec<Measurement>> {
    let (hits, layout, timepix, _) = in_memory(config, flags, input, report)?;
    let progress = console::progress(Some(levels.len() as u64), report.quiet);
    let (mut measured, mut expected) = (Vec::new(), None::<Hashes>);
    for level in levels {
        let mut chain = Lanes::new(&timepix, *level, &layout, lanes(config))?;
        let (mut best, mut stages, mut clusters) = (Duration::MAX, Vec::new(), 0);
        let (start, mut done) = (Instant::now(), 0);
        // The first pass is a warm-up.
        while done < 2 || passes.map_or(start.elapsed() < time, |passes| done <= passes) {
            let before = (*chain.counters(), chain.counts().clusters);
            let (hasher, pass) = pass(&mut chain, &hits, timepix.block_hits);
            clusters = chain.counts().clusters - before.1;
            let hashes = hasher.finish();
            if *expected.get_or_insert(hashes) != hashes {
                return Err(Error::format(level.to_string(), "the hash is not that of the other levels"));
            }
            if done > 0 && pass < best {
                let ns = chain.counters().stages.iter().zip(&before.0.stages);
                (best, stages) = (pass, ns.map(|(now, before)| now.ns - before.ns).collect());
            }
            done += 1;
        }
        let per_event = |ns: f64| ns / clusters.max(1) as f64;
        let names = config.sequence.stages().iter().zip(&stages);
        measured.push(Measurement {
            isa: level.isa().name().into(),
            gang: level.gang(),
            ns_per_event: per_event(best.as_nanos() as f64),
            stages: names.map(|(stage, ns)| (stage.name.into(), per_event(*ns as f64))).collect(),
        });
        progress.inc(1);
        if interrupt::requested() {
            break;
        }
    }
    progress.finish_and_clear();
    Ok(measured)
}
