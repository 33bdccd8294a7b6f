//! [`NdjsonWriter`]: one line per event: a list of tracks, each a list of hit names; or the columns of its hits.

use peloton::event::{HitBatch, HitColumn, VeloTracks};
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

    /// Writes the hits of one piece: per event `{"start":[0,...],"id":[...],...}`, the first hit of each group and the
    /// number of hits, then column by column.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_hits<B: HitBatch>(&mut self, hits: &B) -> io::Result<()> {
        let starts = hits.starts();
        for event in 0..HitBatch::statuses(hits).len() {
            let groups = &starts[B::GROUPS * event..=B::GROUPS * (event + 1)];
            let (first, end) = (groups[0] as usize, groups[B::GROUPS] as usize);
            self.line.clear();
            self.line.push('{');
            self.column("start", groups.iter().map(|&start| start - first as u32));
            for column in HitBatch::columns(hits) {
                self.line.push(',');
                match column {
                    HitColumn::Integers(name, values) => self.column(name, &values[first..end]),
                    HitColumn::Floats(name, values) => self.column(name, &values[first..end]),
                }
            }
            self.line.push_str("}\n");
            self.to.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    /// Appends a column to the line.
    fn column(&mut self, name: &str, values: impl IntoIterator<Item: std::fmt::Display>) {
        use std::fmt::Write as _;
        write!(self.line, "\"{name}\":[").expect("a String takes everything");
        for (number, value) in values.into_iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(self.line, "{comma}{value}").expect("a String takes everything");
        }
        self.line.push(']');
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
    use peloton::Status;

    #[test]
    fn lines_of_hits_have_all_columns() {
        let mut hits = peloton::event::SciFiBatch::default();
        HitBatch::set_hits(&mut hits, 2);
        hits.id.copy_from_slice(&[7, 9]);
        hits.width.fill(8);
        hits.x.copy_from_slice(&[-1.5, 0.25]);
        hits.z.fill(3.0);
        hits.y_end.fill(0.0);
        for event in 0..2 {
            for zone in 1..=24 {
                hits.zone_start.push(if event == 0 && zone < 24 { 1 } else { 2 });
            }
            hits.status.push(Status::Ok);
        }
        let mut writer = NdjsonWriter::new(Vec::new());
        writer.write_hits(&hits).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), &lines[0]["id"], &lines[0]["x"]), (2, &[7, 9].into(), &[-1.5, 0.25].into()));
        assert_eq!((lines[0]["start"][23].as_u64(), lines[0]["start"][24].as_u64()), (Some(1), Some(2)));
        assert_eq!((&lines[1]["id"], &lines[1]["start"][24]), (&serde_json::json!([]), &0.into()));
    }

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
