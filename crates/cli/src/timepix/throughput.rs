//! `peloton throughput --sequence timepix`: hits from memory, again and again, with an offset in time.

use super::args::lanes;
use super::device;
use super::report::{Outcome, PixelSummary};
use super::source::{PixelInput, open};
use crate::device::Device;
use crate::interrupt;
use crate::options::{ConfigArgs, InputArgs, ReportArgs};
use peloton::event::{Hasher, Layout, PixelBlock, PixelClusters, PixelHits};
use peloton::pipeline::Config;
use peloton::pipeline::timepix::Lanes;
use peloton::timepix::TimepixConfig;
use peloton::{Error, Result};
use peloton_io::input::timepix::PixelStream;
use peloton_io::input::timepix::{PixelCounts, ReadEnd};
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Hits in memory at most.
const MAX_HITS: usize = 1 << 30;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: PixelSummary,
    repetitions: u64,
    seconds: f64,
    hits_per_second_best: f64,
}

/// Does it: `passes` passes, or as many as fill `time`.
pub fn throughput(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
    (passes, time): (Option<u64>, Duration),
    (on, scan): (Device, bool),
) -> Result<ExitCode> {
    if scan {
        return Err(Error::Unsupported(
            "--scan is for events: slices of pixel hits are set by --slice".into(),
        ));
    }
    let (hits, layout, timepix, input_counts) = in_memory(config, flags, input, report)?;
    if on != Device::Cpu {
        let config = Config { timepix, ..config.clone() };
        let on = (on, flags.slice);
        return device::throughput(on, &config, (&hits, &layout), (passes, time), report);
    }
    let level = config.level()?;
    let mut chain = Lanes::new(&timepix, level, &layout, lanes(config))?;
    // The first pass is a warm-up and gives the hash that every pass must have.
    let (expected, _) = pass(&mut chain, &hits, timepix.block_hits);
    let warm_up = *chain.counters();
    let counts = chain.counts();
    let (mut done, mut total, mut best) = (0u64, Duration::ZERO, Duration::MAX);
    while passes.map_or(total < time || done == 0, |passes| done < passes) && !interrupt::requested() {
        let (hasher, time) = pass(&mut chain, &hits, timepix.block_hits);
        if hasher.finish() != expected.finish() {
            return Err(Error::format("pass", "another hash than the first pass"));
        }
        (done, total, best) = (done + 1, total + time, best.min(time));
    }
    let mut counters = *chain.counters();
    for (stage, before) in counters.stages.iter_mut().zip(&warm_up.stages) {
        stage.ns = (stage.ns - before.ns) / done.max(1);
    }
    let outcome = Outcome {
        level,
        threads: chain.threads(),
        input: input_counts,
        chain: counts,
        not_taken: 0,
        datagrams_dropped: 0,
        paired: None,
        counters,
        hashes: expected.finish(),
        time: total / done.max(1) as u32,
    };
    let report_of = Report {
        summary: PixelSummary::new(config, &outcome)?,
        repetitions: done,
        seconds: total.as_secs_f64(),
        hits_per_second_best: hits.len() as f64 / best.as_secs_f64(),
    };
    let text = format!(
        "{}{done} passes in {:.2} s, equal hashes; fastest pass {:.2} million hits/s\n",
        report_of.summary.text(),
        report_of.seconds,
        report_of.hits_per_second_best / 1e6
    );
    report.report(&text, &report_of)?;
    Ok(ExitCode::SUCCESS)
}

/// All hits of the input, their sensor, and the configuration for them.
pub(super) fn in_memory(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
) -> Result<(PixelHits, Layout, TimepixConfig, PixelCounts)> {
    let PixelInput { mut stream, layout, disorder_us, .. } = open(input, &flags.pixels, report)?;
    let mut timepix = config.timepix.clone();
    timepix.disorder_us.get_or_insert(disorder_us);
    let mut block = PixelBlock::default();
    while stream.read(MAX_HITS, &mut block)? == ReadEnd::More {
        if block.hits.len() >= MAX_HITS {
            return Err(Error::Config(format!("more than {MAX_HITS} hits: measure a part of them")));
        }
    }
    if block.hits.is_empty() {
        return Err(Error::format("input", "no hit to measure with"));
    }
    Ok((block.hits, layout, timepix, stream.counts()))
}

/// One pass in blocks, as they would be read; hashing is not timed.
pub(super) fn pass(
    chain: &mut Lanes,
    hits: &PixelHits,
    block_hits: usize,
) -> (Hasher<PixelClusters>, Duration) {
    let (mut hasher, mut time, mut block) =
        (Hasher::<PixelClusters>::default(), Duration::ZERO, PixelHits::default());
    for start in (0..hits.len()).step_by(block_hits) {
        let begin = Instant::now();
        block.clear();
        block.extend_from(hits, start..hits.len().min(start + block_hits), 0);
        let clusters = chain.push(&block, start + block_hits >= hits.len());
        time += begin.elapsed();
        hasher.update(clusters);
    }
    (hasher, time)
}
