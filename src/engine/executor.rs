//! [`Executor`]: turns batches of events into results.

use super::{Batch, CommonThreads, Sliced, Spread};
use crate::Result;
use crate::event::{Counters, Results};
use std::sync::Arc;

/// Properties of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The instruction set level, or the kind of device.
    pub isa: &'static str,
    /// Lanes of a gang, or of a warp.
    pub gang: usize,
    /// Threads, or streams of a device.
    pub threads: usize,
    /// Events, or hits of an endless stream, that a thread or stream processes at once.
    pub slice: usize,
    /// The device in words; none for the CPU.
    pub device: Option<String>,
    /// Current memory of the streams of a device; none for the CPU.
    pub memory: DeviceMemory,
}

/// Memory of the streams of a device.
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

/// Turns batches into results, in the order of their events: threads of the CPU, or streams of a device. All
/// executors give the same results.
pub trait Executor: Send {
    /// Reconstructs a batch; `results` is emptied and receives one entry per event, in order.
    ///
    /// # Errors
    /// When the batch cannot be reconstructed at all, such as a batch of another sequence, or the device fails.
    fn run(&mut self, batch: &dyn Batch, results: &mut Sliced) -> Result<Counters>;

    /// Reconstructs a batch `passes` times and calls `visit` with the number and the results of each slice. The
    /// results are then overwritten, so that they never leave the cache of their thread.
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

    /// Properties of the executor.
    fn machine(&self) -> Machine;

    /// Threads for other work: the executor's own threads, if it has any.
    fn threads(&self) -> Arc<dyn Spread> {
        Arc::new(CommonThreads)
    }

    /// Switches the measurement of the time of each kernel and copy of a device, which itself costs time; off at
    /// first. Does nothing on the CPU.
    fn time_kernels(&mut self, yes: bool) {
        let _ = yes;
    }

    /// Time of each kernel of a device, and of its copies, since the last call, summed over streams, ns; empty for
    /// the CPU, and when times are not measured.
    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
