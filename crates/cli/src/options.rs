//! Flags that several subcommands share.

use crate::console::{self, Terminal};
use crate::effects;
use crate::interrupt::CANCEL;
use crate::sensor::{CylinderArgs, PixelArgs};
use clap::Args;
use peloton::event::BadBanks;
use peloton::simd::Isa;
use peloton::velo::VeloBanks;
use peloton::{Error, Result};
use peloton_io::input::{ChecksumPolicy, Format};
use peloton_io::output::{JobFiles, is_standard_output};
use peloton_job::{
    Config, Device, EventRange, Host, MaxBad, OutputOptions, Preset, Request, SequenceName, check_inputs,
};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// The value of a flag that also accepts `auto`; `auto` is stored as none.
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

/// Flags that select the input and its events.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Files, directories, `-` (standard input), `sim:velo,events=N,seed=K` (simulated hits),
    /// `sim:lhcb,events=N,seed=K` (simulated raw banks), `sim:cylinder,events=N,tracks=N,seed=K`,
    /// `sim:timepix,preset=am241,hits=N,seed=K`; pixel hits also from `tcp://HOST:PORT` or `udp://HOST:PORT`: peloton
    /// listens there and reads until the sender disconnects (tcp), or until an empty datagram or Ctrl-C (udp)
    #[arg(value_name = "INPUT", help_heading = None::<&str>)]
    pub inputs: Vec<String>,
    /// Format of the input: auto (from the content), velo-json, velo-ndjson, mdf, banks (a folder of bank
    /// containers), cylinder; for pixel hits t3pa, burda, frames, pmf, tpx3, tpx4, katherine, hits16, npy, parquet.
    /// docs/formats.md describes the formats
    #[arg(long, value_name = "FORMAT", default_value_t)]
    pub format: Format,
    /// Process only these events, counted from 0 over all inputs
    #[arg(long, value_name = "FIRST:COUNT", default_value = "0:")]
    pub events: EventRange,
    /// Stop at the first event that cannot be read or fully reconstructed, instead of counting such events
    #[arg(long)]
    pub strict: bool,
    /// Exit with code 1 when more than N events could not be reconstructed, or more than N pixel hits were lost (late,
    /// outside of the sensor, ...; hits that masks and filters remove do not count). N% is a share of all events or
    /// hits; with 100% an empty result is accepted [default: the result must not be empty]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_bad: Option<MaxBad>,
    /// Folder of the detector's geometry files, required for raw banks. `nominal` is the ideal detector: the default
    /// for simulated events, refused for other events. `nominal-forced` uses the ideal detector for all events
    #[arg(long, value_name = "DIR")]
    pub geometry: Option<PathBuf>,
    /// Kind of Velo banks to read if events have both kinds: auto (retina where present), retina, superpixel
    #[arg(long, value_name = "KIND", default_value_t)]
    pub velo_banks: VeloBanks,
    /// Treatment of an event with a damaged raw bank: event (the event is lost), bank (the event is reconstructed
    /// without that bank, with the status partial) [default: event]
    #[arg(long, value_name = "POLICY")]
    pub bad_banks: Option<BadBanks>,
    /// Treatment of the checksums of MDF records: verify (an event with a wrong checksum is lost), skip (no check)
    #[arg(long, value_name = "POLICY", default_value_t)]
    pub checksum: ChecksumPolicy,
}

