//! [`CutEvents`]: events of raw banks that were cut out of their inputs, to be parsed by any number of threads.
//!
//! ```text
//! words of a batch | record 0 | record 1 | record 2 | ...      cut: a jump an event, in the order of the input
//!                       |          |          |
//! pieces           | events 0, 1, ... | events 32, ... |       parse: checksums in lanes, lists of banks, truth
//! ```

use super::event_note::{EventNote, TruthJudge};
use super::mdf::{BEFORE_BODY, Record, checked, decompress, unpacked_size};
use super::problems::Problems;
use super::raw_event::OpenEvent;
use peloton::engine::Spread;
use peloton::event::RawBatch;
use peloton::lhcb::checksum::{Checksums, Span};
use peloton::simd::{Isa, Level};
use peloton::{Error, Result, Status};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest memory of an unpacked body that is kept for the next event, bytes: the size of a large event.
const KEPT_BODY: usize = 1 << 20;

/// Number of events of a piece: twice the most checksums that are computed at once.
const PIECE: usize = 32;

/// Rules for reading events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub truth: bool,
    pub strict: bool,
    pub only_nominal: bool,
    /// Whether the checksums of MDF records are verified.
    pub verify: bool,
    pub judge: TruthJudge,
}

/// Events that were cut from their inputs and not yet parsed; their bytes are in the words of a [`RawBatch`].
#[derive(Debug, Default)]
pub struct CutEvents {
    // Only the thread that has piece i locks entry i, so no thread waits. The mutex proves this to the compiler.
    pieces: Vec<Mutex<Piece>>,
    events: usize,
    /// Bytes of all compressed bodies after decompression.
    packed: usize,
    rules: Option<Rules>,
    /// Problems of the inputs between the events.
    problems: Problems,
}

#[derive(Debug, Default)]
struct Piece {
    events: Vec<CutEvent>,
    /// Records whose checksums must be compared; `of` are the indices of their events.
    spans: Vec<Span>,
    of: Vec<usize>,
    sums: Checksums,
}

/// An event and its origin.
#[derive(Debug, Default)]
struct CutEvent {
    number: usize,
    /// Name of the input in messages.
    input: Arc<str>,
    /// Folders that may contain the truth of the event.
    truth: [Option<Arc<Path>>; 2],
    /// First word and number of bytes of the record; none for an event whose banks were already added.
    record: Option<(u32, u32)>,
    event: OpenEvent,
    /// A decompressed body, to which the positions of banks refer.
    body: Vec<u8>,
    /// Error of the event that ends the job.
    error: Option<Error>,
}

/// Origin of an event.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    /// Name of the input in messages.
    pub input: Arc<str>,
    /// Folders that may contain the simulated truth of the event.
    pub truth: [Option<Arc<Path>>; 2],
}

impl CutEvents {
    /// Whether there are neither events nor problems of the inputs.
    pub fn is_empty(&self) -> bool {
        self.events == 0 && self.problems.count() == 0
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.events
    }

    /// Removes all events, sets the rules, and keeps the memory.
    pub(super) fn begin(&mut self, rules: Rules) {
        (self.events, self.packed) = (0, 0);
        self.rules = Some(rules);
        self.problems = Problems::default();
    }

    /// Sets the problems of the inputs.
    pub(super) fn note_problems(&mut self, problems: Problems) {
        self.problems = problems;
    }

    /// Adds an event without banks, which the caller fills.
    pub(super) fn add(&mut self, number: usize, origin: &Origin) -> &mut OpenEvent {
        &mut self.push(number, origin, None).event
    }

    /// Adds an event whose record is in the words of the batch.
    pub(super) fn add_record(&mut self, number: usize, origin: &Origin, at: (u32, u32), words: &[u32]) {
        let record = record(bytemuck::cast_slice(words), at.0, at.1);
        if record.is_compressed() {
            self.packed += unpacked_size(record.body());
        }
        self.push(number, origin, Some(at));
    }

    /// Largest number of words that the decompressed bodies of all events need.
    pub(super) fn packed_words(&self) -> usize {
        self.packed / 4
    }

    fn push(&mut self, number: usize, origin: &Origin, record: Option<(u32, u32)>) -> &mut CutEvent {
        let (piece, at) = (self.events / PIECE, self.events % PIECE);
        if self.pieces.len() == piece {
            self.pieces.push(Mutex::default());
        }
        self.events += 1;
        let piece = self.pieces[piece].get_mut().unwrap_or_else(PoisonError::into_inner);
        if piece.events.len() == at {
            piece.events.push(CutEvent::default());
        }
        let event = &mut piece.events[at];
        event.number = number;
        event.input.clone_from(&origin.input);
        event.truth.clone_from(&origin.truth);
        event.record = record;
        event.event.begin(self.rules.is_some_and(|rules| rules.truth));
        event.error = None;
        event
    }

    /// Number of events of a piece.
    fn piece_len(&self, piece: usize) -> usize {
        PIECE.min(self.events - piece * PIECE)
    }

