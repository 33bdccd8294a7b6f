//! `peloton compare --sequence cylinder`: do two ways of computing find the same tracks, bit by bit?

use super::device::{OnDevice, by_event};
use super::source::{EventSource, Events};
use crate::device::Device;
use crate::interrupt;
use crate::options::{InputArgs, ReportArgs};
use peloton::cylinder::CylinderInput;
use peloton::event::{CylinderTracks, Hasher, Hashes, difference};
use peloton::pipeline::{Config, CylinderPool, CylinderSlot};
use peloton::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Report {
    events: u64,
    equal: bool,
    left: Hashes,
    right: Hashes,
    first_difference: Option<String>,
}

/// Does it. A side is a list of isa=, gang=, threads=, builder=, or a device with threads=, slice=, builder=.
pub fn compare(
    config: &Config,
    input: &InputArgs,
    report: &ReportArgs,
    sides: [&str; 2],
) -> Result<ExitCode> {
    let mut source = EventSource::open(input)?;
    let mut ways = [side(config, sides[0])?, side(config, sides[1])?];
    let at_once = ways.iter().map(Way::at_once).max().unwrap_or(1);
    let mut hashers = <[Hasher<CylinderTracks>; 2]>::default();
    let mut slots = [Vec::new(), Vec::new()];
    let (mut events, mut count, mut first) = (Events::default(), 0, None);
    let mut run = || {
        while !interrupt::requested() && source.read(at_once, &mut events)? > 0 {
            for i in 0..2 {
                ways[i].run(events.input(), &mut slots[i])?;
                slots[i].iter().for_each(|slot| hashers[i].update(&slot.tracks));
            }
            for (a, b) in slots[0].iter().zip(&slots[1]) {
                let differs = || difference((&a.tracks, 0), (&b.tracks, 0));
                first = first.take().or_else(|| differs().map(|what| format!("event {count}: {what}")));
                count += 1;
            }
            events.clear();
        }
        Result::Ok(())
    };
    let done = run();
    source.say_problems(report);
    done?;
    let [left, right] = hashers.each_ref().map(Hasher::<CylinderTracks>::finish);
    let result = Report { events: count, equal: left == right, left, right, first_difference: first };
    report.report(&text(&result), &result)?;
    Ok(if result.equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A way of computing.
enum Way {
    Cpu(Box<CylinderPool>),
    Device { on: Box<OnDevice>, slices: Vec<CylinderSlot>, events: usize },
}

impl Way {
    /// Events that keep it busy.
    fn at_once(&self) -> usize {
        match self {
            Self::Cpu(pool) => pool.threads(),
            Self::Device { on, events, .. } => events * on.streams(),
        }
    }

    /// Reconstructs all events, each into its own slot.
    fn run(&mut self, input: CylinderInput<'_>, slots: &mut Vec<CylinderSlot>) -> Result<()> {
        match self {
            Self::Cpu(pool) => pool.run(input, slots),
            Self::Device { on, slices, .. } => {
                on.run(input, slices)?;
                by_event(slices, slots);
            }
        }
        Ok(())
    }
}

fn side(config: &Config, text: &str) -> Result<Way> {
    let mut config = config.clone();
    let (mut device, mut streams, mut slice) = (Device::Cpu, None, None);
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let wrong = || {
            Error::Config(format!(
                "`{pair}` is none of isa=, gang=, threads=, slice=, builder=, gpu, emulated"
            ))
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
            "threads" => {
                streams = Some(number()?);
                config.threads = streams;
            }
            "slice" => slice = Some(number()?),
            "builder" => config.cylinder.builder = value.parse()?,
            _ => return Err(wrong()),
        }
    }
    if device == Device::Cpu {
        return CylinderPool::new(&config).map(Box::new).map(Way::Cpu);
    }
    let on = Box::new(OnDevice::new(device, &config, streams, slice)?);
    Ok(Way::Device { on, slices: Vec::new(), events: slice.unwrap_or(1) })
}

fn text(report: &Report) -> String {
    let Hashes { int, output } = report.left;
    match &report.first_difference {
        None if report.equal => {
            format!("equal: {} events, hash_int {int:016x}, output_hash {output:016x}\n", report.events)
        }
        None => "the hashes differ\n".into(),
        Some(what) => format!("{} events; the first difference: {what}\n", report.events),
    }
}
