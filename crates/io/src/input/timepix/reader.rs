//! [`PixelReader`]: reads pixel hits from files, directories and streams, block by block.

use super::clock::Timeline;
use super::katherine::Katherine;
use super::matrices::Matrices;
use super::npy::Records;
use super::opening::{Beginning, beginning, spooled};
use super::parquet::Columns;
use super::text::{Kind, Text};
use super::tpx3::Tpx3;
use super::tpx4::Tpx4;
use super::{Decode, Output, PixelCounts, PixelFormat, PixelOptions, runs};
use crate::input::foreign::known_but_not_read;
use crate::input::problems::Problems;
use crate::input::source::{Entry, Stream, entries};
use crate::input::{ByteCount, Source, is_pipe};
use peloton::event::{Layout, PixelBlock};
use peloton::{Error, Result};
use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes read at once.
const BUFFER: usize = 256 << 10;
/// Largest number of bytes that a decoder may leave for later: a NumPy header, a line.
const MAX_REST: usize = 128 << 10;

/// The reason why [`PixelReader::read`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadEnd {
    /// Hits were read, and the source may have more hits.
    More,
    /// The last file of a run has been read (a run may be cut into several files). The next run has its own clock.
    EndOfSource,
    /// All sources have ended.
    End,
}

/// Reads hits from any number of sources, one after another, in bounded memory. A readout may cut a run into raw files
/// of Timepix3 or Timepix4 with consecutive numbers in their names; the run's clock continues in the next file.
pub struct PixelReader {
    waiting: VecDeque<Entry>,
    current: Option<Current>,
    /// The current source if it is a Parquet file, which is not read as a stream of bytes.
    columns: Option<Columns>,
    /// Name of the source that was opened last.
    source: Arc<str>,
    options: PixelOptions,
    /// The sensor of all sources, known when the first one is open.
    layout: Option<Layout>,
    /// Format of the source that was opened last.
    format: PixelFormat,
    counts: PixelCounts,
    /// The clock of the current run.
    clock: Timeline,
    /// The counts when the current run began.
    before: PixelCounts,
    inputs: usize,
    problems: Problems,
}

struct Current {
    name: String,
    /// Path of the stream, if it is a file.
    path: Option<PathBuf>,
    stream: Stream,
    decoder: Box<dyn Decode>,
    buffer: Vec<u8>,
    filled: usize,
    /// Number of bytes read so far, after decompression.
    bytes: u64,
}

impl PixelReader {
    /// Lists the files of the sources, and opens the first file.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that does not exist, [`Error::Config`] when there is no source at all.
    pub fn open(sources: &[Source], options: PixelOptions) -> Result<Self> {
        let mut reader = Self::new(options);
        for source in sources {
            reader.waiting.extend(entries(source)?);
        }
        if reader.waiting.is_empty() {
            return Err(Error::Config("no input: name a file, a directory or - for standard input".into()));
        }
        reader.inputs = reader.waiting.len();
        if !reader.open_next()? {
            let kinds =
                "none of the inputs contains pixel hits: neither t3pa, burda, tpx3, tpx4, npy nor parquet";
            return Err(Error::format("input", kinds));
        }
        Ok(reader)
    }

    /// Reads hits from any stream, compressed or not. Messages call the stream `name`.
    ///
    /// # Errors
    /// Errors when reading the first bytes of the stream, and [`Error::Format`] for an unknown format.
    pub fn from_stream(
        name: &str,
        stream: impl Read + Send + 'static,
        options: PixelOptions,
    ) -> Result<Self> {
        let mut reader = Self::new(options);
        let stream: Stream = Box::new(BufReader::with_capacity(BUFFER, stream));
        reader.waiting.push_back(Entry::Stream { name: name.into(), stream });
        reader.open_next()?;
        Ok(reader)
    }

    fn new(options: PixelOptions) -> Self {
        let layout = options.layout.clone();
        Self {
            waiting: VecDeque::new(),
            current: None,
            columns: None,
            source: "".into(),
            options,
            layout,
            format: PixelFormat::Auto,
            counts: PixelCounts::default(),
            clock: Timeline::unchecked(),
            before: PixelCounts::default(),
            inputs: 1,
            problems: Problems::default(),
        }
    }

    /// Problems so far that did not end the job: the messages of the first problems, and the number of all problems.
    pub fn problems(&self) -> (&[String], u64) {
        (self.problems.kept(), self.problems.count())
    }

    /// Number of inputs that were skipped because they cannot be used, or not read to their ends.
    pub fn unusable_inputs(&self) -> u64 {
        self.problems.unusable()
    }

    /// The layout of the sensor.
    pub fn layout(&self) -> &Layout {
        self.layout.as_ref().expect("the layout is known once the first source is open")
    }

    /// Format of the last opened source.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Name of the last opened source.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// Counts over all streams so far.
    pub fn counts(&self) -> &PixelCounts {
        &self.counts
    }

