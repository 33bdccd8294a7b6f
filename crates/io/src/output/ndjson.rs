//! [`NdjsonWriter`]: writes one JSON object per event, with the event's numbers, its status, and its tracks or hits.

use super::SideBySide;
use crate::input::EventId;
use peloton::Status;
use peloton::engine::Spread;
use peloton::event::{ColumnInfo, Table, Values};
use std::fmt::Display;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// A column: its description and its values.
type Column<'a> = (&'static ColumnInfo, Values<'a>);

/// Writes results as newline-delimited JSON.
///
/// Each event has one line, even if it was dropped: `{"event_id":0,"run_number":null,"event_number":null,"status":"ok",
/// "tracks":[[3,17,40],[8,21,44,60]]}` for an event with two tracks. `event_id` is the event's number over all inputs;
/// `run_number` and `event_number` are from the detector, or null. If results are hits, columns of hits replace the
/// tracks: `"start":[0,...],"id":[...],...`, where `start` lists the first hit of each group, then the number of hits.
/// With [`Fields::Named`], each track or hit is an object of its columns:
/// `"tracks":[{"hits":[3,17,40],"chi2":0.5,...}]`, `"hits":[{"id":7,...}]`.
#[derive(Debug)]
pub struct NdjsonWriter<W: Write> {
    to: W,
    fields: Fields,
    texts: SideBySide,
}

/// The form of tracks and hits in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fields {
    /// Each track is the list of its hits; hits are lists of values, column by column.
    #[default]
    Lists,
    /// Each track or hit is an object with all its columns, by their names.
    Named,
}

impl<W: Write> NdjsonWriter<W> {
    /// A writer to `to`. `threads` format lines in parallel; the bytes do not depend on the number of threads.
    pub fn new(to: W, fields: Fields, threads: Arc<dyn Spread>) -> Self {
        Self { to, fields, texts: SideBySide::new(threads) }
    }

