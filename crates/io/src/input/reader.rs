//! [`VeloReader`]: reads Velo events from files, directories and streams, batch by batch.

use super::cut_texts::CutTexts;
use super::foreign::known_but_not_read;
use super::problems::{ProblemLog, Problems};
use super::records::{Cut, Records};
use super::source::{Entry, STDIN, Stream, entries};
use super::velo_json::looks_like_event;
use super::{MAX_EVENT_BYTES, ReadOptions, Source, passing};
use peloton::engine::ThisThread;
use peloton::event::{TruthEvent, VeloBatch};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result};
use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::sync::Arc;

/// Number of hits at which a batch is full: offsets are 32 bits wide, and memory is bounded.
const FULL_BATCH: usize = 1 << 26;

/// Bytes of text at which cutting ends if there are [the least events](ReadOptions::least): the texts are still in a cache when
/// they are parsed.
const LONG_TEXT: usize = 4 << 20;

/// Bytes of text at which cutting always ends.
const FULL_TEXT: usize = MAX_EVENT_BYTES;

/// Number of bytes of a file that are examined for events.
const HEAD: usize = 256;

/// Reads Velo events from any number of sources, one after another.
pub struct VeloReader {
    waiting: VecDeque<Entry>,
    /// The stream being read and its name.
    current: Option<(Arc<str>, Records)>,
    /// Sources whose streams have not all ended.
    groups: VecDeque<Group>,
    options: ReadOptions,
    limit: usize,
    /// Number of the next event.
    event: usize,
    /// Problems of the inputs since the last texts were cut.
    problems: Problems,
    /// Memory for [`VeloReader::read`].
    texts: CutTexts,
    /// Problems of everything that was read and parsed.
    log: ProblemLog,
    /// Whether an error ended [`VeloReader::read`].
    is_over: bool,
    /// Number of sources, and of their streams.
    inputs: [usize; 2],
}

struct Group {
    streams: usize,
    name: String,
    events: usize,
    /// Whether a problem of one of its streams was already recorded.
    is_told: bool,
    /// Whether one of its files is not a file of events.
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
    /// [`Error::Io`] for a path that does not exist, [`Error::Format`] for a directory without files,
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

