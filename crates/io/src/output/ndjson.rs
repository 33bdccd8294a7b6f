//! [`NdjsonWriter`]: one line per event: a list of tracks, each a list of hit names; or the columns of its hits.

use peloton::event::{ColumnInfo, Results, Values};
use std::fmt::Display;
use std::io::{self, Write};
use std::ops::Range;

/// A column and what it is.
type Column<'a> = (&'static ColumnInfo, Values<'a>);

/// Writes results as newline-delimited JSON.
///
/// Of tracks each line is a list of lists of hits, e.g. `[[3,17,40],[8,21,44,60]]` for an event of two tracks; an event
/// without tracks, or one that was dropped, is `[]`, so that line i is always event i. Where the results are hits, each
/// line holds their columns: `{"start":[0,...],"id":[...],...}`, the first hit of each group and the number of hits, then
/// column by column.
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
    pub fn write<R: Results>(&mut self, results: &R) -> io::Result<()> {
        let columns = results.columns();
        for event in 0..results.events() {
            let ranges = results.ranges(event..event + 1);
            self.line.clear();
            if R::LEVELS.len() > 2 {
                self.tracks(&columns, &ranges);
            } else {
                self.hits(&columns, &ranges);
            }
            self.line.push('\n');
            self.to.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    /// Appends an event's tracks to the line, as lists of their hits.
    fn tracks(&mut self, columns: &[Column<'_>], ranges: &[Range<usize>; 3]) {
        let of_depth = |depth| columns.iter().filter(move |(info, _)| info.depth == depth);
        let starts = of_depth(1).find_map(|(_, values)| match values {
            Values::Starts(starts) => Some(&starts[ranges[1].start..=ranges[1].end]),
            _ => None,
        });
        let lists = starts.unwrap_or_default().windows(2);
        self.line.push('[');
        for (track, ends) in lists.enumerate() {
            let comma = if track == 0 { "" } else { "," };
            self.line.push_str(comma);
            if let Some((_, hits)) = of_depth(2).next() {
                self.values(*hits, ends[0] as usize..ends[1] as usize);
            }
        }
        self.line.push(']');
    }

    /// Appends the columns of an event's hits to the line.
    fn hits(&mut self, columns: &[Column<'_>], ranges: &[Range<usize>; 3]) {
        let mut next = '{';
        for (info, values) in columns {
            let name = match values {
                Values::Status(_) => continue,
                Values::Starts(_) => "start",
                _ => info.name,
            };
            self.line.push(std::mem::replace(&mut next, ','));
            self.line.push_str(&format!("\"{name}\":"));
            match values {
                Values::Starts(starts) => {
                    let Range { start, end } = ranges[info.depth];
                    let starts = &starts[start * info.lists..=end * info.lists];
                    self.list(starts.iter().map(|start| start - starts[0]));
                }
                values => self.values(*values, ranges[info.depth].clone()),
            }
        }
        self.line.push('}');
    }

    fn values(&mut self, values: Values<'_>, range: Range<usize>) {
        match values {
            Values::Status(values) => self.list(values[range].iter().map(|status| status.code())),
            Values::Starts(values) | Values::U32(values) => self.list(&values[range]),
            Values::U8(values) => self.list(&values[range]),
            Values::U16(values) => self.list(&values[range]),
            Values::U64(values) => self.list(&values[range]),
            Values::I64(values) => self.list(&values[range]),
            Values::F32(values) => self.list(&values[range]),
        }
    }

    /// Appends a list to the line.
    fn list(&mut self, values: impl IntoIterator<Item: Display>) {
        use std::fmt::Write as _;
        self.line.push('[');
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
    use peloton::event::VeloTracks;

    #[test]
    fn lines_of_hits_have_all_columns() {
        let mut hits = peloton::event::SciFiBatch::default();
        hits.set_items(1, 2);
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
        writer.write(&hits).unwrap();
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
