//! The vertex locator (Velo): pixel modules around the collision point.

pub mod geometry;
