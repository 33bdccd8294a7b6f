//! Streams of pixel hits on threads: [`Feed`] reads beside the work, [`Lanes`] share the work out.

mod lanes;

pub use lanes::Lanes;
