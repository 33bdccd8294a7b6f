//! Formats the results of jobs as text.

mod jobs;
mod plan;

pub use jobs::{compared, throughput, throughput_of_jobs, tuned};
pub use plan::{manifest, part};
