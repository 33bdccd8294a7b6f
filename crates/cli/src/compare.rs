//! `peloton compare`: do two ways of computing give the same bits?

use super::device::{Device, Opened, WARP, open};
use super::device_hits::Decoder;
use super::device_throughput::no_sequence;
use super::job::{Totals, all_ok, stream};
use super::options::{ConfigArgs, InputArgs, ReportArgs};
use super::settings::Settings;
use super::source::{EventBatch, EventSource};
use super::{cylinder, interrupt, timepix};
use clap::Args;
use peloton::event::{Counters, Hasher, Hashes, SciFiBatch, UtBatch, VeloEvents, VeloTracks, difference};
use peloton::pipeline::{Config, Product, Sequence, Sliced};
use peloton::velo::VeloConfig;
use peloton::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Reconstruct events in two ways and tell the first difference
///
/// A side is a list of KEY=VALUE, separated by commas, that is laid over the configuration: isa, gang,
/// threads, slice, preset; or `gpu` for a device, with threads for its streams. The exit code is 0 when all output
/// columns are equal, bit by bit, and 1 when not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton compare events.ndjson.zst --left isa=avx2,gang=16 --right isa=scalar,gang=1
  peloton compare sim:velo,events=500,seed=3 --left threads=1 --right threads=8,slice=1
  peloton compare events.ndjson.zst --right gpu
  peloton compare events.ndjson.zst --right emulated:reverse,slice=8")]
pub struct Compare {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// One side; without it, the configuration as it is
    #[arg(long, value_name = "SIDE", default_value = "")]
    left: String,
    /// The other side
    #[arg(long, value_name = "SIDE", default_value = "isa=scalar,gang=1")]
    right: String,
}

#[derive(Serialize)]
struct Report {
    sequence: Sequence,
    events: u64,
    equal: bool,
    different_events: u64,
    left: Side,
    right: Side,
    first_difference: Option<Difference>,
}

#[derive(Serialize)]
struct Side {
    preset: String,
    isa: &'static str,
    gang: usize,
    threads: usize,
    slice: usize,
    #[serde(flatten)]
    hashes: Hashes,
}

#[derive(Serialize)]
struct Difference {
    event: u64,
    what: String,
}

/// What is summed up over all events.
struct Found<P> {
    hashers: [Hasher<P>; 2],
    events: u64,
    different: u64,
    first: Option<Difference>,
}

impl<P: Product> Default for Found<P> {
    fn default() -> Self {
        Self { hashers: Default::default(), events: 0, different: 0, first: None }
    }
}

/// Results that a device may make, too.
trait Compared: Product {
    /// Makes the results on a device.
    fn on_device(_: &mut Opened, _: VeloEvents<'_>, _: &mut Sliced<Self>) -> Result<()> {
        Err(no_sequence())
    }
}

