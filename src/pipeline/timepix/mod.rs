//! Streams of pixel hits on threads: [`Feed`] reads beside the work, [`Lanes`] share the work out.

mod feed;
mod lanes;

pub use feed::{Fed, Feed, PixelStream, WhenFull};
pub use lanes::Lanes;
