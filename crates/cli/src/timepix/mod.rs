//! The subcommands for streams of pixel hits: `--sequence timepix`.

mod args;
mod check;
mod compare;
mod datagrams;
mod device;
mod display;
mod html;
mod latency;
mod report;
mod run;
mod simulate;
mod sink;
mod soak;
mod source;
mod throughput;
mod tune;

pub use args::PixelArgs;
pub use check::check;
pub use compare::compare;
pub use display::display;
pub use run::run;
pub use simulate::simulate;
pub use soak::Soak;
pub use throughput::throughput;
pub use tune::tune;
