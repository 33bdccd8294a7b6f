//! Cuts a job into parts, which any number of machines run in any order: plan, parts, manifest.
//!
//! ```text
//! make      files --------------------------> plan.json           which events each part has
//! claim     plan.json, configuration -------> _owner.json         whose parts the folder holds
//! run_part  plan.json, part 17 -------------> part-00017.parquet  then part-00017.json: this part is done
//! manifest  plan.json, all part-*.json -----> _manifest.json      sums; parts that are missing, and why
//! ```
//! A part is done when its JSON is there and agrees with the plan, the configuration and the version; running it
//! again does nothing. A part of another plan or configuration is not overwritten, unless forced. The bytes of a part
//! depend on plan and configuration alone: not on the machine, its instruction set or threads.
#![deny(unsafe_code, missing_docs)]

mod document;
mod folder;
mod input;
mod made;
mod make;
mod manifest;
mod owner;
mod part;

pub use document::{PartSpec, Plan, PlannedInput, PlannedPart};
pub use make::make;
pub use manifest::{FailedPart, Manifest, manifest, manifest_after};
pub use owner::claim;
pub use part::{PartReport, Ran, WrittenFile, check_part, check_request, run_part};
