//! [`Queue`]: commands that run in order on a device, with the checks that make them safe.

use crate::engine::DeviceMemory;
use crate::gpu::mirror::Arguments;
use crate::simd::finish_copies;
use crate::{Error, Result};
use std::ops::Range;

/// Name of copies to the device among the times of kernels.
pub(in crate::gpu) const COPY_IN: &str = "copy_in";
/// Name of copies from the device among the times of kernels.
pub(in crate::gpu) const COPY_OUT: &str = "copy_out";

/// Commands of a queue, which a device runs in their order. [`Queue`] has checked that ranges lie within the memory. A
/// copy may be in progress until [`Commands::wait`] returns without an error.
pub(super) trait Commands: Send {
    /// Address of the arena on the device.
    fn arena(&self) -> u64;

    /// Staging memory on the host. The caller ensures that no copy is in progress.
    fn staging(&mut self) -> &mut [u8];

    /// Copies bytes from staging memory to the arena.
    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()>;

    /// Copies bytes from the arena to staging memory.
    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()>;

    /// Fills a range of the arena with zeros.
    fn clear(&mut self, range: Range<usize>) -> Result<()>;

    /// Runs `blocks` blocks, one or more, of `threads` threads.
    ///
    /// # Safety
    /// `args` are the bytes of the struct that this kernel takes. Its addresses are addresses of buffers in the arena,
    /// which are at least as large as the kernel requires.
    #[allow(unsafe_code)]
    unsafe fn launch(&mut self, kernel: &'static str, blocks: u32, threads: u32, args: &[u8]) -> Result<()>;

    /// Waits until all commands have run.
    fn wait(&mut self) -> Result<()>;

    /// Switches the measurement of times.
    fn set_timed(&mut self, yes: bool);

    /// Calls `visit` with each kernel and copy that ended and its time, ns; then discards these times.
    fn times(&mut self, visit: &mut dyn FnMut(&'static str, u64)) -> Result<()>;

    /// The arena of an emulated device.
    #[cfg(test)]
    fn memory(&self) -> &[u8] {
        &[]
    }
}

/// Copies and kernels that run one after the other. Nothing is certain to have run before [`Queue::wait`]
/// returns; until then, [`Queue::staging`] gives no access to staging memory.
pub(in crate::gpu) struct Queue {
    commands: Box<dyn Commands>,
    arena_bytes: usize,
    staging_bytes: usize,
    /// Whether a command may be in progress.
    is_busy: bool,
}

impl Queue {
    pub(super) fn new(commands: impl Commands + 'static, arena_bytes: usize, staging_bytes: usize) -> Self {
        Self { commands: Box::new(commands), arena_bytes, staging_bytes, is_busy: false }
    }

    /// Address of the arena on the device.
    pub fn arena(&self) -> u64 {
        self.commands.arena()
    }

    /// Staging memory on the host.
    ///
    /// # Errors
    /// [`Error::Device`] while commands may be running, until a [`Queue::wait`] succeeds.
    pub fn staging(&mut self) -> Result<&mut [u8]> {
        if self.is_busy {
            return Err(Error::Device("copies may still be in progress".into()));
        }
        Ok(self.commands.staging())
    }

    /// Copies bytes from staging memory to the arena.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    pub fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        check_range("staging", &from, self.staging_bytes)?;
        check_range("arena", &(to..to + from.len()), self.arena_bytes)?;
        // A driver may refuse an address at the end of the arena, even for zero bytes.
        if from.is_empty() {
            return Ok(());
        }
        // Staging memory may have been written by stores that bypass the caches.
        finish_copies();
        self.is_busy = true;
        self.commands.copy_in(from, to)
    }

    /// Copies bytes from the arena to staging memory.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    pub fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        check_range("arena", &from, self.arena_bytes)?;
        check_range("staging", &(to..to + from.len()), self.staging_bytes)?;
        if from.is_empty() {
            return Ok(());
        }
        self.is_busy = true;
        self.commands.copy_out(from, to)
    }

    /// Fills a range of the arena with zeros: for memory that no kernel writes, but that is copied to the host.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    pub fn clear(&mut self, range: Range<usize>) -> Result<()> {
        check_range("arena", &range, self.arena_bytes)?;
        if range.is_empty() {
            return Ok(());
        }
        self.is_busy = true;
        self.commands.clear(range)
    }

