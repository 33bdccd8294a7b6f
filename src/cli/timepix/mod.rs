//! The subcommands for streams of pixel hits: `--sequence timepix`.

mod args;
mod check;
mod report;
mod run;
mod sink;
mod source;
mod throughput;

pub use args::{PixelArgs, is_pixels};
pub use check::check;
pub use run::run;
pub use throughput::throughput;
