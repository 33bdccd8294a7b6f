//! Flags for streams of pixel hits, laid over `[timepix]` of the configuration.

use crate::event::{Edge, Layout, NS_PER_TICK};
use crate::input::timepix::KatherineOptions;
use crate::pipeline::Config;
use crate::pipeline::timepix::WhenFull;
use crate::timepix::{Algorithm, Definition, Filter, TimepixConfig};
use crate::{Error, Result};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;

/// Which sensor, before it is known which chips there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutArg {
    /// Chips that do not see each other: how many, width, height.
    Apart(usize, usize, usize),
    /// Four chips as one sensor, with a gap.
    Quad(usize),
}

impl FromStr for LayoutArg {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::Config(format!(
                "`{text}` is no layout: single, single:WxH, apart:CHIPS, apart:CHIPS:WxH, quad, quad:GAP"
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
    /// The sensor.
    pub fn layout(self) -> Result<Layout> {
        match self {
            Self::Apart(chips, width, height) => Layout::apart(chips, width, height),
            Self::Quad(gap) => Layout::quad(gap),
        }
    }
}

impl ValueEnum for Definition {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }
    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let name = match self {
            Self::Local => "local",
            Self::Global => "global",
            Self::Static => "static",
        };
        Some(clap::builder::PossibleValue::new(name))
    }
}

impl ValueEnum for Edge {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Rise1, Self::Fall1, Self::Rise2, Self::Fall2]
    }
    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let name = match self {
            Self::Rise1 => "rise1",
            Self::Fall1 => "fall1",
            Self::Rise2 => "rise2",
            Self::Fall2 => "fall2",
        };
        Some(clap::builder::PossibleValue::new(name))
    }
}

impl ValueEnum for Algorithm {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }
    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let name = match self {
            Self::Fast => "fast",
            Self::Open => "open",
            Self::Plain => "plain",
        };
        Some(clap::builder::PossibleValue::new(name))
    }
}

/// Flags of the sequence timepix.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Sequence timepix")]
pub struct PixelArgs {
    /// What a cluster is: neighbours within delta (local), or of an open cluster (global), or of a window
    /// (static)
    #[arg(long, value_name = "NAME")]
    pub definition: Option<Definition>,
    /// Which program finds the clusters; changes nothing but speed
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<Algorithm>,
    /// Time difference that still links hits, ns
    #[arg(long, value_name = "NS")]
    pub delta_ns: Option<f64>,
    /// A difference of exactly delta no longer links
    #[arg(long)]
    pub strict_delta: bool,
    /// How much older than the latest hit before it a hit may be, us [default: by format]
    #[arg(long, value_name = "US")]
    pub disorder_us: Option<f64>,
    /// Sensor: single, single:WxH, apart:CHIPS, apart:CHIPS:WxH, quad, quad:GAP [default: by format]
    #[arg(long, value_name = "LAYOUT")]
    pub layout: Option<LayoutArg>,
    /// Folder with the energy calibration a.txt, b.txt, c.txt, t.txt
    #[arg(long, value_name = "DIR")]
    pub calibration: Option<PathBuf>,
    /// Keep only clusters within limits: size, tot, height, energy (keV), duration (ns), length, breadth,
    /// linearity, roundness, such as size=2:100,energy=10:
    #[arg(long, value_name = "FEATURE=MIN:MAX,...")]
    pub filter: Option<Filter>,
    /// Drop the hits of pixels with more than N hits in the first million hits of the input
    #[arg(long, value_name = "N")]
    pub mask_hot: Option<u64>,
    /// Pair hits with the latest edge of a trigger input before them: rise1, fall1, rise2, fall2; written beside
    /// the clusters
    #[arg(long, value_name = "EDGE")]
    pub trigger: Option<Edge>,
    /// Clocks in a unit of the Katherine readout's time offset
    #[arg(long, value_name = "N", default_value_t = KatherineOptions::default().offset_unit)]
    pub katherine_unit: i64,
    /// What to do with hits that come faster than they are worked on: wait, drop
    #[arg(long, value_name = "WHAT", default_value = "wait")]
    pub when_full: WhenFullArg,
}

/// [`WhenFull`] as a flag.
#[derive(Debug, Clone, Copy, Default)]
pub struct WhenFullArg(pub WhenFull);

impl FromStr for WhenFullArg {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

impl PixelArgs {
    /// Flags go before the configuration.
    pub fn lay_over(&self, config: &mut TimepixConfig) {
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

/// Lanes that find clusters: as many as there are threads, of which `auto` are those beside reading and
/// sorting; one when the definition cannot be shared out.
pub fn lanes(config: &Config) -> usize {
    let is_local = config.timepix.find.definition == Definition::Local;
    match config.threads {
        Some(threads) => threads,
        None if is_local => config.thread_count().saturating_sub(2).max(1),
        None => 1,
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
