//! Sequences on a GPU, with the columns, algorithms and integer results of the CPU.
//!
//! A [`Device`] is an NVIDIA GPU, or an emulation that runs the same kernels on the CPU. [`velo`] and [`cylinder`] are
//! sequences of events, which a [`StreamPool`] distributes over streams; [`timepix`] is an endless stream.
//! [`StreamPool`] is an executor, like the CPU's [`Pool`](crate::engine::Pool). [`ut`] runs one step of a sequence on a
//! device. `README.md` in this folder lists the checks, and their limits.

mod arena;
mod cache;
pub mod cylinder;
mod device;
mod driver;
mod lanes;
mod mirror;
mod pool;
mod program;
pub mod timepix;
mod trace;
pub mod ut;
pub mod velo;

pub use device::Device;
pub use driver::{Faults, Libraries, Order, Usage, emulated_lanes, emulated_library, usage};
pub use pool::{DeviceStream, StreamPool};
pub use program::KERNELS;
