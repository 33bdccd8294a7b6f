//! A stream of pixel hits on a device: whole sources at a time, as long as they fit into memory.

use crate::cli::console::table;
use crate::cli::describe::percent;
use crate::cli::device::Device;
use crate::cli::interrupt;
use crate::cli::options::ReportArgs;
use crate::event::{PixelClusters, PixelHits};
use crate::output::Hashes;
use crate::output::timepix::ClusterHasher;
use crate::pipeline::{Config, Sequence};
use crate::timepix::ChainCounts;
use crate::{Error, Result};
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
    device: Device,
    config: &Config,
    hits: &PixelHits,
    (passes, time): (Option<u64>, Duration),
    report: &ReportArgs,
) -> Result<ExitCode> {
    let mut chain = DeviceChain::new(device, config)?;
    let hash = |clusters: &PixelClusters| {
        let mut hasher = ClusterHasher::default();
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
    use crate::cli::device::Lanes;
    use crate::gpu::timepix::{KERNELS, PixelStream, in_time};
    use crate::gpu::{Cuda, Emulated, Order};
    use crate::timepix::{FindConfig, TimepixConfig};

    /// Room for the first source, hits; a larger one makes room for itself.
    const ROOM: usize = 1 << 16;

    type Times = [u64; KERNELS.len()];
    type Run = Box<dyn FnMut(&PixelHits, &mut PixelClusters, &mut Times) -> Result<()>>;

    /// Collects the hits of a source, and clusters them at its end.
    pub struct DeviceChain {
        device: Device,
        config: TimepixConfig,
        run: Run,
        room: usize,
        hits: PixelHits,
        kept: PixelHits,
        clusters: PixelClusters,
        counts: ChainCounts,
        times: Times,
    }

    fn open(device: Device, find: &FindConfig, room: usize) -> Result<Run> {
        fn boxed<D: crate::gpu::Device<Queue: 'static>>(
            device: &D,
            find: &FindConfig,
            room: usize,
        ) -> Result<Run> {
            let mut stream = PixelStream::open(device, find, room)?;
            Ok(Box::new(move |hits, clusters, times| {
                stream.run(hits, clusters)?;
                stream.times(&mut |kernel, ns| {
                    let number = KERNELS.iter().position(|known| *known == kernel);
                    times[number.expect("a kernel of this sequence")] += ns;
                })
            }))
        }
        match device {
            Device::Cpu => Err(Error::Config("the CPU is no device of this kind".into())),
            Device::Gpu => boxed(&Cuda::new()?, find, room),
            Device::Emulated(Lanes::Forward) => boxed(&Emulated::new(Order::Forward)?, find, room),
            Device::Emulated(Lanes::Reverse) => boxed(&Emulated::new(Order::Reverse)?, find, room),
            Device::Emulated(Lanes::Random(seed)) => boxed(&Emulated::new(Order::Random(seed))?, find, room),
        }
    }

    impl DeviceChain {
        pub fn new(device: Device, config: &Config) -> Result<Self> {
            let config = config.timepix.clone();
            if config.calibration.is_some() || config.time_walk.is_some() {
                return Err(Error::Unsupported(
                    "a device knows no calibration: energies are the CPU's".into(),
                ));
            }
            Ok(Self {
                device,
                run: open(device, &config.find, ROOM)?,
                config,
                room: ROOM,
                hits: PixelHits::default(),
                kept: PixelHits::default(),
                clusters: PixelClusters::default(),
                counts: ChainCounts::default(),
                times: Times::default(),
            })
        }

        pub fn push(&mut self, hits: &PixelHits, end: bool) -> Result<&PixelClusters> {
            self.hits.extend_from(hits, 0..hits.len(), 0);
            self.clusters.clear();
            if end {
                let late = in_time(self.config.disorder_ticks(), &self.hits, &mut self.kept);
                if self.kept.len() > self.room {
                    self.room = self.kept.len().next_power_of_two();
                    self.run = open(self.device, &self.config.find, self.room)?;
                }
                (self.run)(&self.kept, &mut self.clusters, &mut self.times)?;
                self.counts.hits_in += self.hits.len() as u64;
                self.counts.late += late;
                self.counts.count(&self.config.filter, &mut self.clusters);
                self.hits.clear();
            }
            Ok(&self.clusters)
        }

        pub fn counts(&self) -> ChainCounts {
            self.counts
        }

        /// Time of each kernel since the last call, ns.
        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            let times = std::mem::take(&mut self.times);
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
        pub fn new(device: Device, config: &Config) -> Result<Self> {
            match crate::cli::device::open(device, config, None, None)? {}
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
