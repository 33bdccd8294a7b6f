//! Simulated truth.