    /// Appends hits and triggers to `block` until it has at least `hits` hits, the source ends, or a socket has no data
    /// within its time limit.
    ///
    /// # Errors
    /// [`Error::Io`] when a stream cannot be read, [`Error::Format`] when its format is unknown.
    pub fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
        if !self.is_open() && !self.open_next()? {
            return Ok(ReadEnd::End);
        }
        if let Some(columns) = &mut self.columns {
            let layout = self.layout.as_ref().expect("a source is open");
            let mut to = Output { block, counts: &mut self.counts, layout, clock: &mut self.clock };
            match columns.read(hits, &mut to) {
                Ok(true) => return Ok(ReadEnd::More),
                Ok(false) => {}
                Err(error) => self.problems.break_off(&error.to_string()),
            }
            to.finish();
            self.columns = None;
            return Ok(ReadEnd::EndOfSource);
        }
        let Some(current) = &mut self.current else { return Ok(ReadEnd::End) };
        let layout = self.layout.as_ref().expect("a source is open");
        let mut to = Output { block, counts: &mut self.counts, layout, clock: &mut self.clock };
        while to.block.hits.len() < hits {
            let step = current.step(&mut to).unwrap_or_else(|error| {
                self.problems.break_off(&format!("{error}, {} bytes into it", current.bytes));
                Step::End
            });
            match step {
                Step::Read => {}
                // No data at the moment: the hits read so far should not wait.
                Step::Idle => break,
                Step::End if continues(current, self.format, &mut self.waiting) => {
                    let next = current.name.as_str().into();
                    let ended = std::mem::replace(&mut self.source, next);
                    self.note_malformed(&ended, None);
                    self.before.malformed = self.counts.malformed;
                    return Ok(ReadEnd::More);
                }
                Step::End => {
                    current.decoder.finish(&current.buffer[..current.filled], &mut to);
                    to.finish();
                    let fault = current.decoder.first_fault();
                    if let Some(what) = current.decoder.passed_over() {
                        self.problems.add(format!("{}: passed over {what}", current.name));
                    }
                    let name = std::mem::take(&mut current.name);
                    self.current = None;
                    self.judge_source(&name, fault);
                    return Ok(ReadEnd::EndOfSource);
                }
            }
        }
        Ok(ReadEnd::More)
    }

    fn is_open(&self) -> bool {
        self.current.is_some() || self.columns.is_some()
    }

    /// Records the problems of a source that has ended.
    fn judge_source(&mut self, name: &str, fault: Option<String>) {
        let is_malformed = self.note_malformed(name, fault);
        let (now, before) = (&self.counts, &self.before);
        if !is_malformed && now.hits == before.hits {
            let (outside, unknown) = (now.outside - before.outside, now.unknown - before.unknown);
            let why = match (outside, unknown) {
                (0, 0) => "there is no hit in it".into(),
                _ => format!(
                    "no hit in it can be used: {outside} hits are outside the sensor (see --layout), and {unknown} words are of unknown kinds"
                ),
            };
            self.problems.add(format!("{name}: {why}"));
        }
    }

    /// Records how many items of a source contradict its format, with the first of them. Returns whether any do.
    fn note_malformed(&mut self, name: &str, fault: Option<String>) -> bool {
        let malformed = self.counts.malformed - self.before.malformed;
        if malformed > 0 {
            let what = match fault {
                Some(fault) => format!("lines are not hits; the first is {fault}"),
                None => "parts of the input contradict its format".into(),
            };
            self.problems.add(format!("{name}: {malformed} {what}"));
        }
        malformed > 0
    }

    /// Opens the next source and detects its format; false at the end. A source that cannot be used is skipped if
    /// there are others.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(entry) = self.waiting.pop_front() {
            self.before = self.counts;
            let (name, listed) = (entry.name(), entry.is_listed());
            match self.open_entry(entry) {
                Ok(true) => {
                    self.counts.runs += 1;
                    return Ok(true);
                }
                Ok(false) if listed => {
                    self.problems.add(format!("{name}: skipped, not a file of pixel hits"));
                }
                Ok(false) => {
                    let message = "unknown format: neither t3pa, burda, tpx3, tpx4, npy nor parquet (docs/formats.md \
                                   has other formats for --format)";
                    self.problems.set_aside(Error::format(name, message), self.inputs, false)?;
                }
                Err(error) => self.problems.set_aside(error, self.inputs, false)?,
            }
        }
        Ok(false)
    }

    /// Opens one source; false when its format is not known.
    fn open_entry(&mut self, entry: Entry) -> Result<bool> {
        let (name, listed) = (entry.name(), entry.is_listed());
        self.source = name.as_str().into();
        let path = match &entry {
            Entry::File { path, .. } => Some(path.clone()),
            _ => None,
        };
        let (mut stream, compressed) = entry.open(&self.options.bytes)?;
        let (mut buffer, mut filled) = (vec![0; BUFFER + MAX_REST], 0);
        // Detection of the format needs a few bytes, which a pipe may give one by one.
        while filled < 16 {
            let read = match stream.read(&mut buffer[filled..BUFFER]) {
                Err(e) if is_idle(&e) => continue,
                read => read.map_err(|e| Error::io(&name, e))?,
            };
            filled += read;
            if read == 0 {
                break;
            }
        }
        if matches!(self.options.format, PixelFormat::Auto | PixelFormat::Tpx3)
            && let Some(what) = known_but_not_read(&buffer[..filled])
        {
            if listed {
                return Ok(false);
            }
            let message = format!("unknown format: this is {what}; docs/formats.md lists all formats");
            return Err(Error::format(&name, message));
        }
        let format = match self.options.format {
            PixelFormat::Auto if filled == 0 => PixelFormat::Burda,
            PixelFormat::Auto => match PixelFormat::detect(&buffer[..filled]) {
                Some(format) => format,
                None => return Ok(false),
            },
            format => format,
        };
        self.format = format;
        self.clock = format.clock(&self.options);
        let Beginning { has_chips, doubt } = loop {
            let is_all = filled == BUFFER;
            let found = beginning(format, &buffer[..filled], is_all, self.options.time_unit);
            if let Some(found) = found.map_err(|what| Error::format(&name, what))? {
                break found;
            }
            match stream.read(&mut buffer[filled..BUFFER]) {
                Err(e) if is_idle(&e) => {}
                Ok(0) => {
                    let found = beginning(format, &buffer[..filled], true, self.options.time_unit);
                    break found.map_err(|what| Error::format(&name, what))?.unwrap_or_default();
                }
                read => filled += read.map_err(|e| Error::io(&name, e))?,
            }
        };
        if let Some(doubt) = doubt {
            self.problems.add(format!("{name}: {doubt}"));
        }
        if format == PixelFormat::Parquet {
            let file = match path.filter(|path| !compressed && !is_pipe(path)) {
                Some(path) => std::fs::File::open(&path).map_err(|e| Error::io(&path, e))?,
                None => spooled(&buffer[..filled], &mut stream).map_err(|e| Error::io(&name, e))?,
            };
            let columns = Columns::open(&name, file, self.options.time_unit)?;
            self.choose_layout(format, columns.has_chips())?;
            self.columns = Some(columns);
            return Ok(true);
        }
        self.choose_layout(format, has_chips)?;
        let decoder: Box<dyn Decode> = match format {
            PixelFormat::T3pa => Box::new(Text::new(Kind::T3pa)),
            PixelFormat::Auto | PixelFormat::Burda => Box::new(Text::new(Kind::Burda)),
            PixelFormat::Frames => Box::new(Text::new(Kind::Frames)),
            PixelFormat::Pmf => Box::new(Matrices::default()),
            PixelFormat::Tpx3 => Box::new(Tpx3::default()),
            PixelFormat::Tpx4 => Box::new(Tpx4::default()),
            PixelFormat::Katherine => Box::new(Katherine::new(self.options.katherine)),
            PixelFormat::Hits16 => Box::new(Records::hits16()),
            PixelFormat::Npy | PixelFormat::Parquet => Box::new(Records::npy(self.options.time_unit)),
        };
        self.current = Some(Current { name, path, stream, decoder, buffer, filled, bytes: filled as u64 });
        Ok(true)
    }

    /// Chooses the sensor of the first source, unless the user named one.
    fn choose_layout(&mut self, format: PixelFormat, has_chips: bool) -> Result<()> {
        if self.layout.is_none() {
            let format = if has_chips { PixelFormat::Tpx3 } else { format };
            self.layout = Some(format.default_layout()?);
        }
        Ok(())
    }
}

