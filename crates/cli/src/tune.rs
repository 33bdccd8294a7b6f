//! `peloton tune`: which level and gang size is the fastest here.

use super::console::{self, table};
use super::interrupt;
use super::isa::cpu_name;
use super::measure::{Measured, Plan, load, measure};
use super::options::{Auto, ConfigArgs, InputArgs, ReportArgs};
use super::settings::Settings;
use super::throughput::seconds;
use super::{cylinder, timepix};
use clap::Args;
use peloton::event::{SciFiBatch, UtBatch, VeloTracks};
use peloton::pipeline::{Config, Engine, Measurement, Product, Profile, Sequence};
use peloton::simd::{GANGS, Isa, Level};
use peloton::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Find the fastest instruction set level and gang size of this CPU
///
/// Runs the events on every level and gang size, on one thread unless --threads says otherwise, and writes a
/// profile that the other commands read with --profile. --isa and --gang narrow the scan.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton tune events.ndjson.zst --output this-cpu.toml
  peloton throughput events.ndjson.zst --profile this-cpu.toml
  peloton tune --isa avx2 --seconds 1
  peloton tune --sequence cylinder sim:cylinder,events=2,tracks=10000")]
pub struct Tune {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Where to write the profile
    #[arg(long, short, value_name = "FILE", default_value = "peloton-profile.toml")]
    output: PathBuf,
    /// Passes over all events, at each level [default: as many as fill --seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: Option<u64>,
    /// Time to fill with passes, at each level
    #[arg(long, value_name = "T", default_value_t = 0.5, value_parser = seconds, conflicts_with = "repetitions")]
    seconds: f64,
}

impl Tune {
    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        let mut flags = self.config.clone();
        flags.threads = flags.threads.or(Some(Auto(Some(1))));
        if let Some(config) = flags.pixels()? {
            let plan = (self.repetitions, Duration::from_secs_f64(self.seconds));
            let levels = levels(&config);
            let measured = timepix::tune(&config, &flags, &self.input, &self.report, &levels, plan)?;
            return self.finish(&config, config.thread_count(), measured);
        }
        if let Some(config) = flags.cylinder()? {
            let plan = (self.repetitions, Duration::from_secs_f64(self.seconds));
            let measured = cylinder::tune(&config, &self.input, &self.report, &levels(&config), plan)?;
            return self.finish(&config, config.thread_count(), measured);
        }
        let Some(settings) = flags.settings()? else { return Ok(ExitCode::SUCCESS) };
        match settings.config.sequence {
            Sequence::Ut => self.execute_with::<UtBatch>(&settings),
            Sequence::SciFi => self.execute_with::<SciFiBatch>(&settings),
            Sequence::Velo | Sequence::Timepix | Sequence::Cylinder => {
                self.execute_with::<VeloTracks>(&settings)
            }
        }
    }

    /// Scans a sequence that makes this.
    fn execute_with<P: Product>(&self, settings: &Settings) -> Result<ExitCode> {
        let mut source = self.input.open(&settings.config, false, &self.report)?;
        let events = load(&mut source, &self.report)?;
        let plan = Plan { passes: self.repetitions, time: Duration::from_secs_f64(self.seconds) };
        let levels = levels(&settings.config);
        let progress = console::progress(Some(levels.len() as u64), self.report.quiet);
        let mut scan = Scan { measured: Vec::new(), hashes: None };
        for level in levels {
            if interrupt::requested() {
                break;
            }
            let config =
                Config { isa: Some(level.isa()), gang: Some(level.gang()), ..settings.config.clone() };
            let engine = source.equip(Engine::new(&config)?);
            scan.add(&engine, measure::<P>(&engine, &settings.pool, &events, plan)?, events.len())?;
            progress.inc(1);
        }
        progress.finish_and_clear();

        self.finish(&settings.config, settings.pool.threads(), scan.measured)
    }

    /// Writes the profile and says what is in it.
    fn finish(&self, config: &Config, threads: usize, measured: Vec<Measurement>) -> Result<ExitCode> {
        let profile = Profile::new(config.sequence, config.preset_name(), cpu_name(), measured);
        std::fs::write(&self.output, profile.to_toml()).map_err(|e| Error::io(&self.output, e))?;
        let text = format!("{}\nwritten to {}\n", text(&profile, threads), self.output.display());
        self.report.report(&text, &profile)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The levels to scan: all that run here, or those the configuration names.
fn levels(config: &Config) -> Vec<Level> {
    let wanted = |level: &Level| {
        config.isa.is_none_or(|isa| isa == level.isa()) && config.gang.is_none_or(|gang| gang == level.gang())
    };
    Level::supported().into_iter().filter(wanted).collect()
}

/// What the scan found so far.
struct Scan {
    measured: Vec<Measurement>,
    hashes: Option<peloton::event::Hashes>,
}

impl Scan {
    /// Takes one level's measurement; every level must give the same bits.
    fn add(&mut self, engine: &Engine, measured: Measured, events: usize) -> Result<()> {
        let level = engine.level();
        if *self.hashes.get_or_insert(measured.hashes) != measured.hashes {
            return Err(Error::format(level.to_string(), "the hash is not that of the other levels"));
        }
        let counters = &measured.best_counters;
        let per_event = |ns: u64| ns as f64 / counters.events().max(1) as f64;
        let stages = engine.sequence().stages().iter().zip(&counters.stages);
        self.measured.push(Measurement {
            isa: level.isa().name().into(),
            gang: level.gang(),
            ns_per_event: measured.best_pass.as_nanos() as f64 / events as f64,
            stages: stages.map(|(stage, counter)| (stage.name.into(), per_event(counter.ns))).collect(),
        });
        Ok(())
    }
}

/// The scan as tables: the whole sequence, then each stage.
fn text(profile: &Profile, threads: usize) -> String {
    let Profile { cpu, sequence, preset, .. } = profile;
    let mut text =
        format!("{cpu}: {sequence}, preset {preset}, {threads} threads, ns per event by gang size\n");
    text.push_str(&section("all stages", profile, |one| Some(one.ns_per_event)));
    for stage in sequence.stages() {
        text.push_str(&section(stage.name, profile, |one| one.stages.get(stage.name).copied()));
    }
    let gang = profile.gangs.get(&profile.isa).copied().unwrap_or_default();
    text.push_str(&format!("\nfastest: {} x {gang}\n", profile.isa));
    text
}

/// One table: levels down, gang sizes across, the smallest number marked.
fn section(name: &str, profile: &Profile, of: impl Fn(&Measurement) -> Option<f64>) -> String {
    let best = profile.measured.iter().filter_map(&of).min_by(f64::total_cmp);
    let cell = |isa: &str, gang: usize| {
        let one = profile.measured.iter().find(|one| one.isa == isa && one.gang == gang);
        match one.and_then(&of) {
            Some(ns) if Some(ns) == best => format!("*{ns:.0}"),
            Some(ns) => format!("{ns:.0}"),
            None => "-".into(),
        }
    };
    let row = |head: &str, cells: [String; GANGS.len()]| {
        let mut row: [String; GANGS.len() + 1] = Default::default();
        row[0] = head.into();
        row[1..].clone_from_slice(&cells);
        row
    };
    let mut rows = vec![row(name, GANGS.map(|gang| format!("x {gang}")))];
    for isa in Isa::ALL.map(Isa::name) {
        if profile.measured.iter().any(|one| one.isa == isa) {
            rows.push(row(isa, GANGS.map(|gang| cell(isa, gang))));
        }
    }
    format!("\n{}", table(&rows))
}
