//! `--device gpu` and `--right gpu` for the cylinder: events through the streams of a device.

use super::source::Events;
use super::throughput::load;
use crate::console::table;
use crate::describe::percent;
use crate::device::Device;
use crate::interrupt;
use crate::options::{InputArgs, ReportArgs};
use peloton::cylinder::CylinderInput;
use peloton::event::{Counters, CylinderTracks, Hasher, Hashes};
use peloton::pipeline::{Config, CylinderSlot, Sequence};
use peloton::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use opened::OnDevice;

#[derive(Serialize)]
struct Report {
    sequence: Sequence,
    preset: String,
    builder: String,
    events: usize,
    isa: &'static str,
    device: String,
    streams: usize,
    #[serde(flatten)]
    hashes: Hashes,
    tracks: usize,
    hits: usize,
    dropped: BTreeMap<&'static str, u64>,
    events_per_second: f64,
    events_per_second_best: f64,
    repetitions: u64,
    seconds: f64,
    kernels: Vec<KernelTime>,
    /// Rates for other slices and numbers of streams; empty unless asked for.
    scan: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    slice: usize,
    streams: usize,
    events_per_second: f64,
}

/// What passes over the events gave.
struct Measured {
    hashes: Hashes,
    passes: u64,
    total: Duration,
    best: Duration,
}

type Plan = (Option<u64>, Duration);

#[derive(Serialize)]
struct KernelTime {
    name: &'static str,
    us_per_track: f64,
    share: f64,
}

/// Times passes over events in memory: from columns of hits and seeds to columns of tracks.
pub fn throughput(
    device: Device,
    config: &Config,
    (input, report): (&InputArgs, &ReportArgs),
    plan: Plan,
    (streams, slice, scan): (Option<usize>, Option<usize>, bool),
) -> Result<ExitCode> {
    let mut on = OnDevice::new(device, config, streams, slice)?;
    let events: Events = load(input, report)?;
    let mut slots = Vec::new();
    let Measured { hashes, passes: done, total, best } = measure(&mut on, &events, &mut slots, plan)?;
    let mut counters = Counters::default();
    slots.iter().for_each(|slot| counters.merge(&slot.counters));
    let tracks: usize = slots.iter().map(|slot| slot.tracks.tracks()).sum();
    let times = on.take_times();
    let sum: u64 = times.iter().map(|(_, ns)| ns).sum();
    let kernel = |(name, ns): (&'static str, u64)| KernelTime {
        name,
        us_per_track: ns as f64 / 1e3 / (tracks.max(1) as u64 * done) as f64,
        share: ns as f64 / sum.max(1) as f64,
    };
    let count = events.hits.len();
    let result = Report {
        sequence: Sequence::Cylinder,
        preset: config.preset_name(),
        builder: config.cylinder.builder.to_string(),
        events: count,
        isa: device.kind(),
        device: on.name().into(),
        streams: on.streams(),
        hashes,
        tracks,
        hits: events.hits.x.len(),
        dropped: counters.dropped().collect(),
        events_per_second: (count as u64 * done) as f64 / total.as_secs_f64(),
        events_per_second_best: count as f64 / best.as_secs_f64(),
        repetitions: done,
        seconds: total.as_secs_f64(),
        kernels: times.into_iter().filter(|(_, ns)| *ns > 0).map(kernel).collect(),
        scan: if scan { scan_all(device, config, &events, plan, hashes)? } else { Vec::new() },
    };
    report.report(&text(&result), &result)?;
    Ok(ExitCode::SUCCESS)
}

