//! Results of jobs as text.

mod jobs;
mod plan;
mod summary;

pub use jobs::{compared, throughput, throughput_of_jobs, tuned};
pub use plan::{manifest, part};
pub use summary::summary;

/// A JSON value without quotation marks.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// The preset of a line that goes on; nothing where the sequence has none.
fn preset_words(preset: Option<&str>) -> String {
    preset.map_or(String::new(), |preset| format!("preset {preset}, "))
}
