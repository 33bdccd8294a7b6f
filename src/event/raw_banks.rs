//! Raw banks of a batch of events: what the readout boards sent, sorted by detector and source.

use super::Column;
use crate::Status;

/// Kinds of raw banks that hits are decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum BankKind {
    /// Velo superpixels (bank type 63).
    VeloSuperpixel = 0,
    /// Velo clusters made in the readout (bank type 73).
    VeloRetina = 1,
    /// UT (bank type 66).
    Ut = 2,
    /// SciFi (bank type 64).
    SciFi = 3,
}

impl BankKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [BankKind; 4] =
        [BankKind::VeloSuperpixel, BankKind::VeloRetina, BankKind::Ut, BankKind::SciFi];

    /// The number of this kind in raw bank headers.
    pub const fn code(self) -> u8 {
        match self {
            Self::VeloSuperpixel => 63,
            Self::VeloRetina => 73,
            Self::Ut => 66,
            Self::SciFi => 64,
        }
    }

    /// The kind with this number in raw bank headers.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Where a bank stands among those of its kind: the order of what it reads out.
    fn rank(self, version: u8, source: u16) -> u16 {
        match (self, version) {
            // The upper bits say on which side of the beam the sensors stand.
            (Self::VeloRetina, 4) => source & 0x1FF,
            // Several numbers stand for one board; that of a board which cannot be comes last.
            (Self::Ut, 4) if source >> 11 != 0 => (2 * (source & 0xFF) + (source >> 10 & 1)).wrapping_sub(2),
            _ => source,
        }
    }
}

/// One raw bank: where its payload lies, and who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawBank {
    /// First word of the payload in the batch's words (no unit).
    pub first: u32,
    /// Length of the payload in bytes; the last word is filled up with zeros (no unit).
    pub bytes: u16,
    /// Number of the readout board (no unit).
    pub source: u16,
    /// Version of the encoding (no unit).
    pub version: u8,
}

/// Raw banks of many events, owned.
///
/// | column | type | length | meaning |
/// |---|---|---|---|
/// | `words` | u32 | words | payloads, each beginning at a word of its own |
/// | `banks` | [`RawBank`] | banks | by event, kind, source |
/// | `bank_start` | u32 | 4 * events + 1 | kind k of event e owns the banks `[bank_start[4 e + k], bank_start[4 e + k + 1])` |
/// | `event_id` | u64 | events | number of the event in its source |
/// | `status` | [`Status`] | events | anything but `Ok`: the event has no banks here and is skipped |
#[derive(Debug, Clone)]
pub struct RawBatch {
    words: Column<u32>,
    banks: Vec<RawBank>,
    bank_start: Vec<u32>,
    event_id: Vec<u64>,
    status: Vec<Status>,
    /// Banks of the event being put in.
    open: Vec<(BankKind, RawBank)>,
}

impl Default for RawBatch {
    fn default() -> Self {
        Self {
            words: Column::default(),
            banks: Vec::new(),
            bank_start: vec![0],
            event_id: Vec::new(),
            status: Vec::new(),
            open: Vec::new(),
        }
    }
}

impl RawBatch {
    /// Removes all events and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.banks.clear();
        self.bank_start.truncate(1);
        self.event_id.clear();
        self.status.clear();
        self.open.clear();
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Words of all payloads.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Numbers of the events in their source.
    pub fn event_ids(&self) -> &[u64] {
        &self.event_id
    }

    /// What became of the events when they were read.
    pub fn statuses(&self) -> &[Status] {
        &self.status
    }

    /// Adds a bank to the event that [`close_event`](Self::close_event) will end. A payload longer than
    /// a bank can be (65,535 bytes) is refused with [`Status::OversizedBank`].
    pub fn push_bank(
        &mut self,
        kind: BankKind,
        source: u16,
        version: u8,
        payload: &[u8],
    ) -> std::result::Result<(), Status> {
        let bytes = u16::try_from(payload.len()).map_err(|_| Status::OversizedBank)?;
        let first = self.words.len();
        let end = first + payload.len().div_ceil(4);
        let first_word = u32::try_from(first).map_err(|_| Status::OversizedBank)?;
        self.words.set_len(end);
        if end > first {
            self.words[end - 1] = 0;
        }
        bytemuck::cast_slice_mut(&mut self.words[first..])[..payload.len()].copy_from_slice(payload);
        self.open.push((kind, RawBank { first: first_word, bytes, source, version }));
        Ok(())
    }

    /// Ends the event: sorts its banks, and drops them all when `status` is not `Ok` or one of them came
    /// twice. Returns what became of the event.
    pub fn close_event(&mut self, event_id: u64, status: Status) -> Status {
        let key = |(kind, bank): &(BankKind, RawBank)| (*kind as usize, kind.rank(bank.version, bank.source));
        self.open.sort_unstable_by_key(|entry| (key(entry), entry.1.first));
        let twice = self.open.windows(2).any(|pair| key(&pair[0]) == key(&pair[1]));
        let status = if status == Status::Ok && twice { Status::DuplicateBank } else { status };
        if status != Status::Ok {
            let first = self.open.iter().map(|(_, bank)| bank.first as usize).min();
            self.words.set_len(first.unwrap_or(self.words.len()));
            self.open.clear();
        }
        for kind in BankKind::ALL {
            self.banks.extend(self.open.iter().filter(|(of, _)| *of == kind).map(|(_, bank)| bank));
            self.bank_start.push(self.banks.len() as u32);
        }
        self.open.clear();
        self.event_id.push(event_id);
        self.status.push(status);
        status
    }

