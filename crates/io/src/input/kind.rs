//! [`kind_of`]: the kind of data in a file, recognised by the first bytes.

use super::ahead::look_at_standard_input;
use super::cylinder::begins_toy_file;
use super::foreign::known_but_not_read;
use super::mdf::looks_like_record;
use super::source::{Entry, entries};
use super::timepix::PixelFormat;
use super::velo_json::looks_like_event;
use super::{ByteCount, Source, is_pipe};
use std::io::Read;
use std::path::Path;

/// Number of bytes that are examined.
const HEAD: usize = 256;
/// Number of bytes that are examined first in a stream, which may be slow: enough for all formats except JSON after white space.
const HEAD_OF_STREAM: usize = 64;

/// The kind of data in an input.
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

/// The kind of data in a file, or in the first recognised file of a folder. None for an unknown or unreadable file, and
/// for a pipe, whose first bytes would be lost to the reader.
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

/// Whether the path is a file named `*.mdf` or `*.mdf.zst`: it counts as MDF even if its first bytes are damaged.
pub fn is_named_mdf(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    path.is_file() && (name.ends_with(".mdf") || name.ends_with(".mdf.zst"))
}

/// The kind of data on standard input; a later reader gets the examined bytes, too. Waits until bytes are available.
pub fn kind_of_standard_input() -> Option<Kind> {
    let of_first = |bytes| look_at_standard_input(bytes).ok().and_then(|head| kind_of_head(&head));
    of_first(HEAD_OF_STREAM).or_else(|| of_first(HEAD))
}

/// The format of a file of pixel hits, recognised by its first bytes.
pub fn format_of_pixels(path: &Path) -> Option<PixelFormat> {
    PixelFormat::detect(&head_of(Entry::File { path: path.into(), listed: false })?)
}

fn kind_of_entry(entry: Entry) -> Option<Kind> {
    kind_of_head(&head_of(entry)?)
}

fn head_of(entry: Entry) -> Option<Vec<u8>> {
    let (stream, _) = entry.open(&ByteCount::default()).ok()?;
    let mut head = Vec::new();
    // The bytes before an error are enough; the reader of the file will report the error.
    let _ = stream.take(HEAD as u64).read_to_end(&mut head);
    Some(head)
}

fn kind_of_head(head: &[u8]) -> Option<Kind> {
    if known_but_not_read(head).is_some() {
        return None;
    }
    if looks_like_record(head) {
        return Some(Kind::Raw);
    }
    if looks_like_event(head) {
        return Some(Kind::Velo);
    }
    if begins_toy_file(head) {
        return Some(Kind::Cylinder);
    }
    PixelFormat::detect(head).map(|_| Kind::Pixels)
}
