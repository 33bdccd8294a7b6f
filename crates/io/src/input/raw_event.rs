//! [`OpenEvent`]: one event under construction, with its raw banks and its simulated truth.

use super::event_note::{EventNote, McBanks, McFormat, TruthJudge};
use super::mdf::{BANK_HEADER, Banks, bank_type, is_nominal, odin_numbers};
use peloton::event::{BankKind, EventBanks, RawBank};
use peloton::{Error, Result, Status};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The content of a file; none when it does not exist.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    };
    let mut bytes = Vec::new();
    let read = file.take(super::mdf::MAX_BODY as u64).read_to_end(&mut bytes);
    read.map(|_| Some(bytes)).map_err(|e| Error::io(path, e))
}

/// An event under construction. Its payloads lie in the words of a batch, whose other events are built at the same time.
#[derive(Debug)]
pub(super) struct OpenEvent {
    pub status: Status,
    /// Status of the first damage that does not concern all banks.
    damaged: Option<Status>,
    /// Reason why the event failed.
    words: String,
    pub banks: EventBanks,
    /// Banks whose last word has bytes other than zeros after the payload.
    pub ragged: Vec<RawBank>,
    pub note: EventNote,
    /// Whether the truth is requested.
    truth: bool,
    /// Type and source of all banks, in the order of arrival.
    came: Vec<(u8, u16)>,
    /// Pieces of the true particles by source, and their version.
    tracks: Vec<(u16, u8, Vec<u8>)>,
    /// Pieces of the true vertices by source, and their version.
    vertices: Vec<(u16, u8, Vec<u8>)>,
}

impl Default for OpenEvent {
    fn default() -> Self {
        Self {
            status: Status::Ok,
            damaged: None,
            words: String::new(),
            banks: EventBanks::default(),
            ragged: Vec::new(),
            note: EventNote::default(),
            truth: false,
            came: Vec::new(),
            tracks: Vec::new(),
            vertices: Vec::new(),
        }
    }
}

impl OpenEvent {
    /// Discards the last event and begins an event without banks. `truth`: whether to store simulated truth.
    pub fn begin(&mut self, truth: bool) {
        self.status = Status::Ok;
        self.damaged = None;
        self.words.clear();
        self.banks.clear();
        self.ragged.clear();
        self.note = EventNote::default();
        self.truth = truth;
        self.came.clear();
        self.tracks.clear();
        self.vertices.clear();
    }

    /// Records that the event failed. Only the first failure is reported.
    pub fn fail(&mut self, status: Status, words: &str) {
        if self.status == Status::Ok {
            self.status = self.damaged.unwrap_or(status);
            self.note_words(words);
        }
    }

    /// Records a damage that does not concern all banks: the others are kept.
    fn damage(&mut self, status: Status, words: &str) {
        self.damaged.get_or_insert(status);
        self.note_words(words);
        self.banks.damage(status);
    }

    fn note_words(&mut self, words: &str) {
        if self.words.is_empty() {
            self.words.push_str(words);
        }
    }

    /// Adds a bank whose payload begins at word `first` of the batch. `is_filled`: zeros pad the payload's last word.
    pub fn push(
        &mut self,
        kind: BankKind,
        (source, version): (u16, u8),
        first: u32,
        bytes: usize,
        is_filled: bool,
    ) {
        self.came.push((kind.code(), source));
        let Ok(bytes) = u16::try_from(bytes) else {
            return self
                .damage(Status::OversizedBank, &format!("a bank of {bytes} bytes from source {source}"));
        };
        let bank = RawBank { first, bytes, source, version };
        self.banks.push(kind, bank);
        if !is_filled {
            self.ragged.push(bank);
        }
    }

    /// Adds this many words to the positions of the payloads in the batch.
    pub fn move_by(&mut self, words: u32) {
        self.banks.move_by(words);
        self.ragged.iter_mut().for_each(|bank| bank.first += words);
    }

    /// Ends the event, and returns its status.
    pub fn close(&mut self) -> Status {
        self.banks.close(self.status)
    }

    /// The reason why a closed event cannot be used.
    pub fn why(&self) -> String {
        let mut earlier = HashSet::new();
        let mut twice = || self.came.iter().find(|bank| !earlier.insert(**bank));
        match self.banks.status() {
            _ if !self.words.is_empty() => self.words.clone(),
            Status::DuplicateBank if let Some((kind, source)) = twice() => {
                format!("two raw banks of type {kind} come from source {source}")
            }
            status => status.meaning().into(),
        }
    }

