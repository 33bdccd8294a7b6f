//! [`VeloReader`]: events from files, directories and streams, a batch at a time.

use super::foreign::known_but_not_read;
use super::problems::Problems;
use super::records::{Cut, Records};
use super::source::{Entry, STDIN, Stream, entries};
use super::velo_json::{Trouble, decode, looks_like_event};
use super::{MAX_EVENT_BYTES, ReadOptions, Source, passing};
use peloton::event::{TruthEvent, VeloBatch};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result, Status};
use std::collections::VecDeque;
use std::io::{BufReader, Read};

/// A batch with so many hits is full: offsets are 32 bits wide, and memory is bounded.
const FULL_BATCH: usize = 1 << 26;

/// How much of a file is looked at to see whether it holds events.
const HEAD: usize = 256;

/// Reads Velo events from any number of sources, one after another.
pub struct VeloReader {
    waiting: VecDeque<Entry>,
    /// The stream being read and its name.
    current: Option<(String, Records)>,
    /// Source by source: how many streams are left of it, its name, and whether it gave an event.
    groups: VecDeque<Group>,
    options: ReadOptions,
    limit: usize,
    /// Number of the event that comes next.
    event: usize,
    text: Vec<u8>,
    problems: Problems,
    /// Sources, and all of their streams.
    inputs: [usize; 2],
}

struct Group {
    streams: usize,
    name: String,
    events: usize,
    /// Whether it is known already that one of its streams cannot be used.
    is_told: bool,
    /// Whether one of its files is no file of events.
    has_other_files: bool,
}

impl Group {
    fn new(streams: usize, name: String) -> Self {
        Self { streams, name, events: 0, is_told: false, has_other_files: false }
    }
}

impl VeloReader {
    /// Lists the sources; streams are opened one by one while reading.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that is not there, [`Error::Format`] for a directory without files,
    /// [`Error::Config`] when there is no source at all.
    pub fn open(sources: &[Source], options: ReadOptions) -> Result<Self> {
        if sources.is_empty() {
            return Err(Error::Config("no input: name a file, a directory or - for standard input".into()));
        }
        let mut reader = Self::new(options);
        for source in sources {
            let streams = entries(source)?;
            let name = match source {
                Source::Path(path) => path.display().to_string(),
                Source::Stdin => STDIN.into(),
            };
            reader.groups.push_back(Group::new(streams.len(), name));
            reader.waiting.extend(streams);
        }
        reader.inputs = [reader.groups.len(), reader.waiting.len()];
        Ok(reader)
    }

    /// Reads any stream, compressed or not; `name` stands in messages.
    pub fn from_stream(name: &str, stream: impl Read + Send + 'static, options: ReadOptions) -> Self {
        let mut reader = Self::new(options);
        let stream: Stream = Box::new(BufReader::new(stream));
        reader.groups.push_back(Group::new(1, name.into()));
        reader.waiting.push_back(Entry::Stream { name: name.into(), stream });
        reader
    }

    fn new(options: ReadOptions) -> Self {
        Self {
            waiting: VecDeque::new(),
            current: None,
            groups: VecDeque::new(),
            limit: MAX_EVENT_BYTES,
            event: options.start.event,
            options,
            text: Vec::new(),
            problems: Problems::default(),
            inputs: [1, 1],
        }
    }

