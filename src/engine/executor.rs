//! [`Executor`]: turns batches of events into results.

use super::{Batch, CommonThreads, Sliced, Spread};
use crate::Result;
use crate::event::{Counters, Results};
use std::sync::Arc;

/// Properties of an executor: the instructions, threads and memory that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Name of the instruction set level, or of the kind of device.
    pub isa: &'static str,
    /// Number of lanes of a gang on the CPU, or of a warp on a device.
    pub gang: usize,
    /// Number of threads of the CPU, or of streams of a device.
    pub threads: usize,
    /// Number of events that a thread or stream processes at once; number of hits for an endless stream of data.
    pub slice: usize,
    /// Description of the device; `None` for the CPU.
    pub device: Option<String>,
    /// Memory that the streams of a device use at present; zero for the CPU.
    pub memory: DeviceMemory,
}

/// Memory that the streams of a device use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceMemory {
    /// Memory on the device, bytes.
    pub arena: usize,
    /// Page-locked memory on the host, bytes.
    pub staging: usize,
}

impl std::iter::Sum for DeviceMemory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let add = |a: Self, b: Self| Self { arena: a.arena + b.arena, staging: a.staging + b.staging };
        all.fold(Self::default(), add)
    }
}

/// Turns batches of events into results, in the order of the events, on threads of the CPU or streams of a device. All
/// executors give the same results.
pub trait Executor: Send {
    /// Reconstructs a batch. Empties `results`, then adds one entry per event, in the order of the events.
    ///
    /// # Errors
    /// Fails if the batch cannot be reconstructed, such as a batch for another sequence, or if the device fails.
    fn run(&mut self, batch: &dyn Batch, results: &mut Sliced) -> Result<Counters>;

    /// Reconstructs a batch `passes` times and calls `visit` with the index and the results of each slice. Afterwards
    /// the results are overwritten; in a `Pool`, they never leave the cache of the thread that made them.
    ///
    /// # Errors
    /// As [`Executor::run`].
    fn repeat(
        &mut self,
        batch: &dyn Batch,
        passes: u64,
        visit: &(dyn Fn(usize, &dyn Results) + Sync),
    ) -> Result<Counters> {
        let (mut counters, mut results) = (Counters::default(), Sliced::default());
        for _ in 0..passes {
            counters.merge(&self.run(batch, &mut results)?);
            results.slices().enumerate().for_each(|(slice, results)| visit(slice, &**results));
        }
        Ok(counters)
    }

    /// Returns the properties of the executor.
    fn machine(&self) -> Machine;

    /// Returns threads for other work: the threads of the executor, or `CommonThreads` if it has none.
    fn threads(&self) -> Arc<dyn Spread> {
        Arc::new(CommonThreads)
    }

    /// Switches the measurement of the times of kernels and copies of a device on or off. It is off at first, because
    /// it slows down the device. Does nothing on the CPU.
    fn time_kernels(&mut self, yes: bool) {
        let _ = yes;
    }

    /// Returns the time that each kernel and the copies of a device took since the last call, summed over streams, ns.
    /// The list is empty for the CPU, and while the measurement is off.
    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