/// The first pass warms up; every pass must give its hash, which is not timed.
fn measure(
    on: &mut OnDevice,
    events: &Events,
    slots: &mut Vec<CylinderSlot>,
    (passes, time): Plan,
) -> Result<Measured> {
    on.run(events.input(), slots)?;
    on.take_times();
    let hashes = hash(slots);
    let mut measured = Measured { hashes, passes: 0, total: Duration::ZERO, best: Duration::MAX };
    loop {
        let start = Instant::now();
        on.run(events.input(), slots)?;
        let elapsed = start.elapsed();
        if hash(slots) != hashes {
            return Err(Error::format("a pass", "the hash is not that of the first pass"));
        }
        measured.passes += 1;
        measured.total += elapsed;
        measured.best = measured.best.min(elapsed);
        let enough = passes.map_or(measured.total >= time, |passes| measured.passes >= passes);
        if enough || interrupt::requested() {
            return Ok(measured);
        }
    }
}

/// Rates over events per slice and streams; all of them must give the same hashes.
fn scan_all(
    device: Device,
    config: &Config,
    events: &Events,
    plan: Plan,
    hashes: Hashes,
) -> Result<Vec<Point>> {
    let (mut points, mut slots) = (Vec::new(), Vec::new());
    for slice in [1, 4, 16, 64] {
        for streams in 1..=4 {
            if interrupt::requested() || slice * streams > events.hits.len() && slice > 1 {
                continue;
            }
            let mut on = OnDevice::new(device, config, Some(streams), Some(slice))?;
            let measured = measure(&mut on, events, &mut slots, plan)?;
            if measured.hashes != hashes {
                let place = format!("slices of {slice}, {streams} streams");
                return Err(Error::format(place, "the hash is another one"));
            }
            let events_per_second = events.hits.len() as f64 / measured.best.as_secs_f64();
            points.push(Point { slice, streams, events_per_second });
        }
    }
    Ok(points)
}

fn hash(slots: &[CylinderSlot]) -> Hashes {
    let mut hasher = Hasher::<CylinderTracks>::default();
    slots.iter().for_each(|slot| hasher.update(&slot.tracks));
    hasher.finish()
}

fn text(report: &Report) -> String {
    let mut rows = vec![["kernel", "us/track", "share"].map(String::from)];
    for kernel in &report.kernels {
        let (time, share) = (format!("{:.4}", kernel.us_per_track), percent(Some(kernel.share)));
        rows.push([kernel.name.into(), time, share]);
    }
    let mut scan = String::new();
    if !report.scan.is_empty() {
        let row = |point: &Point| {
            [point.slice.to_string(), point.streams.to_string(), format!("{:.1}", point.events_per_second)]
        };
        let head = ["slice", "streams", "events/s"].map(String::from);
        let rows: Vec<_> = std::iter::once(head).chain(report.scan.iter().map(row)).collect();
        scan = format!("\n{}", table(&rows));
    }
    let Report { device, streams, builder, events, tracks, hashes, repetitions, seconds, .. } = report;
    format!(
        "cylinder, {device}, {streams} streams, builder {builder}: {events} events, {tracks} tracks\n\n{}\nhash_int \
         {:016x}  output_hash {:016x}\n{repetitions} passes in {seconds:.2} s, equal hashes; {:.2} events/s, fastest \
         pass {:.2}\n{scan}",
        table(&rows),
        hashes.int,
        hashes.output,
        report.events_per_second,
        report.events_per_second_best,
    )
}

/// Tracks of slices as tracks of events.
pub fn by_event(slices: &[CylinderSlot], events: &mut Vec<CylinderSlot>) {
    let count = slices.iter().map(|slot| slot.tracks.events()).sum();
    events.resize_with(count, CylinderSlot::default);
    let all =
        slices.iter().flat_map(|slot| (0..slot.tracks.events()).map(move |event| (&slot.tracks, event)));
    for (slot, (tracks, event)) in events.iter_mut().zip(all) {
        slot.tracks.clear();
        tracks.of_event(event).for_each(|track| slot.tracks.push_from(tracks, track));
        slot.tracks.track_start.push(slot.tracks.tracks() as u32);
        slot.tracks.status.push(tracks.status[event]);
    }
}

