//! [`kind_of`]: what a file holds, by its first bytes.

use super::cylinder::begins_toy_file;
use super::mdf::looks_like_record;
use super::source::{Entry, entries};
use super::timepix::PixelFormat;
use super::velo_json::looks_like_event;
use super::{Source, is_pipe};
use std::io::Read;
use std::path::Path;

/// Bytes that are looked at.
const HEAD: u64 = 256;

/// What an input holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Hits of the Velo, as JSON.
    Velo,
    /// Raw banks, as MDF records or in bank containers.
    Raw,
    /// Events of the cylinder detector.
    Cylinder,
    /// Pixel hits.
    Pixels,
}

/// What a file holds, or the first file of a folder that holds anything known; none for what is not known, cannot be
/// read, or is a pipe, of which nothing may be read beforehand.
pub fn kind_of(path: &Path) -> Option<Kind> {
    if is_pipe(path) {
        return None;
    }
    let files = entries(&Source::Path(path.into())).ok()?;
    let unpiped = files.into_iter().filter(|entry| match entry {
        Entry::File { path, .. } => !is_pipe(path),
        _ => false,
    });
    unpiped.filter_map(kind_of_entry).next()
}

fn kind_of_entry(entry: Entry) -> Option<Kind> {
    let (stream, _) = entry.open().ok()?;
    let mut head = Vec::new();
    // What was read before an error says enough; the reader of the file tells the error.
    let _ = stream.take(HEAD).read_to_end(&mut head);
    if looks_like_record(&head) {
        return Some(Kind::Raw);
    }
    if looks_like_event(&head) {
        return Some(Kind::Velo);
    }
    if begins_toy_file(&head) {
        return Some(Kind::Cylinder);
    }
    PixelFormat::detect(&head).map(|_| Kind::Pixels)
}
