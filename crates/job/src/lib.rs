//! The subcommands of peloton as library functions: run, check, measure, tune and compare, on any input.
//!
//! This crate prints nothing and reads no command lines: a [`Request`] describes the job, a [`Host`] receives progress
//! and warnings and can end the job early, and the result is a summary that can be shown as text or as JSON. The
//! command line and the bindings to other languages call the same functions.
//!
//! Every function is written once for all sequences, on results of any type (`peloton::event::Columns`). The module
//! `systems` contains the differences between sequences (inputs, executors, checks); `registry` lists the systems.
#![deny(unsafe_code, missing_docs)]

mod about;
mod against;
mod check;
mod check_each;
mod clusters;
mod compare;
mod comparison;
mod config;
mod config_text;
mod describe;
mod device;
mod display;
pub mod embed;
mod measure;
mod measured;
mod preset;
mod profile;
mod registry;
mod request;
mod run;
mod sequence_name;
mod sink;
mod source;
mod stream;
mod summary;
mod summary_text;
mod system;
mod systems;
mod threads;
mod throughput;
mod throughput_job;
mod totals;
mod truth_check;
mod tune;

pub use about::{about, about_inputs};
pub use check::check;
pub use check_each::check_each;
pub use clusters::{FoundClusters, clusters};
pub use compare::{Compared, Side, compare};
pub use config::{Config, override_with};
pub use describe::{AlgorithmRow, describe_algorithms, describe_columns};
pub use device::{Device, Gpus, LaneOrder, devices_found};
pub use display::{DisplayOptions, Displayed, DrawnEvents, EventChoice, Frame, display};
pub use measure::Plan;
pub use peloton_io::input::MaxBad;
pub use peloton_io::{Cancel, Host, Progress, Silent, Work};
pub use peloton_sim::{Simulated, Simulation, simulate};
pub use peloton_truth::truth_files;
pub use preset::Preset;
pub use profile::{Measurement, Profile};
pub use request::{EventRange, PartOfPlan, PixelOptions, Request};
pub use run::run;
pub use sequence_name::SequenceName;
pub use sink::OutputOptions;
pub(crate) use source::{Beside, CountUnknown, Source, Unparsed};
pub use stream::Busy;
pub(crate) use stream::Chunk;
pub use summary::{Bytes, InputKind, PartTime, StageTime, Summary, object};
pub(crate) use system::{Opened, System};
pub use systems::inputs::{check as check_inputs, special as special_input};
pub use throughput::{Throughput, doubling, throughput, throughput_each};
pub use throughput_job::{JobThroughput, throughput_of_jobs};
pub(crate) use truth_check::Check;
pub use truth_check::{CheckOptions, CheckRules, Checked};
pub use tune::{Tuned, cpu_name, tune};
