//! Opens sources: lists directories in natural order and decompresses zstd, which is recognised by its magic number.

use super::{Source, standard_input};
use peloton::{Error, Result};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Name of standard input in messages.
pub(super) const STDIN: &str = "standard input";

/// A stream that the reader owns.
pub(super) type Stream = Box<dyn BufRead + Send>;

const BUFFER: usize = 256 << 10;

/// Number of bytes read from inputs, before decompression. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct ByteCount(Arc<AtomicU64>);

impl ByteCount {
    /// Number of bytes read so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(super) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Relaxed);
    }
}

/// A stream whose bytes are counted.
struct Counted {
    stream: Stream,
    count: ByteCount,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.stream.read(to).inspect(|read| self.count.add(*read))
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.stream.fill_buf()
    }

    fn consume(&mut self, used: usize) {
        self.count.add(used);
        self.stream.consume(used);
    }
}

/// Size of the buffer for records of events, bytes: larger reads bypass the buffer.
pub(super) const SMALL_BUFFER: usize = 16 << 10;

/// A stream that takes bytes back, to read them again.
pub(super) struct PutBack {
    pending: Vec<u8>,
    /// Number of pending bytes that were read again.
    at: usize,
    /// Error of the stream after the pending bytes.
    broken: Option<io::Error>,
    stream: Stream,
}

impl PutBack {
    pub fn new(stream: Stream) -> Self {
        Self { pending: Vec::new(), at: 0, broken: None, stream }
    }

    /// Puts `bytes` back before the rest of the stream.
    pub fn put_back(&mut self, bytes: &[u8]) {
        self.pending.splice(..self.at, bytes.iter().copied());
        self.at = 0;
    }

    /// The next `want` bytes, not consumed; fewer if the stream ends or fails. The next read returns the failure.
    pub fn peek(&mut self, want: usize) -> Vec<u8> {
        let mut head = Vec::new();
        let read = self.by_ref().take(want as u64).read_to_end(&mut head);
        self.put_back(&head);
        self.broken = read.err();
        head
    }
}

impl Read for PutBack {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        // Large reads bypass the buffers of the stream.
        if self.at == self.pending.len() && self.broken.is_none() {
            return self.stream.read(to);
        }
        let read = self.fill_buf()?.read(to)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for PutBack {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at < self.pending.len() {
            return Ok(&self.pending[self.at..]);
        }
        match self.broken.take() {
            Some(error) => Err(error),
            None => self.stream.fill_buf(),
        }
    }

    fn consume(&mut self, used: usize) {
        if self.at == self.pending.len() {
            return self.stream.consume(used);
        }
        self.at += used;
        if self.at == self.pending.len() {
            (self.pending, self.at) = (Vec::new(), 0);
        }
    }
}

/// One stream to read.
pub(super) enum Entry {
    /// A file, either named by the user or found in a directory.
    File {
        path: PathBuf,
        listed: bool,
    },
    Stdin,
    /// A stream handed in by the caller.
    Stream {
        name: String,
        stream: Stream,
    },
}

impl Entry {
    /// Name of the stream in messages.
    pub fn name(&self) -> String {
        match self {
            Entry::File { path, .. } => path.display().to_string(),
            Entry::Stdin => STDIN.into(),
            Entry::Stream { name, .. } => name.clone(),
        }
    }

    /// Whether the entry is a file that was found in a directory. Such a file may hold no events.
    pub fn is_listed(&self) -> bool {
        matches!(self, Entry::File { listed: true, .. })
    }

    /// Opens an uncompressed file at a byte position.
    pub fn open_at(self, byte: u64, count: &ByteCount) -> Result<(Stream, bool)> {
        let name = self.name();
        let Entry::File { path, .. } = self else {
            return Err(Error::Config(format!("{name}: only a file can be read from a given byte")));
        };
        let mut file = File::open(&path).map_err(|e| Error::io(&path, e))?;
        file.seek(SeekFrom::Start(byte)).map_err(|e| Error::io(&path, e))?;
        let stream = Box::new(BufReader::with_capacity(SMALL_BUFFER, file));
        Ok((Box::new(Counted { stream, count: count.clone() }), false))
    }

    /// Opens the stream, whose bytes are added to `count`. The returned flag is true for a compressed stream.
    pub fn open(self, count: &ByteCount) -> Result<(Stream, bool)> {
        self.open_with(BUFFER, count)
    }

    /// Opens the stream as [`Entry::open`] does, with a buffer of this many bytes.
    pub fn open_with(self, buffer: usize, count: &ByteCount) -> Result<(Stream, bool)> {
        let name = self.name();
        let raw: Stream = match self {
            Entry::File { path, .. } => {
                let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
                Box::new(BufReader::with_capacity(buffer, file))
            }
            Entry::Stdin => Box::new(BufReader::with_capacity(buffer, standard_input())),
            Entry::Stream { stream, .. } => stream,
        };
        let counted = Counted { stream: raw, count: count.clone() };
        decompress(Box::new(counted)).map_err(|e| Error::io(name, e))
    }
}

