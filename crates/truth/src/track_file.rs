//! [`TrackFile`]: reads tracks of other programs from a file with one line per event.

use crate::Measured;
use peloton::{Error, Result};
use peloton_io::input::EventId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A track as the file has it: momenta in GeV/c, hits as ids.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Hits(Vec<u32>),
    Track { hits: Vec<u32>, p: f64, pt: f64, charge: f64 },
    Named(Named),
}

/// A track with the columns of any sequence; only the hits count.
#[derive(Deserialize)]
struct Named {
    hits: Vec<u32>,
    /// An incomplete momentum, which is an error.
    #[serde(default, rename = "p", alias = "pt", alias = "charge", deserialize_with = "incomplete")]
    _momentum: (),
}

fn incomplete<'de, D: Deserializer<'de>>(_: D) -> std::result::Result<(), D::Error> {
    Err(D::Error::custom("a momentum must have p, pt and charge"))
}

/// A track of another program: the ids of its hits, and its momentum, if given.
pub type OtherTrack = (Vec<u32>, Option<Measured>);

impl From<Written> for OtherTrack {
    fn from(track: Written) -> Self {
        match track {
            Written::Hits(hits) => (hits, None),
            Written::Track { hits, p, pt, charge } => {
                (hits, Some(Measured { p, pt, charge, qop_error: None }))
            }
            Written::Named(Named { hits, .. }) => (hits, None),
        }
    }
}

/// Tracks of one event.
pub type Tracks = Vec<OtherTrack>;

/// Reads tracks from NDJSON, which is compressed if the name ends in `.zst`. All lines must have the same form: objects
/// with the event's number, as `run --output` writes, or bare lists of tracks. Bare list i belongs to event i of the
/// inputs. A track is a list of hit ids, or an object with hit ids and, optionally, a momentum (GeV/c):
/// `{"hits": [1, 2], "p": 5.2, "pt": 0.8, "charge": -1}`.
pub struct TrackFile {
    path: PathBuf,
    from: Box<dyn BufRead + Send>,
    line: usize,
    /// Number of events whose lines were read.
    events: u64,
    text: String,
    /// Lines that were read before their events were requested, by event: their numbers and tracks.
    passed: HashMap<Key, (usize, Tracks)>,
    /// Whether lines are bare lists; none before the first line.
    is_bare: Option<bool>,
}

/// The event of a line: the detector's numbers if there are any, otherwise its place in the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Detector(Option<u32>, u64),
    Place(u64),
}

impl Key {
    fn of(id: &EventId) -> Self {
        id.event.map_or(Self::Place(id.number), |event| Self::Detector(id.run, event))
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Bare(Vec<Written>),
    Named {
        event_id: u64,
        #[serde(default)]
        run_number: Option<u32>,
        #[serde(default)]
        event_number: Option<u64>,
        tracks: Vec<Written>,
    },
}

impl TrackFile {
    /// Opens a file of tracks.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let bytes: Box<dyn Read + Send> = if path.extension().is_some_and(|end| end == "zst") {
            Box::new(zstd::Decoder::new(file).map_err(failed)?)
        } else {
            Box::new(file)
        };
        Ok(Self {
            path: path.into(),
            from: Box::new(BufReader::new(bytes)),
            line: 0,
            events: 0,
            text: String::new(),
            passed: HashMap::new(),
            is_bare: None,
        })
    }

    /// Returns the tracks of an event.
    ///
    /// # Errors
    /// [`Error::Format`] when no line has this event, when two lines have one event, or when a line has another form.
    pub fn tracks_of(&mut self, id: &EventId) -> Result<Tracks> {
        if let Some((_, tracks)) = self.passed.remove(&Key::of(id)) {
            return Ok(tracks);
        }
        while let Some(line) = self.read()? {
            let (key, tracks) = match line {
                Line::Bare(tracks) if self.events > id.number => {
                    return Ok(tracks.into_iter().map(OtherTrack::from).collect());
                }
                // A line of an event before the first requested one.
                Line::Bare(_) => continue,
                Line::Named { event_id, run_number, event_number, tracks } => {
                    let named = EventId { number: event_id, run: run_number, event: event_number };
                    (Key::of(&named), tracks.into_iter().map(OtherTrack::from).collect())
                }
            };
            if key == Key::of(id) {
                return Ok(tracks);
            }
            if let Some((other, _)) = self.passed.insert(key, (self.line, tracks)) {
                return Err(self.wrong(&format!("this line has the same event as line {other}")));
            }
        }
        Err(match self.is_bare {
            Some(false) => Error::format(self.path.display().to_string(), format!("no line has {id}")),
            _ => self.wrong("the file has fewer lines than there are events"),
        })
    }

    /// Reads the remaining lines; returns the number of lines whose events were not requested.
    ///
    /// # Errors
    /// [`Error::Format`] when more bare lists follow, since their events are unknown.
    pub fn rest(&mut self) -> Result<usize> {
        let mut lines = self.passed.len();
        while let Some(line) = self.read()? {
            if matches!(line, Line::Bare(_)) {
                return Err(self.wrong("there are more lines than events"));
            }
            lines += 1;
        }
        Ok(lines)
    }

    /// Reads the next line that is not empty.
    fn read(&mut self) -> Result<Option<Line>> {
        loop {
            self.text.clear();
            if self.from.read_line(&mut self.text).map_err(|e| Error::io(&self.path, e))? == 0 {
                self.line += 1;
                return Ok(None);
            }
            self.line += 1;
            if !self.text.trim().is_empty() {
                break;
            }
        }
        self.events += 1;
        let line: Line = serde_json::from_str(&self.text).map_err(|_| {
            self.wrong(
                "a line must be a list of tracks (each a list of hit ids, or an object with hits), or an object with event_id \
                 and tracks",
            )
        })?;
        let is_bare = matches!(line, Line::Bare(_));
        if *self.is_bare.get_or_insert(is_bare) != is_bare {
            return Err(self.wrong("a file cannot have both bare lists of tracks and objects with event_id"));
        }
        Ok(Some(line))
    }

    fn wrong(&self, message: &str) -> Error {
        Error::format(format!("{} line {}", self.path.display(), self.line), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `run --sequence velo-ut --named-fields` of a version that called q/p `q_over_p`, and of the present version.
    #[test]
    fn files_with_old_names_of_columns_are_read() {
        let line = |qop: &str, event: u64| {
            format!(
                "{{\"event_id\":{event},\"run_number\":1,\"event_number\":{event},\"status\":\"ok\",\"tracks\":[{{\"ut_hits\":1,\
                 \"velo_track\":0,\"hits\":[7,3,2],\"{qop}\":0.1,\"var_{qop}\":0.001,\"chi2\":0.5,\"cov_xt\":0.1}}]}}\n"
            )
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tracks.ndjson");
        std::fs::write(&path, line("q_over_p", 0) + &line("qop", 1)).expect("a file");
        let mut file = TrackFile::open(&path).expect("tracks");
        for event in 0..2 {
            let id = EventId { number: event, run: Some(1), event: Some(event) };
            let tracks = file.tracks_of(&id).expect("tracks");
            assert_eq!(tracks.len(), 1);
            assert_eq!(tracks[0].0, [7, 3, 2]);
        }
    }
}
