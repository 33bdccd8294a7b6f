//! Results as text for people: aligned columns, shares in per cent.

mod jobs;
mod summary;
mod truth;
mod words;

pub use jobs::{compared, throughput, tuned};
pub use summary::summary;
pub use truth::{cylinder, cylinder_tables, losses, momenta, stage_losses, tables, velo_pulls};
pub use words::{count, grouped, percent, rate, table};