    /// Parses the events on `threads`, and appends them in order to `batch`, which already holds their words. Also
    /// appends a note of each event to `notes`, and problems of the events to `problems`.
    ///
    /// # Errors
    /// Errors that end the job, see [`RawReader::read`](super::RawReader::read). Events before the error are appended.
    pub fn parse(
        &mut self,
        threads: &dyn Spread,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
        problems: &mut Problems,
    ) -> Result<()> {
        let Some(rules) = self.rules.take() else { return Ok(()) };
        let pieces = self.events.div_ceil(PIECE);
        threads.spread(pieces, &|number| {
            let mut piece = self.pieces[number].lock().unwrap_or_else(PoisonError::into_inner);
            piece.parse(self.piece_len(number), batch.all_words(), rules);
        });
        let mut told = std::mem::take(&mut self.problems);
        for number in 0..pieces {
            let length = self.piece_len(number);
            let piece = self.pieces[number].get_mut().unwrap_or_else(PoisonError::into_inner);
            for event in &mut piece.events[..length] {
                told.move_before(event.number, problems);
                event.finish(rules, batch, notes, problems)?;
            }
        }
        told.move_before(usize::MAX, problems);
        Ok(())
    }
}

impl Piece {
    fn parse(&mut self, events: usize, words: &[u32], rules: Rules) {
        let Self { events: all, spans, of, sums } = self;
        let (events, bytes): (_, &[u8]) = (&mut all[..events], bytemuck::cast_slice(words));
        spans.clear();
        of.clear();
        // Spans count from the first record, so that their positions are small.
        let base = events.iter().filter_map(|event| event.record).map(|(first, _)| first).min();
        let base = base.unwrap_or(0);
        for (at, event) in events.iter().enumerate().filter(|_| rules.verify) {
            if let Some((first, length)) = event.record
                && record(bytes, first, length).sum() != 0
            {
                spans.push(checked(first - base, length));
                of.push(at);
            }
        }
        // All levels give the same checksums, so the best one is used, independent of the level chosen for the events.
        let level = match Level::choose(Some(Isa::best()), None) {
            Ok(level) => level,
            Err(error) => return events[0].error = Some(error),
        };
        for (at, sum) in of.iter().zip(sums.of(level, &words[base as usize..], spans)) {
            let event = &mut events[*at];
            let is_intact =
                event.record.is_some_and(|(first, length)| record(bytes, first, length).sum() == *sum);
            if !is_intact {
                event.event.fail(Status::BadChecksum, "wrong checksum");
            }
        }
        events.iter_mut().for_each(|event| event.parse(bytes, rules));
    }
}

/// The record at this position in the words of the batch.
fn record(bytes: &[u8], first: u32, length: u32) -> Record<'_> {
    Record(&bytes[4 * first as usize..][..length as usize])
}

impl CutEvent {
    fn parse(&mut self, bytes: &[u8], rules: Rules) {
        self.body.clear();
        self.body.shrink_to(KEPT_BODY);
        let event = &mut self.event;
        if let Some((first, length)) = self.record
            && event.status == Status::Ok
        {
            let record = record(bytes, first, length);
            event.note.run = Some(record.header().run).filter(|run| *run != 0);
            if !record.is_compressed() {
                event.take_banks(record.body(), first + BEFORE_BODY as u32 / 4);
            } else {
                match decompress(record.body(), &mut self.body) {
                    Ok(()) => event.take_banks(&self.body, 0),
                    Err(e) => {
                        self.body.clear();
                        event.fail(Status::Corrupt, &format!("cannot be decompressed: {e}"));
                    }
                }
            }
        }
        let (input, number) = (&self.input, self.number);
        let folders = self.truth.iter().flatten().map(|folder| PathBuf::from(&**folder));
        self.error = event.find_truth(|| place(input, number), folders, rules.judge).err();
        event.close();
    }

    /// Appends the event to the batch.
    fn finish(
        &mut self,
        rules: Rules,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
        problems: &mut Problems,
    ) -> Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let event = &mut self.event;
        if !self.body.is_empty() {
            let too_many = || Error::Internal("too many words of raw banks in one batch".into());
            let (first, room) = batch.room(self.body.len()).ok_or_else(too_many)?;
            room.copy_from_slice(&self.body);
            event.move_by(first);
        }
        let status = event.banks.status();
        if rules.only_nominal && event.banks.lacks_nominal() {
            let message = "the raw banks are not marked as simulated with the nominal detector: name the folder of their detector's geometry files with --geometry, or decode the banks with the nominal geometry anyway by --geometry nominal-forced";
            let place = place(&self.input, self.number);
            return Err(Error::Config(format!("--geometry nominal: {place}: {message}")));
        }
        if status != Status::Ok {
            let place = place(&self.input, self.number);
            if rules.strict {
                return Err(Error::format(place, event.why()));
            }
            problems.add(format!("{place}: {}", event.why()));
        }
        event.ragged.iter().for_each(|bank| batch.fill_up(bank));
        batch.append(self.number as u64, &event.banks);
        notes.push(std::mem::take(&mut event.note));
        Ok(())
    }
}

/// Name of an event in messages.
fn place(input: &str, number: usize) -> String {
    format!("{input} (event {number})")
}