/// Continues with the next waiting file if it belongs to the same run.
fn continues(current: &mut Current, format: PixelFormat, waiting: &mut VecDeque<Entry>) -> bool {
    if !matches!(format, PixelFormat::Tpx3 | PixelFormat::Tpx4) {
        return false;
    }
    let (Some(path), Some(Entry::File { path: next, .. })) = (&current.path, waiting.front()) else {
        return false;
    };
    if !runs::follows(next, path) {
        return false;
    }
    let next = next.clone();
    let entry = Entry::File { path: next.clone(), listed: false };
    // A file that cannot be opened becomes a separate source, whose error gives the reason.
    let Ok((stream, _)) = entry.open(&ByteCount::default()) else { return false };
    waiting.pop_front();
    (current.name, current.path, current.stream) = (next.display().to_string(), Some(next), stream);
    current.bytes = 0;
    true
}

/// Result of reading further.
enum Step {
    Read,
    Idle,
    End,
}

/// Whether the error means that a stream has no data at the moment.
pub(super) fn is_idle(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

impl Current {
    /// Decodes the available bytes and reads more.
    fn step(&mut self, to: &mut Output<'_>) -> Result<Step> {
        let used = self.decoder.decode(&self.buffer[..self.filled], to);
        self.buffer.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.filled > MAX_REST {
            let message = format!("more than {MAX_REST} bytes that are not a hit, header or line");
            return Err(Error::format(&self.name, message));
        }
        let space = &mut self.buffer[self.filled..self.filled + BUFFER];
        let read = match self.stream.read(space) {
            Ok(read) => read,
            Err(e) if is_idle(&e) => return Ok(Step::Idle),
            Err(e) => return Err(Error::io(&self.name, e)),
        };
        self.filled += read;
        self.bytes += read as u64;
        Ok(if read == 0 { Step::End } else { Step::Read })
    }
}
