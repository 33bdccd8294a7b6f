//! Lists the commands and sequences to which each flag applies, and rejects a flag that the command would ignore.

use peloton::{Error, Result};
use peloton_job::SequenceName;
use peloton_job::SequenceName::{
    Cylinder, CylinderFit, Long, LongUt, Own, SciFi, SciFiHits, Timepix, Ut, Velo, VeloUt,
};

/// The commands and sequences to which a flag applies.
struct Effect {
    flag: &'static str,
    sequences: &'static [SequenceName],
    commands: &'static [&'static str],
}

const EVERY: &[SequenceName] = &SequenceName::ALL;
const EVENTS: &[SequenceName] =
    &[Velo, VeloUt, Ut, SciFi, SciFiHits, Long, LongUt, Own, Cylinder, CylinderFit];
const RAW: &[SequenceName] = &[Velo, VeloUt, Ut, SciFi, SciFiHits, Long, LongUt, Own];
/// Sequences of several algorithms, for which `--write` selects the products to write.
const CHAINS: &[SequenceName] = &[VeloUt, SciFi, Long, LongUt, Own];
const ON_DEVICES: &[SequenceName] = &[Velo, Timepix, Cylinder];
const JOBS: &[&str] = &["run", "check", "throughput", "tune", "compare", "display"];
const COUNTING: &[&str] = &["run", "check", "throughput", "compare"];
const CHECK: &[&str] = &["check"];
/// The commands of [`JOBS`], and `soak`.
const ALL: &[&str] = &["run", "check", "throughput", "tune", "compare", "display", "soak"];

const fn effect(
    flag: &'static str,
    sequences: &'static [SequenceName],
    commands: &'static [&'static str],
) -> Effect {
    Effect { flag, sequences, commands }
}

/// All flags that only some commands or sequences accept.
const EFFECTS: &[Effect] = &[
    effect("--events", EVENTS, JOBS),
    effect("--strict", EVERY, COUNTING),
    effect("--max-bad", EVERY, COUNTING),
    effect("--geometry", RAW, JOBS),
    effect("--velo-banks", &[Velo, VeloUt, Long, LongUt, Own], JOBS),
    effect("--bad-banks", RAW, JOBS),
    effect("--checksum", RAW, JOBS),
    effect("--preset", &[Velo, VeloUt, SciFi, Long, LongUt, Own, Cylinder, CylinderFit], JOBS),
    effect("--gang", EVENTS, JOBS),
    effect("--slice", EVERY, JOBS),
    effect("--profile", EVERY, &["run", "check", "throughput", "compare", "display", "soak"]),
    effect("--device", ON_DEVICES, &["run", "check", "throughput", "compare", "display"]),
    effect("--write", CHAINS, JOBS),
    effect("--named-fields", EVENTS, &["run"]),
    effect("--rules", EVENTS, CHECK),
    effect("--tables", EVENTS, CHECK),
    effect("--losses", &[Velo, VeloUt, SciFi, Long, LongUt, Cylinder], CHECK),
    effect("--against", RAW, CHECK),
    effect("--tracks", RAW, CHECK),
    effect("--truth-output", EVENTS, CHECK),
    effect("--view", EVENTS, &["display"]),
    effect("--no-truth", EVENTS, &["display"]),
    effect("--frame-us", &[Timepix], &["display"]),
    effect("--definition", &[Timepix], ALL),
    effect("--algorithm", &[Timepix], ALL),
    effect("--delta-ns", &[Timepix], ALL),
    effect("--strict-delta", &[Timepix], ALL),
    effect("--disorder-us", &[Timepix], ALL),
    effect("--layout", &[Timepix], JOBS),
    effect("--calibration", &[Timepix], ALL),
    effect("--filter", &[Timepix], ALL),
    effect("--mask-hot", &[Timepix], JOBS),
    effect("--trigger", &[Timepix], &["run", "throughput"]),
    effect("--katherine-unit", &[Timepix], JOBS),
    effect("--toa-bits", &[Timepix], JOBS),
    effect("--time-unit", &[Timepix], JOBS),
    effect("--when-full", &[Timepix], ALL),
    effect("--builder", &[Cylinder], ALL),
    effect("--seeds", &[Cylinder], ALL),
    effect("--candidates", &[Cylinder], ALL),
    effect("--holes", &[Cylinder], ALL),
    effect("--event-threads", &[Cylinder], ALL),
];

/// Rejects the first flag of `given` that the command or the sequence would ignore.
///
/// # Errors
/// [`Error::Config`] names the flag, and the commands or sequences to which it applies.
pub fn check(command: &str, sequence: SequenceName, given: &[&str]) -> Result<()> {
    for flag in given {
        let Some(effect) = EFFECTS.iter().find(|effect| effect.flag == *flag) else { continue };
        if !effect.sequences.contains(&sequence) {
            let names: Vec<_> = effect.sequences.iter().map(|name| name.name()).collect();
            let plural = if names.len() == 1 { "" } else { "s" };
            let names = names.join(", ");
            let message =
                format!("{flag} is for the sequence{plural} {names}, not for {sequence}: see --sequence");
            return Err(Error::Config(message));
        }
        if !effect.commands.contains(&command) {
            let commands = effect.commands.join(", ");
            let message = format!("{flag} has no effect on `peloton {command}`: it is for {commands}");
            return Err(Error::Config(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;

    /// Flags that mean the same to every command that has them.
    const EVERYWHERE: &[&str] = &[
        "--config",
        "--format",
        "--gang",
        "--help",
        "--isa",
        "--json",
        "--print-config",
        "--quiet",
        "--sequence",
        "--threads",
    ];
    /// Flags that only some commands have, for all sequences.
    const OWN: &[&str] = &[
        "--output",
        "--report",
        "--plan",
        "--part",
        "--force",
        "--repetitions",
        "--seconds",
        "--scan",
        "--left",
        "--right",
        "--event",
        "--input",
        "--transport",
        "--share",
        "--warm-up",
        "--columns",
        "--compression",
        "--job",
        "--copies",
    ];

    #[test]
    fn every_flag_is_in_the_table() {
        let cli = Cli::command();
        let mut seen = 0;
        for command in cli.get_subcommands().filter(|command| ALL.contains(&command.get_name())) {
            for flag in command.get_arguments().filter_map(|argument| argument.get_long()) {
                let flag = format!("--{flag}");
                let is_known = |list: &[&str]| list.contains(&&flag[..]);
                let in_table = EFFECTS.iter().any(|effect| effect.flag == flag);
                assert!(in_table || is_known(EVERYWHERE) || is_known(OWN), "{} {flag}", command.get_name());
                seen += usize::from(in_table);
            }
        }
        assert!(seen > 100, "{seen}");
        for Effect { flag, .. } in EFFECTS {
            assert!(
                check("run", Velo, &[flag]).is_ok()
                    || check("run", Long, &[flag]).is_ok()
                    || check("run", Timepix, &[flag]).is_ok()
                    || check("run", Cylinder, &[flag]).is_ok()
                    || check("check", Velo, &[flag]).is_ok()
                    || check("display", Velo, &[flag]).is_ok()
                    || check("display", Timepix, &[flag]).is_ok(),
                "{flag}"
            );
        }
    }
}
