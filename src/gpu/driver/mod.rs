//! The room that talks to machines: NVIDIA's driver and compiler, and the emulated device. All unsafe code of
//! `gpu` is here.

mod compile;
mod cuda;
mod emulated;

pub use compile::{Usage, compile, usage};
pub use cuda::Cuda;
#[cfg(test)]
pub(in crate::gpu) use emulated::GARBAGE;
pub use emulated::{Emulated, Order};

use super::mirror::Arguments;
use crate::{Error, Result};
use std::ops::Range;

/// What CUDA libraries there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Libraries {
    /// The driver, libcuda.
    pub driver: bool,
    /// The run-time compiler, libnvrtc.
    pub compiler: bool,
}

impl Libraries {
    /// Looks for them.
    #[allow(unsafe_code)]
    pub fn find() -> Self {
        // SAFETY: both only try to open libraries by the names that NVIDIA gives them.
        let (driver, compiler) =
            unsafe { (cudarc::driver::sys::is_culib_present(), cudarc::nvrtc::sys::is_culib_present()) };
        Self { driver, compiler }
    }
}

/// Checks the addresses among a kernel's arguments: each lies in the arena, or at its end when nothing is there.
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

/// Checks that so many bytes are there.
fn check_range(what: &str, range: &Range<usize>, size: usize) -> Result<()> {
    if range.start <= range.end && range.end <= size {
        return Ok(());
    }
    Err(Error::Device(format!("{what} {range:?} of {size} bytes")))
}