    /// Writes the events of `pieces`, each of which has the events' ids and results.
    ///
    /// # Errors
    /// Errors of the output stream.
    pub fn write(&mut self, pieces: &[(&[EventId], Table<'_>)]) -> io::Result<()> {
        let fields = self.fields;
        self.texts.write(pieces.len(), &mut self.to, &|number, text| {
            let (ids, table) = &pieces[number];
            let mut line = Line { fields, text: String::new() };
            for (event, id) in ids.iter().enumerate().take(table.statuses().len()) {
                text.extend_from_slice(line.of(id, event, table));
            }
            Ok(())
        })
    }

    /// Flushes and returns the output stream.
    ///
    /// # Errors
    /// Errors of the output stream.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

/// A line; its memory is reused for the next line.
#[derive(Debug)]
struct Line {
    fields: Fields,
    text: String,
}

impl Line {
    /// Formats the line of an event.
    fn of(&mut self, id: &EventId, event: usize, table: &Table<'_>) -> &[u8] {
        let (columns, ranges) = (table.columns(), table.ranges(event..event + 1));
        self.text.clear();
        self.head(id, table.statuses()[event]);
        match (table.schema().levels.len() > 2, self.fields) {
            (true, Fields::Lists) => self.tracks(columns, &ranges),
            (true, Fields::Named) => self.objects("tracks", columns, &ranges),
            (false, Fields::Lists) => self.hits(columns, &ranges),
            (false, Fields::Named) => {
                self.starts(columns, &ranges);
                self.objects("hits", columns, &ranges);
            }
        }
        self.text.push_str("}\n");
        self.text.as_bytes()
    }

    /// Begins the line with the identification of the event.
    fn head(&mut self, id: &EventId, status: Status) {
        use std::fmt::Write as _;
        let or_null = |number: Option<u64>| number.map_or("null".into(), |number| number.to_string());
        let EventId { number, run, event } = *id;
        let (run, event) = (or_null(run.map(u64::from)), or_null(event));
        let name = status.name();
        write!(
            self.text,
            "{{\"event_id\":{number},\"run_number\":{run},\"event_number\":{event},\"status\":\"{name}\""
        )
        .expect("writing to a String cannot fail");
    }

    /// Appends an event's tracks to the line, as lists of their hits.
    fn tracks(&mut self, columns: &[Column<'_>], ranges: &[Range<usize>; 3]) {
        let of_depth = |depth| columns.iter().filter(move |(info, _)| info.depth == depth);
        let starts = of_depth(1).find_map(|(_, values)| match values {
            Values::Starts(starts) => Some(&starts[ranges[1].start..=ranges[1].end]),
            _ => None,
        });
        let lists = starts.unwrap_or_default().windows(2);
        self.text.push_str(",\"tracks\":[");
        for (track, ends) in lists.enumerate() {
            let comma = if track == 0 { "" } else { "," };
            self.text.push_str(comma);
            if let Some((_, hits)) = of_depth(2).next() {
                self.values(*hits, ends[0] as usize..ends[1] as usize);
            }
        }
        self.text.push(']');
    }

    /// Appends an event's tracks, or hits, to the line, as objects of their columns.
    fn objects(&mut self, name: &str, columns: &[Column<'_>], ranges: &[Range<usize>; 3]) {
        let starts = columns.iter().find_map(|(info, values)| match values {
            Values::Starts(starts) if info.depth == 1 => Some(*starts),
            _ => None,
        });
        self.text.push_str(&format!(",\"{name}\":["));
        for (number, item) in ranges[1].clone().enumerate() {
            self.text.push_str(if number == 0 { "{" } else { ",{" });
            let mut comma = "";
            for (info, values) in columns {
                if info.depth == 0 || matches!(values, Values::Starts(_)) {
                    continue;
                }
                self.text.push_str(&format!("{comma}\"{}\":", info.name));
                comma = ",";
                match starts.filter(|_| info.depth == 2) {
                    Some(starts) => self.values(*values, starts[item] as usize..starts[item + 1] as usize),
                    None => self.value(*values, item),
                }
            }
            self.text.push('}');
        }
        self.text.push(']');
    }

    /// Appends the first hits of an event's groups.
    fn starts(&mut self, columns: &[Column<'_>], ranges: &[Range<usize>; 3]) {
        for (info, values) in columns {
            if let Values::Starts(starts) = values {
                let Range { start, end } = ranges[info.depth];
                let starts = &starts[start * info.lists..=end * info.lists];
                self.text.push_str(",\"start\":");
                self.list(starts.iter().map(|start| start - starts[0]));
            }
        }
    }

    /// Appends the columns of an event's hits to the line.
    fn hits(&mut self, columns: &[Column<'_>], ranges: &[Range<usize>; 3]) {
        self.starts(columns, ranges);
        for (info, values) in columns {
            if !matches!(values, Values::Status(_) | Values::Starts(_)) {
                self.text.push_str(&format!(",\"{}\":", info.name));
                self.values(*values, ranges[info.depth].clone());
            }
        }
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

    /// Appends one value to the line.
    fn value(&mut self, values: Values<'_>, at: usize) {
        use std::fmt::Write as _;
        let to = &mut self.text;
        let written = match values {
            Values::Status(values) => write!(to, "{}", values[at].code()),
            Values::Starts(values) | Values::U32(values) => write!(to, "{}", values[at]),
            Values::U8(values) => write!(to, "{}", values[at]),
            Values::U16(values) => write!(to, "{}", values[at]),
            Values::U64(values) => write!(to, "{}", values[at]),
            Values::I64(values) => write!(to, "{}", values[at]),
            // JSON has no numbers that are not finite.
            Values::F32(values) if !values[at].is_finite() => write!(to, "null"),
            Values::F32(values) => write!(to, "{}", values[at]),
        };
        written.expect("writing to a String cannot fail");
    }

    /// Appends a list to the line.
    fn list(&mut self, values: impl IntoIterator<Item: Display>) {
        use std::fmt::Write as _;
        self.text.push('[');
        for (number, value) in values.into_iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(self.text, "{comma}{value}").expect("writing to a String cannot fail");
        }
        self.text.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::engine::ThisThread;
    use peloton::event::{Product, Results, VeloTracks};

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
        let mut writer = NdjsonWriter::new(Vec::new(), Fields::Lists, Arc::new(ThisThread));
        writer.write(&[(&[EventId::default(); 2], hits.table())]).unwrap();
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
        let mut writer = NdjsonWriter::new(Vec::new(), Fields::Lists, Arc::new(ThisThread));
        let ids = [
            EventId { number: 7, run: Some(6_718_861), event: Some(6001) },
            EventId { number: 8, run: None, event: None },
        ];
        writer.write(&[(&ids, tracks.table())]).unwrap();
        let expected = "{\"event_id\":7,\"run_number\":6718861,\"event_number\":6001,\"status\":\"ok\",\"tracks\":[[3,17,40],\
            [8,21]]}\n{\"event_id\":8,\"run_number\":null,\"event_number\":null,\"status\":\"corrupt\",\"tracks\":[]}\n";
        assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn tracks_may_be_objects_of_their_columns() {
        let mut tracks = VeloTracks::default();
        tracks.set_items(1, 2);
        tracks.chi2.copy_from_slice(&[0.5, f32::NAN]);
        tracks.backward.copy_from_slice(&[0, 1]);
        tracks.hits.extend_from_slice(&[3, 17, 40, 8, 21]);
        tracks.hit_start.extend_from_slice(&[3, 5]);
        tracks.track_start.extend_from_slice(&[2, 2]);
        tracks.status.extend([Status::Ok, Status::Corrupt]);
        let mut writer = NdjsonWriter::new(Vec::new(), Fields::Named, Arc::new(ThisThread));
        writer.write(&[(&[EventId::default(); 2], tracks.table())]).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let first = lines[0]["tracks"][0].as_object().unwrap();
        let names = VeloTracks::SCHEMA
            .columns
            .iter()
            .filter(|info| info.depth > 0 && info.kind != peloton::event::Kind::Starts);
        let mut names: Vec<_> = names.map(|info| info.name).collect();
        names.sort_unstable();
        assert_eq!(first.keys().map(String::as_str).collect::<Vec<_>>(), names);
        assert_eq!((&first["chi2"], &first["hits"]), (&0.5.into(), &serde_json::json!([3, 17, 40])));
        let second = &lines[0]["tracks"][1];
        assert_eq!((&second["chi2"], &second["backward"]), (&serde_json::Value::Null, &1.into()));
        assert_eq!(
            (&second["hits"], &lines[1]["tracks"]),
            (&serde_json::json!([8, 21]), &serde_json::json!([]))
        );
    }
}
