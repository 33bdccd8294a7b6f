//! [`Device`] and [`Queue`]: what a sequence asks of a device, be it a GPU or its emulation on the CPU.

use super::mirror::Arguments;
use crate::event::Column;
use crate::{Error, Result, Status};
use std::ops::Range;

/// Threads of a warp: the lanes that go through a kernel in lockstep.
pub(super) const WARP: usize = 32;

/// The kernels of a device, as source and names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel(pub &'static str);

/// Status of an event as devices read and write it.
pub(super) fn status_of(code: u16) -> Result<Status> {
    let known = Status::ALL.get(usize::from(code));
    known.copied().ok_or_else(|| Error::Device(format!("a status {code} that does not exist")))
}

/// Appends the ends of lists, counted from item `first` on.
pub(super) fn append_starts(to: &mut Column<u32>, ends: &[u32], first: u32) {
    let from = to.len();
    to.set_len(from + ends.len());
    to[from..].iter_mut().zip(ends).for_each(|(to, end)| *to = first + end);
}

/// Where input columns of these sizes are in staging memory, one behind the other, each with
/// space for its largest size in whole 256 bytes.
pub(super) fn staged<const N: usize>(largest: [usize; N], sizes: [usize; N]) -> [Range<usize>; N] {
    let mut start = 0;
    std::array::from_fn(|i| {
        let range = start..start + sizes[i];
        start += largest[i].next_multiple_of(256);
        range
    })
}

/// What a sequence gave; when it broke off, after waiting for what is still under way, so that nothing touches staging
/// memory later and the queue can be used again.
pub(super) fn settled<Q: Queue, T>(queue: &mut Q, done: Result<T>) -> Result<T> {
    if done.is_err() {
        // The first error is the one that counts.
        let _ = queue.wait();
        let _ = queue.times(&mut |_, _| ());
    }
    done
}

/// Something that runs kernels.
pub trait Device: Sync {
    /// One stream of work.
    type Queue: Queue;

    /// Its kind, as results name it: `gpu` or `emulated`.
    fn kind(&self) -> &'static str;

    /// What it is, in words.
    fn name(&self) -> String;

    /// Opens a queue with so many bytes of device memory and of staging memory, which it holds as long as it
    /// lives.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when the device has no room.
    fn open(&self, arena: usize, staging: usize) -> Result<Self::Queue>;
}

/// Work in order: copies and kernels that begin when those before them have ended. Nothing is certain to have
/// happened before [`Queue::wait`] returns, and until then the staging memory that takes part is not to be
/// touched.
pub trait Queue: Send {
    /// Address of the arena on the device.
    fn arena(&self) -> u64;

    /// Staging memory on the host.
    fn staging(&mut self) -> &mut [u8];

    /// Copies from staging to the arena.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()>;

    /// Copies from the arena to staging.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()>;

    /// Runs `blocks` blocks of `threads` threads. The addresses in `args` must lie in the arena, which is
    /// checked.
    ///
    /// # Errors
    /// As [`Queue::wait`], and for addresses that do not.
    fn launch<A: Arguments>(&mut self, kernel: Kernel, blocks: u32, threads: u32, args: &A) -> Result<()>;

    /// Returns when all is done.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) with what the device says.
    fn wait(&mut self) -> Result<()>;

    /// Calls `visit` with each kernel that ended before the last [`Queue::wait`] and the time it took, ns; then
    /// forgets them.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    fn times(&mut self, visit: &mut dyn FnMut(Kernel, u64)) -> Result<()>;
}
