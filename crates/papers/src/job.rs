//! [`Job`]: the request, and all that the measurements of an entry need.

use peloton::{Error, Result};
use peloton_job::{Config, Host, Plan, cpu_name};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Facts of each run, and hashes of the results.
pub type Facts = (Vec<Value>, Vec<String>);

/// Options for making a table or figure.
#[derive(Debug, Clone, Default)]
pub struct Reproduction {
    /// Inputs in place of simulated events.
    pub inputs: Vec<String>,
    /// Folder of the detector's geometry files, for raw banks.
    pub geometry: Option<PathBuf>,
    /// Whether few events and short times are enough.
    pub quick: bool,
    /// Number of threads; by default one per core, and one for measurements of times.
    pub threads: Option<usize>,
    /// Time of each measurement, s.
    pub seconds: Option<f64>,
    /// The command line, for the metadata of files.
    pub command: String,
}

/// The request and the host.
pub struct Job<'a> {
    /// The request.
    pub options: &'a Reproduction,
    /// Receives progress, and can end the work.
    pub host: Host<'a>,
}

impl Job<'_> {
    /// Returns whether events are simulated.
    pub fn is_simulated(&self) -> bool {
        self.options.inputs.is_empty()
    }

    /// Returns the first of a full and a short form, or the short form if that is enough.
    pub fn size<'a, T>(&self, forms: &'a [T]) -> Option<&'a T> {
        if self.options.quick { forms.last() } else { forms.first() }
    }

    /// Returns the time of each measurement.
    pub fn plan(&self) -> Plan {
        let seconds = self.options.seconds.unwrap_or(if self.options.quick { 0.05 } else { 1.0 });
        Plan { copies: 1, passes: None, time: Duration::from_secs_f64(seconds) }
    }

    /// Reports the current activity.
    pub fn stage(&self, name: &str) {
        self.host.progress.stage(name);
    }

    /// Returns the result of a part of the work, or an error when an early end was requested: half a table is useless, and
    /// other errors of an interrupted job (such as no events) only follow from the interruption.
    ///
    /// # Errors
    /// Errors of the part, and an error when it was interrupted.
    pub fn complete<T>(&self, part: Result<T>) -> Result<T> {
        if self.host.is_cancelled() {
            let message = "interrupted before the table was complete: nothing was printed or written";
            return Err(Error::format("reproduce", message));
        }
        part
    }

    /// Returns the number of threads for a measurement on all threads.
    pub fn threads(&self) -> usize {
        Config { threads: self.options.threads, ..Config::default() }.thread_count().max(1)
    }
}

/// Returns the CPU, and the level and the threads of a configuration.
///
/// # Errors
/// Errors of a configuration that cannot run here.
pub fn machine(config: &Config) -> Result<String> {
    let (level, threads) = (config.level()?, config.thread_count());
    Ok(format!("{}, {level}, {}", cpu_name(), peloton_plot::text::count(threads, "thread")))
}

/// A configuration, with the keys and values that made it.
pub struct Variant {
    /// The configuration.
    pub config: Config,
    /// The keys and values.
    pub keys: toml::Table,
    /// Name of the run in tables.
    pub label: Option<String>,
}
