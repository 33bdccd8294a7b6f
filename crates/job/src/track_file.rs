//! [`TrackFile`]: tracks made elsewhere, one line per event.

use peloton::{Error, Result};
use peloton_truth::Measured;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Momenta are told in GeV/c here, hits by their ids.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Hits(Vec<u32>),
    Track { hits: Vec<u32>, p: f64, pt: f64, charge: f64 },
}

/// A track made elsewhere: the ids of its hits, and what it says of its momentum, if it does.
pub type OtherTrack = (Vec<u32>, Option<Measured>);

/// Reads NDJSON of tracks: each line a list of tracks, each a list of hit ids, or such a list with a momentum (GeV/c):
/// `{"hits": [1, 2], "p": 5.2, "pt": 0.8, "charge": -1}`. Compressed when the name ends in `.zst`.
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
    pub fn next_event(&mut self) -> Result<Vec<OtherTrack>> {
        if !self.read_line()? {
            return Err(self.ends_early());
        }
        let lines: Vec<Line> = serde_json::from_str(&self.text).map_err(|e| {
            self.wrong(&format!("not a list of tracks, each a list of hit ids or an object: {e}"))
        })?;
        let track = |line| match line {
            Line::Hits(hits) => (hits, None),
            Line::Track { hits, p, pt, charge } => (hits, Some(Measured { p, pt, charge, qop_error: None })),
        };
        Ok(lines.into_iter().map(track).collect())
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
