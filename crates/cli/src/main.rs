//! The command line: flags, and text over what `peloton-job` does.
//!
//! A subcommand turns its flags into a [`Request`](peloton_job::Request), has the job done, and returns an exit code: 0, or
//! 1 when the work itself says no (`compare`, `check`). Errors become one line on standard error and exit code 2 for bad
//! usage (flags, configuration), 1 for failed work. After a signal the code is 128 and its number, as shells have it.

mod check;
mod compare;
mod config;
mod console;
mod describe;
mod display;
mod effects;
mod interrupt;
mod isa;
mod latency;
mod options;
mod plan;
mod report;
mod reproduce;
mod run;
mod samples;
mod sensor;
mod simulate;
mod soak;
mod throughput;
mod tune;
mod version;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use peloton::Result;
use peloton::simd::with_default_float_mode;
use peloton_io::output::JobFiles;
use std::process::ExitCode;

/// Reconstructs particle tracks and pixel clusters in real time on CPUs: the same bits on every instruction set, gang size
/// and number of threads.
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
  peloton check events.ndjson.zst --report check.html   the same as a page with figures
  peloton run sim:velo,events=1000,seed=7 --json -";

macro_rules! commands {
    ($($name:ident: $command:ty,)+) => {
        #[derive(Subcommand)]
        enum Command {
            $($name($command),)+
        }

        /// Looks at the files of a job before any is touched, and does it.
        fn dispatch(command: &Command) -> Result<ExitCode> {
            let mut files = JobFiles::default();
            match command {
                $(Command::$name(command) => command.name_files(&mut files),)+
            }
            files.check()?;
            match command {
                $(Command::$name(command) => command.execute(),)+
            }
        }
    };
}

commands! {
    Run: run::Run,
    Check: check::Check,
    Throughput: throughput::Throughput,
    Tune: tune::Tune,
    Compare: compare::Compare,
    Simulate: simulate::Simulate,
    Display: display::Display,
    Report: report::Report,
    Reproduce: reproduce::Reproduce,
    Soak: soak::Soak,
    Describe: describe::Describe,
    Plan: plan::PlanCommand,
    Manifest: plan::ManifestCommand,
    Isa: isa::IsaCommand,
}

/// Parses the command line and does what it says.
fn main() -> ExitCode {
    let command = Cli::command().version(env!("CARGO_PKG_VERSION")).long_version(version::TEXT.as_str());
    // `--delta-ns -3` is a wrong value and not an unknown flag.
    let takes_numbers = |arg: clap::Arg| {
        let takes_value = arg.get_action().takes_values() && !arg.is_positional();
        arg.allow_negative_numbers(takes_value)
    };
    let command = command.mut_subcommands(|command| command.mut_args(takes_numbers));
    let parsed = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let result = match parsed {
        Ok(cli) => interrupt::listen().and_then(|()| with_default_float_mode(|| dispatch(&cli.command))),
        Err(error) => return usage(&error),
    };
    let code = result.unwrap_or_else(|error| {
        console::error(&error.to_string());
        ExitCode::from(if error.is_usage() { 2 } else { 1 })
    });
    let Some(signal) = interrupt::signal() else { return code };
    console::warning(&format!("interrupted by signal {signal}: this is what was done until then"));
    ExitCode::from(interrupt::exit_code(signal))
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
    let is_said = |line: &&str| {
        // How to pass what looks like a flag as something else helps nobody who mistyped a flag.
        !line.is_empty() && !line.starts_with("For more information") && !line.starts_with("tip: to pass")
    };
    let message: Vec<_> = lines.filter(is_said).collect();
    let message = message.join(" ");
    let message = PLAINER.iter().fold(message, |message, (from, to)| message.replace(from, to));
    format!("{} (see --help)", message.trim_start_matches("error: "))
}

/// What to say instead of words of the standard library, or words that come twice.
const PLAINER: [(&str, &str); 5] = [
    ("invalid digit found in string", "this is not a whole number that is allowed here"),
    ("invalid float literal", "this is not a number"),
    ("cannot parse integer from empty string", "there is no number"),
    ("number too large to fit in target type", "this number is too large"),
    (": configuration: ", ": "),
];