    /// Lowers the longest text of one event, bytes; [`MAX_EVENT_BYTES`] without it.
    pub fn with_event_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes.min(MAX_EVENT_BYTES);
        self
    }

    /// Appends up to `max_events` events to `batch`, and as many to `truth` when it is asked for; says how
    /// many. There is nothing left when it says 0. An event that cannot be read has no hits and a status.
    /// Batches are cut short when they get very large (tens of millions of hits).
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read, [`Error::Format`] when a source holds no event at all or,
    /// in strict mode, at the first problem. `batch` then holds the events before it.
    pub fn read(
        &mut self,
        max_events: usize,
        batch: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        // Numbers are read by arithmetic.
        with_default_float_mode(|| self.read_events(max_events, batch, truth))
    }

    fn read_events(
        &mut self,
        max_events: usize,
        batch: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        let mut appended = 0;
        while appended < max_events
            && self.options.reaches(self.event)
            && (appended == 0 || batch.x.len() < FULL_BATCH)
        {
            let Some(cut) = self.next_cut()? else { break };
            let number = self.event;
            self.event += 1;
            if let Some(group) = self.groups.front_mut() {
                group.events += 1;
            }
            if number >= self.options.first {
                self.append(number, &cut, batch, truth)?;
                appended += 1;
            }
            if matches!(cut, Cut::Broken { .. }) {
                self.current = None;
                self.finish_stream()?;
            }
        }
        Ok(appended)
    }

    /// Passes over all events and says how many there are.
    ///
    /// # Errors
    /// Those of [`VeloReader::read`].
    pub fn count(mut self) -> Result<u64> {
        self.options = passing(self.options);
        self.read(1, &mut VeloBatch::default(), &mut Vec::new())?;
        Ok(self.event as u64)
    }

    /// What went wrong without ending the job: the first [`MAX_PROBLEMS`](super::MAX_PROBLEMS) problems, in words.
    pub fn problems(&self) -> &[String] {
        self.problems.kept()
    }

    /// How many problems there were in all.
    pub fn problem_count(&self) -> u64 {
        self.problems.count()
    }

    /// How many inputs could not be used at all, beside others that could.
    pub fn unusable_inputs(&self) -> u64 {
        self.problems.unusable()
    }

    /// The next text, from whichever stream has one; none when all are at their end.
    fn next_cut(&mut self) -> Result<Option<Cut>> {
        loop {
            if self.current.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some((name, records)) = &mut self.current else { continue };
            match records.next(&mut self.text).map_err(|e| Error::io(name.as_str(), e))? {
                Cut::End => {
                    self.current = None;
                    self.finish_stream()?;
                }
                cut => return Ok(Some(cut)),
            }
        }
    }

    /// Opens the next stream; false when there is none. One that cannot be used is passed over where there are others.
    fn open_next(&mut self) -> Result<bool> {
        let Some(entry) = self.waiting.pop_front() else { return Ok(false) };
        if let Err(error) = self.open_entry(entry) {
            self.problems.set_aside(error, self.inputs[1], self.options.strict)?;
            if let Some(group) = self.groups.front_mut() {
                group.is_told = true;
            }
            self.finish_stream()?;
        }
        Ok(true)
    }

    fn open_entry(&mut self, entry: Entry) -> Result<()> {
        let (name, listed) = (entry.name(), entry.is_listed());
        let (stream, compressed) = entry.open()?;
        let io = |e| Error::io(name.as_str(), e);
        let mut records = Records::new(stream, compressed, self.options.format, self.limit).map_err(io)?;
        let head = records.peek(HEAD).map_err(io)?;
        if listed && !looks_like_event(&head) {
            self.problems.add(format!("{name}: skipped, not a Velo event file"));
            if let Some(group) = self.groups.front_mut() {
                group.has_other_files = true;
            }
            return self.finish_stream();
        }
        self.check_kind(&name, &head)?;
        self.current = Some((name, records));
        Ok(())
    }

    /// Refuses content that is no JSON at all, unless the format was named: then each line is judged.
    fn check_kind(&self, name: &str, head: &[u8]) -> Result<()> {
        if let Some(what) = known_but_not_read(head).filter(|_| self.options.format == super::Format::Auto) {
            return Err(Error::format(
                name,
                format!("unknown format: this is {what}; formats that are read: docs/formats.md"),
            ));
        }
        let found = match head.trim_ascii_start() {
            [] | [b'{', ..] => return Ok(()),
            _ if self.options.format != super::Format::Auto => return Ok(()),
            [b'[', ..] => "a JSON list: one object per event is read, not a list",
            _ => {
                "neither Velo JSON, which begins with `{`, nor MDF, bank containers, events of the cylinder detector \
                 or a format of pixel hits, each of them also zstd-compressed"
            }
        };
        Err(Error::format(name, format!("unknown format: this is {found} (--format names it)")))
    }

    /// Accounts for a stream at its end: a source without any event is told, and is an error where it has something else.
    fn finish_stream(&mut self) -> Result<()> {
        let Some(group) = self.groups.front_mut() else { return Ok(()) };
        group.streams -= 1;
        if group.streams > 0 {
            return Ok(());
        }
        let is_empty = group.events == 0 && !group.is_told;
        match self.groups.pop_front() {
            Some(group) if is_empty && !group.has_other_files => {
                self.problems.add_empty(&group.name, self.options.strict)
            }
            Some(group) if is_empty => {
                let error = Error::format(group.name, "there is no event in it");
                self.problems.set_aside(error, self.inputs[0], self.options.strict)
            }
            _ => Ok(()),
        }
    }

    fn append(
        &mut self,
        number: usize,
        cut: &Cut,
        batch: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<()> {
        let (line, decoded) = match cut {
            Cut::Record { line } => (*line, decode(self.text.trim_ascii_end(), self.options.truth)),
            Cut::Broken { line, message } => {
                (*line, Err(Trouble::corrupt(format!("cannot be decompressed further: {message}"))))
            }
            Cut::TooLong { line } => {
                let message = format!("the event is longer than {} bytes", self.limit);
                (*line, Err(Trouble { status: Status::TooManyHits, message, place: None }))
            }
            Cut::End => return Ok(()),
        };
        let mut truth_event = TruthEvent::default();
        match decoded {
            Ok(decoded) => {
                for note in &decoded.notes {
                    self.problem(number, line, note)?;
                }
                let (x, y, z) = (&decoded.x, &decoded.y, &decoded.z);
                batch.push_event(number as u64, x, y, z, &decoded.module_start);
                truth_event = decoded.truth;
            }
            Err(Trouble { status, message, place }) => {
                let (line, message) = match place {
                    Some((down, column)) => (line + down as u64 - 1, format!("{message} (column {column})")),
                    None => (line, message),
                };
                self.problem(number, line, &message)?;
                batch.push_failed(number as u64, status);
            }
        }
        if self.options.truth {
            truth.push(truth_event);
        }
        Ok(())
    }

    /// Counts a problem and keeps its words, or ends the job in strict mode.
    fn problem(&mut self, number: usize, line: u64, message: &str) -> Result<()> {
        let name = self.current.as_ref().map_or(STDIN, |(name, _)| name.as_str());
        let place = format!("{name} line {line} (event {number})");
        if self.options.strict {
            return Err(Error::format(place, message));
        }
        self.problems.add(format!("{place}: {message}"));
        Ok(())
    }
}
