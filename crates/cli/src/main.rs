//! The command line: parses flags for the functions of `peloton-job`, and prints their results as text.
//!
//! A subcommand turns its flags into a [`Request`](peloton_job::Request), runs the job, and returns an exit code: 0, or
//! 1 for a negative result (unequal sides in `compare`, faults in `check`). An error is printed as one line on standard
//! error; its exit code is 2 for bad usage (flags, configuration) and 1 for failed work. After a signal the exit code
//! is 128 plus the number of the signal, by the convention of shells.

mod check;
mod compare;
mod completions;
mod config;
mod console;
mod describe;
mod display;
mod effects;
mod interrupt;
mod isa;
mod latency;
mod man;
mod options;
mod plan;
mod report;
mod reproduce;
mod run;
mod samples;
mod sensor;
mod simulate;
mod soak;
mod suggest;
mod text;
mod throughput;
mod tune;
mod version;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use mimalloc::MiMalloc;
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result};
use peloton_io::output::JobFiles;
use std::process::ExitCode;

/// Replaces the allocator of the C library, which is slow here: one thread allocates columns, megabytes at a time,
/// another thread frees them, and the C library would return this memory to the system and request it again.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Reconstructs particle tracks and pixel clusters in real time on CPUs, with the same bits on every instruction set,
/// gang size and number of threads.
#[derive(Parser)]
#[command(name = "peloton", arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  peloton throughput sim:velo,events=1000         events/s of this machine
  peloton run events.ndjson.zst --output tracks.parquet
  peloton run sim:velo,events=1000,seed=7 --json -
  peloton check events.ndjson.zst                 efficiency, ghosts and clones
  peloton check sim:velo --report check.html      a page with figures
  peloton display sim:velo --output event.html    an event with its tracks
  peloton compare sim:velo --left isa=avx2 --right isa=scalar";

macro_rules! commands {
    ($($name:ident: $command:ty,)+) => {
        #[derive(Subcommand)]
        enum Command {
            $($name($command),)+
        }

        /// Checks the files of a job before any is opened, and runs the job.
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
    Completions: completions::Completions,
    Man: man::ManCommand,
}

/// The whole command line.
fn whole_command() -> clap::Command {
    let command = Cli::command().version(env!("CARGO_PKG_VERSION")).long_version(version::TEXT.as_str());
    // `--delta-ns -3` is a wrong value and not an unknown flag.
    let takes_numbers = |arg: clap::Arg| {
        let takes_value = arg.get_action().takes_values() && !arg.is_positional();
        arg.allow_negative_numbers(takes_value)
    };
    command.mut_subcommands(|command| command.mut_args(takes_numbers))
}

/// Parses the command line and runs the subcommand.
fn main() -> ExitCode {
    let parsed = whole_command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let result = match parsed {
        Ok(cli) => interrupt::listen().and_then(|()| with_default_float_mode(|| dispatch(&cli.command))),
        Err(error) => return usage(&error),
    };
    let code = result.unwrap_or_else(|error| {
        console::error(&text_of(&error));
        ExitCode::from(if error.is_usage() { 2 } else { 1 })
    });
    let Some(signal) = interrupt::signal() else { return code };
    console::warning(&format!("interrupted by signal {signal}: {}", interrupt::kept()));
    ExitCode::from(interrupt::exit_code(signal))
}

/// The message of an error, with a suggestion where a name resembles a known one.
fn text_of(error: &Error) -> String {
    // A path that follows a flag is not an input.
    let words: Vec<_> = std::env::args_os().collect();
    let follows_flag = |path: &std::path::Path| {
        words.windows(2).any(|two| two[0].to_string_lossy().starts_with("--") && path == two[1].as_os_str())
    };
    if let Error::Io { path, source } = error
        && source.kind() == std::io::ErrorKind::NotFound
        && !follows_flag(path)
        && let Some(input) = suggest::input_like(&path.to_string_lossy())
    {
        return format!("{error}; did you mean `{input}`?");
    }
    suggest::with_suggestion(&error.to_string())
}

/// Help and version are printed unchanged; everything else as one line.
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
        kind => {
            let mut message = one_line(&text.to_string());
            if kind == ErrorKind::InvalidSubcommand && !message.contains("tip:") {
                message = with_subcommand(&message);
            }
            console::error(&format!("{message} (see {})", help()));
            ExitCode::from(2)
        }
    }
}

