//! A stream of pixel hits on a device, slice by slice.

use crate::console::table;
use crate::describe::percent;
use crate::device::Device;
use crate::interrupt;
use crate::options::ReportArgs;
use peloton::event::{Hasher, Hashes, Layout, PixelClusters, PixelHits};
use peloton::pipeline::{Config, Sequence};
use peloton::timepix::ChainCounts;
use peloton::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use opened::DeviceChain;

#[derive(Serialize)]
struct Report {
    sequence: Sequence,
    isa: &'static str,
    #[serde(flatten)]
    hashes: Hashes,
    hits: usize,
    clusters: usize,
    hits_per_second: f64,
    hits_per_second_best: f64,
    repetitions: u64,
    seconds: f64,
    kernels: Vec<KernelTime>,
}

#[derive(Serialize)]
struct KernelTime {
    name: &'static str,
    ns_per_hit: f64,
    share: f64,
}

/// Times passes over hits in memory: from the columns as they were read out to columns of clusters. The first pass warms
/// up; every pass must give its hash, which is not timed.
pub fn throughput(
    (device, slice): (Device, Option<usize>),
    config: &Config,
    (hits, layout): (&PixelHits, &Layout),
    (passes, time): (Option<u64>, Duration),
    report: &ReportArgs,
) -> Result<ExitCode> {
    let mut chain = DeviceChain::new(device, config, layout, slice)?;
    let hash = |clusters: &PixelClusters| {
        let mut hasher = Hasher::<PixelClusters>::default();
        hasher.update(clusters);
        (hasher.finish(), clusters.len())
    };
    let (hashes, clusters) = hash(chain.push(hits, true)?);
    chain.take_times();
    let (mut done, mut total, mut best) = (0u64, Duration::ZERO, Duration::MAX);
    while passes.map_or(total < time || done == 0, |passes| done < passes) && !interrupt::requested() {
        let start = Instant::now();
        let found = chain.push(hits, true)?;
        let time = start.elapsed();
        if hash(found).0 != hashes {
            return Err(Error::format("pass", "another hash than the first pass"));
        }
        (done, total, best) = (done + 1, total + time, best.min(time));
    }
    let times = chain.take_times();
    let sum: u64 = times.iter().map(|(_, ns)| ns).sum();
    let all = (hits.len() as u64 * done.max(1)) as f64;
    let kernel = |(name, ns): (&'static str, u64)| KernelTime {
        name,
        ns_per_hit: ns as f64 / all,
        share: ns as f64 / sum.max(1) as f64,
    };
    let result = Report {
        sequence: Sequence::Timepix,
        isa: device.kind(),
        hashes,
        hits: hits.len(),
        clusters,
        hits_per_second: all / total.as_secs_f64(),
        hits_per_second_best: hits.len() as f64 / best.as_secs_f64(),
        repetitions: done,
        seconds: total.as_secs_f64(),
        kernels: times.into_iter().map(kernel).collect(),
    };
    report.report(&text(&result), &result)?;
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report) -> String {
    let mut rows = vec![["kernel", "ns/hit", "share"].map(String::from)];
    for kernel in &report.kernels {
        let (time, share) = (format!("{:.2}", kernel.ns_per_hit), percent(Some(kernel.share)));
        rows.push([kernel.name.into(), time, share]);
    }
    let Report { isa, hits, clusters, hashes, repetitions, seconds, .. } = report;
    format!(
        "timepix, {isa}: {hits} hits, {clusters} clusters\n\n{}\nhash_int {:016x}  output_hash {:016x}\n{repetitions} \
         passes in {seconds:.2} s, equal hashes; {:.3} million hits/s, fastest pass {:.3}\n",
        table(&rows),
        hashes.int,
        hashes.output,
        report.hits_per_second / 1e6,
        report.hits_per_second_best / 1e6,
    )
}

#[cfg(feature = "cuda")]
mod opened {
    use super::*;
    use crate::device::order;
    use peloton::gpu::timepix::{KERNELS, PixelRunner, PixelSlices};
    use peloton::gpu::{Cuda, Emulated};
    use peloton::timepix::{Calibration, TimepixConfig};
    use std::sync::Arc;

    /// Hits of a slice unless told otherwise: enough to fill a GPU, and little for the emulation.
    fn default_room(device: Device) -> usize {
        if matches!(device, Device::Emulated(_)) { 1 << 14 } else { 1 << 20 }
    }

    /// A stream on a device, and what became of its hits.
    pub struct DeviceChain {
        config: TimepixConfig,
        runner: Box<dyn PixelRunner>,
        clusters: PixelClusters,
        counts: ChainCounts,
        times: [u64; KERNELS.len()],
    }

    impl DeviceChain {
        pub fn new(device: Device, config: &Config, layout: &Layout, slice: Option<usize>) -> Result<Self> {
            let config = config.timepix.clone();
            let folder = config.calibration.as_deref();
            let calibration = folder.map(|folder| Calibration::from_folder(layout, folder)).transpose()?;
            let (calibration, room) = (calibration.map(Arc::new), slice.unwrap_or(default_room(device)));
            let runner: Box<dyn PixelRunner> = match device {
                Device::Cpu => return Err(Error::Config("the CPU is no device of this kind".into())),
                Device::Gpu => Box::new(PixelSlices::new(Cuda::new()?, &config, calibration, room)?),
                Device::Emulated(lanes) => {
                    let emulated = Emulated::new(order(lanes))?;
                    Box::new(PixelSlices::new(emulated, &config, calibration, room)?)
                }
            };
            Ok(Self {
                config,
                runner,
                clusters: PixelClusters::default(),
                counts: ChainCounts::default(),
                times: [0; KERNELS.len()],
            })
        }

        pub fn push(&mut self, hits: &PixelHits, end: bool) -> Result<&PixelClusters> {
            self.clusters.clear();
            self.runner.push(hits, end, &mut self.clusters)?;
            self.runner.times(&mut |kernel, ns| {
                let number = KERNELS.iter().position(|known| *known == kernel);
                self.times[number.expect("a kernel of this sequence")] += ns;
            })?;
            self.counts.hits_in += hits.len() as u64;
            [self.counts.late, self.counts.forced] = self.runner.dropped();
            self.counts.count(&self.config.filter, &mut self.clusters);
            Ok(&self.clusters)
        }

        pub fn counts(&self) -> ChainCounts {
            self.counts
        }

        /// Time of each kernel since the last call, ns.
        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            let times = std::mem::replace(&mut self.times, [0; KERNELS.len()]);
            KERNELS.iter().zip(times).map(|(kernel, ns)| (kernel.0, ns)).collect()
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod opened {
    use super::*;

    /// No device can be opened.
    pub enum DeviceChain {}

    impl DeviceChain {
        pub fn new(device: Device, config: &Config, _: &Layout, _: Option<usize>) -> Result<Self> {
            match crate::device::open(device, config, None, None)? {}
        }

        pub fn push(&mut self, _: &PixelHits, _: bool) -> Result<&PixelClusters> {
            match *self {}
        }

        pub fn counts(&self) -> ChainCounts {
            match *self {}
        }

        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            match *self {}
        }
    }
}