    /// Runs `blocks` blocks of `threads` threads of a kernel with these arguments.
    ///
    /// # Errors
    /// As for [`Queue::wait`], and [`Error::Device`] for addresses that do not lie in the arena.
    #[allow(unsafe_code)]
    pub fn launch<A: Arguments>(
        &mut self,
        kernel: &'static str,
        blocks: u32,
        threads: u32,
        args: &A,
    ) -> Result<()> {
        if !A::KERNELS.contains(&kernel) {
            return Err(Error::Device(format!("no kernel {kernel} takes these arguments")));
        }
        let arena = self.arena();
        check_addresses(arena..arena + self.arena_bytes as u64, args)?;
        if blocks == 0 {
            return Ok(());
        }
        self.is_busy = true;
        // SAFETY: the kernel takes this struct, and the addresses in it were checked. The plan of the sequence, which fills
        // in the addresses, makes the buffers large enough; no other code makes such arguments.
        unsafe { self.commands.launch(kernel, blocks, threads, bytemuck::bytes_of(args)) }
    }

    /// Waits until all commands have run.
    ///
    /// # Errors
    /// [`Error::Device`] with the device's message, if a command failed.
    pub fn wait(&mut self) -> Result<()> {
        self.commands.wait()?;
        self.is_busy = false;
        Ok(())
    }

    /// Memory of the queue.
    pub fn memory_held(&self) -> DeviceMemory {
        DeviceMemory { arena: self.arena_bytes, staging: self.staging_bytes }
    }

    /// Switches the timing of each kernel and copy on or off (at first off); timing itself takes time.
    pub fn set_timed(&mut self, yes: bool) {
        self.commands.set_timed(yes);
    }

    /// Calls `visit` with the name (for copies [`COPY_IN`] or [`COPY_OUT`]) and the time, ns, of each timed command
    /// that ended before the last [`Queue::wait`]; then discards these times.
    ///
    /// # Errors
    /// As [`Queue::wait`].
    pub fn times(&mut self, visit: &mut dyn FnMut(&'static str, u64)) -> Result<()> {
        self.commands.times(visit)
    }

    /// The memory of an emulated device's arena.
    #[cfg(test)]
    pub fn memory(&self) -> &[u8] {
        self.commands.memory()
    }
}

/// Checks that each address in a kernel's arguments lies in the arena, or at its end for an empty buffer.
fn check_addresses<A: Arguments>(arena: Range<u64>, args: &A) -> Result<()> {
    let bytes = bytemuck::bytes_of(args);
    for address in bytes[..8 * A::ADDRESSES].chunks_exact(8) {
        let address = u64::from_ne_bytes(address.try_into().expect("chunks of eight"));
        if !(arena.start..=arena.end).contains(&address) {
            return Err(Error::Device(format!("an address outside the arena: {address:#x}")));
        }
    }
    Ok(())
}

/// Checks that a range lies within `size` bytes.
fn check_range(what: &str, range: &Range<usize>, size: usize) -> Result<()> {
    if range.start <= range.end && range.end <= size {
        return Ok(());
    }
    Err(Error::Device(format!("{what} {range:?} of {size} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Device, Order};

    /// Arguments that no sequence has.
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Foreign {
        address: u64,
    }

    impl Arguments for Foreign {
        const ADDRESSES: usize = 1;
        const KERNELS: &'static [&'static str] = &["velo_check"];
    }

    fn refused<T>(done: Result<T>, what: &str) {
        let Err(Error::Device(message)) = done else { panic!("not refused: {what}") };
        assert!(message.contains(what), "{message}");
    }

    #[test]
    fn what_is_not_safe_is_refused() {
        let mut queue = Device::emulated(Order::Forward).unwrap().open(256, 64).unwrap();
        let args = |address: u64| Foreign { address };
        let arena = queue.arena();
        refused(queue.launch("pixels_keys", 1, 32, &args(arena)), "takes these arguments");
        for address in [0, arena - 1, arena + 257] {
            refused(queue.launch("velo_check", 1, 32, &args(address)), "outside the arena");
        }
        queue.launch("velo_check", 0, 32, &args(arena + 256)).unwrap();
        refused(queue.copy_in(0..65, 0), "staging");
        refused(queue.copy_out(0..32, 40), "staging");
        refused(queue.copy_out(250..257, 0), "arena");
        queue.copy_in(0..0, 256).unwrap();
        queue.staging().unwrap()[0] = 1;
        queue.copy_in(0..64, 0).unwrap();
        refused(queue.staging().map(|_| ()), "in progress");
        queue.wait().unwrap();
        assert_eq!(queue.staging().unwrap()[0], 1);
    }
}
