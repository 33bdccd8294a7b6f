//! Flags that belong to one sequence: timepix (pixel hits) or cylinder.

use crate::options::given;
use clap::Args;
use peloton::cylinder::{Builder, CylinderConfig, SeedSource};
use peloton::event::{Edge, Layout, NS_PER_TICK};
use peloton::timepix::{Algorithm, Definition, Filter, TimepixConfig};
use peloton::{Error, Result};
use peloton_io::input::timepix::{KatherineOptions, TimeUnit, WhenFull};
use peloton_job::PixelOptions;
use std::path::PathBuf;
use std::str::FromStr;

/// The layout of the sensor that the flag `--layout` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutArg {
    /// Number, width and height of separate chips, in pixels; a cluster never spans two chips.
    Apart(usize, usize, usize),
    /// Gap between four chips that form one sensor, pixels.
    Quad(usize),
}

impl FromStr for LayoutArg {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::Config(format!(
                "`{text}` is not a layout: choose single, single:WxH, apart:CHIPS, apart:CHIPS:WxH, quad, quad:GAP"
            ))
        };
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let size = |text: &str| {
            let (width, height) = text.split_once('x').ok_or_else(wrong)?;
            Ok((number(width)?, number(height)?))
        };
        let parts: Vec<_> = text.split(':').collect();
        let layout = match parts[..] {
            ["single"] => Self::Apart(1, 256, 256),
            ["single", sides] => size(sides).map(|(width, height)| Self::Apart(1, width, height))?,
            ["apart", chips] => Self::Apart(number(chips)?, 256, 256),
            ["apart", chips, sides] => {
                let (width, height) = size(sides)?;
                Self::Apart(number(chips)?, width, height)
            }
            ["quad"] => Self::Quad(0),
            ["quad", gap] => Self::Quad(number(gap)?),
            _ => return Err(wrong()),
        };
        layout.layout().map(|_| layout)
    }
}

impl LayoutArg {
    /// Makes the layout of the sensor.
    pub fn layout(self) -> Result<Layout> {
        match self {
            Self::Apart(chips, width, height) => Layout::apart(chips, width, height),
            Self::Quad(gap) => Layout::quad(gap),
        }
    }
}

/// Parses a time difference in ns; refuses one that is too large for a number of ticks.
fn delta_ns(text: &str) -> std::result::Result<f64, String> {
    let most = f64::from(u32::MAX) * NS_PER_TICK;
    let wrong = || format!("`{text}` is not a time from 0 to {most} ns");
    text.parse().ok().filter(|ns| (0.0..=most).contains(ns)).ok_or_else(wrong)
}

/// Flags of the sequence timepix.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Sequence timepix")]
pub struct PixelArgs {
    /// Definition of a cluster: neighbouring pixels, joined to a chain. Each hit is within delta in time of a neighbour
    /// (local), at most delta later than the latest earlier hit of the cluster (global), or at most delta later than
    /// the first hit of the cluster (static) [default: local]
    #[arg(long, value_name = "NAME")]
    pub definition: Option<Definition>,
    /// Algorithm that finds the clusters: fast, open, plain; changes the speed, never the result [default: fast]
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<Algorithm>,
    /// Largest time difference (delta) between linked hits, ns; always 0 for input of frames [default: 200]
    #[arg(long, value_name = "NS", value_parser = delta_ns)]
    pub delta_ns: Option<f64>,
    /// Do not link hits whose time difference is exactly delta
    #[arg(long)]
    pub strict_delta: bool,
    /// How much older a hit may be than the newest hit before it in the stream, us; hits that are older than that are
    /// dropped and counted [default: by format]
    #[arg(long, value_name = "US")]
    pub disorder_us: Option<f64>,
    /// Layout of the sensor: single, single:WxH, apart:CHIPS, apart:CHIPS:WxH, quad, quad:GAP [default: by format]
    #[arg(long, value_name = "LAYOUT")]
    pub layout: Option<LayoutArg>,
    /// Folder with the energy calibration of a chip, the files a.txt, b.txt, c.txt and t.txt; for several chips, a
    /// folder that contains such a folder for each chip, named chip0, chip1 and so on
    #[arg(long, value_name = "DIR")]
    pub calibration: Option<PathBuf>,
    /// Keep only clusters with features in these ranges, such as size=2:100,energy=10: for sizes 2 to 100 and energies
    /// from 10. Features: size, tot, height, energy (keV), duration (ns), length, breadth, linearity, roundness
    #[arg(long, value_name = "FEATURE=MIN:MAX,...")]
    pub filter: Option<Filter>,
    /// Drop all hits of a pixel that has more than N of the first million hits of the input
    #[arg(long, value_name = "N")]
    pub mask_hot: Option<u64>,
    /// Pair each hit with the latest trigger edge before it: rise1, fall1, rise2, fall2 (rising or falling edge of
    /// trigger input 1 or 2). The results get columns for the pairs
    #[arg(long, value_name = "EDGE")]
    pub trigger: Option<Edge>,
    /// Length of one unit of the Katherine readout's time offset, in clocks of 25 ns [default: 16384]
    #[arg(long, value_name = "N")]
    pub katherine_unit: Option<i64>,
    /// Number of bits of the time-of-arrival counter in t3pa files, such as 28 for AdvaPIX Quad, 30 for AdvaPIX
    /// [default: found from the data]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(16..=48))]
    pub toa_bits: Option<u32>,
    /// Unit of times in NumPy and Parquet files that name no unit: ticks (1.5625 ns), clocks (25 ns), ps, ns, us, ms, s
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    /// If hits arrive faster than they are clustered: wait (delay the sender), drop (drop hits) [default: wait]
    #[arg(long, value_name = "WHAT")]
    pub when_full: Option<WhenFull>,
}

