//! Text output: aligned columns, shares in per cent.

mod jobs;
mod plan;
mod summary;
mod truth;
mod words;

pub use jobs::{compared, throughput, throughput_of_jobs, tuned};
pub use plan::{manifest, part};
pub use summary::summary;
pub use truth::{
    cylinder, cylinder_fit, cylinder_fit_tables, cylinder_tables, losses, momenta, stage_losses, state_pulls,
    tables, velo_pulls,
};
pub use words::{count, grouped, percent, rate, table};
