//! Raw banks of a batch of events: the data of the readout boards, sorted by detector and source.

use super::bank_blocks::Sorted;
use super::{BadBanks, BankKind, Column, EventBanks, RawBank, RawEvents};
use crate::Status;

/// Raw banks of many events, owned.
///
/// | column | type | length | meaning |
/// |---|---|---|---|
/// | `words` | u32 | words | payloads, each beginning at a word, or whole records that contain the payloads |
/// | `banks` | [`RawBank`] | banks | raw banks, sorted by event, kind and source |
/// | `bank_start` | u32 | 4 * events + 1 | kind k of event e owns the banks `[bank_start[4 e + k], bank_start[4 e + k + 1])` |
/// | `event_id` | u64 | events | number of the event in its source |
/// | `status` | [`Status`] | events | an event that is not `Ok` is skipped, unless its undamaged banks are stored and requested |
/// | `is_kept` | bool | events | whether the undamaged banks of a failed event are stored, for [`BadBanks::Bank`] |
/// | `is_nominal` | bool | events | whether the event is marked as simulated with the nominal detector |
#[derive(Debug, Clone)]
pub struct RawBatch {
    pub(super) words: Column<u32>,
    pub(super) banks: Vec<RawBank>,
    pub(super) bank_start: Vec<u32>,
    pub(super) event_id: Vec<u64>,
    pub(super) status: Vec<Status>,
    pub(super) is_kept: Vec<bool>,
    pub(super) is_nominal: Vec<bool>,
    /// The event under construction.
    open: EventBanks,
    /// The first word of the banks of `open`.
    open_words: usize,
    /// Blocks of an event builder; the memory is kept from call to call of `push_blocks`.
    pub(super) blocks: Vec<Sorted>,
}

/// Number of bytes that are copied at once: a constant length needs no function call and no branch.
const CHUNK: usize = 64;

/// Alignment of the memory that `room` appends, in words: checksums of records are computed in steps of 16 bytes.
const ROOM_WORDS: usize = 4;

/// Copies `bytes` bytes of `from` to `words`, from the word `first` on, and pads the last word with zeros. May read later bytes of `from`, and
/// write all words before `limit`.
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
        zero_rest(&mut words[first + bytes / 4], bytes);
    }
}

/// Sets all but the first `bytes % 4` bytes of a word to zero.
#[inline(always)]
fn zero_rest(word: &mut u32, bytes: usize) {
    *word = u32::from_le(word.to_le() & ((1 << (8 * (bytes % 4))) - 1));
}

impl Default for RawBatch {
    fn default() -> Self {
        Self {
            words: Column::default(),
            banks: Vec::new(),
            bank_start: vec![0],
            event_id: Vec::new(),
            status: Vec::new(),
            is_kept: Vec::new(),
            is_nominal: Vec::new(),
            open: EventBanks::default(),
            open_words: 0,
            blocks: Vec::new(),
        }
    }
}

impl RawBatch {
    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.banks.clear();
        self.bank_start.truncate(1);
        self.event_id.clear();
        self.status.clear();
        self.is_kept.clear();
        self.is_nominal.clear();
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

    /// Returns the number of words of all payloads, or of the records that contain the payloads.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of each event in its source.
    pub fn event_ids(&self) -> &[u64] {
        &self.event_id
    }

    /// Returns the status of each event after reading.
    pub fn statuses(&self) -> &[Status] {
        &self.status
    }

    /// Records that a bank of the event under construction is damaged. The undamaged banks stay in the event, for
    /// [`BadBanks::Bank`]. The status of the first damage becomes the status of the event.
    pub fn damage(&mut self, status: Status) {
        self.open.damage(status);
    }

    /// Marks an event as simulated with the nominal detector.
    ///
    /// # Panics
    /// Panics if `event >= len()`.
    pub fn set_nominal(&mut self, event: usize) {
        self.is_nominal[event] = true;
    }

    /// Marks the event under construction as simulated with the nominal detector.
    pub fn mark_nominal(&mut self) {
        self.open.mark_nominal();
    }

    /// Adds a bank to the event that the next [`close_event`](Self::close_event) ends. Returns
    /// [`Status::OversizedBank`] if the payload is longer than a bank can be (65,535 bytes).
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

