//! Files and streams of events: [`input`] reads them into columns, [`output`] writes results, [`EventHasher`]
//! computes one hash for a set of events.
#![deny(unsafe_code, missing_docs)]

mod event_hash;
pub mod input;
pub mod output;

pub use event_hash::EventHasher;
