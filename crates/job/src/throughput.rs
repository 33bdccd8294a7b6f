//! [`throughput`]: measures the repeated reconstruction of events from memory.

use crate::measure::{Plan, hash, load, measure};
use crate::summary::InputKind;
use crate::system::{Detector, open};
use crate::totals::Totals;
use crate::{Config, Host, Opened, Request, Summary};
use peloton::Result;
use peloton::engine::{Batch, Sliced};
use peloton::event::Hashes;
use peloton::simd::with_default_float_mode;
use peloton_io::Muffled;
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Instant;

/// Results of repeated passes over events in memory.
#[derive(Debug, Clone, Serialize)]
pub struct Throughput {
    /// Summary, with the keys that the results of every job have.
    #[serde(flatten)]
    pub summary: Summary,
    /// Number of copies of the input's events in memory.
    pub copies: usize,
    /// Number of timed passes.
    pub repetitions: u64,
    /// Wall clock of all timed passes, s.
    pub seconds: f64,
    /// Rate in the fastest round of passes, events/s.
    pub events_per_second_best: f64,
    /// Rate in the fastest round of passes, hits/s.
    pub hits_per_second_best: f64,
    /// Rate at which raw banks are processed, bytes/s; null for hits.
    pub bytes_per_second: Option<f64>,
    /// Description of the device; null for the CPU.
    pub device: Option<String>,
    /// Number of events, or of hits of an endless stream, that a thread or a device's stream processes at once.
    pub slice: usize,
    /// Device memory that the streams hold, bytes; 0 for the CPU.
    pub arena_bytes: usize,
    /// Page-locked host memory that the streams of a device hold, bytes; 0 for the CPU.
    pub pinned_bytes: usize,
    /// Times of the kernels and the copies of a device, in a pass with one stream; empty for the CPU.
    pub kernels: Vec<KernelTime>,
    /// Wall clock of the pass in which `kernels` were measured, ns per event; null for the CPU.
    pub kernels_wall_ns_per_event: Option<f64>,
    /// Rates for other slice sizes and other numbers of threads or streams; empty unless requested.
    pub scan: Vec<ScanPoint>,
    /// Values that only some sequences have.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// Time of a stage on the CPU, or of a kernel or copies on a device.
#[derive(Debug, Clone, Serialize)]
pub struct KernelTime {
    /// Name of the stage or kernel; `copy_in` and `copy_out` for copies.
    pub name: &'static str,
    /// Time per event, ns.
    pub ns_per_event: f64,
    /// Share of this time in the sum over all stages or kernels, 0..1.
    pub share: f64,
}

impl KernelTime {
    /// Makes the list of times from names and times in ns; the times are sums over `events` events.
    pub(crate) fn all(times: &[(&'static str, u64)], events: u64) -> Vec<Self> {
        let all: u64 = times.iter().map(|(_, ns)| ns).sum();
        let one = |&(name, ns): &(&'static str, u64)| Self {
            name,
            ns_per_event: ns as f64 / events.max(1) as f64,
            share: ns as f64 / all.max(1) as f64,
        };
        times.iter().map(one).collect()
    }
}

/// Rate with another slice size and another number of threads or streams.
#[derive(Debug, Clone, Serialize)]
pub struct ScanPoint {
    /// Number of events in a slice; for an endless stream, number of hits in a block.
    pub slice: usize,
    /// Number of streams of a device; on the CPU, number of threads.
    pub streams: usize,
    /// Rate in the fastest round of passes, events/s.
    pub events_per_second: f64,
}

/// Measures events/s with input in memory; with `scan` also for other slice sizes and other thread or stream counts.
///
/// # Errors
/// Returns errors of the configuration, the inputs and the device.
pub fn throughput(request: &Request, plan: Plan, scan: bool, host: Host<'_>) -> Result<Throughput> {
    with_default_float_mode(|| {
        let begin = Instant::now();
        let mut measured = Loaded::new(request, plan, host)?.measure(request, plan, scan, host)?;
        measured.summary.wall_seconds = begin.elapsed().as_secs_f64();
        Ok(measured)
    })
}

/// Measures several configurations of one sequence, as [`throughput`] measures one, on events that are read once. Each
/// configuration must give the same numbers of tracks and hits in all its passes; different configurations may give
/// different numbers.
///
/// # Errors
/// Returns errors of the configurations and the inputs.
pub fn throughput_each(
    request: &Request,
    configs: &[Config],
    plan: Plan,
    host: Host<'_>,
) -> Result<Vec<Throughput>> {
    with_default_float_mode(|| {
        let loaded = Loaded::new(request, plan, host)?;
        let (of, mut measured) = (configs.len(), Vec::new());
        let muffled = Muffled::new(host.progress);
        let quiet = Host { progress: &muffled, ..host };
        for (number, config) in configs.iter().enumerate() {
            host.progress.stage(&format!("{} of {of}", number + 1));
            let request = Request { config: config.clone(), ..request.clone() };
            let host = if number == 0 { host } else { quiet };
            measured.push(loaded.measure(&request, plan, false, host)?);
        }
        Ok(measured)
    })
}

/// Events in memory, and their source.
struct Loaded {
    opened: Opened,
    batch: Box<dyn Batch>,
    input_seconds: f64,
}

impl Loaded {
    fn new(request: &Request, plan: Plan, host: Host<'_>) -> Result<Self> {
        let mut opened = open(request, false, host)?;
        let begin = Instant::now();
        // An executor is made now, so that a job that cannot run fails before minutes of reading.
        opened.detector.executor(request, &request.config)?;
        let batch = load(&mut opened, &request.config, plan.copies, host)?;
        Ok(Self { opened, batch, input_seconds: begin.elapsed().as_secs_f64() })
    }

    fn measure(&self, request: &Request, plan: Plan, scan: bool, host: Host<'_>) -> Result<Throughput> {
        let (Self { opened, batch, input_seconds }, config) = (self, &request.config);
        let (detector, batch) = (&*opened.detector, &**batch);
        let begin = Instant::now();
        let mut runs = detector.executor(request, config)?;
        let measured = measure(&mut runs, &request.config, detector, batch, plan, host)?;
        let (kernels, kernels_wall) = match &runs.machine().device {
            Some(_) => self.kernels(request, measured.hashes)?,
            None => (Vec::new(), None),
        };
        let points = if scan { scan_all(request, detector, batch, plan, host)? } else { Vec::new() };
        let (machine, totals) = (runs.machine(), &measured.totals);
        let mut summary = Summary::new(config, &machine, totals, measured.hashes);
        summary.add_source(&*opened.source, request.strict)?;
        summary.judge(totals, request, host);
        let (seconds, best) = (totals.time.as_secs_f64(), measured.best_pass.as_secs_f64());
        let bytes = detector.bank_bytes(batch);
        let facts = detector.measured_facts(config, batch, &measured)?;
        (summary.input, summary.input_seconds) = (InputKind::of(request), *input_seconds);
        summary.wall_seconds = begin.elapsed().as_secs_f64();
        Ok(Throughput {
            copies: plan.copies,
            repetitions: totals.passes,
            seconds,
            events_per_second_best: totals.events as f64 / best,
            hits_per_second_best: totals.hits as f64 / best,
            bytes_per_second: bytes.map(|bytes| (bytes * totals.passes) as f64 / seconds),
            device: machine.device.clone(),
            slice: machine.slice,
            arena_bytes: machine.memory.arena,
            pinned_bytes: machine.memory.staging,
            kernels,
            kernels_wall_ns_per_event: kernels_wall,
            scan: points,
            facts,
            summary,
        })
    }
}

impl Loaded {
    /// Measures each kernel in a pass with one stream; also returns the wall clock of this pass, ns per event.
    fn kernels(&self, request: &Request, expected: Hashes) -> Result<(Vec<KernelTime>, Option<f64>)> {
        let config = Config { threads: Some(1), ..request.config.clone() };
        let mut runs = self.opened.detector.executor(request, &config)?;
        let mut output = Sliced::default();
        // Memory grows in the first pass.
        runs.run(&*self.batch, &mut output)?;
        runs.time_kernels(true);
        let start = Instant::now();
        let counters = runs.run(&*self.batch, &mut output)?;
        let wall = start.elapsed().as_nanos() as f64;
        if hash(&config, &output) != expected {
            return Err(peloton::Error::Internal("one stream gave another hash than all streams".into()));
        }
        let mut totals = Totals::default();
        totals.add(&counters, start.elapsed(), &*self.batch, &output);
        let events = totals.events.max(1);
        Ok((KernelTime::all(&runs.take_kernel_times(), events), Some(wall / events as f64)))
    }
}

/// Returns the numbers of threads that a scan measures: 1, 2, 4, ... and `all`.
pub fn doubling(all: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < all);
    doubled.chain([all]).collect()
}

/// Returns the slice sizes of a scan, the smallest first, and its numbers of threads or streams. On a device, a
/// requested slice size is the only slice size, and a requested number of streams is the largest number.
fn scanned(request: &Request) -> (Vec<usize>, Vec<usize>) {
    let is_stream = request.config.sequence.system().stream().is_some();
    if !request.is_on_cpu() {
        let slices: &[usize] = if is_stream {
            &[1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]
        } else {
            &[16, 64, 256, 1024, 4096, 8192]
        };
        let slices = request.config.slice_events.map_or(slices.to_vec(), |slice| vec![slice]);
        let most = request.config.threads.unwrap_or(if is_stream { 4 } else { 16 });
        let streams: Vec<_> =
            [1, 2, 3, 4, 6, 8, 12, 16].into_iter().filter(|streams| *streams < most).collect();
        return (slices, [streams, vec![most]].concat());
    }
    let threads = doubling(request.config.thread_count());
    let slices: &[usize] =
        if is_stream { &[1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18] } else { &[1, 4, 16, 64, 256, 1024] };
    (slices.to_vec(), threads)
}

/// Measures the rate for each slice size and number of threads or streams (as figure 8 of the paper Search by triplet).
/// All must give the same hashes.
fn scan_all(
    request: &Request,
    detector: &dyn Detector,
    batch: &dyn Batch,
    plan: Plan,
    host: Host<'_>,
) -> Result<Vec<ScanPoint>> {
    let (mut points, mut expected) = (Vec::new(), None);
    let (slices, threads) = scanned(request);
    let is_stream = request.config.sequence.system().stream().is_some();
    for &slice in &slices {
        for &streams in &threads {
            let is_first = slice == slices[0];
            if host.is_cancelled() || (slice * streams > batch.len() && !is_first) {
                continue;
            }
            let mut config = request.config.clone();
            config.threads = Some(streams);
            if is_stream && request.is_on_cpu() {
                config.timepix.block_hits = slice;
            } else {
                config.slice_events = Some(slice);
            }
            let mut runs = detector.executor(request, &config)?;
            let measured = measure(&mut runs, &config, detector, batch, plan, host)?;
            if *expected.get_or_insert(measured.hashes) != measured.hashes {
                let message = format!("slices of {slice} on {streams} threads or streams gave another hash");
                return Err(peloton::Error::Internal(message));
            }
            let events_per_second = measured.totals.events as f64 / measured.best_pass.as_secs_f64();
            points.push(ScanPoint { slice, streams, events_per_second });
        }
    }
    Ok(points)
}
