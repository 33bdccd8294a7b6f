//! [`RawReader`]: reads raw banks from MDF files and streams, and from folders of bank containers.

use super::containers::{FOLDERS, assumed_version, read_container};
use super::cut_events::{CutEvents, Origin, Rules};
use super::event_note::{EventNote, TruthJudge};
use super::mdf::{Cut, Records, looks_like_record};
use super::problems::{ProblemLog, Problems};
use super::raw_event::read_file;
use super::source::{Entry, SMALL_BUFFER, STDIN, Stream, entries, natural_order};
use super::{ByteCount, ChecksumPolicy, Format, ReadOptions, Source, passing};
use peloton::engine::ThisThread;
use peloton::event::RawBatch;
use peloton::{Error, Result, Status};
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Number of words at which a batch is full, so that memory is bounded.
const FULL_BATCH: usize = 1 << 27;

/// Number of words at which a batch ends if it has [the least events](ReadOptions::least): the events are still in a cache when
/// they are parsed.
const LONG_BATCH: usize = 1 << 20;

/// Words of a long event, for which memory is reserved after a batch of [`LONG_BATCH`] words.
const LONG_EVENT: usize = 1 << 17;

/// Reads raw banks from any number of sources, one after another.
pub struct RawReader {
    judge: TruthJudge,
    waiting: VecDeque<Input>,
    current: Option<Current>,
    options: ReadOptions,
    /// Number of the next event.
    event: usize,
    /// Problems of the inputs since the last events were cut.
    problems: Problems,
    inputs: usize,
    /// Memory for [`RawReader::read`].
    cut: CutEvents,
    /// Problems of everything that was read and parsed.
    log: ProblemLog,
    /// Whether an error ended [`RawReader::read`].
    is_over: bool,
}

/// An input: a stream of records, or containers by the names of their events.
enum Input {
    Mdf(Entry),
    Containers { folder: PathBuf, names: VecDeque<String> },
}

enum Current {
    Mdf(MdfFile),
    Containers { folder: PathBuf, names: VecDeque<String> },
}

/// A stream of records being read.
struct MdfFile {
    origin: Origin,
    compressed: bool,
    records: Records,
    /// Number of events read from the stream.
    events: usize,
    /// Whether a problem of the stream was already recorded.
    is_told: bool,
}

/// The format of the raw banks at a path, which may be an MDF file, a folder with an MDF file, or a folder of bank
/// containers. None if the path holds no raw banks.
///
/// # Errors
/// [`Error::Io`] for a path that does not exist or cannot be read, [`Error::Config`] for a pipe, because the bytes that
/// recognition reads would be lost.
pub fn find_raw(path: &Path) -> Result<Option<Format>> {
    if is_pipe(path) {
        let words = "is a pipe, which can be read only once: name its format with --format";
        return Err(Error::Config(format!("{} {words}", path.display())));
    }
    if path.is_dir() && !container_names(path)?.is_empty() {
        return Ok(Some(Format::Banks));
    }
    for entry in entries(&Source::Path(path.into()))? {
        if let Entry::File { path, .. } = &entry
            && is_pipe(path)
        {
            continue;
        }
        let (stream, _) = entry.open(&ByteCount::default())?;
        let mut head = Vec::new();
        // The reader of the file will report it if it cannot be decompressed.
        if stream.take(64).read_to_end(&mut head).is_ok() && looks_like_record(&head) {
            return Ok(Some(Format::Mdf));
        }
    }
    Ok(None)
}

/// Whether the path is neither a file nor a directory, such as a named pipe, so that it can be read only once.
pub fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// Whether a stream that begins with `head` consists of MDF records.
pub fn is_raw_stream(head: &[u8]) -> bool {
    looks_like_record(head)
}

