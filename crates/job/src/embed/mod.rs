//! Reconstruction for programs that manage their own events, threads and results, with the sequence that a
//! configuration names. The bindings to other languages use this module.
//!
//! ```text
//! AnyEngine     the sequence of a Request; shared by any number of threads
//! AnyWorkspace  scratch memory of one thread
//! AnyOutcome    every product that is written, as columns with a schema, counters, event numbers; AnyHasher hashes them
//! AnyPool       threads, for callers that have none
//! EventBatch    raw banks: one by one, as MDF bytes, as the blocks of an event builder
//! ClusterStream pixel hits to clusters, fed in pieces cut anywhere
//! Reader        the events of any input, batch by batch; each, collect: results of a job in memory
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
pub use engine::{AnyEngine, AnyWorkspace, CheckEvents};
pub use outcome::{AnyHasher, AnyOutcome};
pub use peloton::engine::Events;
pub use peloton_io::input::{EventBatch, known_status};
pub use pool::AnyPool;
pub use reader::{ReadEvents, Reader};
pub use shared::SharedResults;
pub use spares::{SpareUser, Spares};
pub use stream::ClusterStream;
