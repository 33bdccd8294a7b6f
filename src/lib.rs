//! peloton reconstructs particle tracks and pixel clusters in real time on CPUs: gangs of SIMD lanes ride
//! through events in lockstep, and every ISA, gang size and thread count gives the same bits.
//!
//! The modules stand in the order of the data: [`simd`] is *how* we compute, [`event`] is *what* flows,
//! [`input`] turns bytes into hits, [`velo`] finds tracks, [`engine`] runs whole sequences on threads,
//! [`truth`] compares with simulation and [`output`] writes results down.
#![deny(unsafe_code, missing_docs)]

pub mod bytes;
pub mod cylinder;
pub mod engine;
pub mod error;
pub mod event;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod kalman;
mod lhcb;
mod names;
pub mod scifi;
pub mod simd;
pub mod timepix;
pub mod units;
pub mod ut;
pub mod velo;

pub use error::{Error, Result, Status};
