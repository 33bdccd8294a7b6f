//! [`Job`]: what was asked for, and what all measurements of an entry need.

use crate::{Config, Host, Plan, cpu_name};
use peloton::{Error, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Facts of each run, and hashes of the results.
pub type Facts = (Vec<Value>, Vec<String>);

/// What is to be made, and how.
#[derive(Debug, Clone, Default)]
pub struct Reproduction {
    /// Inputs in place of the simulated ones.
    pub inputs: Vec<String>,
    /// Folder of the detector's geometry files, for raw banks.
    pub geometry: Option<PathBuf>,
    /// Whether few events and short times do.
    pub quick: bool,
    /// Threads; one per core without it, and one where times are measured.
    pub threads: Option<usize>,
    /// Time of each measurement, s.
    pub seconds: Option<f64>,
    /// The command that asks, for the metadata of files.
    pub command: String,
}

/// What was asked for, and whom to tell.
pub struct Job<'a> {
    /// What was asked for.
    pub options: &'a Reproduction,
    /// Whom to tell.
    pub host: Host<'a>,
}

impl Job<'_> {
    /// Whether events are simulated.
    pub fn is_simulated(&self) -> bool {
        self.options.inputs.is_empty()
    }

    /// The first of a full and a short form, or the short one where that will do.
    pub fn size<'a, T>(&self, forms: &'a [T]) -> Option<&'a T> {
        if self.options.quick { forms.last() } else { forms.first() }
    }

    /// How long each measurement takes.
    pub fn plan(&self) -> Plan {
        let seconds = self.options.seconds.unwrap_or(if self.options.quick { 0.05 } else { 1.0 });
        Plan { passes: None, time: Duration::from_secs_f64(seconds) }
    }

    /// Says what is being done.
    pub fn stage(&self, name: &str) {
        self.host.progress.stage(name);
    }

    /// What a part of the work gave, or an error when an early end was asked for: half a table says nothing, and what an
    /// interrupted job complains of (no events, say) is only that it was interrupted.
    ///
    /// # Errors
    /// Those of the part, and when it was interrupted.
    pub fn complete<T>(&self, part: Result<T>) -> Result<T> {
        if self.host.is_cancelled() {
            let message =
                "interrupted before the table was complete, so nothing of it was printed or written";
            return Err(Error::format("reproduce", message));
        }
        part
    }

    /// Threads where all are to be used.
    pub fn threads(&self) -> usize {
        Config { threads: self.options.threads, ..Config::default() }.thread_count().max(1)
    }
}

/// The CPU, and what runs on it by a configuration.
///
/// # Errors
/// When nothing would run.
pub fn machine(config: &Config) -> Result<String> {
    let (level, threads) = (config.level()?, config.thread_count());
    Ok(format!("{}, {level}, {}", cpu_name(), crate::text::count(threads, "thread")))
}

/// A configuration, and the keys and values that it was made of.
pub struct Variant {
    /// The configuration.
    pub config: Config,
    /// The keys and values.
    pub keys: toml::Table,
    /// Its name in tables.
    pub label: Option<String>,
}
