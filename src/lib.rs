//! peloton reconstructs particle tracks and pixel clusters in real time on CPUs: gangs of SIMD lanes process events in
//! lockstep, and results have the same bits for every ISA, gang size and thread count.
//!
//! [`simd`] is *how* we compute, [`event`] is *what* flows: columns of hits and results. [`velo`], [`ut`], [`scifi`],
//! [`timepix`] and [`cylinder`] (with the filter in [`kalman`]) are the detectors, each with its sequence of stages,
//! [`chain`] and [`long`] have the sequences over several of them, and [`engine`] runs sequences on one thread or many.
//! Reading and writing files, simulation, comparison with the truth and
//! the command line are crates of their own, which are built on this one. `ARCHITECTURE.md` describes all of it,
//! `docs/glossary.md` the words, `docs/algorithms.md` the constants and their sources.
#![deny(unsafe_code, missing_docs)]

pub mod bytes;
pub mod chain;
pub mod classifier;
pub mod cylinder;
pub mod engine;
pub mod error;
pub mod event;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod kalman;
pub mod lhcb;
pub mod long;
mod names;
pub mod scifi;
pub mod simd;
pub mod timepix;
pub mod units;
pub mod ut;
pub mod velo;

pub use error::{Error, Result, Status};

/// The Rust program of the README, which runs as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
