//! The flags that subcommands share.

use super::cylinder::CylinderArgs;
use super::timepix::PixelArgs;
use crate::input::Format;
use crate::output::JobFiles;
use crate::pipeline::Sequence;
use crate::simd::Isa;
use crate::velo::{Preset, VeloBanks};
use crate::{Error, Result};
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

/// `auto`, or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Auto<T>(pub Option<T>);

impl<T: FromStr<Err: ToString>> FromStr for Auto<T> {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "auto" {
            return Ok(Self(None));
        }
        text.parse()
            .map(|value| Self(Some(value)))
            .map_err(|e: T::Err| format!("{} (or auto)", e.to_string()))
    }
}

/// `FIRST:COUNT`; either may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventRange {
    /// Number of the first event, from 0.
    pub first: usize,
    /// How many, or all.
    pub count: Option<usize>,
}

impl FromStr for EventRange {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Config(format!("`{text}` is not FIRST:COUNT, such as 0:100, 50: or :20"));
        let (first, count) = text.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| wrong()),
        };
        Ok(Self { first: number(first)?.unwrap_or(0), count: number(count)? })
    }
}

/// Which events.
#[derive(Args, Debug, Clone, Default)]
pub struct InputArgs {
    /// Files, directories, `-` (standard input), `sim:velo,events=N,seed=K` (simulated hits),
    /// `sim:lhcb,events=N,seed=K` (simulated raw banks),
    /// `sim:timepix,preset=am241,hits=N,seed=K`; pixel hits also from `tcp://HOST:PORT` or `udp://HOST:PORT`
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Format of the input: auto (from the content), velo-json, velo-ndjson, mdf, banks (a folder of bank
    /// containers); of pixel hits t3pa, burda, tpx3, tpx4, katherine, hits16, npy, parquet
    #[arg(long, value_name = "FORMAT", default_value_t)]
    pub format: Format,
    /// Only these events, counted from 0 over all inputs
    #[arg(long, value_name = "FIRST:COUNT", default_value = "0:")]
    pub events: EventRange,
    /// End at the first event that cannot be read or reconstructed, instead of counting it
    #[arg(long)]
    pub strict: bool,
    /// Folder of the detector's geometry files, for raw banks, or `nominal`, which is what simulations have without
    /// it; events of hits need none
    #[arg(long, value_name = "DIR")]
    pub geometry: Option<PathBuf>,
    /// Kind of Velo banks to read, where there are several: auto (retina where present), retina, superpixel;
    /// events of hits have none
    #[arg(long, value_name = "KIND", default_value_t)]
    pub velo_banks: VeloBanks,
}

/// How it is computed.
#[derive(Args, Debug, Clone, Default)]
pub struct ConfigArgs {
    /// What to reconstruct: velo, ut, scifi (hits of raw banks), timepix, cylinder
    #[arg(long, value_name = "S")]
    pub sequence: Option<Sequence>,
    /// Set of parameters: best, paper, forwarding [default: best]
    #[arg(long, value_name = "NAME")]
    pub preset: Option<Preset>,
    /// Instruction set level: auto, scalar, portable, avx2, avx512, neon [default: auto]
    #[arg(long, value_name = "ISA")]
    pub isa: Option<Auto<Isa>>,
    /// Lanes of a gang: auto, 1, 4, 8, 16, 32, 64 [default: auto]
    #[arg(long, value_name = "N")]
    pub gang: Option<Auto<usize>>,
    /// Threads: auto (one per core) or a number [default: auto]
    #[arg(long, value_name = "N")]
    pub threads: Option<Auto<usize>>,
    /// Events a thread takes at once; changes nothing but speed
    #[arg(long, value_name = "N")]
    pub slice: Option<usize>,
    /// Configuration in TOML (start from --print-config); flags go before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Profile that `peloton tune` wrote: the fastest level and gang of this CPU
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Parameters of the sequence timepix.
    #[command(flatten)]
    pub pixels: PixelArgs,
    /// Parameters of the sequence cylinder.
    #[command(flatten)]
    pub cylinder: CylinderArgs,
    /// Print the configuration as TOML and end
    #[arg(long)]
    pub print_config: bool,
}

/// What is told.
#[derive(Args, Debug, Clone, Default)]
pub struct ReportArgs {
    /// Write the results as JSON to a file, or with `-` to standard output instead of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// No text, no progress, no warnings
    #[arg(long, short)]
    pub quiet: bool,
}

impl InputArgs {
    /// Adds what is read.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("input", &self.inputs);
        files.read("--geometry", &self.geometry);
    }
}

impl ConfigArgs {
    /// Adds what is read.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--config", &self.config);
        files.read("--profile", &self.profile);
        files.read("--calibration", &self.pixels.calibration);
    }
}

impl ReportArgs {
    /// Adds what is written.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.written("--json", &self.json);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ranges() {
        let range = |text: &str| text.parse::<EventRange>();
        assert_eq!(range("3:10").unwrap(), EventRange { first: 3, count: Some(10) });
        assert_eq!(range("3:").unwrap(), EventRange { first: 3, count: None });
        assert_eq!(range(":10").unwrap(), EventRange { first: 0, count: Some(10) });
        for wrong in ["", "3", "a:b", "1:2:3", "-1:5"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn auto_or_value() {
        assert_eq!("auto".parse(), Ok(Auto::<usize>(None)));
        assert_eq!("16".parse(), Ok(Auto(Some(16usize))));
        assert!("sixteen".parse::<Auto<usize>>().is_err());
        assert!("sse".parse::<Auto<Isa>>().unwrap_err().contains("avx2"));
    }
}
