//! [`EventBatch`]: raw banks of events that a program passes in memory.

mod blocks;

use super::mdf::{bank_type, is_nominal, odin_numbers, whole_records};
use super::{EventId, EventNote, Format, RawReader, ReadOptions};
use peloton::Status;
use peloton::event::{BankKind, RawBatch};
use peloton::{Error, Result};
use std::io::Cursor;

/// Raw banks of events, and the numbers that identify each event.
#[derive(Debug, Default)]
pub struct EventBatch {
    raw: RawBatch,
    ids: Vec<EventId>,
    /// Data of the event under construction.
    open: Open,
    /// Position of the next payload of each block.
    offsets: Vec<usize>,
    notes: Vec<EventNote>,
}

/// The event under construction.
#[derive(Debug, Default)]
struct Open {
    /// Whether a bank of any type was added.
    begun: bool,
    run: Option<u32>,
    number: Option<u64>,
}

impl EventBatch {
    /// Removes all events; their memory is reused.
    pub fn clear(&mut self) {
        self.raw.clear();
        self.ids.clear();
        self.open = Open::default();
    }

    /// The raw banks of all complete events.
    pub fn raw(&self) -> &RawBatch {
        &self.raw
    }

    /// Whether an event has banks but is not closed: [`mdf`](Self::mdf) and [`blocks`](Self::blocks) then fail.
    pub fn is_open(&self) -> bool {
        self.open.begun
    }

    /// Numbers that identify the events.
    pub fn ids(&self) -> &[EventId] {
        &self.ids
    }

    /// Adds a raw bank to the event that the next [`close`](Self::close) ends; `kind` is the type in the bank's header.
    /// Banks of the supported detectors are stored. An error bank or an impossible payload sets the event's status; the
    /// ODIN bank sets the event's run and number. A bank like [`nominal_bank`](super::mdf::nominal_bank) marks the
    /// event as simulated with the nominal detector. Other banks are skipped.
    pub fn bank(&mut self, kind: u8, version: u8, source: u16, payload: &[u8]) {
        self.open.begun = true;
        match u16::try_from(payload.len()) {
            Ok(bytes) => self.first_bytes(kind, version, source, payload, bytes),
            Err(_) if BankKind::from_code(kind).is_some() => self.raw.damage(Status::OversizedBank),
            Err(_) => self.other_bank(kind, version, payload),
        }
    }

    /// Adds a raw bank whose payload is the first `bytes` bytes of `from`.
    fn first_bytes(&mut self, kind: u8, version: u8, source: u16, from: &[u8], bytes: u16) {
        let Some(kind) = BankKind::from_code(kind) else {
            return self.other_bank(kind, version, &from[..usize::from(bytes)]);
        };
        if let Err(status) = self.raw.push_first(kind, source, version, from, bytes) {
            self.raw.damage(status);
        }
    }

    /// Processes a bank from which no hits are decoded.
    fn other_bank(&mut self, kind: u8, version: u8, payload: &[u8]) {
        if kind == bank_type::ODIN {
            if let Some((run, number)) = odin_numbers(version, payload) {
                (self.open.run, self.open.number) = (Some(run), Some(number));
            }
        } else if bank_type::is_error(kind) {
            self.raw.damage(Status::DaqError);
        } else if is_nominal(kind, version, payload) {
            self.raw.mark_nominal();
        }
    }

    /// Ends the open event with the caller's `status`. Returns the final status, which also covers the event's banks.
    pub fn close(&mut self, event_id: u64, status: Status) -> Status {
        let Open { run, number, .. } = std::mem::take(&mut self.open);
        self.ids.push(EventId { number: event_id, run, event: number });
        self.raw.close_event(event_id, status)
    }

    /// Copies the events of the complete MDF records at the beginning of `bytes`. Returns the number of bytes read and
    /// the number of events; the remaining bytes are the beginning of an incomplete record.
    ///
    /// # Errors
    /// [`Error::Format`] when `bytes` contain no MDF record at all, [`Error::Columns`] while an event is open.
    pub fn mdf(&mut self, bytes: &[u8]) -> Result<(usize, usize)> {
        self.refuse_open()?;
        let used = whole_records(bytes);
        let options = ReadOptions { format: Format::Mdf, ..ReadOptions::default() };
        let mut reader = RawReader::from_stream("MDF bytes", Cursor::new(bytes[..used].to_vec()), options);
        if used == 0 {
            return Ok((0, 0));
        }
        let before = self.ids.len();
        self.notes.clear();
        loop {
            let read = reader.read(usize::MAX, &mut self.raw, &mut self.notes);
            let first = self.ids.len();
            let ids = self.notes.drain(..).zip(first as u64..);
            self.ids.extend(ids.map(|(note, number)| EventId { number, run: note.run, event: note.number }));
            if read? == 0 {
                break;
            }
        }
        Ok((used, self.ids.len() - before))
    }

    /// Fails while an event is open: complete events cannot be appended after its banks.
    fn refuse_open(&self) -> Result<()> {
        if self.is_open() {
            let text = "banks were given for an event that has not ended: close it, or clear the batch";
            return Err(Error::Columns(text.into()));
        }
        Ok(())
    }
}

/// The status with this number.
///
/// # Errors
/// [`Error::Config`] for unknown numbers.
pub fn known_status(code: u16) -> Result<Status> {
    let last = Status::ALL.len() - 1;
    let status = Status::ALL.get(usize::from(code)).copied();
    status.ok_or_else(|| Error::Config(format!("no status has the number {code}: use 0 to {last}")))
}
