//! The subcommands for the cylinder detector: `--sequence cylinder`.

mod args;
mod check;
mod compare;
mod device;
mod run;
mod simulate;
mod source;
mod throughput;
mod tune;

pub use args::CylinderArgs;
pub use check::check;
pub use compare::compare;
pub use device::throughput as device_throughput;
pub use run::run;
pub use simulate::simulate;
pub use throughput::throughput;
pub use tune::tune;