impl PixelArgs {
    /// Returns the options for reading streams of pixel hits.
    pub fn options(&self) -> Result<PixelOptions> {
        Ok(PixelOptions {
            layout: self.layout.map(LayoutArg::layout).transpose()?,
            katherine: self
                .katherine_unit
                .map_or_else(KatherineOptions::default, |offset_unit| KatherineOptions { offset_unit }),
            toa_bits: self.toa_bits,
            time_unit: self.time_unit,
            mask_hot: self.mask_hot,
            trigger: self.trigger,
            when_full: self.when_full.unwrap_or_default(),
        })
    }

    /// Returns the names of the given flags.
    pub fn given(&self) -> Vec<&'static str> {
        given(&[
            ("--definition", self.definition.is_some()),
            ("--algorithm", self.algorithm.is_some()),
            ("--delta-ns", self.delta_ns.is_some()),
            ("--strict-delta", self.strict_delta),
            ("--disorder-us", self.disorder_us.is_some()),
            ("--layout", self.layout.is_some()),
            ("--calibration", self.calibration.is_some()),
            ("--filter", self.filter.is_some()),
            ("--mask-hot", self.mask_hot.is_some()),
            ("--trigger", self.trigger.is_some()),
            ("--katherine-unit", self.katherine_unit.is_some()),
            ("--toa-bits", self.toa_bits.is_some()),
            ("--time-unit", self.time_unit.is_some()),
            ("--when-full", self.when_full.is_some()),
        ])
    }

    /// Overrides the configuration with the given flags.
    pub fn override_config(&self, config: &mut TimepixConfig) {
        let find = &mut config.find;
        find.definition = self.definition.unwrap_or(find.definition);
        find.algorithm = self.algorithm.unwrap_or(find.algorithm);
        find.strict |= self.strict_delta;
        if let Some(ns) = self.delta_ns {
            find.delta = (ns / NS_PER_TICK) as u32;
        }
        config.disorder_us = self.disorder_us.or(config.disorder_us);
        if let Some(folder) = &self.calibration {
            config.calibration = Some(folder.clone());
        }
        if let Some(filter) = &self.filter {
            config.filter = filter.clone();
        }
    }
}

/// Flags of the sequence cylinder.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Sequence cylinder")]
pub struct CylinderArgs {
    /// Algorithm that builds tracks: best-hit, standard, clone-engine [default: clone-engine]
    #[arg(long, value_name = "NAME")]
    pub builder: Option<Builder>,
    /// Source of the seeds: truth, hits [default: truth]
    #[arg(long, value_name = "FROM")]
    pub seeds: Option<SeedSource>,
    /// Maximum number of track candidates for each seed
    #[arg(long, value_name = "N")]
    pub candidates: Option<u32>,
    /// Maximum number of layers without a hit (holes) that a track may pass
    #[arg(long, value_name = "N")]
    pub holes: Option<u32>,
    /// Number of threads that share one event's seeds, for each thread of --threads; for large events [default: 1]
    #[arg(long, value_name = "N")]
    pub event_threads: Option<u32>,
}

impl CylinderArgs {
    /// Rejects flags that the builder would ignore.
    ///
    /// # Errors
    /// Returns [`Error::Config`] that names the flag.
    pub fn check_for(&self, builder: Builder) -> Result<()> {
        if self.candidates.is_some() && builder == Builder::BestHit {
            let message =
                "--candidates is for the builders standard and clone-engine: best-hit has one candidate";
            return Err(Error::Config(message.into()));
        }
        Ok(())
    }

    /// Overrides the configuration with the given flags.
    pub fn override_config(&self, config: &mut CylinderConfig) {
        config.builder = self.builder.unwrap_or(config.builder);
        config.seeds = self.seeds.unwrap_or(config.seeds);
        config.build.candidates = self.candidates.unwrap_or(config.build.candidates);
        config.build.holes = self.holes.unwrap_or(config.build.holes);
        config.event_threads = self.event_threads.unwrap_or(config.event_threads);
    }

    /// Returns the names of the given flags.
    pub fn given(&self) -> Vec<&'static str> {
        given(&[
            ("--builder", self.builder.is_some()),
            ("--seeds", self.seeds.is_some()),
            ("--candidates", self.candidates.is_some()),
            ("--holes", self.holes.is_some()),
            ("--event-threads", self.event_threads.is_some()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let layout = |text: &str| text.parse::<LayoutArg>().and_then(LayoutArg::layout);
        assert_eq!(layout("single:448x512").unwrap(), Layout::single(448, 512).unwrap());
        assert_eq!(layout("apart:4").unwrap(), Layout::apart(4, 256, 256).unwrap());
        assert_eq!(layout("quad:4").unwrap(), Layout::quad(4).unwrap());
        for wrong in ["", "single:256", "apart:0", "apart:x", "quad:-1", "ring", "single:99999x2"] {
            assert!(layout(wrong).is_err(), "{wrong}");
        }
    }
}