/// The message of an unknown subcommand, with the most similar one, for more spellings than clap finds.
fn with_subcommand(message: &str) -> String {
    let program = whole_command();
    let given = message.split('\'').nth(1).unwrap_or_default();
    match suggest::closest(given, program.get_subcommands().map(clap::Command::get_name)) {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => message.into(),
    }
}

/// The message of a usage error without the usage text that follows it.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let is_said = |line: &&str| {
        // This tip is for values that look like flags; it does not help with a mistyped flag.
        !line.is_empty() && !line.starts_with("For more information") && !line.starts_with("tip: to pass")
    };
    let message: Vec<_> = lines.filter(is_said).collect();
    let message = message.join(" ");
    let message = PLAINER.iter().fold(message, |message, (from, to)| message.replace(from, to));
    suggest::with_suggestion(message.trim_start_matches("error: "))
}

/// A hint at the help of the subcommand that was typed, or of the program.
fn help() -> String {
    let program = whole_command();
    let typed = std::env::args_os().nth(1).filter(|word| program.find_subcommand(word).is_some());
    match typed {
        Some(name) => format!("peloton {} --help", name.display()),
        None => "peloton --help".into(),
    }
}

/// Pairs: a text in an error message, such as a message of the standard library, and its replacement.
const PLAINER: [(&str, &str); 5] = [
    ("invalid digit found in string", "this is not a valid whole number"),
    ("invalid float literal", "this is not a number"),
    ("cannot parse integer from empty string", "the number is missing"),
    ("number too large to fit in target type", "this number is too large"),
    (": configuration: ", ": "),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all lines of examples, each with the subcommand whose help contains it.
    fn examples() -> Vec<(String, String)> {
        let program = whole_command();
        let all = program.get_subcommands().chain([&program]).flat_map(|command| {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(text.starts_with("Examples:\n"), "{}", command.get_name());
            let lines =
                text.lines().filter(|line| line.starts_with("  ")).map(str::to_string).collect::<Vec<_>>();
            lines.into_iter().map(|line| (command.get_name().to_string(), line))
        });
        all.collect()
    }

    #[test]
    fn examples_are_valid_commands() {
        let examples = examples();
        assert!(examples.len() > 60, "{}", examples.len());
        for (command, line) in &examples {
            // Two or more spaces separate a command from its explanation; the shell handles pipes and redirections.
            let line_of_words = line.replace("$SLURM_ARRAY_TASK_ID", "0");
            let command_line = line_of_words.trim().split("  ").next().unwrap_or_default();
            let words = command_line.split(" | ").flat_map(|part| part.split(" && "));
            for part in words
                .filter_map(|part| part.split_once("peloton ").filter(|(before, _)| !before.contains("/")))
            {
                let words = part.1.split(" > ").next().unwrap_or_default().trim_end_matches(')');
                let parsed = whole_command()
                    .try_get_matches_from(["peloton"].into_iter().chain(words.split_whitespace()));
                assert!(parsed.is_ok(), "{command}: {line}: {}", parsed.unwrap_err());
            }
            assert!(line.len() <= 80, "{command}: a terminal of 80 columns would break: {line}");
        }
    }

    #[test]
    fn sequences_have_examples() {
        let examples = examples();
        for sequence in peloton_job::SequenceName::ALL {
            let flag = format!("--sequence {sequence} ");
            assert!(
                examples.iter().any(|(command, line)| command == "run" && line.contains(&flag)),
                "{sequence}"
            );
        }
    }
}
