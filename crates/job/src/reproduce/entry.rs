//! [`Entry`]: one table or figure of a paper; [`Job`]: what making it needs.

use super::report::Report;
use crate::{
    CheckOptions, CheckRules, Checked, Config, EventRange, Host, Plan, Preset, Request, SequenceName,
    Throughput, check_each, cpu_name, throughput_each,
};
use peloton::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// The papers whose tables and figures are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Paper {
    /// Search by triplet.
    Triplet,
    /// Compass UT.
    Compass,
    /// Seeding in the SciFi.
    SciFi,
    /// Matriplex.
    Matriplex,
    /// Pixel clusters.
    Pixels,
}

impl Paper {
    /// All of them, in the order of the detectors.
    pub const ALL: [Self; 5] = [Self::Triplet, Self::Compass, Self::SciFi, Self::Matriplex, Self::Pixels];

    /// How the paper is cited.
    pub fn title(self) -> &'static str {
        match self {
            Self::Triplet => {
                "Campora Perez et al., A fast local algorithm for track reconstruction on parallel architectures (Search \
                 by triplet)"
            }
            Self::Compass => {
                "Fernandez Declara et al., A parallel-computing algorithm for high-energy physics particle tracking and \
                 decoding using GPU architectures (Compass, IEEE Access 7, 2019)"
            }
            Self::SciFi => {
                "Hennequin et al., Standalone track reconstruction in LHCb's SciFi detector for the GPU-based High Level \
                 Trigger (slides)"
            }
            Self::Matriplex => {
                "Cerati et al., Parallelized Kalman-filter-based reconstruction of particle tracks on many-core \
                 processors and GPUs (Matriplex)"
            }
            Self::Pixels => {
                "Celko et al., Parallel CPU- and GPU-based connected component algorithms for event building for hybrid \
                 pixel detectors"
            }
        }
    }
}

/// How a table or figure comes about here.
#[derive(Clone, Copy)]
pub enum Making {
    /// By this function.
    Run(fn(&Job<'_>) -> Result<Report>),
    /// On a GPU alone, by the command that is named.
    Device(&'static str),
    /// Not at all, and why.
    Impossible(&'static str),
}

/// One table or figure of a paper, or several that one answer holds for.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// The paper.
    pub paper: Paper,
    /// Which table or figure it is.
    pub of: &'static str,
    /// What it shows.
    pub what: &'static str,
    /// How it comes about.
    pub making: Making,
    /// Whether it can be drawn.
    pub is_drawn: bool,
}

impl Entry {
    /// The same, with a drawing.
    pub(super) const fn drawn(self) -> Self {
        Self { is_drawn: true, ..self }
    }
}

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

/// Makes an entry: what was asked for, and whom to tell.
pub struct Job<'a> {
    /// What was asked for.
    pub options: &'a Reproduction,
    /// Whom to tell.
    pub host: Host<'a>,
}

/// An error that names the inputs when a check could not use them.
///
/// # Errors
/// [`Error::Format`] with what was wrong.
pub fn usable(request: &Request, checked: &Checked) -> Result<()> {
    match &checked.failure {
        Some(failure) => Err(Error::format(request.inputs.join(", "), failure)),
        None => Ok(()),
    }
}

/// The first seed of samples that numbers are quoted on; nothing was ever tuned on these.
pub const SEED: u64 = 5000;

impl Job<'_> {
    /// Whether events are simulated.
    pub fn is_simulated(&self) -> bool {
        self.options.inputs.is_empty()
    }

    /// `long`, or `short` where that will do.
    pub fn size(&self, long: u64, short: u64) -> u64 {
        if self.options.quick { short } else { long }
    }

    /// A request for a sequence on the inputs that were given, or else on simulated ones.
    pub fn request(&self, sequence: SequenceName, preset: Preset, simulated: &str) -> Request {
        let Reproduction { inputs, geometry, threads, command, .. } = self.options;
        let inputs = if inputs.is_empty() { vec![simulated.into()] } else { inputs.clone() };
        let config = Config { sequence, threads: *threads, ..Config::preset(preset) };
        Request {
            inputs,
            geometry: geometry.clone(),
            events: EventRange::default(),
            config,
            command: command.clone(),
            ..Request::default()
        }
    }

    /// As [`Job::request`], for times, which are those of one thread unless told otherwise.
    pub fn timed(&self, sequence: SequenceName, preset: Preset, simulated: &str) -> Request {
        let mut request = self.request(sequence, preset, simulated);
        request.config.threads.get_or_insert(1);
        request
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

    /// Efficiencies of several configurations on the same events.
    ///
    /// # Errors
    /// Those of the job, and when it was interrupted or failed.
    pub fn check(
        &self,
        request: &Request,
        configs: &[Config],
        rules: Option<CheckRules>,
    ) -> Result<Vec<Checked>> {
        let options = CheckOptions { rules, ..CheckOptions::default() };
        let checked = self.complete(check_each(request, configs, &options, self.host))?;
        checked.iter().try_for_each(|one| usable(request, one))?;
        Ok(checked)
    }

    /// Rates of several configurations with the same events in memory.
    ///
    /// # Errors
    /// Those of the job, and when it was interrupted.
    pub fn throughput(&self, request: &Request, configs: &[Config]) -> Result<Vec<Throughput>> {
        self.complete(throughput_each(request, configs, self.plan(), self.host))
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

    /// The CPU, and what runs on it by a configuration.
    ///
    /// # Errors
    /// When nothing would run.
    pub fn machine(&self, config: &Config) -> Result<String> {
        let (level, threads) = (config.level()?, config.thread_count());
        Ok(format!("{}, {level}, {}", cpu_name(), crate::text::count(threads, "thread")))
    }
}
