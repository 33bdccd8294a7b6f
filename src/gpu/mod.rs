//! The rooms again, on a GPU: the same columns, the same algorithms, the same integer results.
//!
//! [`Device`] and [`Queue`] are what the sequences see: [`Cuda`] is an NVIDIA GPU, [`Emulated`] runs the same
//! kernels on the CPU. [`velo`], [`timepix`] and [`cylinder`] are the sequences, [`GpuPool`] and [`CylinderGpuPool`] share
//! events out to streams. `README.md` in this folder tells what was checked, and what was not.

mod arena;
mod cache;
pub mod cylinder;
mod device;
mod driver;
mod mirror;
mod pool;
mod program;
pub mod timepix;
mod trace;
pub mod velo;

pub use cylinder::{CylinderGpuPool, CylinderRunner};
pub use device::{Device, Kernel, Queue};
pub use driver::{Cuda, Emulated, Libraries, Order, Usage, usage};
pub use mirror::Arguments;
pub use pool::{GpuPool, Runner};
pub use program::KERNELS;
