//! `peloton compare --sequence timepix`: do two ways of computing find the same clusters?

use super::args::lanes;
use super::device::DeviceChain;
use super::source::{PixelInput, open};
use crate::device::Device;
use crate::options::{ConfigArgs, InputArgs, ReportArgs};
use peloton::event::{Hasher, Hashes, Layout, PixelBlock, PixelClusters, PixelHits, difference};
use peloton::pipeline::Config;
use peloton::pipeline::timepix::Lanes;
use peloton::timepix::ChainCounts;
use peloton::{Error, Result};
use peloton_io::input::timepix::PixelStream;
use peloton_io::input::timepix::ReadEnd;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Report {
    hits: u64,
    clusters: [u64; 2],
    equal: bool,
    left: Hashes,
    right: Hashes,
    first_difference: Option<String>,
}

/// A configuration, where it runs, and hits of a slice there.
type Side = (Config, Device, Option<usize>);

/// A way of computing.
enum Way {
    Cpu(Lanes),
    Device(Box<DeviceChain>),
}

impl Way {
    fn start((config, device, slice): &Side, layout: &Layout) -> Result<Self> {
        if *device == Device::Cpu {
            return Lanes::new(&config.timepix, config.level()?, layout, lanes(config)).map(Self::Cpu);
        }
        DeviceChain::new(*device, config, layout, *slice).map(Box::new).map(Self::Device)
    }

    fn push(&mut self, hits: &PixelHits, end: bool) -> Result<&PixelClusters> {
        match self {
            Self::Cpu(lanes) => Ok(lanes.push(hits, end)),
            Self::Device(chain) => chain.push(hits, end),
        }
    }

    fn counts(&self) -> ChainCounts {
        match self {
            Self::Cpu(lanes) => lanes.counts(),
            Self::Device(chain) => chain.counts(),
        }
    }
}

/// Does it. A side is a list of isa=, gang=, threads=, block=, algorithm=, or a device with slice=.
pub fn compare(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
    sides: [&str; 2],
) -> Result<ExitCode> {
    let PixelInput { mut stream, layout, disorder_us, .. } = open(input, &flags.pixels, report)?;
    let mut config = config.clone();
    config.timepix.disorder_us.get_or_insert(disorder_us);
    let configs = [side(&config, sides[0])?, side(&config, sides[1])?];
    let mut chains = [Way::start(&configs[0], &layout)?, Way::start(&configs[1], &layout)?];
    let (mut hashers, mut waiting) = <([Hasher<PixelClusters>; 2], [PixelClusters; 2])>::default();
    let (mut block, mut part, mut first) = (PixelBlock::default(), PixelHits::default(), None);
    loop {
        block.clear();
        let end = stream.read(config.timepix.block_hits, &mut block)?;
        for (i, chain) in chains.iter_mut().enumerate() {
            // Each side has blocks of its own size.
            let step = configs[i].0.timepix.block_hits;
            let mut from = 0;
            loop {
                let to = block.hits.len().min(from + step);
                part.clear();
                part.extend_from(&block.hits, from..to, 0);
                let is_last = to == block.hits.len();
                let clusters = chain.push(&part, is_last && end != ReadEnd::More)?;
                hashers[i].update(clusters);
                waiting[i].extend_from(clusters, 0..clusters.len());
                if is_last {
                    break;
                }
                from = to;
            }
        }
        let both = waiting[0].len().min(waiting[1].len());
        if first.is_none() {
            first = (0..both).find_map(|i| difference((&waiting[0], i), (&waiting[1], i)));
        }
        waiting.iter_mut().for_each(|clusters| clusters.remove_front(both));
        if end == ReadEnd::End {
            break;
        }
    }
    let counts = chains.each_ref().map(Way::counts);
    let [left, right] = hashers.each_ref().map(Hasher::<PixelClusters>::finish);
    let clusters = counts.map(|counts| counts.clusters);
    let hits = counts[0].hits_in;
    let result = Report { hits, clusters, equal: left == right, left, right, first_difference: first };
    report.report(&text(&result), &result)?;
    Ok(if result.equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The configuration with `KEY=VALUE,...` laid over it.
fn side(config: &Config, text: &str) -> Result<Side> {
    let (mut config, mut device, mut slice) = (config.clone(), Device::Cpu, None);
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let wrong = || {
            let known = "isa=, gang=, threads=, block=, slice=, algorithm=, gpu, emulated";
            Error::Config(format!("`{pair}` is none of {known}"))
        };
        if !pair.contains('=') {
            device = pair.parse().map_err(|_| wrong())?;
            continue;
        }
        let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
        let number = || value.parse::<usize>().map_err(|_| wrong());
        match key {
            "isa" => config.isa = Some(value.parse()?),
            "gang" => config.gang = Some(number()?),
            "threads" => config.threads = Some(number()?),
            "slice" => slice = Some(number()?),
            "block" => config.timepix.block_hits = number()?,
            "algorithm" => {
                config.timepix.find.algorithm = value.parse()?;
            }
            _ => return Err(wrong()),
        }
    }
    config.validate()?;
    Ok((config, device, slice))
}

fn text(report: &Report) -> String {
    let Report { hits, clusters: [left, right], .. } = report;
    match &report.first_difference {
        None if report.equal => {
            let Hashes { int, output } = report.left;
            format!("equal: {hits} hits, {left} clusters, hash_int {int:016x}, output_hash {output:016x}\n")
        }
        None => format!("the hashes differ; {left} and {right} clusters\n"),
        Some(what) => format!("{left} and {right} clusters; the first that differ: {what}\n"),
    }
}
