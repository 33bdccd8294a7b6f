//! Results of the gangs of every level, bit by bit: against naive references, scalar code and any number of threads.

#[path = "../common/mod.rs"]
mod common;

mod checksum;
mod cylinder_reference;
mod determinism;
mod every_isa;
mod scifi_decode;
mod simd_isa;
mod ut_decode;
mod velo_decode;
mod velo_fit;
mod velo_reference;