    /// Adds a bank as [`push_bank`](Self::push_bank) does, from the first `bytes` bytes of `from`. The copy is faster
    /// if `from` goes on after the payload, because then whole chunks can be read.
    ///
    /// # Panics
    /// Panics if `from` has fewer than `bytes` bytes.
    pub fn push_first(
        &mut self,
        kind: BankKind,
        source: u16,
        version: u8,
        from: &[u8],
        bytes: u16,
    ) -> std::result::Result<(), Status> {
        let at = self.words.len();
        let first = u32::try_from(at).map_err(|_| Status::OversizedBank)?;
        if self.is_between_events() {
            self.open_words = at;
        }
        self.words.set_len(at + usize::from(bytes).div_ceil(4));
        // The padding after the words receives the bytes that are copied beyond the payload.
        let words = self.words.padded_mut();
        copy_payload(words, at, words.len(), from, bytes.into());
        self.open.push(kind, RawBank { first, bytes, source, version });
        Ok(())
    }

    /// Whether no event is under construction: no bank was added since the last event ended.
    pub(super) fn is_between_events(&self) -> bool {
        self.open.is_empty()
    }

    /// Ends the event: sorts its banks, and drops all banks of any board that sent several. Drops all banks of the
    /// event unless `status` is `Ok` or `Partial`. Returns the status of the event.
    pub fn close_event(&mut self, event_id: u64, status: Status) -> Status {
        let begin = if self.is_between_events() { self.words.len() } else { self.open_words };
        let mut event = std::mem::take(&mut self.open);
        let status = event.close(status);
        if status != Status::Ok && !event.is_kept {
            self.words.set_len(begin);
        }
        self.append(event_id, &event);
        event.clear();
        self.open = event;
        status
    }

    /// Appends a [closed](EventBanks::close) event, whose payloads lie in the words of this batch.
    pub fn append(&mut self, event_id: u64, event: &EventBanks) {
        for banks in event.by_kind() {
            self.banks.extend_from_slice(banks);
            self.bank_start.push(self.banks.len() as u32);
        }
        self.event_id.push(event_id);
        self.status.push(event.status);
        self.is_kept.push(event.is_kept);
        self.is_nominal.push(event.is_nominal);
    }

    /// Appends copies of the events until the batch holds each event `copies` times, each time with separate words.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if 32 bits cannot count the words.
    pub fn repeat(&mut self, copies: usize) -> crate::Result<()> {
        let words = self.words.len().next_multiple_of(ROOM_WORDS);
        let (banks, starts, events) = (self.banks.len(), self.bank_start.len(), self.event_id.len());
        super::countable(copies, words)?;
        for copy in 1..copies {
            let first = copy * words;
            self.words.set_len(first + words);
            self.words.copy_within(..words, first);
            let shifted = |i: usize| RawBank { first: self.banks[i].first + first as u32, ..self.banks[i] };
            let more: Vec<_> = (0..banks).map(shifted).collect();
            self.banks.extend(more);
            let before = (copy * banks) as u32;
            // The leading 0 is not repeated: each further entry is the end of one list.
            self.bank_start.extend_from_within(1..starts);
            let new = self.bank_start.len() - (starts - 1);
            self.bank_start[new..].iter_mut().for_each(|start| *start += before);
            self.event_id.extend_from_within(..events);
            self.status.extend_from_within(..events);
            self.is_kept.extend_from_within(..events);
            self.is_nominal.extend_from_within(..events);
        }
        Ok(())
    }

    /// Appends undefined memory for `bytes` bytes to the words, at the next multiple of 16 bytes. Payloads can be read
    /// into the memory; [`EventBanks`] give their positions afterwards. Returns the index of the first word of the
    /// memory, and the memory as bytes; `None` if 32 bits cannot count the words.
    pub fn room(&mut self, bytes: usize) -> Option<(u32, &mut [u8])> {
        let first = self.words.len().next_multiple_of(ROOM_WORDS);
        let end = first + bytes.div_ceil(4);
        u32::try_from(end).ok()?;
        self.words.set_len(end);
        Some((first as u32, &mut bytemuck::cast_slice_mut(&mut self.words[first..end])[..bytes]))
    }

    /// Reserves memory for a total of `words` words.
    pub fn reserve_words(&mut self, words: usize) {
        self.words.reserve_total(words);
    }

    /// Removes the words from `first` on, the unused part of memory that [`room`](Self::room) returned.
    pub fn leave_room(&mut self, first: u32) {
        self.words.set_len(self.words.len().min(first as usize));
    }

