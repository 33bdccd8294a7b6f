//! Files of events: what is read, and what is said of broken ones.

#[path = "../common/mod.rs"]
mod common;

mod bad_banks;
mod events;
mod faults;
mod raw;
mod raw_faults;