#[cfg(feature = "cuda")]
mod opened {
    use super::*;
    use crate::device::{Lanes, order};
    use peloton::event::CYLINDER_LAYERS;
    use peloton::gpu::cylinder::Capacity;
    use peloton::gpu::{Cuda, CylinderGpuPool, CylinderRunner, Emulated};

    /// A device, opened anew when events come that it has no room for.
    pub struct OnDevice {
        device: Device,
        config: Config,
        streams: usize,
        capacity: Capacity,
        runner: Box<dyn CylinderRunner>,
    }

    fn open(
        device: Device,
        config: &Config,
        streams: usize,
        capacity: Capacity,
    ) -> Result<Box<dyn CylinderRunner>> {
        let lanes: Lanes = match device {
            Device::Cpu => return Err(Error::Config("the CPU is no device of this kind".into())),
            Device::Gpu => {
                let pool = CylinderGpuPool::new(&Cuda::new()?, &config.cylinder, streams, capacity)?;
                return Ok(Box::new(pool));
            }
            Device::Emulated(lanes) => lanes,
        };
        let emulated = Emulated::new(order(lanes))?;
        Ok(Box::new(CylinderGpuPool::new(&emulated, &config.cylinder, streams, capacity)?))
    }

    impl OnDevice {
        /// Opens it for slices of so many events; `streams` and `slice` are a guess unless given.
        pub fn new(
            device: Device,
            config: &Config,
            streams: Option<usize>,
            slice: Option<usize>,
        ) -> Result<Self> {
            let emulated = matches!(device, Device::Emulated(_));
            let streams = streams.unwrap_or_else(|| if emulated { config.thread_count() } else { 3 });
            let events = slice.unwrap_or(if emulated { 1 } else { 16 });
            let capacity = Capacity { events, hits: 1000 * events, seeds: 100 * events };
            let runner = open(device, config, streams, capacity)?;
            Ok(Self { device, config: config.clone(), streams, capacity, runner })
        }

        pub fn name(&self) -> &str {
            self.runner.name()
        }

        pub fn streams(&self) -> usize {
            self.runner.streams()
        }

        /// Reconstructs all events; `slots` get one slice of events each.
        pub fn run(&mut self, input: CylinderInput<'_>, slots: &mut Vec<CylinderSlot>) -> Result<()> {
            let most = (0..input.hits.len()).map(|event| {
                let layers = &input.hits.layer_start[CYLINDER_LAYERS * event..];
                let seeds = &input.seeds.start[event..];
                [layers[CYLINDER_LAYERS] - layers[0], seeds[1] - seeds[0]].map(|count| count as usize)
            });
            let [hits, seeds] = most.fold([0, 0], |[a, b], [c, d]| [a.max(c), b.max(d)]);
            let Capacity { events, .. } = self.capacity;
            let needed = Capacity { events, hits: hits * events, seeds: seeds * events };
            if needed.hits > self.capacity.hits || needed.seeds > self.capacity.seeds {
                self.capacity.hits = self.capacity.hits.max(needed.hits);
                self.capacity.seeds = self.capacity.seeds.max(needed.seeds);
                self.runner = open(self.device, &self.config, self.streams, self.capacity)?;
            }
            self.runner.run(input, slots)
        }

        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            self.runner.take_times()
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod opened {
    use super::*;

    /// No device can be opened.
    pub enum OnDevice {}

    impl OnDevice {
        pub fn new(_: Device, _: &Config, _: Option<usize>, _: Option<usize>) -> Result<Self> {
            Err(Error::Unsupported("gpu: not built in; build with --features cuda".into()))
        }

        pub fn name(&self) -> &str {
            match *self {}
        }

        pub fn streams(&self) -> usize {
            match *self {}
        }

        pub fn run(&mut self, _: CylinderInput<'_>, _: &mut Vec<CylinderSlot>) -> Result<()> {
            match *self {}
        }

        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            match *self {}
        }
    }
}
