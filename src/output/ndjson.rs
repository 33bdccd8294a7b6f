//! [`NdjsonWriter`]: one line per event, a list of tracks, each a list of hit names.

use crate::event::VeloTracks;
use std::io::{self, Write};

/// Writes tracks as newline-delimited JSON, e.g. `[[3,17,40],[8,21,44,60]]` for an event of two tracks; an
/// event without tracks, or one that was dropped, is `[]`, so that line i is always event i.
#[derive(Debug)]
pub struct NdjsonWriter<W: Write> {
    to: W,
    line: String,
}

impl<W: Write> NdjsonWriter<W> {
    /// Writes to `to`, line by line: give it a buffer.
    pub fn new(to: W) -> Self {
        Self { to, line: String::new() }
    }

    /// Writes the events of one piece.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(&mut self, tracks: &VeloTracks) -> io::Result<()> {
        (0..tracks.events()).try_for_each(|event| self.write_event(tracks.hit_lists(event)))
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_event<'a>(&mut self, tracks: impl Iterator<Item = &'a [u32]>) -> io::Result<()> {
        use std::fmt::Write as _;
        self.line.clear();
        self.line.push('[');
        for (t, hits) in tracks.enumerate() {
            self.line.push_str(if t == 0 { "[" } else { ",[" });
            for (h, hit) in hits.iter().enumerate() {
                let comma = if h == 0 { "" } else { "," };
                write!(self.line, "{comma}{hit}").expect("a String takes everything");
            }
            self.line.push(']');
        }
        self.line.push_str("]\n");
        self.to.write_all(self.line.as_bytes())
    }

    /// Flushes and gives the sink back.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn lines_are_events() {
        let mut tracks = VeloTracks::default();
        tracks.hits.extend_from_slice(&[3, 17, 40, 8, 21]);
        tracks.hit_start.extend_from_slice(&[3, 5]);
        tracks.track_start.extend_from_slice(&[2, 2]);
        tracks.status.extend([Status::Ok, Status::Corrupt]);
        let mut writer = NdjsonWriter::new(Vec::new());
        writer.write(&tracks).unwrap();
        assert_eq!(writer.finish().unwrap(), b"[[3,17,40],[8,21]]\n[]\n");
    }
}
