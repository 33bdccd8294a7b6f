//! [`Job`]: the user's options for a table or figure, and the host that receives progress and can cancel.

use peloton::{Error, Result};
use peloton_job::{Config, Host, Plan, cpu_name};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// The measured values of each run as JSON, and the hashes of the results.
pub type Facts = (Vec<Value>, Vec<String>);

/// Options for making a table or figure.
#[derive(Debug, Clone, Default)]
pub struct Reproduction {
    /// Names of inputs in place of simulated events; empty for simulated events.
    pub inputs: Vec<String>,
    /// Folder of the detector's geometry files, for raw banks.
    pub geometry: Option<PathBuf>,
    /// Whether to use few events and short times, which give rough numbers.
    pub quick: bool,
    /// Number of threads; by default one thread for measurements of times, otherwise one per core.
    pub threads: Option<usize>,
    /// Duration of each measurement, s; by default 1 s, or 0.05 s if `quick`.
    pub seconds: Option<f64>,
    /// The command line, which is written to the metadata of files.
    pub command: String,
}

/// The user's options, and the host that runs the job.
pub struct Job<'a> {
    /// The user's options.
    pub options: &'a Reproduction,
    /// Receives progress, and can cancel the measurements.
    pub host: Host<'a>,
}

impl Job<'_> {
    /// Returns whether events are simulated.
    pub fn is_simulated(&self) -> bool {
        self.options.inputs.is_empty()
    }

    /// Returns the last of `forms` (the short form) if the option `quick` is set, otherwise the first (the full form).
    pub fn size<'a, T>(&self, forms: &'a [T]) -> Option<&'a T> {
        if self.options.quick { forms.last() } else { forms.first() }
    }

    /// Returns the duration and the number of copies of the events for each measurement.
    pub fn plan(&self) -> Plan {
        let seconds = self.options.seconds.unwrap_or(if self.options.quick { 0.05 } else { 1.0 });
        Plan { copies: 1, passes: None, time: Duration::from_secs_f64(seconds) }
    }

    /// Reports the name of a step that begins.
    pub fn stage(&self, name: &str) {
        self.host.progress.stage(name);
    }

    /// Returns `part`, or an error when the user has interrupted the job: half a table is useless, and an error of
    /// `part` (such as missing events) may only follow from the interruption.
    ///
    /// # Errors
    /// The error of `part`, and an error when the job was interrupted.
    pub fn complete<T>(&self, part: Result<T>) -> Result<T> {
        if self.host.is_cancelled() {
            let message = "interrupted before the table was complete: nothing was printed or written";
            return Err(Error::format("reproduce", message));
        }
        part
    }

    /// Returns the number of threads from the options, by default one per core.
    pub fn threads(&self) -> usize {
        Config { threads: self.options.threads, ..Config::default() }.thread_count().max(1)
    }
}

/// Returns a text with the CPU's name, and the configuration's level (instruction set and gang) and number of threads.
///
/// # Errors
/// An error when this CPU cannot run the configuration.
pub fn machine(config: &Config) -> Result<String> {
    let (level, threads) = (config.level()?, config.thread_count());
    Ok(format!("{}, {level}, {}", cpu_name(), peloton_plot::text::count(threads, "thread")))
}

/// The configuration of a run, with the keys and values in `papers/*.toml` that set it.
pub struct Variant {
    /// The configuration.
    pub config: Config,
    /// The keys and values that set the configuration.
    pub keys: toml::Table,
    /// Name of the run in tables, if any.
    pub label: Option<String>,
}
