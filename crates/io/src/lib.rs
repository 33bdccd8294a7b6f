//! Files and streams of events: [`input`] reads them into columns, [`output`] writes results.
#![deny(unsafe_code, missing_docs)]

pub mod input;
pub mod output;
