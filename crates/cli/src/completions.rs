//! `peloton completions`: prints scripts with which a shell completes commands when the user presses Tab.

use crate::{console, whole_command};
use clap::{Args, ValueEnum, ValueHint};
use clap_complete::Shell;
use clap_complete::aot::generate;
use peloton::Result;
use peloton::event::Edge;
use peloton::simd::Isa;
use peloton::timepix::{Algorithm, Definition};
use peloton_io::input::Format;
use peloton_io::input::timepix::WhenFull;
use peloton_io::output::JobFiles;
use peloton_job::{Preset, SequenceName};
use peloton_papers::entries;
use peloton_plot::event::View;
use std::process::ExitCode;

/// Print a script with which a shell completes subcommands, flags and the values of flags (Tab key)
///
/// bash reads the script from ~/.local/share/bash-completion/completions/peloton, zsh from a file `_peloton` in a
/// folder of $fpath, fish from ~/.config/fish/completions/peloton.fish.
#[derive(Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  peloton completions bash > ~/.local/share/bash-completion/completions/peloton
  peloton completions zsh > ~/.zfunc/_peloton
  peloton completions fish > ~/.config/fish/completions/peloton.fish
  source <(peloton completions bash)      for this shell alone"
)]
pub struct Completions {
    /// Shell for which the script is written
    #[arg(value_name = "SHELL")]
    shell: OfShell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OfShell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    /// Adds no files: the script goes to standard output.
    pub fn name_files(&self, _files: &mut JobFiles) {}

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let shell = match self.shell {
            OfShell::Bash => Shell::Bash,
            OfShell::Zsh => Shell::Zsh,
            OfShell::Fish => Shell::Fish,
        };
        console::print(&script(shell))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the script that completes commands in a shell.
fn script(shell: Shell) -> String {
    let mut command = whole_command().mut_subcommands(|command| {
        let name = command.get_name().to_string();
        command.mut_args(|argument| with_choices(&name, argument))
    });
    let mut script = Vec::new();
    generate(shell, &mut command, "peloton", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Adds the possible values to an argument: names, or a hint that it takes paths.
fn with_choices(command: &str, argument: clap::Arg) -> clap::Arg {
    let flag = argument.get_long().unwrap_or_else(|| argument.get_id().as_str());
    let names = names(command, flag);
    if !names.is_empty() {
        return argument.value_parser(clap::builder::PossibleValuesParser::new(names));
    }
    let value = argument.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
    let hint = match value {
        Some("DIR") => ValueHint::DirPath,
        Some(name) if name.starts_with("FILE") || name.contains('.') => ValueHint::FilePath,
        Some("INPUT") => ValueHint::AnyPath,
        _ => return argument,
    };
    argument.value_hint(hint)
}

/// Returns the names that a flag accepts as values; empty for a flag whose values are not names.
fn names(command: &str, flag: &str) -> Vec<&'static str> {
    let or_auto = |names: &[&'static str]| [&["auto"], names].concat();
    match (command, flag) {
        ("reproduce", "name") => entries().map(|entry| entry.name.as_str()).chain(["list"]).collect(),
        (_, "sequence") => SequenceName::ALL.map(SequenceName::name).to_vec(),
        (_, "preset") => Preset::ALL.map(Preset::name).to_vec(),
        (_, "isa") => or_auto(&Isa::ALL.map(Isa::name)),
        (_, "gang") => or_auto(&["1", "4", "8", "16", "32", "64"]),
        (_, "threads") => vec!["auto"],
        (_, "format") => Format::NAMES.map(|(name, _)| name).to_vec(),
        (_, "bad-banks") => vec!["event", "bank"],
        (_, "velo-banks") => vec!["auto", "retina", "superpixel"],
        (_, "device") => vec!["cpu", "gpu", "emulated"],
        (_, "rules") => vec!["json", "lhcb", "lhcb-ut", "lhcb-seed", "lhcb-long", "cylinder"],
        (_, "view") => View::ALL.map(View::name).to_vec(),
        (_, "definition") => Definition::ALL.map(Definition::name).to_vec(),
        (_, "algorithm") => Algorithm::ALL.map(Algorithm::name).to_vec(),
        (_, "trigger") => Edge::ALL.map(Edge::name).to_vec(),
        (_, "when-full") => WhenFull::ALL.map(WhenFull::name).to_vec(),
        (_, "builder") => vec!["best-hit", "standard", "clone-engine"],
        (_, "seeds") => vec!["truth", "hits"],
        ("simulate", "detector") => vec!["velo", "lhcb", "cylinder", "timepix"],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::builder::StringValueParser;

    /// The command must not refuse a name that the script completes.
    #[test]
    fn every_name_that_is_completed_is_taken() {
        let mut tried = 0;
        for command in whole_command().get_subcommands() {
            for argument in command.get_arguments() {
                let flag = argument.get_long().unwrap_or_else(|| argument.get_id().as_str()).to_string();
                for name in names(command.get_name(), &flag) {
                    let only =
                        clap::Command::new("only").no_binary_name(true).arg(argument.clone().required(false));
                    let words = if argument.is_positional() {
                        vec![name.into()]
                    } else {
                        vec![format!("--{flag}"), name.into()]
                    };
                    // The command has this argument alone: the arguments that it requires or excludes are absent.
                    let only = only.mut_args(|argument| argument.required(false));
                    assert!(only.try_get_matches_from(words).is_ok(), "{} {flag} {name}", command.get_name());
                    tried += 1;
                }
            }
        }
        assert!(tried > 300, "{tried}");
    }

    /// A flag whose help lists names completes them.
    #[test]
    fn every_flag_with_names_completes_them() {
        for command in whole_command().get_subcommands() {
            for argument in command.get_arguments().filter(|argument| argument.get_long().is_some()) {
                let takes_name = argument.get_value_names().is_some_and(|names| {
                    ["NAME", "S", "ISA", "FORMAT", "KIND", "DEVICE", "RULES", "VIEW", "EDGE", "WHAT", "FROM"]
                        .contains(&names[0].as_str())
                });
                let flag = argument.get_long().unwrap_or_default();
                let is_known =
                    !argument.get_possible_values().is_empty() || !names(command.get_name(), flag).is_empty();
                assert!(is_known || !takes_name, "{} --{flag}", command.get_name());
            }
        }
        assert_eq!(
            with_choices("run", clap::Arg::new("x").value_parser(StringValueParser::new())).get_value_hint(),
            ValueHint::Unknown
        );
    }
}
