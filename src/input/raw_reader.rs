//! [`RawReader`]: raw banks from MDF files and streams and from folders of bank containers.

use super::containers::{FOLDERS, assumed_version, read_container};
use super::mdf::{Banks, Record, Records, bank_type, decompress, looks_like_record};
use super::problems::Problems;
use super::source::{Entry, Stream, entries, natural_order};
use super::{Format, ReadOptions, Source};
use crate::event::{BankKind, RawBatch};
use crate::{Error, Result, Status};
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// A batch with so many words of raw banks is full: memory is bounded.
const FULL_BATCH: usize = 1 << 27;

/// How the truth of an event is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McFormat {
    /// Files beside bank containers, without a version.
    File,
    /// Raw banks of this version.
    Bank(u8),
}

/// The simulated truth of one event as bytes, for [`truth::decode_mc`](crate::truth::decode_mc).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McBanks {
    /// True particles and their hits.
    pub tracks: Vec<u8>,
    /// How `tracks` is written.
    pub format: McFormat,
    /// True vertices; empty when there are none.
    pub vertices: Vec<u8>,
    /// What messages call it.
    pub place: String,
}

/// What is known of an event beside its banks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventNote {
    /// Number of the run.
    pub run: u32,
    /// Number the detector gave the event; 0 when it is not told.
    pub number: u64,
    /// The simulated truth, where it was asked for and is there.
    pub truth: Option<McBanks>,
}

/// Reads raw banks from any number of sources, one after another.
pub struct RawReader {
    waiting: VecDeque<Input>,
    current: Option<Current>,
    options: ReadOptions,
    /// Number of the event that comes next.
    event: usize,
    body: Vec<u8>,
    problems: Problems,
}

/// Something to read: a stream of records, or containers by the names of their events.
enum Input {
    Mdf(Entry),
    Containers { folder: PathBuf, names: VecDeque<String> },
}

enum Current {
    Mdf { name: String, folder: Option<PathBuf>, records: Records, events: usize },
    Containers { folder: PathBuf, names: VecDeque<String> },
}

/// Whether a path holds raw banks: an MDF file, a folder with one, or a folder of bank containers. The
/// format, or none when it is something else.
///
/// # Errors
/// [`Error::Io`] for what is not there or cannot be read.
pub fn find_raw(path: &Path) -> Result<Option<Format>> {
    if path.is_dir() && !container_names(path)?.is_empty() {
        return Ok(Some(Format::Banks));
    }
    for entry in entries(&Source::Path(path.into()))? {
        let name = entry.name();
        let mut head = Vec::new();
        let (stream, _) = entry.open()?;
        // A file that cannot be decompressed is for its own reader to tell.
        let read = stream.take(64).read_to_end(&mut head);
        if read.map_err(|e| Error::io(name, e)).is_ok() && looks_like_record(&head) {
            return Ok(Some(Format::Mdf));
        }
    }
    Ok(None)
}