/// The files at a path: the file itself, or the files in the folder, in reading order.
///
/// # Errors
/// [`Error::Io`] for a path that does not exist, [`Error::Format`] for a folder without files.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let name = |entry| match entry {
        Entry::File { path, .. } => Some(path),
        Entry::Stdin | Entry::Stream { .. } => None,
    };
    Ok(entries(&Source::Path(path.into()))?.into_iter().filter_map(name).collect())
}

/// The streams of one source. A directory gives its files in natural order.
pub(super) fn entries(source: &Source) -> Result<Vec<Entry>> {
    let path = match source {
        Source::Stdin => return Ok(vec![Entry::Stdin]),
        Source::Path(path) => path,
    };
    let kind = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if !kind.is_dir() {
        return Ok(vec![Entry::File { path: path.clone(), listed: false }]);
    }
    let files = files_of(path).map_err(|e| Error::io(path, e))?;
    if files.is_empty() {
        return Err(Error::format(path.display().to_string(), "the directory holds no files"));
    }
    Ok(files.into_iter().map(|path| Entry::File { path, listed: true }).collect())
}

fn files_of(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        // A dangling link is kept, so that opening it gives an error.
        if !is_no_data(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort_by(|a, b| natural_order(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(files)
}

/// Whether a file of a folder is hidden, or is documentation by its name: `README` or `LICENSE`, also as text, or Markdown.
fn is_no_data(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let (stem, end) = name.split_once('.').unwrap_or((&name, ""));
    let is_for_people = ["readme", "license", "licence"].contains(&stem) && ["", "txt", "rst"].contains(&end);
    name.starts_with('.') || name.ends_with(".md") || is_for_people
}

/// Orders names naturally: runs of digits by their value, all other text by character.
pub(super) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(l), Some(r)) = (left.first(), right.first()) {
        let order = if l.is_ascii_digit() && r.is_ascii_digit() {
            let (l, r) = (split_digits(&mut left), split_digits(&mut right));
            l.len().cmp(&r.len()).then_with(|| l.cmp(r))
        } else {
            (left, right) = (&left[1..], &right[1..]);
            l.cmp(r)
        };
        if order.is_ne() {
            return order;
        }
    }
    // The names differ only in leading zeros: any fixed order is correct.
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Removes the digits from the beginning of `text`, and returns them without leading zeros.
fn split_digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    &digits[digits.iter().position(|&c| c != b'0').unwrap_or(end)..]
}

fn decompress(mut raw: Stream) -> std::io::Result<(Stream, bool)> {
    let mut head = Vec::with_capacity(4);
    raw.by_ref().take(4).read_to_end(&mut head)?;
    let compressed = is_zstd(&head);
    let whole = Cursor::new(head).chain(raw);
    if compressed {
        let decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
        return Ok((Box::new(BufReader::with_capacity(BUFFER, decoder)), true));
    }
    Ok((Box::new(whole), false))
}

/// Whether the bytes begin with the magic number of a zstd frame, or of a skippable frame, which may come first.
pub(super) fn is_zstd(head: &[u8]) -> bool {
    match *head {
        [a, b, c, d] => {
            let magic = u32::from_le_bytes([a, b, c, d]);
            magic == 0xFD2F_B528 || magic & 0xFFFF_FFF0 == 0x184D_2A50
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_order_counts() {
        let mut names = ["e10.json", "e9.json", "e010.json", "e.json", "e9", "d99", "e09.json", "e100.json"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["d99", "e.json", "e9", "e09.json", "e9.json", "e010.json", "e10.json", "e100.json"]
        );
        assert_eq!(natural_order("a", "a"), Ordering::Equal);
        assert_eq!(natural_order("7", "a"), Ordering::Less);
    }

    #[test]
    fn files_for_people_are_no_data() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["b.t3pa", "a.t3pa", "README.md", "readme", "LICENSE.txt", "notes.MD", ".hidden", "readme2.txt"]
        {
            std::fs::write(folder.path().join(name), "1 2 3\n").unwrap();
        }
        let found = files(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.t3pa", "b.t3pa", "readme2.txt"]);
        // A file that the user names is read.
        let named = folder.path().join("README.md");
        assert_eq!(files(&named).unwrap(), [named]);
    }

    #[test]
    fn zstd_is_known_by_its_content() {
        let packed = zstd::encode_all(&b"{}\n"[..], 1).unwrap();
        for (bytes, compressed) in [(packed, true), (b"{}\n".to_vec(), false), (b"{}".to_vec(), false)] {
            let (mut stream, found) = decompress(Box::new(Cursor::new(bytes))).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert_eq!((found, text.trim_end()), (compressed, "{}"));
        }
    }
}
