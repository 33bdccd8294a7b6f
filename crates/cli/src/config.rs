//! Merges flags, files and the environment into one [`Config`].

use crate::console;
use crate::options::{ConfigArgs, SequenceArgs};
use peloton::simd::Isa;
use peloton::{Error, Result};
use peloton_job::{Config, Profile, SequenceName, cpu_name};
use peloton_plot::text;
use std::path::Path;

impl ConfigArgs {
    /// Prints the configuration as TOML, which users can edit.
    pub fn print(&self, config: &Config) -> Result<()> {
        let (level, threads) = (config.level()?, text::count(config.thread_count(), "thread"));
        console::print(&format!("# runs as {level} on {threads}\n{}", config.to_commented_toml()))
    }

    /// Merges the configuration: flags take precedence over `PELOTON_ISA`, this variable over the configuration file,
    /// and the file over the profile; values set by none of these are `auto`. Each file is read once, since it may be a
    /// pipe. `found` is the sequence that fits the input, if known; it runs unless the user names a sequence.
    pub fn resolve(&self, sequence: &SequenceArgs, found: Option<SequenceName>) -> Result<Config> {
        let text = self.config.as_deref().map(read_text).transpose()?.unwrap_or_default();
        let mut config = Config::from_toml(&text, self.preset).map_err(|error| match &self.config {
            Some(path) => at(path, error),
            None => error,
        })?;
        let named = self.sequence.or_else(|| Config::names_sequence(&text).then_some(config.sequence));
        config.sequence = named.or(found).unwrap_or_default();
        if !self.write.is_empty() {
            config.write = self.write.clone();
        }
        config.isa = match self.isa {
            Some(isa) => isa.0,
            None => Isa::from_environment()?.or(config.isa),
        };
        config.gang = self.gang.map_or(config.gang, |gang| gang.0);
        config.threads = self.threads.map_or(config.threads, |threads| threads.0);
        config.slice_events = self.slice.or(config.slice_events);
        sequence.pixels.override_config(&mut config.timepix);
        sequence.cylinder.override_config(&mut config.cylinder);
        config.validate()?;
        if let Some(path) = &self.profile {
            let profile = Profile::from_toml(&read_text(path)?).map_err(|e| at(path, e))?;
            profile.apply(&mut config).map_err(|e| at(path, e))?;
            if profile.cpu != cpu_name() {
                let Profile { cpu, .. } = &profile;
                let (path, here) = (path.display(), cpu_name());
                console::warning(&format!("{path}: measured on another CPU ({cpu}), not this CPU ({here})"));
            }
        }
        Ok(config)
    }
}

/// Adds the path of a file to a configuration error.
fn at(path: &Path, error: Error) -> Error {
    match error {
        Error::Config(what) => Error::Config(format!("{}: {what}", path.display())),
        error => error,
    }
}

/// Reads a file that a flag names; if it cannot be read, the error is about the configuration.
fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::Config(format!("cannot read {}: {e}", path.display())))
}