/// Whether a stream that begins so is one of MDF records.
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
    /// [`Error::Io`] for what is not there, [`Error::Format`] for a folder without containers.
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
                    Source::Stdin => "-".into(),
                };
                return Err(Error::format(place, "no folder VP, VPRetinaCluster, UT or FTCluster in it"));
            }
            reader.waiting.extend(entries(source)?.into_iter().map(Input::Mdf));
        }
        Ok(reader)
    }

    /// Reads MDF records from any stream, zstd-compressed or not; `name` stands in messages.
    pub fn from_stream(name: &str, stream: impl Read + Send + 'static, options: ReadOptions) -> Self {
        let mut reader = Self::new(options);
        let stream: Stream = Box::new(BufReader::new(stream));
        reader.waiting.push_back(Input::Mdf(Entry::Stream { name: name.into(), stream }));
        reader
    }

    fn new(options: ReadOptions) -> Self {
        Self {
            waiting: VecDeque::new(),
            current: None,
            options,
            event: 0,
            body: Vec::new(),
            problems: Problems::default(),
        }
    }

    /// Appends up to `max_events` events to `batch` and as many to `notes`; says how many. There is nothing
    /// left when it says 0. An event that cannot be read has no banks and a status.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read, [`Error::Format`] when a file holds no event at all or, in
    /// strict mode, at the first problem. `batch` then holds the events before it.
    pub fn read(
        &mut self,
        max_events: usize,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
    ) -> Result<usize> {
        let mut appended = 0;
        while appended < max_events
            && self.options.reaches(self.event)
            && (appended == 0 || batch.words() < FULL_BATCH)
        {
            let mut current = match self.current.take() {
                Some(current) => current,
                None => match self.open_next()? {
                    Some(current) => current,
                    None => break,
                },
            };
            let read = match &mut current {
                Current::Mdf { name, folder, records, events } => {
                    let read = self.read_record(name, folder.as_deref(), records, batch, notes)?;
                    *events += usize::from(read);
                    if !read && *events == 0 {
                        return Err(Error::format(name.as_str(), "holds no event"));
                    }
                    read
                }
                Current::Containers { folder, names } => match names.pop_front() {
                    Some(name) => self.read_containers(folder, &name, batch, notes).map(|()| true)?,
                    None => false,
                },
            };
            if read {
                appended += usize::from(self.event >= self.options.first);
                self.event += 1;
                self.current = Some(current);
            }
        }
        Ok(appended)
    }

    /// What went wrong without ending the job: the first [`MAX_PROBLEMS`](super::MAX_PROBLEMS), in words.
    pub fn problems(&self) -> &[String] {
        self.problems.kept()
    }

    /// How many problems there were in all.
    pub fn problem_count(&self) -> u64 {
        self.problems.count()
    }

    /// Opens the next input; none when there is none. A file that was merely found in a folder is passed over
    /// when it is no MDF file.
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
            let (mut stream, _) = entry.open()?;
            let mut head = Vec::new();
            let read = stream.by_ref().take(64).read_to_end(&mut head);
            if listed && (read.is_err() || !looks_like_record(&head)) {
                self.problems.add(format!("{name}: skipped, not an MDF file"));
                continue;
            }
            read.map_err(|e| Error::io(name.as_str(), e))?;
            let records = Records::new(Box::new(std::io::Cursor::new(head).chain(stream)));
            return Ok(Some(Current::Mdf { name, folder, records, events: 0 }));
        }
        Ok(None)
    }

    /// Takes one record; false at the end of the stream.
    fn read_record(
        &mut self,
        name: &str,
        folder: Option<&Path>,
        records: &mut Records,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
    ) -> Result<bool> {
        let record = match records.next() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(false),
            Err(e) => return Err(Error::io(name, e)),
        };
        if self.event < self.options.first {
            return Ok(true);
        }
        let mut event = OpenEvent { truth: self.options.truth, ..OpenEvent::default() };
        match record {
            Record::Truncated => event.fail(Status::Corrupt, "the file ends inside the event"),
            Record::Garbage(skipped) => {
                event.fail(Status::Corrupt, &format!("{skipped} bytes that are no event"));
            }
            Record::Event { intact: false, .. } => event.fail(Status::BadChecksum, "wrong checksum"),
            Record::Event { header, body, compressed: false, .. } => {
                event.note.run = header.run;
                event.take_banks(body, batch);
            }
            Record::Event { header, body, .. } => {
                event.note.run = header.run;
                self.body.clear();
                match decompress(body, &mut self.body) {
                    Ok(()) => event.take_banks(&self.body, batch),
                    Err(e) => event.fail(Status::Corrupt, &format!("cannot be decompressed: {e}")),
                }
            }
        }
        let place = format!("{name} (event {})", self.event);
        if event.truth && event.status == Status::Ok {
            let beside = folder.map(|folder| folder.join("truth"));
            event.find_truth(&place, beside.into_iter())?;
        }
        self.close(event, &place, batch, notes)?;
        Ok(true)
    }

    /// Takes the containers of one event.
    fn read_containers(
        &mut self,
        folder: &Path,
        name: &str,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
    ) -> Result<()> {
        if self.event < self.options.first {
            return Ok(());
        }
        let mut event = OpenEvent { truth: self.options.truth, ..OpenEvent::default() };
        if let Some((run, number)) = name.split_once('_') {
            (event.note.run, event.note.number) = (run.parse().unwrap_or(0), number.parse().unwrap_or(0));
        }
        for (sub, kind) in FOLDERS {
            let path = folder.join(sub).join(name).with_extension("bin");
            let Some(bytes) = read_file(&path)? else { continue };
            match read_container(&path.display().to_string(), &bytes) {
                Ok(banks) => {
                    for (source, payload) in banks {
                        event.push(kind, source, assumed_version(kind), payload, batch);
                    }
                }
                Err(error) => event.fail(Status::TruncatedBank, &error.to_string()),
            }
        }
        let place = format!("{} (event {})", folder.join(name).display(), self.event);
        if event.truth && event.status == Status::Ok {
            let places = [Some(folder.join("truth")), folder.parent().map(|above| above.join("truth"))];
            event.find_truth(&place, places.into_iter().flatten())?;
        }
        self.close(event, &place, batch, notes)
    }

    fn close(
        &mut self,
        event: OpenEvent,
        place: &str,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
    ) -> Result<()> {
        let status = batch.close_event(self.event as u64, event.status);
        if status != Status::Ok {
            let words = if event.words.is_empty() { status.name() } else { &event.words };
            if self.options.strict {
                batch.drop_failed();
                return Err(Error::format(place, words));
            }
            self.problems.add(format!("{place}: {words}"));
        }
        notes.push(event.note);
        Ok(())
    }
}

