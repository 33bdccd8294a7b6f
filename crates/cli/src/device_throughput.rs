//! `peloton throughput --device gpu`: events through the streams of a device, again and again.

use super::describe;
use super::device::{Device, Opened, WARP, open};
use super::device_hits::Decoder;
use super::measure::{Plan, hash, load};
use super::options::{ConfigArgs, InputArgs, ReportArgs};
use super::source::EventBatch;
use super::{console::table, interrupt};
use peloton::event::{Counters, Hashes};
use peloton::pipeline::{Config, Sequence, SlicedTracks};
use peloton::{Error, Result};
use peloton_io::output::Summary;
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: Summary,
    device: String,
    slice: usize,
    repetitions: u64,
    seconds: f64,
    events_per_second_best: f64,
    /// Time on the device, by kernel.
    kernels: Vec<KernelTime>,
    /// Rates for other slices and numbers of streams; empty unless asked for.
    scan: Vec<Point>,
}

#[derive(Serialize)]
struct KernelTime {
    name: &'static str,
    ns_per_event: f64,
    share: f64,
}

#[derive(Serialize)]
struct Point {
    slice: usize,
    streams: usize,
    events_per_second: f64,
}

/// What passes over the events gave.
struct Measured {
    counters: Counters,
    hashes: Hashes,
    tracks: u64,
    passes: u64,
    time: Duration,
    best: Duration,
    kernels: Vec<(&'static str, u64)>,
}

/// Does it.
pub fn throughput(
    device: Device,
    flags: (&ConfigArgs, &InputArgs, &ReportArgs),
    plan: Plan,
    scan: bool,
) -> Result<ExitCode> {
    let (config_flags, input, report) = flags;
    let config = config_flags.resolve()?;
    if config.sequence != Sequence::Velo {
        return Err(no_sequence());
    }
    let streams = config_flags.threads.and_then(|threads| threads.0);
    let mut opened = open(device, &config, streams, config_flags.slice)?;
    let mut source = input.open(&config, false, report)?;
    let mut decoder = Decoder::new(&config, &source)?;
    let events = load(&mut source, report)?;
    let measured = measure(&mut opened, &mut decoder, &events, plan)?;
    let kernels = kernel_times(&measured);
    let points = if scan {
        scan_all(device, &config, (&mut decoder, &events), plan, measured.hashes)?
    } else {
        Vec::new()
    };
    let mut summary = Summary::new(
        decoder.engine(),
        config.preset_name(),
        opened.streams(),
        &measured.counters,
        (measured.tracks, events.hits(&measured.counters, measured.passes)),
        measured.hashes,
        (measured.passes, measured.time),
    );
    (summary.isa, summary.gang) = (device.kind(), WARP);
    let result = Report {
        summary,
        device: opened.name().into(),
        slice: opened.slice_events(),
        repetitions: measured.passes,
        seconds: measured.time.as_secs_f64(),
        events_per_second_best: events.len() as f64 / measured.best.as_secs_f64(),
        kernels,
        scan: points,
    };
    report.report(&text(&result), &result)?;
    Ok(ExitCode::SUCCESS)
}

/// What to say to other sequences.
pub fn no_sequence() -> Error {
    Error::Unsupported("a device runs the sequences velo, timepix and cylinder only".into())
}

/// From columns or raw banks in memory through the streams to columns in memory; the first pass warms up, every pass must give
/// the same hashes.
fn measure(opened: &mut Opened, decoder: &mut Decoder, events: &EventBatch, plan: Plan) -> Result<Measured> {
    let mut tracks = SlicedTracks::default();
    opened.run(decoder.hits(events, &mut Counters::default()), &mut tracks)?;
    let hashes = hash(&tracks);
    opened.take_times();
    let mut measured = Measured {
        counters: Counters::default(),
        hashes,
        tracks: tracks.tracks() as u64,
        passes: 0,
        time: Duration::ZERO,
        best: Duration::MAX,
        kernels: Vec::new(),
    };
    loop {
        let start = Instant::now();
        let mut counters = Counters::default();
        let hits = decoder.hits(events, &mut counters);
        counters.merge(&opened.run(hits, &mut tracks)?);
        let time = start.elapsed();
        if hash(&tracks) != hashes {
            return Err(Error::format("a pass", "the hash is not that of the first pass"));
        }
        measured.counters.merge(&counters);
        measured.passes += 1;
        measured.time += time;
        measured.best = measured.best.min(time);
        let enough = plan.passes.map_or(measured.time >= plan.time, |passes| measured.passes >= passes);
        if enough || interrupt::requested() {
            measured.kernels = opened.take_times();
            return Ok(measured);
        }
    }
}

fn kernel_times(measured: &Measured) -> Vec<KernelTime> {
    let total: u64 = measured.kernels.iter().map(|(_, ns)| ns).sum();
    let of = |&(name, ns): &(&'static str, u64)| KernelTime {
        name,
        ns_per_event: ns as f64 / measured.counters.events().max(1) as f64,
        share: ns as f64 / total.max(1) as f64,
    };
    measured.kernels.iter().map(of).collect()
}

/// Rates over events per slice and streams (Search by triplet, figure 8); all of them must give the same hashes.
fn scan_all(
    device: Device,
    config: &Config,
    (decoder, events): (&mut Decoder, &EventBatch),
    plan: Plan,
    hashes: Hashes,
) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for slice in [16, 64, 256, 1024, 4096, 8192] {
        for streams in 1..=4 {
            let is_first = slice == 16;
            if interrupt::requested() || (slice * streams > events.len() && !is_first) {
                continue;
            }
            let mut opened = open(device, config, Some(streams), Some(slice))?;
            let measured = measure(&mut opened, decoder, events, plan)?;
            if measured.hashes != hashes {
                let place = format!("slices of {slice}, {streams} streams");
                return Err(Error::format(place, "the hash is another one"));
            }
            let events_per_second = events.len() as f64 / measured.best.as_secs_f64();
            points.push(Point { slice, streams, events_per_second });
        }
    }
    Ok(points)
}

fn text(report: &Report) -> String {
    let mut text = format!("{}, slices of {} events\n", report.device, report.slice);
    text.push_str(&describe::summary(&report.summary));
    let mut rows = vec![["kernel", "ns/event", "share"].map(String::from)];
    for kernel in &report.kernels {
        let share = describe::percent(Some(kernel.share));
        rows.push([kernel.name.into(), format!("{:.0}", kernel.ns_per_event), share]);
    }
    text.push('\n');
    text.push_str(&table(&rows));
    if !report.scan.is_empty() {
        let mut rows = vec![["slice", "streams", "events/s"].map(String::from)];
        let row = |point: &Point| {
            let rate = format!("{:.0}", point.events_per_second);
            [point.slice.to_string(), point.streams.to_string(), rate]
        };
        rows.extend(report.scan.iter().map(row));
        text.push('\n');
        text.push_str(&table(&rows));
    }
    text.push_str(&format!(
        "\n{} passes in {:.2} s, equal hashes; fastest pass {:.0} events/s\n",
        report.repetitions, report.seconds, report.events_per_second_best
    ));
    text
}
