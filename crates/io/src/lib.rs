//! Files and streams of events: [`input`] reads them into columns, [`output`] writes results, [`EventHasher`]
//! computes one hash for a set of events. A [`Host`] receives progress and warnings, and can end the work early.
#![deny(unsafe_code, missing_docs)]

mod event_hash;
mod host;
pub mod input;
pub mod output;

pub use event_hash::EventHasher;
pub use host::{Cancel, Host, Muffled, Progress, Silent, Work};
