//! Reconstruction for programs that manage their own events, threads and results, with the sequence that a
//! configuration names. The bindings to other languages use this module.
//!
//! ```text
//! ConfiguredEngine     the sequence of a Request; shared by any number of threads
//! ConfiguredWorkspace  scratch memory of one thread
//! ConfiguredOutcome    every product that is written: columns with a schema, counters, event numbers
//! OutcomeHasher        hashes of outcomes
//! ConfiguredPool       threads, for callers that have none
//! EventBatch           raw banks: one by one, as MDF bytes, as the blocks of an event builder
//! ClusterStream        pixel hits to clusters, fed in pieces cut anywhere
//! Reader               the events of any input, batch by batch; each, collect: results of a job in memory
//! ```

mod each;
mod engine;
mod outcome;
mod pool;
mod reader;
mod shared;
mod spares;
mod stream;
#[cfg(test)]
mod tests;

pub use each::{collect, each};
pub(crate) use engine::geometry;
pub use engine::{CheckEvents, ConfiguredEngine, ConfiguredWorkspace};
pub use outcome::{ConfiguredOutcome, OutcomeHasher};
pub use peloton::engine::Events;
pub use peloton_io::input::{EventBatch, known_status};
pub use pool::ConfiguredPool;
pub use reader::{ReadEvents, Reader};
pub use shared::SharedResults;
pub use spares::{SpareUser, Spares};
pub use stream::ClusterStream;