/// Options of the computation.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Computation")]
pub struct ConfigArgs {
    /// Sequence to run: velo, velo-ut, scifi, long, long-ut (tracks), ut, scifi-hits (hits of raw banks), own (the
    /// algorithms that the configuration lists), timepix (clusters of pixels), cylinder (tracks), cylinder-fit
    /// (states of given tracks) [default: the sequence that fits the input, else velo]
    #[arg(long, value_name = "S")]
    pub sequence: Option<SequenceName>,
    /// Products to write, by the names in `peloton describe --sequence S`. One job writes each product to its own file
    /// [default: the last product of the sequence]
    #[arg(long, value_name = "P,...", value_delimiter = ',')]
    pub write: Vec<String>,
    /// Set of parameters for each stage that has a set of this name: best, fast (velo, velo-ut, scifi, long, long-ut),
    /// two-pass (velo, velo-ut, long, long-ut), paper (velo, velo-ut, cylinder), paper-literal, forwarding (velo), hlt1
    /// (velo-ut, scifi, long, long-ut), hlt1-unrestricted (velo-ut) [default: best]
    #[arg(long, value_name = "NAME")]
    pub preset: Option<Preset>,
    /// Instruction set level: auto, scalar, avx2, avx512, neon, portable (on x86-64 and aarch64 with the feature
    /// all-gangs). With avx512:loads or avx512:gathers, AVX-512 gathers in this way on every CPU [default: auto]
    #[arg(long, value_name = "ISA")]
    pub isa: Option<Auto<Isa>>,
    /// Gang size: the number of SIMD lanes that run a kernel together; auto, 1, 4, 8, 16, 32, 64 [default: auto]
    #[arg(long, value_name = "N")]
    pub gang: Option<Auto<usize>>,
    /// Threads: auto (one per core) or a number [default: auto]
    #[arg(long, value_name = "N")]
    pub threads: Option<Auto<usize>>,
    /// Number of events that a thread processes at once; changes the speed, never the result
    #[arg(long, value_name = "N")]
    pub slice: Option<usize>,
    /// Device: cpu, gpu, or emulated (the GPU's kernels run on the CPU, for tests). For gpu and emulated, --threads is
    /// the number of streams, and --slice is the number of events that a stream processes at once
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: Device,
    /// Configuration in TOML (start from --print-config); flags take precedence over this file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Profile that `peloton tune` wrote: the fastest instruction set and gang size of this CPU
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Print the configuration as TOML, with comments, and exit
    #[arg(long)]
    pub print_config: bool,
}

/// Flags for the form of the output.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Write the output as JSON to this file; `-` prints the JSON to standard output instead of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print no text and no progress; warnings and errors are still shown
    #[arg(long, short)]
    pub quiet: bool,
}

/// Flags that belong to one sequence.
#[derive(Args, Debug, Clone, Default)]
pub struct SequenceArgs {
    /// Flags of the sequence timepix.
    #[command(flatten)]
    pub pixels: PixelArgs,
    /// Flags of the sequence cylinder.
    #[command(flatten)]
    pub cylinder: CylinderArgs,
}

impl InputArgs {
    /// Adds to `files` the files that the input flags name.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("input", &self.inputs);
        files.read("--geometry", &self.geometry);
    }

    /// Returns the given flags that only some commands or sequences accept.
    fn given(&self) -> Vec<&'static str> {
        given(&[
            ("--events", self.events != EventRange::default()),
            ("--strict", self.strict),
            ("--max-bad", self.max_bad.is_some()),
            ("--geometry", self.geometry.is_some()),
            ("--velo-banks", self.velo_banks != VeloBanks::Auto),
            ("--bad-banks", self.bad_banks.is_some()),
            ("--checksum", self.checksum != ChecksumPolicy::Verify),
        ])
    }

    /// Makes the request of a job.
    fn request(&self, config: Config, flags: &ConfigArgs, sequence: &SequenceArgs) -> Result<Request> {
        Ok(Request {
            inputs: self.inputs.clone(),
            format: self.format,
            events: self.events,
            checksum: self.checksum,
            strict: self.strict,
            max_bad: self.max_bad,
            geometry: self.geometry.clone(),
            velo_banks: self.velo_banks,
            pixels: sequence.pixels.options()?,
            config,
            device: flags.device,
            output: OutputOptions::default(),
            part: None,
            command: command_line(),
        })
    }
}

/// The typed command line; bytes that are not UTF-8 are replaced.
pub fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the names of the flags in this list that were given.
pub fn given(flags: &[(&'static str, bool)]) -> Vec<&'static str> {
    flags.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| *flag).collect()
}

impl ConfigArgs {
    /// Adds the configuration file and the profile to `files`.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--config", &self.config);
        files.read("--profile", &self.profile);
    }

    /// Returns the given flags that only some commands or sequences accept.
    pub fn given(&self) -> Vec<&'static str> {
        given(&[
            ("--write", !self.write.is_empty()),
            ("--preset", self.preset.is_some()),
            ("--gang", self.gang.is_some()),
            ("--slice", self.slice.is_some()),
            ("--profile", self.profile.is_some()),
            ("--device", self.device != Device::Cpu),
        ])
    }
}