/// A whole file; none when there is none.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    };
    let mut bytes = Vec::new();
    let read = file.take(super::mdf::MAX_BODY as u64).read_to_end(&mut bytes);
    read.map(|_| Some(bytes)).map_err(|e| Error::io(path, e))
}

/// The event being put together.
struct OpenEvent {
    status: Status,
    /// Why it failed.
    words: String,
    note: EventNote,
    truth: bool,
    /// Pieces of the true particles by source, and their version.
    tracks: Vec<(u16, u8, Vec<u8>)>,
    vertices: Vec<u8>,
}

impl Default for OpenEvent {
    fn default() -> Self {
        Self {
            status: Status::Ok,
            words: String::new(),
            note: EventNote::default(),
            truth: false,
            tracks: Vec::new(),
            vertices: Vec::new(),
        }
    }
}

impl OpenEvent {
    /// The first failure is the one that is told.
    fn fail(&mut self, status: Status, words: &str) {
        if self.status == Status::Ok {
            (self.status, self.words) = (status, words.into());
        }
    }

    fn push(&mut self, kind: BankKind, source: u16, version: u8, payload: &[u8], batch: &mut RawBatch) {
        if let Err(status) = batch.push_bank(kind, source, version, payload) {
            self.fail(status, &format!("a bank of {} bytes from source {source}", payload.len()));
        }
    }

    fn take_banks(&mut self, body: &[u8], batch: &mut RawBatch) {
        for bank in Banks::new(body) {
            let bank = match bank {
                Ok(bank) => bank,
                Err(status) => return self.fail(status, "what should be a raw bank is none"),
            };
            match bank.kind {
                bank_type::ODIN => {
                    let word = |at: usize| {
                        let four = bank.payload.get(4 * at..)?.first_chunk()?;
                        Some(u64::from(u32::from_le_bytes(*four)))
                    };
                    if let (Some(high), Some(low)) = (word(3), word(4)) {
                        self.note.number = high << 32 | low;
                    }
                }
                bank_type::MC_TRACKS if self.truth => {
                    self.tracks.push((bank.source, bank.version, bank.payload.to_vec()));
                }
                bank_type::MC_VERTICES if self.truth => self.vertices.extend(bank.payload),
                code if bank_type::DAQ_ERRORS.contains(&code) => {
                    let words = format!("the readout reports fault {code} of source {}", bank.source);
                    self.fail(Status::DaqError, &words);
                }
                code => {
                    if let Some(kind) = BankKind::from_code(code) {
                        self.push(kind, bank.source, bank.version, bank.payload, batch);
                    }
                }
            }
        }
    }

    /// Truth from banks, or from files in the first of `folders` that has them.
    fn find_truth(&mut self, place: &str, folders: impl Iterator<Item = PathBuf>) -> Result<()> {
        if let Some(&(_, version, _)) = self.tracks.first() {
            self.tracks.sort_by_key(|(source, ..)| *source);
            let tracks = self.tracks.drain(..).flat_map(|(.., piece)| piece).collect();
            let vertices = std::mem::take(&mut self.vertices);
            let (format, place) = (McFormat::Bank(version), place.into());
            self.note.truth = Some(McBanks { tracks, format, vertices, place });
            return Ok(());
        }
        let name = format!("{}_{}.bin", self.note.run, self.note.number);
        for folder in folders {
            let path = folder.join("tracks").join(&name);
            let Some(tracks) = read_file(&path)? else { continue };
            let vertices = read_file(&folder.join("PVs").join(&name))?.unwrap_or_default();
            let place = path.display().to_string();
            self.note.truth = Some(McBanks { tracks, format: McFormat::File, vertices, place });
            return Ok(());
        }
        self.fail(Status::Corrupt, "no truth: neither banks of it nor a file truth/tracks beside the events");
        Ok(())
    }
}
