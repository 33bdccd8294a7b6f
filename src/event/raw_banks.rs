//! Raw banks of a batch of events: what the readout boards sent, sorted by detector and source.

use super::Column;
use super::bank_blocks::Sorted;
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

    /// Where a bank stands among those of an event: by kind, then in the order of what it reads out.
    pub(super) fn key(self, version: u8, source: u16) -> u32 {
        let rank = match (self, version) {
            // The upper bits say on which side of the beam the sensors stand.
            (Self::VeloRetina, 4) => source & 0x1FF,
            // Several numbers stand for one board; that of a board which cannot be comes last.
            (Self::Ut, 4) if source >> 11 != 0 => (2 * (source & 0xFF) + (source >> 10 & 1)).wrapping_sub(2),
            _ => source,
        };
        (self as u32) << 16 | u32::from(rank)
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
    pub(super) words: Column<u32>,
    pub(super) banks: Vec<RawBank>,
    pub(super) bank_start: Vec<u32>,
    pub(super) event_id: Vec<u64>,
    pub(super) status: Vec<Status>,
    /// Banks of the event being put in, with their keys.
    pub(super) open: Vec<(u32, RawBank)>,
    /// Whether the keys rise from bank to bank: the usual order, in which nothing needs to be sorted.
    rises: bool,
    /// Blocks of an event builder, as they are put in.
    pub(super) blocks: Vec<Sorted>,
}

/// Bytes that are copied at once: a length that the compiler knows costs no call and no branch on it.
const CHUNK: usize = 64;

/// Copies the first `bytes` of `from` to the word `first`, and fills the last word up with zeros. What lies behind them in `from`
/// may be read, and words before `limit` written.
#[inline(always)]
pub(super) fn copy_payload(words: &mut [u32], first: usize, limit: usize, from: &[u8], bytes: usize) {
    let to: &mut [u8] = bytemuck::cast_slice_mut(&mut words[first..limit]);
    let chunks = bytes.div_ceil(CHUNK) * CHUNK;
    if chunks <= from.len() && chunks <= to.len() {
        for (to, from) in to.chunks_exact_mut(CHUNK).zip(from[..chunks].chunks_exact(CHUNK)) {
            to.copy_from_slice(from);
        }
    } else {
        to[..bytes].copy_from_slice(&from[..bytes]);
    }
    if !bytes.is_multiple_of(4) {
        let last = &mut words[first + bytes / 4];
        *last = u32::from_le(last.to_le() & ((1 << (8 * (bytes % 4))) - 1));
    }
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
            rises: true,
            blocks: Vec::new(),
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
        self.drop_open();
    }

    fn drop_open(&mut self) {
        self.open.clear();
        self.rises = true;
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
        self.push_first(kind, source, version, payload, bytes)
    }

    /// As [`push_bank`](Self::push_bank), of the first bytes of `from`; what lies behind them may be read, which is faster
    /// than to stop at their end.
    ///
    /// # Panics
    /// When `from` has fewer bytes.
    pub fn push_first(
        &mut self,
        kind: BankKind,
        source: u16,
        version: u8,
        from: &[u8],
        bytes: u16,
    ) -> std::result::Result<(), Status> {
        let first = self.words.len();
        let first_word = u32::try_from(first).map_err(|_| Status::OversizedBank)?;
        self.words.set_len(first + usize::from(bytes).div_ceil(4));
        // The padding behind the words takes what is copied too much.
        let words = self.words.padded_mut();
        copy_payload(words, first, words.len(), from, bytes.into());
        let key = kind.key(version, source);
        self.rises &= self.open.last().is_none_or(|(last, _)| *last < key);
        self.open.push((key, RawBank { first: first_word, bytes, source, version }));
        Ok(())
    }

    /// Ends the event: sorts its banks, and drops them all when `status` is not `Ok` or one of them came
    /// twice. Returns what became of the event.
    pub fn close_event(&mut self, event_id: u64, status: Status) -> Status {
        let mut twice = false;
        if !self.rises {
            self.open.sort_unstable_by_key(|(key, bank)| (*key, bank.first));
            twice = self.open.windows(2).any(|pair| pair[0].0 == pair[1].0);
        }
        let status = if status == Status::Ok && twice { Status::DuplicateBank } else { status };
        if status != Status::Ok {
            let first = self.open.iter().map(|(_, bank)| bank.first as usize).min();
            self.words.set_len(first.unwrap_or(self.words.len()));
            self.drop_open();
        }
        let before = self.banks.len();
        self.banks.extend(self.open.iter().map(|(_, bank)| bank));
        for kind in BankKind::ALL {
            let end = self.open.partition_point(|(key, _)| *key >> 16 <= kind as u32);
            self.bank_start.push((before + end) as u32);
        }
        self.drop_open();
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
    fn banks_are_the_same_in_any_order_and_from_longer_bytes() {
        let from: Vec<u8> = (0..4000u32).map(|i| (i % 251 + 1) as u8).collect();
        let lengths = [0u16, 1, 2, 3, 4, 5, 60, 63, 64, 65, 127, 128, 130, 3999, 4000];
        let fill = |numbers: &[u16], exact: bool| {
            let mut batch = RawBatch::default();
            // What lay in the memory before must not shine through.
            batch.push_bank(BankKind::Ut, 0, 3, &[0xFF; 20_000]).unwrap();
            assert_eq!(batch.close_event(0, Status::DaqError), Status::DaqError);
            batch.drop_failed();
            for number in numbers {
                let bytes = lengths[usize::from(*number)];
                let kind = if number % 2 == 0 { BankKind::Ut } else { BankKind::VeloRetina };
                let from = if exact { &from[..usize::from(bytes)] } else { &from[..] };
                batch.push_first(kind, *number, 3, from, bytes).unwrap();
            }
            assert_eq!(batch.close_event(1, Status::Ok), Status::Ok);
            batch
        };
        let numbers: Vec<u16> = (0..lengths.len() as u16).collect();
        let (odd, even): (Vec<u16>, Vec<u16>) = numbers.iter().partition(|number| *number % 2 == 1);
        let mut backwards = numbers.clone();
        backwards.reverse();
        for order in [&[&odd[..], &even].concat(), &numbers, &backwards] {
            for exact in [true, false] {
                let batch = fill(order, exact);
                let event = batch.view().event(0);
                for (kind, expected) in [(BankKind::VeloRetina, &odd), (BankKind::Ut, &even)] {
                    let banks = event.banks(kind);
                    assert_eq!(&banks.iter().map(|bank| bank.source).collect::<Vec<_>>(), expected);
                    for bank in banks {
                        let bytes = usize::from(lengths[usize::from(bank.source)]);
                        assert_eq!(event.bytes(bank), &from[..bytes]);
                        let words = bytemuck::cast_slice::<u32, u8>(event.words(bank));
                        assert!(words[bytes..].iter().all(|byte| *byte == 0), "{bytes} bytes");
                    }
                }
                assert!(!event.has(BankKind::SciFi) && !event.has(BankKind::VeloSuperpixel));
            }
        }
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
