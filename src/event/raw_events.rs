//! [`RawEvents`] and [`RawEvent`]: raw banks as input of decoders.

use super::{BadBanks, BankKind, RawBank};
use crate::Status;

/// Raw banks of many events, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct RawEvents<'a> {
    pub(super) words: &'a [u32],
    pub(super) banks: &'a [RawBank],
    pub(super) bank_start: &'a [u32],
    pub(super) status: &'a [Status],
    pub(super) is_kept: &'a [bool],
    pub(super) is_nominal: &'a [bool],
    pub(super) bad_banks: BadBanks,
}

impl<'a> RawEvents<'a> {
    /// Sets the policy for damaged banks.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }

    /// Returns whether an event has banks and is not marked as simulated with the nominal detector.
    ///
    /// # Panics
    /// Panics if `event >= len()`.
    pub fn lacks_nominal(&self, event: usize) -> bool {
        let kinds = BankKind::ALL.len();
        !self.is_nominal[event] && self.bank_start[kinds * event] < self.bank_start[kinds * (event + 1)]
    }

    /// Whether the event is marked as simulated with the nominal detector.
    ///
    /// # Panics
    /// Panics if `event >= len()`.
    pub fn is_nominal(&self, event: usize) -> bool {
        self.is_nominal[event]
    }

    /// Returns the size of the banks of one kind in all events, bytes; `kind` chooses the kind for each event.
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
    /// Panics if `event >= len()`.
    #[inline]
    pub fn event(&self, event: usize) -> RawEvent<'a> {
        let at = BankKind::ALL.len() * event;
        // An event that its reader marked as partial is partial under both policies.
        let is_wanted = self.bad_banks == BadBanks::Bank || self.status[event] == Status::Partial;
        let is_rest = self.is_kept[event] && is_wanted;
        let status = if is_rest { Status::Ok } else { self.status[event] };
        // An event that failed shows no banks, so that they are not mistaken for the banks of a complete event.
        let bank_start = match status {
            Status::Ok => &self.bank_start[at..=at + BankKind::ALL.len()],
            _ => &NO_BANKS,
        };
        let bad_banks = self.bad_banks;
        RawEvent { words: self.words, banks: self.banks, bank_start, status, is_rest, bad_banks }
    }
}

/// Starts of the banks of an event that has none.
const NO_BANKS: [u32; BankKind::ALL.len() + 1] = [0; BankKind::ALL.len() + 1];

/// Raw banks of one event.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a> {
    words: &'a [u32],
    banks: &'a [RawBank],
    bank_start: &'a [u32],
    /// Status of the event after reading (no unit).
    pub status: Status,
    /// Whether the event is reconstructed without banks that were damaged or missing when it was read (no unit).
    pub is_rest: bool,
    /// Policy for a damaged bank (no unit).
    pub bad_banks: BadBanks,
}

impl<'a> RawEvent<'a> {
    /// Returns the event with only `banks`, all of kind `kind`. Writes the offsets of the banks to `bank_start`.
    pub fn with_banks<'b>(
        &self,
        kind: BankKind,
        banks: &'b [RawBank],
        bank_start: &'b mut [u32; BankKind::ALL.len() + 1],
    ) -> RawEvent<'b>
    where
        'a: 'b,
    {
        bank_start[..=kind as usize].fill(0);
        bank_start[kind as usize + 1..].fill(banks.len() as u32);
        RawEvent { banks, bank_start, ..*self }
    }

    /// Returns the banks of one kind, sorted by source.
    #[inline(always)]
    pub fn banks(&self, kind: BankKind) -> &'a [RawBank] {
        &self.banks[self.bank_start[kind as usize] as usize..self.bank_start[kind as usize + 1] as usize]
    }

    /// Returns whether the event has a bank of this kind.
    pub fn has(&self, kind: BankKind) -> bool {
        !self.banks(kind).is_empty()
    }

    /// Returns the payload of a bank of this event as words; the last word is padded with zeros.
    #[inline(always)]
    pub fn words(&self, bank: &RawBank) -> &'a [u32] {
        &self.words[bank.first as usize..][..(bank.bytes as usize).div_ceil(4)]
    }

    /// Returns the words of the batch from the first word of a bank to the end of the padding.
    #[inline(always)]
    pub fn words_from(&self, bank: &RawBank) -> &'a [u32] {
        &self.words[bank.first as usize..]
    }

    /// Returns the payload of a bank of this event.
    pub fn bytes(&self, bank: &RawBank) -> &'a [u8] {
        &bytemuck::cast_slice(self.words(bank))[..bank.bytes as usize]
    }
}
