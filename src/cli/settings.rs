//! From flags, files and the environment to one [`Config`].

use super::console;
use super::options::{ConfigArgs, ReportArgs};
use super::source::EventSource;
use crate::output::is_standard_output;
use crate::pipeline::{Config, Engine, Pool, Profile};
use crate::simd::Isa;
use crate::{Error, Result};
use std::path::Path;

/// A configuration made ready to run.
pub struct Settings {
    /// The configuration, `auto` still in it.
    pub config: Config,
    /// The engine made from it.
    pub engine: Engine,
    /// The threads.
    pub pool: Pool,
}

impl Settings {
    /// Makes engine and threads.
    pub fn new(config: Config) -> Result<Self> {
        let engine = Engine::new(&config)?;
        let pool = Pool::new(config.thread_count())?;
        Ok(Self { config, engine, pool })
    }

    /// The settings with an engine that takes the events of `source`.
    pub fn for_source(self, source: &EventSource) -> Self {
        Self { engine: source.equip(self.engine), ..self }
    }
}

impl ConfigArgs {
    /// The configuration, read once; `None` when only `--print-config` was asked for, which is then done.
    pub fn load(&self) -> Result<Option<Config>> {
        let config = self.resolve()?;
        if self.print_config {
            let (level, threads) = (config.level()?, config.thread_count());
            console::print(&format!("# runs as {level} on {threads} threads\n{}", config.to_toml()))?;
            return Ok(None);
        }
        Ok(Some(config))
    }

    /// The configuration: flags go before `PELOTON_ISA`, that before the configuration file, that before
    /// the profile, and what is still open is `auto`. Both files may be pipes, which can be read but once.
    fn resolve(&self) -> Result<Config> {
        let text = self.config.as_deref().map(read_text).transpose()?.unwrap_or_default();
        let place = |error: Error| match (&self.config, error) {
            (Some(path), Error::Config(what)) => Error::Config(format!("{}: {what}", path.display())),
            (_, error) => error,
        };
        let mut config = Config::from_toml(&text, self.preset).map_err(place)?;
        config.sequence = self.sequence.unwrap_or(config.sequence);
        config.isa = match self.isa {
            Some(isa) => isa.0,
            None => Isa::from_environment()?.or(config.isa),
        };
        config.gang = self.gang.map_or(config.gang, |gang| gang.0);
        config.threads = self.threads.map_or(config.threads, |threads| threads.0);
        config.slice_events = self.slice.unwrap_or(config.slice_events);
        self.pixels.lay_over(&mut config.timepix);
        self.cylinder.lay_over(&mut config.cylinder);
        config.validate()?;
        if let Some(path) = &self.profile {
            Profile::from_toml(&read_text(path)?)
                .and_then(|profile| profile.apply(&mut config))
                .map_err(|e| Error::Config(format!("{}: {e}", path.display())))?;
        }
        Ok(config)
    }
}

impl ReportArgs {
    /// Prints the text and writes the JSON, as asked for.
    pub fn report(&self, text: &str, json: &impl serde::Serialize) -> Result<()> {
        let json_takes_stdout = self.json.as_deref().is_some_and(is_standard_output);
        if !self.quiet && !json_takes_stdout {
            console::print(text)?;
        }
        self.json.as_deref().map_or(Ok(()), |path| console::write_json(path, json))
    }
}

/// A file named by a flag: when it cannot be read, the flag is wrong.
fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::Config(format!("cannot read {}: {e}", path.display())))
}
