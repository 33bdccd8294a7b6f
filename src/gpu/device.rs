//! [`Device`]: a GPU, or its emulation on the CPU, that runs the kernels of all sequences.

use super::driver::{Cuda, Emulated, Faults, Order, Queue};
use crate::event::Column;
use crate::{Error, Result, Status};
use std::ops::Range;

/// Threads of a warp, which run a kernel in lockstep.
pub(super) const WARP: usize = 32;

/// A GPU, or its emulation on the CPU. Clones refer to the same device.
///
/// Kernels take addresses, which only the sequences of this module fill in: programs open streams, such as
/// [`VeloStream`](super::velo::VeloStream), and have no access to queues.
///
/// ```compile_fail
/// #![forbid(unsafe_code)]
/// # use peloton::gpu::{Device, Order};
/// let mut queue = Device::emulated(Order::Forward)?.open(256, 256)?; // `open` is private
/// # Ok::<(), peloton::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(Kind);

#[derive(Clone)]
enum Kind {
    Cuda(Cuda),
    Emulated(Emulated),
}

impl Device {
    /// Opens an NVIDIA GPU by its number, counted from 0 in the order of the driver, and loads the kernels: from
    /// the file in the variable `PELOTON_CUBIN` if that is set, otherwise from the program.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when there is no GPU with that number, and [`Error::Device`] when the GPU cannot be used.
    pub fn gpu(number: usize) -> Result<Self> {
        Ok(Self(Kind::Cuda(Cuda::new(number)?)))
    }

    /// Opens all NVIDIA GPUs of the machine.
    ///
    /// # Errors
    /// As [`Device::gpu`].
    pub fn all_gpus() -> Result<Vec<Self>> {
        (0..Cuda::count()?).map(Self::gpu).collect()
    }

    /// Opens the emulated device: kernels run on the CPU, compiled by `CXX` or `c++` unless they are in the cache.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no compiler, or if it fails (with the compiler's message).
    pub fn emulated(order: Order) -> Result<Self> {
        Ok(Self(Kind::Emulated(Emulated::new(order)?)))
    }

    /// An emulated device and a handle that makes its calls fail, for tests.
    ///
    /// # Errors
    /// As [`Device::emulated`].
    pub fn failing(order: Order) -> Result<(Self, Faults)> {
        let device = Emulated::new(order)?;
        let faults = device.faults();
        Ok((Self(Kind::Emulated(device)), faults))
    }

    /// Kind of the device in results: `gpu` or `emulated`.
    pub fn kind(&self) -> &'static str {
        match self.0 {
            Kind::Cuda(_) => "gpu",
            Kind::Emulated(_) => "emulated",
        }
    }

    /// Description of the device.
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::Cuda(device) => device.name(),
            Kind::Emulated(device) => device.name(),
        }
    }

    /// Opens a queue with `arena` bytes of device memory and `staging` bytes of staging memory, which it holds until it
    /// is dropped.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has too little memory.
    pub(super) fn open(&self, arena: usize, staging: usize) -> Result<Queue> {
        match &self.0 {
            Kind::Cuda(device) => device.open(arena, staging),
            Kind::Emulated(device) => Ok(device.open(arena, staging)),
        }
    }
}

impl Device {
    /// Opens a queue for the kernels of [`lanes`](super::lanes), which are loaded at the first call.
    ///
    /// # Errors
    /// As [`Device::open`], and when the driver cannot load them.
    pub(super) fn open_lanes(&self, arena: usize, staging: usize) -> Result<Queue> {
        match &self.0 {
            Kind::Cuda(device) => device.open_lanes(arena, staging),
            Kind::Emulated(device) => Ok(device.open(arena, staging)),
        }
    }
}

/// The status of an event from the code that a device writes.
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

/// Positions in staging memory of input columns of these sizes. The columns follow one another; each has space
/// for its largest size, rounded up to 256 bytes.
pub(super) fn staged<const N: usize>(largest: [usize; N], sizes: [usize; N]) -> [Range<usize>; N] {
    let mut start = 0;
    std::array::from_fn(|i| {
        let range = start..start + sizes[i];
        start += largest[i].next_multiple_of(256);
        range
    })
}

/// Returns the result of a sequence. After an error, first waits for the work in progress, so that nothing accesses
/// staging memory later and the queue can be used again.
pub(super) fn settled<T>(queue: &mut Queue, done: Result<T>) -> Result<T> {
    if done.is_err() {
        // The first error is reported, not a later one.
        let _ = queue.wait();
        let _ = queue.times(&mut |_, _| ());
    }
    done
}
