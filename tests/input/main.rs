//! Files of events: their contents, and errors for broken files.

#[path = "../common/mod.rs"]
mod common;

mod bad_banks;
mod events;
mod faults;
mod raw;
mod raw_faults;