impl SequenceArgs {
    /// Adds the folder of the energy calibration to `files`.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.read("--calibration", &self.pixels.calibration);
    }

    /// Returns the names of the given flags.
    pub fn given(&self) -> Vec<&'static str> {
        [self.pixels.given(), self.cylinder.given()].concat()
    }
}

impl ReportArgs {
    /// Adds the JSON file to `files`.
    pub fn name_files(&self, files: &mut JobFiles) {
        files.written("--json", &self.json);
    }

    /// Returns the terminal that shows the progress of a job; with `--quiet` it shows warnings alone.
    pub fn terminal(&self) -> Terminal {
        Terminal::new(self.quiet)
    }

    /// Returns a copy of these flags, with `--quiet` set if `output` is standard output.
    pub fn beside(&self, output: Option<&PathBuf>) -> Self {
        let quiet = self.quiet || output.is_some_and(|path| is_standard_output(path));
        Self { quiet, ..self.clone() }
    }

    /// Prints the text and writes the JSON, as requested.
    pub fn report(&self, text: &str, json: &impl serde::Serialize) -> Result<()> {
        let json_takes_stdout = self.json.as_deref().is_some_and(is_standard_output);
        if !self.quiet && !json_takes_stdout {
            console::print(text)?;
        }
        self.json.as_deref().map_or(Ok(()), |path| console::write_json(path, json))
    }
}

/// The flags that are common to all subcommands that reconstruct given inputs.
///
/// Flatten these flags after the command's own flags, because the last of these flags begin headings in the help text.
#[derive(Args, Debug, Clone, Default)]
pub struct JobArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub sequence: SequenceArgs,
}

impl JobArgs {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.input.name_files(files);
        self.config.name_files(files);
        self.sequence.name_files(files);
        self.report.name_files(files);
    }

    /// Makes the request of the job; with `--print-config`, prints the configuration and returns none. `own` are the
    /// names of those given flags that only this command has.
    pub fn request(&self, command: &str, own: &[&'static str]) -> Result<Option<Request>> {
        let InputArgs { inputs, format, .. } = &self.input;
        if !self.config.print_config {
            check_inputs(inputs)?;
        }
        // The first bytes of standard input are read only if they are needed to choose the sequence.
        let is_told = self.config.sequence.is_some() || self.config.print_config;
        let is_stream = inputs.first().is_some_and(|first| first == "-");
        let inputs = if is_told && is_stream { &[] } else { &inputs[..] };
        let found = SequenceName::of_inputs(inputs, *format);
        let mut config = self.config.resolve(&self.sequence, found)?;
        config.bad_banks = self.input.bad_banks.unwrap_or(config.bad_banks);
        let given = [own, &self.input.given(), &self.config.given(), &self.sequence.given()].concat();
        effects::check(command, config.sequence, &given)?;
        self.sequence.cylinder.check_for(config.cylinder.builder)?;
        let ConfigArgs { sequence, config: file, slice, device, .. } = &self.config;
        if config.sequence == SequenceName::Timepix && *device == Device::Cpu && slice.is_some() {
            let message = "--slice is for devices: on the CPU the sequence timepix processes blocks of hits, of the size block_hits (see --print-config)";
            return Err(Error::Config(message.into()));
        }
        if self.config.print_config {
            return self.config.print(&config).map(|()| None);
        }
        if found == Some(config.sequence) && sequence.is_none() && file.is_none() && !self.report.quiet {
            console::inform(&format!("sequence {}, because it fits the input", config.sequence));
        }
        self.input.request(config, &self.config, &self.sequence).map(Some)
    }
}

/// Returns the exit code of a finished job: failure when the job failed as a whole, or when `is_right` is false.
pub fn outcome(failure: Option<String>, is_right: bool) -> ExitCode {
    match failure {
        Some(failure) => {
            console::error(&failure);
            ExitCode::FAILURE
        }
        None if is_right => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// Returns the host of this process's jobs: `terminal` shows their progress, a signal cancels them.
pub fn host(terminal: &Terminal) -> Host<'_> {
    Host { progress: terminal, cancel: &CANCEL }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_or_value() {
        assert_eq!("auto".parse(), Ok(Auto::<usize>(None)));
        assert_eq!("16".parse(), Ok(Auto(Some(16usize))));
        assert!("sixteen".parse::<Auto<usize>>().is_err());
        assert!("sse".parse::<Auto<Isa>>().unwrap_err().contains("avx2"));
    }
}