    /// Adds the banks of `body`, which begins at word `first_word` of the batch.
    pub fn take_banks(&mut self, body: &[u8], first_word: u32) {
        let (mut banks, mut number) = (Banks::new(body), 0);
        while let Some(bank) = banks.next() {
            let bank = match bank {
                Ok(bank) => bank,
                Err(status) => {
                    let at = banks.at();
                    let words =
                        format!("no whole raw bank begins at byte {at} of the event, after {number} banks");
                    self.damage(status, &words);
                    continue;
                }
            };
            number += 1;
            match bank.kind {
                bank_type::ODIN => {
                    if let Some((run, number)) = odin_numbers(bank.version, bank.payload) {
                        (self.note.run, self.note.number) = (Some(run), Some(number));
                    }
                }
                bank_type::MC_TRACKS if self.truth => {
                    self.tracks.push((bank.source, bank.version, bank.payload.to_vec()));
                }
                bank_type::MC_VERTICES if self.truth => {
                    self.vertices.push((bank.source, bank.version, bank.payload.to_vec()));
                }
                code if bank_type::is_error(code) => {
                    let by = if bank_type::is_detector_error(code) { "a detector" } else { "the readout" };
                    let words = format!("{by} reports an error of source {} (bank type {code})", bank.source);
                    self.damage(Status::DaqError, &words);
                }
                code if is_nominal(code, bank.version, bank.payload) => self.banks.mark_nominal(),
                code => {
                    if let Some(kind) = BankKind::from_code(code) {
                        let (from, bytes) = (banks.at() + BANK_HEADER, bank.payload.len());
                        let behind = body.get(from + bytes..(from + bytes).next_multiple_of(4));
                        let is_filled = behind.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
                        let first = first_word + (from / 4) as u32;
                        self.push(kind, (bank.source, bank.version), first, bytes, is_filled);
                    }
                }
            }
        }
    }

    /// Reads the simulated truth of an event without a fault, if requested: from banks, or else from the first of
    /// `folders` with files of the event. An event without truth, or with truth that `judge` rejects, fails.
    pub fn find_truth(
        &mut self,
        place: impl Fn() -> String,
        folders: impl Iterator<Item = PathBuf>,
        judge: TruthJudge,
    ) -> Result<()> {
        if !self.truth || self.status != Status::Ok {
            return Ok(());
        }
        let found = match self.tracks.first() {
            Some(&(_, version, _)) => {
                let (Some(tracks), Some(vertices)) = (join(&mut self.tracks), join(&mut self.vertices))
                else {
                    self.fail(Status::Corrupt, "a piece of the simulated truth is missing or occurs twice");
                    return Ok(());
                };
                let (format, place) = (McFormat::Bank(version), place());
                Some(McBanks { tracks, format, vertices, states: Vec::new(), place })
            }
            None => self.truth_of_files(folders)?,
        };
        let Some(truth) = found else {
            let words =
                "no simulated truth, neither in banks nor in a file in truth/tracks next to the events";
            self.fail(Status::NoTruth, words);
            return Ok(());
        };
        match judge(&truth) {
            Ok(()) => self.note.truth = Some(truth),
            Err(error) => self.fail(Status::Corrupt, &format!("the truth: {error}")),
        }
        Ok(())
    }

    fn truth_of_files(&self, folders: impl Iterator<Item = PathBuf>) -> Result<Option<McBanks>> {
        let (Some(run), Some(number)) = (self.note.run, self.note.number) else { return Ok(None) };
        let name = format!("{run}_{number}.bin");
        for folder in folders {
            let path = folder.join("tracks").join(&name);
            let Some(tracks) = read_file(&path)? else { continue };
            let vertices = read_file(&folder.join("PVs").join(&name))?.unwrap_or_default();
            let place = path.display().to_string();
            return Ok(Some(McBanks { tracks, format: McFormat::File, vertices, states: Vec::new(), place }));
        }
        Ok(None)
    }
}

/// Joins the pieces in the order of their sources; none unless these are 0, 1, 2 and so on.
fn join(pieces: &mut Vec<(u16, u8, Vec<u8>)>) -> Option<Vec<u8>> {
    pieces.sort_by_key(|(source, ..)| *source);
    let whole = pieces.iter().enumerate().all(|(at, (source, ..))| at == usize::from(*source));
    whole.then(|| pieces.drain(..).flat_map(|(.., piece)| piece).collect())
}
