//! The command line: one file per subcommand, and what they share.
//!
//! A subcommand resolves its flags to a [`Config`](crate::pipeline::Config), opens its events, works, and
//! returns an exit code: 0, or 1 when the work itself says no (`compare`). Errors become one line on
//! standard error and exit code 2 for bad usage (flags, configuration), 1 for failed work.

mod check;
mod compare;
mod console;
mod cylinder;
mod describe;
mod device;
mod device_hits;
mod device_throughput;
mod display;
mod interrupt;
mod isa;
mod job;
mod measure;
mod options;
mod reconstruct;
mod run;
mod settings;
mod simulate;
mod sink;
mod source;
mod throughput;
mod timepix;
mod track_file;
mod tune;
mod version;

use crate::output::JobFiles;
use crate::simd::with_default_float_mode;
use crate::{Error, Result};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Reconstructs particle tracks in real time on CPUs: the same bits on every instruction set, gang size and
/// number of threads.
#[derive(Parser)]
#[command(name = "peloton", arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  peloton throughput                               events/s of this machine on simulated events
  peloton run events.ndjson.zst --output tracks.parquet
  peloton check events.ndjson.zst                  efficiency, ghosts and clones against the truth
  peloton compare events.ndjson.zst --left isa=avx2,gang=16 --right isa=scalar,gang=1
  peloton run sim:velo,events=1000,seed=7 --json -";

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Check(check::Check),
    Throughput(throughput::Throughput),
    Tune(tune::Tune),
    Compare(compare::Compare),
    Simulate(simulate::Simulate),
    Display(display::Display),
    Soak(timepix::Soak),
    Isa(isa::IsaCommand),
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let command = Cli::command().version(env!("CARGO_PKG_VERSION")).long_version(version::TEXT.as_str());
    let parsed = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let result = match parsed {
        Ok(cli) => interrupt::listen().and_then(|()| with_default_float_mode(|| dispatch(&cli.command))),
        Err(error) => return usage(&error),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            console::error(&error.to_string());
            ExitCode::from(if is_usage(&error) { 2 } else { 1 })
        }
    }
}

/// Looks at the files of a job before any is touched, and does it.
fn dispatch(command: &Command) -> Result<ExitCode> {
    let mut files = JobFiles::default();
    match command {
        Command::Run(command) => command.name_files(&mut files),
        Command::Check(command) => command.name_files(&mut files),
        Command::Throughput(command) => command.name_files(&mut files),
        Command::Tune(command) => command.name_files(&mut files),
        Command::Compare(command) => command.name_files(&mut files),
        Command::Simulate(command) => command.name_files(&mut files),
        Command::Display(command) => command.name_files(&mut files),
        Command::Soak(command) => command.name_files(&mut files),
        Command::Isa(command) => command.name_files(&mut files),
    }
    files.check()?;
    match command {
        Command::Run(command) => command.execute(),
        Command::Check(command) => command.execute(),
        Command::Throughput(command) => command.execute(),
        Command::Tune(command) => command.execute(),
        Command::Compare(command) => command.execute(),
        Command::Simulate(command) => command.execute(),
        Command::Display(command) => command.execute(),
        Command::Soak(command) => command.execute(),
        Command::Isa(command) => command.execute(),
    }
}

fn is_usage(error: &Error) -> bool {
    matches!(error, Error::Config(_) | Error::Unsupported(_))
}

/// Help and version go out as they are; everything else as one line.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            console::error(&one_line(&text.to_string()));
            ExitCode::from(2)
        }
    }
}

/// The message of a usage error without the usage text that follows it.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let message: Vec<_> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("For more information")).collect();
    format!("{} (see --help)", message.join(" ").trim_start_matches("error: "))
}
