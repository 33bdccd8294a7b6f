//! [`OpenEvent`]: one event being put together from its banks, and its truth.

use super::mdf::{Banks, bank_type, is_nominal, odin_numbers};
use super::raw_reader::{EventNote, McBanks, McFormat, TruthJudge};
use peloton::event::{BankKind, RawBatch};
use peloton::{Error, Result, Status};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A whole file; none when there is none.
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

/// The event being put together.
pub(super) struct OpenEvent {
    pub status: Status,
    /// The first damage of single banks.
    damaged: Option<Status>,
    /// Why it failed.
    pub words: String,
    /// Whether it says that it is of the nominal detector.
    pub is_nominal: bool,
    pub note: EventNote,
    pub truth: bool,
    /// Banks so far, and the first that came twice.
    seen: HashSet<(u8, u16)>,
    twice: Option<(u8, u16)>,
    /// Pieces of the true particles by source, and their version.
    tracks: Vec<(u16, u8, Vec<u8>)>,
    /// Pieces of the true vertices by source, and their version.
    vertices: Vec<(u16, u8, Vec<u8>)>,
}

impl OpenEvent {
    /// An event without banks, whose truth is kept or passed over.
    pub fn new(truth: bool) -> Self {
        Self {
            status: Status::Ok,
            damaged: None,
            words: String::new(),
            is_nominal: false,
            note: EventNote::default(),
            truth,
            seen: HashSet::new(),
            twice: None,
            tracks: Vec::new(),
            vertices: Vec::new(),
        }
    }

    /// The first failure is the one that is told.
    pub fn fail(&mut self, status: Status, words: &str) {
        if self.status == Status::Ok {
            self.status = self.damaged.unwrap_or(status);
            self.note_words(words);
        }
    }

    /// A damage that concerns some of the banks alone: the others are kept in the batch.
    fn damage(&mut self, status: Status, words: &str, batch: &mut RawBatch) {
        self.damaged.get_or_insert(status);
        self.note_words(words);
        batch.damage(status);
    }

    fn note_words(&mut self, words: &str) {
        if self.words.is_empty() {
            self.words = words.into();
        }
    }

    pub fn push(&mut self, kind: BankKind, source: u16, version: u8, payload: &[u8], batch: &mut RawBatch) {
        if !self.seen.insert((kind.code(), source)) {
            self.twice.get_or_insert((kind.code(), source));
        }
        if let Err(status) = batch.push_bank(kind, source, version, payload) {
            self.damage(status, &format!("a bank of {} bytes from source {source}", payload.len()), batch);
        }
    }

    /// Why the event cannot be used, once its banks are in the batch and gave it this status.
    pub fn why(&self, status: Status) -> String {
        match self.twice {
            _ if !self.words.is_empty() => self.words.clone(),
            Some((kind, source)) if status == Status::DuplicateBank => {
                format!("two raw banks of type {kind} come from source {source}")
            }
            _ => status.meaning().into(),
        }
    }

    pub fn take_banks(&mut self, body: &[u8], batch: &mut RawBatch) {
        let (mut banks, mut number) = (Banks::new(body), 0);
        while let Some(bank) = banks.next() {
            let bank = match bank {
                Ok(bank) => bank,
                Err(status) => {
                    let at = banks.at();
                    let words =
                        format!("no whole raw bank begins at byte {at} of the event, behind {number} banks");
                    self.damage(status, &words, batch);
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
                    let words = format!("{by} reports fault {code} of source {}", bank.source);
                    self.damage(Status::DaqError, &words, batch);
                }
                code if is_nominal(code, bank.version, bank.payload) => self.is_nominal = true,
                code => {
                    if let Some(kind) = BankKind::from_code(code) {
                        self.push(kind, bank.source, bank.version, bank.payload, batch);
                    }
                }
            }
        }
    }

    /// Truth from banks, or from files in the first of `folders` that has them. Without any the event is
    /// dropped, and with some that cannot be decoded it is corrupt.
    pub fn find_truth(
        &mut self,
        place: &str,
        folders: impl Iterator<Item = PathBuf>,
        judge: TruthJudge,
    ) -> Result<()> {
        let found = match self.tracks.first() {
            Some(&(_, version, _)) => {
                let (Some(tracks), Some(vertices)) = (join(&mut self.tracks), join(&mut self.vertices))
                else {
                    self.fail(Status::Corrupt, "the truth: a piece of it came twice or is missing");
                    return Ok(());
                };
                let (format, place) = (McFormat::Bank(version), place.into());
                Some(McBanks { tracks, format, vertices, states: Vec::new(), place })
            }
            None => self.truth_of_files(folders)?,
        };
        let Some(truth) = found else {
            let words =
                "no simulated truth: neither banks of it nor a file in truth/tracks beside the events";
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

/// The pieces in the order of their sources, which count from 0; none when they do not.
fn join(pieces: &mut Vec<(u16, u8, Vec<u8>)>) -> Option<Vec<u8>> {
    pieces.sort_by_key(|(source, ..)| *source);
    let whole = pieces.iter().enumerate().all(|(at, (source, ..))| at == usize::from(*source));
    whole.then(|| pieces.drain(..).flat_map(|(.., piece)| piece).collect())
}