    /// Returns the words of all payloads and of the memory from `room`.
    pub fn all_words(&self) -> &[u32] {
        &self.words
    }

    /// Pads the last word of a payload with zeros, as decoders require.
    pub fn fill_up(&mut self, bank: &RawBank) {
        let (first, bytes) = (bank.first as usize, usize::from(bank.bytes));
        if !bytes.is_multiple_of(4) {
            zero_rest(&mut self.words[first + bytes / 4], bytes);
        }
    }

    /// Borrows the banks of all events, the input of decoders.
    pub fn view(&self) -> RawEvents<'_> {
        RawEvents {
            words: self.words.padded(),
            banks: &self.banks,
            bank_start: &self.bank_start,
            status: &self.status,
            is_kept: &self.is_kept,
            is_nominal: &self.is_nominal,
            bad_banks: BadBanks::Event,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_the_same_banks() {
        let mut batch = RawBatch::default();
        for number in 0..3u8 {
            for source in 0..u16::from(number) {
                batch.push_bank(BankKind::Ut, source, 4, &[number, 7, source as u8]).unwrap();
            }
            batch.close_event(number.into(), if number == 1 { Status::Corrupt } else { Status::Ok });
        }
        // The status of an event, and the source, length and first word of each bank.
        let told = |batch: &RawBatch, number: usize| {
            let event = batch.view().event(number);
            let bank = |bank: &RawBank| (bank.source, bank.bytes, batch.all_words()[bank.first as usize]);
            (batch.status[number], event.banks(BankKind::Ut).iter().map(bank).collect::<Vec<_>>())
        };
        let before: Vec<_> = (0..3).map(|number| told(&batch, number)).collect();
        assert_eq!(before[2].1.len(), 2);
        batch.repeat(3).unwrap();
        assert_eq!((batch.view().len(), batch.event_ids()), (9, &[0, 1, 2, 0, 1, 2, 0, 1, 2][..]));
        (0..9).for_each(|number| assert_eq!(told(&batch, number), before[number % 3], "event {number}"));
        assert!(batch.repeat(usize::MAX).is_err());
    }

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
            // The earlier content of the memory must not appear in the words.
            batch.push_bank(BankKind::Ut, 0, 3, &[0xFF; 20_000]).unwrap();
            assert_eq!(batch.close_event(0, Status::DaqError), Status::DaqError);
            batch.clear();
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
        // A caller's status `Partial` does not hide the damage.
        for said in [Status::Ok, Status::Partial] {
            batch.push_bank(BankKind::Ut, 3, 3, &[1; 8]).unwrap();
            batch.push_bank(BankKind::Ut, 3, 3, &[2; 8]).unwrap();
            batch.push_bank(BankKind::Ut, 9, 3, &[3; 8]).unwrap();
            assert_eq!(batch.close_event(0, said), Status::DuplicateBank);
            assert!(!batch.view().event(0).has(BankKind::Ut));
            let rest = batch.view().with_bad_banks(BadBanks::Bank).event(0);
            assert_eq!((rest.status, rest.is_rest, rest.banks(BankKind::Ut).len()), (Status::Ok, true, 1));
            assert_eq!(rest.bytes(&rest.banks(BankKind::Ut)[0]), [3; 8]);
            batch.clear();
        }
        assert!(batch.is_empty() && batch.view().is_empty());
        assert_eq!(batch.close_event(0, Status::DuplicateBank), Status::DuplicateBank);
        assert_eq!(batch.push_bank(BankKind::Ut, 1, 3, &[0; 65536]), Err(Status::OversizedBank));
        batch.push_bank(BankKind::Ut, 1, 3, &[]).unwrap();
        assert_eq!(batch.close_event(1, Status::DaqError), Status::DaqError);
        assert_eq!(batch.statuses(), [Status::DuplicateBank, Status::DaqError]);
        batch.damage(Status::DaqError);
        batch.push_bank(BankKind::Ut, 1, 3, &[5; 4]).unwrap();
        batch.mark_nominal();
        assert_eq!(batch.close_event(2, Status::Ok), Status::DaqError);
        let rest = batch.view().with_bad_banks(BadBanks::Bank);
        assert_eq!(rest.event(2).banks(BankKind::Ut).len(), 1);
        assert_eq!((rest.is_nominal(0), rest.is_nominal(2), rest.lacks_nominal(2)), (false, true, false));
    }
}