/// The names of the events of a folder of containers, in natural order.
fn container_names(folder: &Path) -> Result<VecDeque<String>> {
    let mut names = BTreeSet::new();
    for (name, _) in FOLDERS {
        let folder = folder.join(name);
        if !folder.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(|e| Error::io(&folder, e))? {
            let path = entry.map_err(|e| Error::io(&folder, e))?.path();
            if path.extension().is_some_and(|end| end == "bin") && path.is_file() {
                names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
            }
        }
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by(|a, b| natural_order(a, b));
    Ok(names.into())
}

impl RawReader {
    /// Lists the sources; files are opened one by one while reading.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that does not exist, [`Error::Format`] for a folder without containers.
    pub fn open(sources: &[Source], options: ReadOptions) -> Result<Self> {
        let mut reader = Self::new(options);
        for source in sources {
            if let Source::Path(folder) = source
                && folder.is_dir()
                && reader.options.format != Format::Mdf
            {
                let names = container_names(folder)?;
                if !names.is_empty() {
                    reader.waiting.push_back(Input::Containers { folder: folder.clone(), names });
                    continue;
                }
            }
            if reader.options.format == Format::Banks {
                let place = match source {
                    Source::Path(path) => path.display().to_string(),
                    Source::Stdin => STDIN.into(),
                };
                return Err(Error::format(place, "contains no folder VP, VPRetinaCluster, UT or FTCluster"));
            }
            reader.waiting.extend(entries(source)?.into_iter().map(Input::Mdf));
        }
        reader.inputs = reader.waiting.len();
        Ok(reader)
    }

    /// Reads MDF records from any stream, zstd-compressed or not. Messages call the stream `name`.
    pub fn from_stream(name: &str, stream: impl Read + Send + 'static, options: ReadOptions) -> Self {
        let mut reader = Self::new(options);
        let stream: Stream = Box::new(BufReader::new(stream));
        reader.waiting.push_back(Input::Mdf(Entry::Stream { name: name.into(), stream }));
        reader
    }

    fn new(options: ReadOptions) -> Self {
        Self {
            judge: |_| Ok(()),
            waiting: VecDeque::new(),
            current: None,
            event: options.start.event,
            options,
            problems: Problems::default(),
            inputs: 1,
            cut: CutEvents::default(),
            log: ProblemLog::default(),
            is_over: false,
        }
    }

    /// Sets a function that checks the truth of each event; an event whose truth it rejects is corrupt.
    pub fn judging_truth(self, judge: TruthJudge) -> Self {
        Self { judge, ..self }
    }

    /// Appends up to `max_events` events to `batch`, and one note per event to `notes`. Returns the number of events, 0
    /// at the end of the input. An event that cannot be read has no banks and a status.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read, [`Error::Format`] when a file holds no event at all or, in strict
    /// mode, at the first problem. `batch` then holds the events before the error, and later calls return 0.
    pub fn read(
        &mut self,
        max_events: usize,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
    ) -> Result<usize> {
        let before = batch.len();
        while !self.is_over
            && batch.len() - before < max_events
            && (batch.len() == before || batch.words() < FULL_BATCH)
        {
            let (mut cut, length) = (std::mem::take(&mut self.cut), batch.len());
            let done = self.cut(max_events - (length - before), batch, &mut cut);
            let parsed = cut.parse(&ThisThread, batch, notes, &mut self.log.lock());
            self.cut = cut;
            let read = parsed.and(done);
            self.is_over = read.is_err();
            read?;
            if batch.len() == length {
                break;
            }
        }
        Ok(batch.len() - before)
    }

    /// Cuts up to `max_events` events from the inputs: their bytes go to the words of `batch`, and [`CutEvents::parse`]
    /// parses them later. Earlier events in `cut` are removed. Returns the number of events, 0 at the end of the input.
    ///
    /// # Errors
    /// Errors of [`RawReader::read`] that concern an input and not the content of an event. `cut` then holds the events
    /// before the error.
    pub fn cut(&mut self, max_events: usize, batch: &mut RawBatch, cut: &mut CutEvents) -> Result<usize> {
        let ReadOptions { truth, strict, only_nominal, checksum, .. } = self.options;
        let verify = checksum == ChecksumPolicy::Verify;
        cut.begin(Rules { truth, strict, only_nominal, verify, judge: self.judge });
        let done = self.cut_events(max_events, batch, cut);
        cut.note_problems(std::mem::take(&mut self.problems));
        done.map(|()| cut.len())
    }

    fn cut_events(&mut self, max_events: usize, batch: &mut RawBatch, cut: &mut CutEvents) -> Result<()> {
        let before = batch.words();
        batch.reserve_words(before + LONG_BATCH.min(LONG_EVENT.saturating_mul(max_events)) + LONG_EVENT);
        let words = |batch: &RawBatch, cut: &CutEvents| batch.words() - before + cut.packed_words();
        while cut.len() < max_events
            && self.options.reaches(self.event)
            && (cut.is_empty() || words(batch, cut) < FULL_BATCH)
            && (cut.len() < self.options.least || words(batch, cut) < LONG_BATCH)
        {
            self.problems.come_to(self.event);
            let mut current = match self.current.take() {
                Some(current) => current,
                None => match self.open_next()? {
                    Some(current) => current,
                    None => break,
                },
            };
            let read = match &mut current {
                Current::Mdf(file) => {
                    let read = self.cut_record(file, batch, cut)?;
                    file.events += usize::from(read);
                    if !read && file.events == 0 && !file.is_told {
                        self.problems.add_empty(&file.origin.input, self.options.strict)?;
                    }
                    read
                }
                Current::Containers { folder, names } => match names.pop_front() {
                    Some(name) => self.cut_containers(folder, &name, batch, cut).map(|()| true)?,
                    None => false,
                },
            };
            if read {
                self.event += 1;
                self.current = Some(current);
            }
        }
        Ok(())
    }

    /// Counts all events of the sources without decoding them.
    ///
    /// # Errors
    /// Errors of [`RawReader::read`].
    pub fn count(mut self) -> Result<u64> {
        self.options = passing(self.options);
        self.read(1, &mut RawBatch::default(), &mut Vec::new())?;
        Ok(self.event as u64)
    }

    /// Problems so far that did not end the job.
    pub fn problems(&self) -> &ProblemLog {
        &self.log
    }

    /// Opens the next input; none at the end. A file that was found in a folder is skipped if it is not an MDF
    /// file.
    fn open_next(&mut self) -> Result<Option<Current>> {
        while let Some(input) = self.waiting.pop_front() {
            let entry = match input {
                Input::Containers { folder, names } => {
                    return Ok(Some(Current::Containers { folder, names }));
                }
                Input::Mdf(entry) => entry,
            };
            let (name, listed) = (entry.name(), entry.is_listed());
            let folder = match &entry {
                Entry::File { path, .. } => Some(path.parent().unwrap_or(Path::new("")).to_path_buf()),
                _ => None,
            };
            // The start position concerns only the first source.
            let byte = std::mem::take(&mut self.options.start.byte);
            let count = &self.options.bytes;
            let opened =
                if byte > 0 { entry.open_at(byte, count) } else { entry.open_with(SMALL_BUFFER, count) };
            let (stream, compressed) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    self.problems.set_aside(error, self.inputs, self.options.strict)?;
                    continue;
                }
            };
            let mut records = if byte > 0 { Records::inside(stream) } else { Records::new(stream) };
            if listed && !records.begins() {
                self.problems.add(format!("{name}: skipped, not an MDF file"));
                continue;
            }
            let beside = folder.map(|folder| folder.join("truth").into());
            let origin = Origin { input: name.into(), truth: [beside, None] };
            let file = MdfFile { origin, compressed, records, events: 0, is_told: false };
            return Ok(Some(Current::Mdf(file)));
        }
        Ok(None)
    }

    /// Cuts one record; false at the end of the stream.
    fn cut_record(&mut self, file: &mut MdfFile, batch: &mut RawBatch, cut: &mut CutEvents) -> Result<bool> {
        let MdfFile { origin, compressed, records, is_told, .. } = file;
        let record = match records.next(batch) {
            Ok(None) => return Ok(false),
            Ok(Some(Cut::NotMdf)) => {
                let error = Error::format(&*origin.input, "not an MDF file, or none of its events is whole");
                self.problems.set_aside(error, self.inputs, self.options.strict)?;
                *is_told = true;
                return Ok(false);
            }
            Err(e) if !*compressed => return Err(Error::io(&*origin.input, e)),
            record => record,
        };
        if self.event < self.options.first {
            if let Ok(Some(Cut::Record { first, .. })) = record {
                batch.leave_room(first);
            }
            return Ok(true);
        }
        let mut fail = |words: &str| cut.add(self.event, origin).fail(Status::Corrupt, words);
        match record {
            Ok(Some(Cut::Record { first, bytes })) => {
                cut.add_record(self.event, origin, (first, bytes), batch.all_words());
            }
            Ok(Some(Cut::Garbage(skipped))) => {
                fail(&format!("{skipped} bytes that belong to no event were skipped"));
            }
            Ok(None | Some(Cut::Truncated | Cut::NotMdf)) => fail("the file ends inside the event"),
            Err(e) => fail(&format!("cannot be decompressed further: {e}")),
        }
        Ok(true)
    }

    /// Reads the containers of one event.
    fn cut_containers(
        &mut self,
        folder: &Path,
        name: &str,
        batch: &mut RawBatch,
        cut: &mut CutEvents,
    ) -> Result<()> {
        if self.event < self.options.first {
            return Ok(());
        }
        let mut files = Vec::new();
        for (sub, kind) in FOLDERS {
            let path = folder.join(sub).join(name).with_extension("bin");
            if let Some(bytes) = read_file(&path)? {
                self.options.bytes.add(bytes.len());
                files.push((path, kind, bytes));
            }
        }
        let beside = Some(folder.join("truth").into());
        let truth = [beside, folder.parent().map(|above| above.join("truth").into())];
        let origin = Origin { input: folder.join(name).display().to_string().into(), truth };
        let event = cut.add(self.event, &origin);
        if let Some((run, number)) = name.split_once('_') {
            (event.note.run, event.note.number) = (run.parse().ok(), number.parse().ok());
        }
        for (path, kind, bytes) in files {
            match read_container(&path.display().to_string(), &bytes) {
                Ok(banks) => {
                    for (source, payload) in banks {
                        let Some((first, room)) = batch.room(payload.len()) else {
                            return Err(Error::Internal("too many words of raw banks in one batch".into()));
                        };
                        room.copy_from_slice(payload);
                        event.push(kind, (source, assumed_version(kind)), first, payload.len(), false);
                    }
                }
                Err(error) => event.fail(Status::TruncatedBank, &error.to_string()),
            }
        }
        Ok(())
    }
}
