//! Seeded simulations of detectors.
