//! [`throughput_of_jobs`]: measures repeated whole jobs, from input files to an output file.

use crate::measure::Plan;
use crate::run::run_and_write;
use crate::systems::inputs::is_piped;
use crate::{Host, Request, Summary};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result};
use peloton_io::Muffled;
use peloton_io::output::is_standard_output;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// Results of the measurement of repeated jobs.
#[derive(Debug, Clone, Serialize)]
pub struct JobThroughput {
    /// Summary of the fastest job.
    #[serde(flatten)]
    pub summary: Summary,
    /// Number of timed jobs.
    pub repetitions: u64,
    /// Wall clock of each timed job, s.
    pub seconds: Vec<f64>,
    /// Rate of the fastest job, events/s; for an endless stream, items of the results per second.
    pub job_events_per_second: f64,
}

impl JobThroughput {
    /// Returns the median wall clock of the jobs, s.
    pub fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_unstable_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }
}

/// Measures whole jobs on the inputs of a request: reading, reconstructing, hashing, and writing to `output`, if given.
/// An untimed job runs first, so that the inputs are in the page cache, if they fit into it.
///
/// # Errors
/// Returns errors of the jobs, [`Error::Config`] for inputs or outputs that can be used only once, such as pipes, and
/// [`Error::Internal`] if jobs give different hashes.
pub fn throughput_of_jobs(
    request: &Request,
    output: Option<&Path>,
    plan: Plan,
    host: Host<'_>,
) -> Result<JobThroughput> {
    if request.inputs.iter().any(|input| is_piped(input)) || output.is_some_and(is_standard_output) {
        return Err(Error::Config("--job needs files, which are read and written repeatedly".into()));
    }
    with_default_float_mode(|| {
        let muffled = Muffled::new(host.progress);
        let first = run_and_write(request, output, host)?;
        let (begin, mut summaries) = (Instant::now(), Vec::new());
        let is_enough = |done: usize, time: Duration| match plan.passes {
            Some(passes) => done as u64 >= passes,
            None => done > 0 && time >= plan.time,
        };
        while !is_enough(summaries.len(), begin.elapsed()) && !host.is_cancelled() {
            host.progress.stage(&format!("job {}", summaries.len() + 1));
            let summary = run_and_write(request, output, Host { progress: &muffled, ..host })?;
            if summary.hashes != first.hashes && !summary.is_interrupted {
                return Err(Error::Internal("a job gave another hash than the one before".into()));
            }
            summaries.push(summary);
        }
        let seconds: Vec<_> = summaries.iter().map(|summary| summary.wall_seconds).collect();
        let fastest = summaries.into_iter().min_by(|a, b| a.wall_seconds.total_cmp(&b.wall_seconds));
        let summary = fastest.unwrap_or(first);
        let job_events_per_second = summary.events as f64 / summary.wall_seconds;
        let seconds = if seconds.is_empty() { vec![summary.wall_seconds] } else { seconds };
        Ok(JobThroughput { repetitions: seconds.len() as u64, seconds, job_events_per_second, summary })
    })
}
