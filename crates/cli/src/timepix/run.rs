//! `peloton run --sequence timepix`: clusters from files, pipes and sockets.

use super::args::lanes;
use super::datagrams;
use super::latency::Latencies;
use super::report::{Outcome, PixelSummary};
use super::sink::ClusterSink;
use super::source::{PixelInput, open};
use crate::options::{ConfigArgs, InputArgs, ReportArgs};
use crate::sink::metadata;
use crate::{console, interrupt};
use peloton::event::{Hasher, PixelBlock, PixelClusters, PixelHits, TriggerPairs};
use peloton::pipeline::Config;
use peloton::pipeline::timepix::Lanes;
use peloton::timepix::TriggerPairer;
use peloton::{Error, Result};
use peloton_io::input::timepix::{Fed, Feed, PixelStream};
use peloton_io::input::timepix::{PixelCounts, ReadEnd};
use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Hits in which hot pixels are looked for.
const HOT_SAMPLE: usize = 1_000_000;
/// Time between statistics of a live stream.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Does it.
pub fn run(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let PixelInput { mut stream, layout, disorder_us, is_live, socket } = open(input, &flags.pixels, report)?;
    let mut timepix = config.timepix.clone();
    timepix.disorder_us.get_or_insert(disorder_us);
    let level = config.level()?;
    let mut chain = Lanes::new(&timepix, level, &layout, lanes(config))?;
    let mut pairer = flags.pixels.trigger.map(TriggerPairer::new);
    let mut pairs = TriggerPairs::default();
    let metadata = metadata(config, level, &input.inputs, None);
    let mut sink = output.map(|path| ClusterSink::create(path, &metadata, pairer.is_some())).transpose()?;
    let mut report = report.clone();
    report.quiet |= output == Some(Path::new("-"));

    let mut first = Some(PixelBlock::default());
    if let (Some(limit), Some(block)) = (flags.pixels.mask_hot, &mut first) {
        while block.hits.len() < HOT_SAMPLE && stream.read(HOT_SAMPLE, block)? == ReadEnd::More {}
        for (x, y) in hot_pixels(&block.hits, limit) {
            chain.mask(x, y);
        }
    }
    let counts = stream.counts();
    let mut feed = Feed::start(stream, timepix.block_hits, flags.pixels.when_full.0)?;
    let mut hasher = Hasher::<PixelClusters>::default();
    let mut told = Told::new(is_live && !report.quiet);
    let (mut input_counts, mut not_taken) = (counts, 0);
    let start = Instant::now();
    let mut work = Duration::ZERO;
    let mut follow = || {
        loop {
            let fed = match first.take().filter(|block| !block.hits.is_empty()) {
                Some(block) => Fed { block, end: ReadEnd::More, counts, dropped: 0, read_at: start },
                None => match feed.next()? {
                    Some(fed) => fed,
                    None => return Ok(()),
                },
            };
            let begin = Instant::now();
            let clusters = chain.push(&fed.block.hits, fed.end == ReadEnd::EndOfSource);
            work += begin.elapsed();
            hasher.update(clusters);
            if let Some(pairer) = &mut pairer {
                pairer.push(&fed.block.triggers);
                pairer.pair(clusters, fed.end == ReadEnd::EndOfSource, &mut pairs);
            }
            if let Some(sink) = &mut sink {
                sink.write(clusters, pairer.is_some().then_some(&pairs))?;
            }
            (input_counts, not_taken) = (fed.counts, fed.dropped);
            told.block(&fed, &chain);
            feed.give_back(fed.block);
            if interrupt::requested() {
                return Ok(());
            }
        }
    };
    let followed: Result<()> = follow();
    // What was found before an error is written.
    let clusters = chain.push(&PixelHits::default(), true);
    hasher.update(clusters);
    if let Some(pairer) = &mut pairer {
        pairer.pair(clusters, true, &mut pairs);
    }
    let written = sink.map_or(Ok(()), |mut sink| {
        sink.write(clusters, pairer.is_some().then_some(&pairs))?;
        sink.finish(hasher.finish())
    });
    followed?;
    written?;
    strict(input.strict, &input_counts, &chain)?;
    let outcome = Outcome {
        level,
        threads: chain.threads(),
        input: input_counts,
        chain: chain.counts(),
        not_taken,
        datagrams_dropped: socket.as_ref().and_then(datagrams::dropped).unwrap_or(0),
        paired: pairer.as_ref().map(|pairer| [pairer.paired(), pairer.forgotten()]),
        counters: *chain.counters(),
        hashes: hasher.finish(),
        time: if is_live { start.elapsed() } else { work },
    };
    let summary = PixelSummary::new(config, &outcome)?;
    let mut text = summary.text();
    text.push_str(&told.text());
    if interrupt::requested() {
        text.push_str("interrupted: these are the hits so far\n");
    }
    report.report(&text, &summary)?;
    Ok(ExitCode::SUCCESS)
}

/// With `--strict` nothing may be wrong with the input.
fn strict(strict: bool, counts: &PixelCounts, chain: &Lanes) -> Result<()> {
    let wrong = counts.malformed + counts.unknown + counts.outside + chain.counts().late;
    if strict && wrong > 0 {
        return Err(Error::format("input", format!("{wrong} words, lines or hits that cannot be used")));
    }
    Ok(())
}

/// Pixels with more than `limit` hits.
fn hot_pixels(hits: &PixelHits, limit: u64) -> Vec<(u16, u16)> {
    let mut counts = HashMap::new();
    hits.x.iter().zip(&hits.y[..]).for_each(|(x, y)| *counts.entry((*x, *y)).or_insert(0u64) += 1);
    counts.into_iter().filter(|(_, count)| *count > limit).map(|(pixel, _)| pixel).collect()
}

/// Statistics of a live stream, each second: rates and how long blocks waited and were worked on.
struct Told {
    is_on: bool,
    last: Instant,
    hits: u64,
    /// From the reading of a block to the end of the work on it.
    latencies: Latencies,
}

impl Told {
    fn new(is_on: bool) -> Self {
        Self { is_on, last: Instant::now(), hits: 0, latencies: Latencies::default() }
    }

    fn block(&mut self, fed: &Fed, chain: &Lanes) {
        if !self.is_on {
            return;
        }
        if !fed.block.hits.is_empty() {
            self.latencies.add(fed.read_at.elapsed());
        }
        let (time, counts) = (self.last.elapsed(), chain.counts());
        if time >= TELL_EVERY {
            let rate = (counts.hits_in - self.hits) as f64 / time.as_secs_f64() / 1e6;
            console::say(&format!(
                "{rate:.2} million hits/s, {} hits, {} clusters, {} wait, {} late, {} dropped",
                counts.hits_in,
                counts.clusters,
                chain.waiting(),
                counts.late,
                fed.dropped
            ));
            (self.last, self.hits) = (Instant::now(), counts.hits_in);
        }
    }

    fn text(&self) -> String {
        if self.latencies.is_empty() {
            return String::new();
        }
        let [half, most, rare, worst] = [0.5, 0.99, 0.999, 1.0].map(|share| self.latencies.at(share));
        format!(
            "latency of a block: median {half:.2} ms, 99 % {most:.2} ms, 99.9 % {rare:.2} ms, worst {worst:.2} ms\n"
        )
    }
}
