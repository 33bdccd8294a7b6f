//! The C interface of peloton: `libpeloton.so`, `libpeloton.a` and `include/peloton.h`, which cbindgen makes from this crate.
//!
//! Every function checks the pointers, lengths and numbers of its arguments, preserves the host's floating-point mode,
//! and returns a code; no panic leaves a function. `peloton_job::embed` does the work; this crate only translates for
//! C. The README of this crate describes ownership, threads and lifetimes.
//!
//! This crate is one of the places that may contain `unsafe` code: pointers from C are dereferenced only here.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
// Names are those of C.
#![allow(non_camel_case_types)]
// Conditions for callers stand after Memory and Threads in the documentation of each function, as in the C header.
#![allow(clippy::missing_safety_doc)]

mod batch;
mod engine;
mod guard;
mod hasher;
mod names;
mod pointers;
mod pool;
mod result;
mod run;
mod stream;
mod structs;
#[cfg(test)]
mod tests;
