//! [`TrackFile`]: tracks made elsewhere, one line per event.

use peloton::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Reads NDJSON of tracks: each line a list of tracks, each a list of hit ids. Compressed when the name
/// ends in `.zst`.
pub struct TrackFile {
    path: PathBuf,
    from: Box<dyn BufRead + Send>,
    line: usize,
    text: String,
}

impl TrackFile {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let bytes: Box<dyn Read + Send> = if path.extension().is_some_and(|end| end == "zst") {
            Box::new(zstd::Decoder::new(file).map_err(failed)?)
        } else {
            Box::new(file)
        };
        Ok(Self { path: path.into(), from: Box::new(BufReader::new(bytes)), line: 0, text: String::new() })
    }

    /// Passes over the lines of `events` events.
    pub fn skip(&mut self, events: usize) -> Result<()> {
        (0..events).try_for_each(|_| self.read_line()?.then_some(()).ok_or_else(|| self.ends_early()))
    }

    /// The tracks of the next event.
    ///
    /// # Errors
    /// [`Error::Format`] when there is no line left or it holds no lists of hit ids.
    pub fn next_event(&mut self) -> Result<Vec<Vec<u32>>> {
        if !self.read_line()? {
            return Err(self.ends_early());
        }
        serde_json::from_str(&self.text)
            .map_err(|e| self.wrong(&format!("not a list of lists of hit ids: {e}")))
    }

    /// Nothing but empty lines may follow.
    pub fn expect_end(&mut self) -> Result<()> {
        while self.read_line()? {
            if !self.text.trim().is_empty() {
                return Err(self.wrong("there are more lines than events"));
            }
        }
        Ok(())
    }

    fn read_line(&mut self) -> Result<bool> {
        self.text.clear();
        self.line += 1;
        self.from.read_line(&mut self.text).map(|bytes| bytes > 0).map_err(|e| Error::io(&self.path, e))
    }

    fn ends_early(&self) -> Error {
        self.wrong("the file ends before the events do")
    }

    fn wrong(&self, message: &str) -> Error {
        Error::format(format!("{} line {}", self.path.display(), self.line), message)
    }
}
