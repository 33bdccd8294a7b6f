//! Streams of pixel hits on threads: [`Feed`] reads beside the work.

mod feed;

pub use feed::{Fed, Feed, PixelStream, WhenFull};