    /// Takes the last event out again, which must be one that failed.
    ///
    /// # Panics
    /// When there is no event, or the last one has banks.
    pub fn drop_failed(&mut self) {
        let status = self.status.pop().expect("an event");
        assert!(status != Status::Ok, "the last event did not fail");
        self.event_id.pop();
        self.bank_start.truncate(self.bank_start.len() - BankKind::ALL.len());
    }

    /// The borrowed banks of all events, which is what the decoders take.
    pub fn view(&self) -> RawEvents<'_> {
        RawEvents {
            words: self.words.padded(),
            banks: &self.banks,
            bank_start: &self.bank_start,
            status: &self.status,
        }
    }
}

/// Raw banks of many events, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct RawEvents<'a> {
    words: &'a [u32],
    banks: &'a [RawBank],
    bank_start: &'a [u32],
    status: &'a [Status],
}

impl<'a> RawEvents<'a> {
    /// Bytes of the banks of one kind, which may differ from event to event.
    pub fn bank_bytes(&self, kind: impl Fn(&RawEvent<'_>) -> BankKind) -> u64 {
        let of_event = |number: usize| -> u64 {
            let event = self.event(number);
            event.banks(kind(&event)).iter().map(|bank| u64::from(bank.bytes)).sum()
        };
        (0..self.len()).map(of_event).sum()
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// One event.
    ///
    /// # Panics
    /// When `event >= len()`.
    #[inline]
    pub fn event(&self, event: usize) -> RawEvent<'a> {
        let at = BankKind::ALL.len() * event;
        RawEvent {
            words: self.words,
            banks: self.banks,
            bank_start: &self.bank_start[at..=at + BankKind::ALL.len()],
            status: self.status[event],
        }
    }
}

/// Raw banks of one event.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a> {
    words: &'a [u32],
    banks: &'a [RawBank],
    bank_start: &'a [u32],
    /// What became of the event when it was read (no unit).
    pub status: Status,
}

impl<'a> RawEvent<'a> {
    /// The banks of one kind, by source.
    #[inline(always)]
    pub fn banks(&self, kind: BankKind) -> &'a [RawBank] {
        &self.banks[self.bank_start[kind as usize] as usize..self.bank_start[kind as usize + 1] as usize]
    }

    /// Whether there is any bank of this kind.
    pub fn has(&self, kind: BankKind) -> bool {
        !self.banks(kind).is_empty()
    }

    /// The payload of a bank of this event as words, the last one filled up with zeros.
    #[inline(always)]
    pub fn words(&self, bank: &RawBank) -> &'a [u32] {
        &self.words[bank.first as usize..][..(bank.bytes as usize).div_ceil(4)]
    }

    /// The words from a bank's first one on, through the banks behind it and the padding of the batch.
    #[inline(always)]
    pub fn words_from(&self, bank: &RawBank) -> &'a [u32] {
        &self.words[bank.first as usize..]
    }

    /// The payload of a bank of this event.
    pub fn bytes(&self, bank: &RawBank) -> &'a [u8] {
        &bytemuck::cast_slice(self.words(bank))[..bank.bytes as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_are_sorted_by_kind_and_source() {
        let mut batch = RawBatch::default();
        for (kind, source) in
            [(BankKind::Ut, 3), (BankKind::VeloRetina, 9), (BankKind::Ut, 1), (BankKind::SciFi, 0)]
        {
            batch.push_bank(kind, source, 3, &[source as u8, 1, 2, 3, 4]).unwrap();
        }
        assert_eq!(batch.close_event(7, Status::Ok), Status::Ok);
        let event = batch.view().event(0);
        let sources: Vec<_> = event.banks(BankKind::Ut).iter().map(|bank| bank.source).collect();
        assert_eq!(sources, [1, 3]);
        assert_eq!(event.bytes(&event.banks(BankKind::VeloRetina)[0]), [9, 1, 2, 3, 4]);
        assert_eq!(event.words(&event.banks(BankKind::VeloRetina)[0])[1], 4, "filled up with zeros");
        assert!(!event.has(BankKind::VeloSuperpixel) && event.has(BankKind::SciFi));
    }

    #[test]
    fn an_event_that_failed_leaves_nothing() {
        let mut batch = RawBatch::default();
        batch.push_bank(BankKind::Ut, 3, 3, &[1; 8]).unwrap();
        batch.push_bank(BankKind::Ut, 3, 3, &[2; 8]).unwrap();
        assert_eq!(batch.close_event(0, Status::Ok), Status::DuplicateBank);
        assert_eq!((batch.words(), batch.len()), (0, 1));
        assert!(!batch.view().event(0).has(BankKind::Ut));
        assert_eq!(batch.push_bank(BankKind::Ut, 1, 3, &[0; 65536]), Err(Status::OversizedBank));
        batch.push_bank(BankKind::Ut, 1, 3, &[]).unwrap();
        assert_eq!(batch.close_event(1, Status::DaqError), Status::DaqError);
        assert_eq!(batch.statuses(), [Status::DuplicateBank, Status::DaqError]);
        batch.drop_failed();
        assert_eq!(batch.statuses(), [Status::DuplicateBank]);
        batch.push_bank(BankKind::Ut, 1, 3, &[5; 4]).unwrap();
        assert_eq!(batch.close_event(2, Status::Ok), Status::Ok);
        assert_eq!(batch.view().event(1).banks(BankKind::Ut).len(), 1);
    }
}