    /// Reads events from any stream, compressed or not. Messages call the stream `name`.
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
            problems: Problems::default(),
            texts: CutTexts::default(),
            log: ProblemLog::default(),
            is_over: false,
            inputs: [1, 1],
        }
    }

    /// Sets the longest text of one event, bytes: at most [`MAX_EVENT_BYTES`], which is the default.
    pub fn with_event_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes.min(MAX_EVENT_BYTES);
        self
    }

    /// Appends up to `max_events` events to `batch`, and their truth to `truth` if requested. Returns the number of
    /// events, 0 at the end of the input. An event that cannot be read has no hits and a status. A batch with tens of
    /// millions of hits ends with fewer events.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read, [`Error::Format`] when a source holds no event at all or, in strict
    /// mode, at the first problem. `batch` then holds the events before the error, and later calls return 0.
    pub fn read(
        &mut self,
        max_events: usize,
        batch: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        let mut appended = 0;
        while !self.is_over && appended < max_events && (appended == 0 || batch.x.len() < FULL_BATCH) {
            let (mut texts, before) = (std::mem::take(&mut self.texts), batch.len());
            let done = self.cut(max_events - appended, &mut texts);
            // Parsing numbers uses floating-point arithmetic.
            let parse = || texts.parse(&ThisThread, batch, truth, &mut self.log.lock());
            let parsed = with_default_float_mode(parse);
            self.texts = texts;
            let read = parsed.and(done);
            self.is_over = read.is_err();
            read?;
            if batch.len() == before {
                break;
            }
            appended += batch.len() - before;
        }
        Ok(appended)
    }

    /// Cuts the texts of up to `max_events` events from the inputs: [`CutTexts::parse`] parses them later. Earlier
    /// texts in `texts` are removed. Returns the number of events, 0 at the end of the input.
    ///
    /// # Errors
    /// Errors of [`VeloReader::read`] that concern an input and not the content of an event. `texts` then holds the
    /// events before the error.
    pub fn cut(&mut self, max_events: usize, texts: &mut CutTexts) -> Result<usize> {
        texts.begin(self.options.truth, self.options.strict, self.limit);
        let done = self.cut_texts(max_events, texts);
        texts.note_problems(std::mem::take(&mut self.problems));
        done.map(|()| texts.len())
    }

    fn cut_texts(&mut self, max_events: usize, texts: &mut CutTexts) -> Result<()> {
        while texts.len() < max_events
            && self.options.reaches(self.event)
            && (texts.len() < self.options.least || texts.bytes() < LONG_TEXT)
            && (texts.is_empty() || texts.bytes() < FULL_TEXT)
        {
            self.problems.come_to(self.event);
            let Some((begin, cut)) = self.next_cut(texts)? else { break };
            let number = self.event;
            self.event += 1;
            if let Some(group) = self.groups.front_mut() {
                group.events += 1;
            }
            let is_broken = matches!(cut, Cut::Broken { .. });
            if number >= self.options.first {
                let name = self.current.as_ref().map_or_else(|| STDIN.into(), |(name, _)| name.clone());
                texts.add(number, &name, begin, cut);
            } else {
                texts.text.truncate(begin);
            }
            if is_broken {
                self.current = None;
                self.problems.come_to(self.event);
                self.finish_stream()?;
            }
        }
        Ok(())
    }

    /// Counts all events of the sources without decoding them.
    ///
    /// # Errors
    /// Errors of [`VeloReader::read`].
    pub fn count(mut self) -> Result<u64> {
        self.options = passing(self.options);
        self.read(1, &mut VeloBatch::default(), &mut Vec::new())?;
        Ok(self.event as u64)
    }

    /// Problems so far that did not end the job.
    pub fn problems(&self) -> &ProblemLog {
        &self.log
    }

    /// Cuts the next text, from the current or a later stream, and returns its beginning; none when all streams have ended.
    fn next_cut(&mut self, texts: &mut CutTexts) -> Result<Option<(usize, Cut)>> {
        loop {
            if self.current.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some((name, records)) = &mut self.current else { continue };
            let begin = texts.text.len();
            match records.next(&mut texts.text).map_err(|e| Error::io(&**name, e))? {
                Cut::End => {
                    self.current = None;
                    self.finish_stream()?;
                }
                cut => return Ok(Some((begin, cut))),
            }
        }
    }

    /// Opens the next stream and returns true, or returns false when no stream is left. With several inputs, a stream that
    /// cannot be read is skipped and reported.
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
        let (stream, compressed) = entry.open(&self.options.bytes)?;
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
        self.current = Some((name.into(), records));
        Ok(())
    }

    /// Refuses content that is not JSON, unless the user named the format: then each line is checked.
    fn check_kind(&self, name: &str, head: &[u8]) -> Result<()> {
        if let Some(what) = known_but_not_read(head).filter(|_| self.options.format == super::Format::Auto) {
            return Err(Error::format(
                name,
                format!("unknown format: this is {what}; docs/formats.md lists all formats"),
            ));
        }
        let found = match head.trim_ascii_start() {
            [] | [b'{', ..] => return Ok(()),
            _ if self.options.format != super::Format::Auto => return Ok(()),
            [b'[', ..] => "a JSON list, but each event must be a separate object",
            _ => {
                "neither Velo JSON, which begins with `{`, nor MDF, bank containers, events of the cylinder detector \
                 or a format of pixel hits, each of them plain or zstd-compressed"
            }
        };
        Err(Error::format(name, format!("unknown format: this is {found} (--format sets the format)")))
    }

    /// Counts a stream that has ended. A source without events is recorded as a problem; it is an error if it has other files.
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
}
