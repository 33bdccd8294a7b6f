//! Interfaces to devices: NVIDIA's driver and compiler, and the emulated device. All unsafe code of `gpu` is here and in `lanes`.

mod compile;
mod cuda;
mod cuda_queue;
mod emulated;
mod images;
mod lanes;
mod queue;

pub use compile::{Usage, usage};
pub(super) use cuda::Cuda;
pub(super) use emulated::Emulated;
#[cfg(test)]
pub(in crate::gpu) use emulated::GARBAGE;
pub use emulated::{Faults, Order, emulated_library};
pub use lanes::emulated_lanes;
pub(super) use queue::{COPY_IN, COPY_OUT, Queue};

/// The available CUDA libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Libraries {
    /// The driver, libcuda.
    pub driver: bool,
    /// The run-time compiler, libnvrtc.
    pub compiler: bool,
}

impl Libraries {
    /// Looks for the libraries.
    #[allow(unsafe_code)]
    pub fn find() -> Self {
        // SAFETY: both only try to open libraries by the names that NVIDIA gives them.
        let (driver, compiler) =
            unsafe { (cudarc::driver::sys::is_culib_present(), cudarc::nvrtc::sys::is_culib_present()) };
        Self { driver, compiler }
    }
}