impl Compare {
    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        if let Some(config) = self.config.pixels()? {
            let sides = [&self.left[..], &self.right];
            return timepix::compare(&config, &self.config, &self.input, &self.report, sides);
        }
        if let Some(config) = self.config.cylinder()? {
            return cylinder::compare(&config, &self.input, &self.report, [&self.left, &self.right]);
        }
        let Some(Settings { config, .. }) = self.config.settings()? else { return Ok(ExitCode::SUCCESS) };
        match config.sequence {
            Sequence::Ut => self.execute_with::<UtBatch>(&config),
            Sequence::SciFi => self.execute_with::<SciFiBatch>(&config),
            Sequence::Velo | Sequence::Timepix | Sequence::Cylinder => {
                self.execute_with::<VeloTracks>(&config)
            }
        }
    }

    /// Compares two ways to make this.
    fn execute_with<P: Compared>(&self, config: &Config) -> Result<ExitCode> {
        let mut source = self.input.open(config, false, &self.report)?;
        let side = |text: &str| side(config, text)?.for_source(&source);
        let mut sides = [side(&self.left)?, side(&self.right)?];
        let mut found = Found::<P>::default();
        let threads = sides[0].threads().max(sides[1].threads());
        let done = stream::<[Sliced<P>; 2]>(
            &mut source,
            threads,
            self.report.quiet,
            |chunk| {
                for (side, results) in sides.iter_mut().zip(&mut chunk.result) {
                    side.run(&chunk.events, results, self.input.strict)?;
                }
                Ok(())
            },
            |chunk| {
                found.add(&chunk.result, chunk.events.event_ids());
                Ok(())
            },
        );
        source.say_problems(&self.report);
        done?;
        let report = found.report(config.sequence, &sides);
        self.input.say_if_beyond(report.events, &self.report);
        self.report.report(&text(&report), &report)?;
        Ok(if report.equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// A device that is ready.
struct OnDevice {
    device: Device,
    config: Config,
    opened: Opened,
    /// None until the source of the events is known.
    decoder: Option<Decoder>,
}

/// A way of computing.
enum Way {
    Cpu(Box<Settings>),
    Device(Box<OnDevice>),
}

impl Way {
    fn for_source(self, source: &EventSource) -> Result<Self> {
        Ok(match self {
            Self::Cpu(settings) => Self::Cpu(Box::new(settings.for_source(source))),
            Self::Device(mut on) => {
                on.decoder = Some(Decoder::new(&on.config, source)?);
                Self::Device(on)
            }
        })
    }

    fn threads(&self) -> usize {
        match self {
            Self::Cpu(settings) => settings.pool.threads(),
            Self::Device(on) => on.opened.streams() * on.opened.slice_events() / WARP,
        }
    }

    fn run<P: Compared>(&mut self, events: &EventBatch, results: &mut Sliced<P>, strict: bool) -> Result<()> {
        match self {
            Self::Cpu(settings) => {
                let Settings { engine, pool, .. } = &**settings;
                Totals::default().reconstruct((engine, pool), events, results, strict)
            }
            Self::Device(on) => {
                let decoder = on.decoder.as_mut().expect("a source");
                P::on_device(&mut on.opened, decoder.hits(events, &mut Counters::default()), results)?;
                if strict { all_ok(results.slices(), events.event_ids()) } else { Ok(()) }
            }
        }
    }

    fn report(&self, hashes: Hashes) -> Side {
        match self {
            Self::Cpu(settings) => Side {
                preset: settings.config.preset_name(),
                isa: settings.engine.level().isa().name(),
                gang: settings.engine.level().gang(),
                threads: settings.pool.threads(),
                slice: settings.engine.slice_events(),
                hashes,
            },
            Self::Device(on) => Side {
                preset: on.config.preset_name(),
                isa: on.device.kind(),
                gang: WARP,
                threads: on.opened.streams(),
                slice: on.opened.slice_events(),
                hashes,
            },
        }
    }
}

/// The configuration with `KEY=VALUE,...` laid over it.
fn side(config: &Config, text: &str) -> Result<Way> {
    let mut config = config.clone();
    let (mut device, mut streams, mut slice) = (Device::Cpu, None, None);
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let wrong = || {
            Error::Config(format!(
                "`{pair}` is none of isa=, gang=, threads=, slice=, preset=, gpu, emulated"
            ))
        };
        if !pair.contains('=') {
            device = pair.parse().map_err(|_| wrong())?;
            continue;
        }
        let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
        let number = || value.parse::<usize>().map_err(|_| wrong());
        match key {
            "isa" if value == "auto" => config.isa = None,
            "isa" => config.isa = Some(value.parse()?),
            "gang" if value == "auto" => config.gang = None,
            "gang" => config.gang = Some(number()?),
            "threads" => {
                streams = Some(number()?);
                config.threads = streams;
            }
            "slice" => {
                config.slice_events = number()?;
                slice = Some(config.slice_events);
            }
            "preset" => {
                config.preset = value.parse()?;
                config.velo = VeloConfig::preset(config.preset);
            }
            _ => return Err(wrong()),
        }
    }
    if device == Device::Cpu {
        return Settings::new(config).map(Box::new).map(Way::Cpu);
    }
    config.validate()?;
    let opened = open(device, &config, streams, slice)?;
    Ok(Way::Device(Box::new(OnDevice { device, config, opened, decoder: None })))
}

impl<P: Compared> Found<P> {
    /// Compares one chunk.
    fn add(&mut self, [left, right]: &[Sliced<P>; 2], event_ids: &[u64]) {
        for (hasher, side) in self.hashers.iter_mut().zip([left, right]) {
            side.slices().for_each(|piece| hasher.update(piece));
        }
        for ((left, right), &event) in left.events().zip(right.events()).zip(event_ids) {
            self.events += 1;
            if let Some(what) = difference(left, right) {
                self.different += 1;
                self.first.get_or_insert(Difference { event, what });
            }
        }
    }

    fn report(self, sequence: Sequence, sides: &[Way; 2]) -> Report {
        let side = |i: usize| sides[i].report(self.hashers[i].finish());
        let (left, right) = (side(0), side(1));
        Report {
            sequence,
            events: self.events,
            equal: self.different == 0 && left.hashes == right.hashes,
            different_events: self.different,
            left,
            right,
            first_difference: self.first,
        }
    }
}

impl Compared for VeloTracks {
    fn on_device(opened: &mut Opened, events: VeloEvents<'_>, results: &mut Sliced<Self>) -> Result<()> {
        opened.run(events, results).map(drop)
    }
}

impl Compared for UtBatch {}

impl Compared for SciFiBatch {}

fn text(report: &Report) -> String {
    let side = |side: &Side| {
        let Side { preset, isa, gang, threads, slice, .. } = side;
        format!("preset {preset}, {isa} x {gang}, {threads} threads, slices of {slice}")
    };
    let mut text = format!("left   {}\nright  {}\n", side(&report.left), side(&report.right));
    let Report { events, different_events, .. } = report;
    match &report.first_difference {
        None if report.equal => {
            let Hashes { int, output } = report.left.hashes;
            text.push_str(&format!(
                "equal: {events} events, hash_int {int:016x}, output_hash {output:016x}\n"
            ));
        }
        None => text.push_str("the hashes differ\n"),
        Some(Difference { event, what }) => {
            text.push_str(&format!(
                "{different_events} of {events} events differ; the first is event {event}: {what}\n"
            ));
        }
    }
    if interrupt::requested() {
        text.push_str("interrupted: these are the events so far\n");
    }
    text
}
