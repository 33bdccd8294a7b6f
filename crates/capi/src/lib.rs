//! The C interface of peloton: `libpeloton.so`, `libpeloton.a` and `include/peloton.h`, which cbindgen makes from this crate.
//!
//! A function checks every pointer, length and number that it is given, keeps the host's floating-point mode and
//! returns a code; a panic never leaves it. `peloton_job::embed` does the work; this crate only translates. The
//! README of this crate describes ownership, threads and lifetimes.
//!
//! This crate is one of the homes of `unsafe`: pointers from C are dereferenced here and nowhere else.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
// Names are those of C.
#![allow(non_camel_case_types)]
// What a caller must keep stands in the lines Memory and Threads of every function, which C sees, too.
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
