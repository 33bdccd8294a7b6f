//! [`EventBanks`]: the raw banks of one event under construction.

use super::{BankKind, RawBank};
use crate::Status;

/// Raw banks of one event under construction: the positions of the payloads in the words of a
/// [`RawBatch`](super::RawBatch). [`close`](Self::close) ends the event; [`RawBatch::append`](super::RawBatch::append)
/// adds the event to the batch. Events of one batch can be built in parallel, on any thread.
#[derive(Debug, Clone)]
pub struct EventBanks {
    /// The banks of each kind, in the order of [`BankKind::ALL`].
    kinds: [Kind; BankKind::ALL.len()],
    /// The first damage that does not concern all banks of the event.
    damage: Option<Status>,
    /// Whether the event is marked as simulated with the nominal detector.
    pub(super) is_nominal: bool,
    /// Whether the undamaged banks are kept although the event failed.
    pub(super) is_kept: bool,
    /// Status of the event, once it is closed.
    pub(super) status: Status,
}

/// Banks of one kind.
#[derive(Debug, Clone)]
struct Kind {
    banks: Vec<RawBank>,
    /// Number of the board of the last bank.
    last: Option<u16>,
    /// Whether the numbers of the boards rise from bank to bank. They usually do, and then nothing needs to be sorted.
    rises: bool,
}

impl Default for Kind {
    fn default() -> Self {
        Self { banks: Vec::new(), last: None, rises: true }
    }
}

impl Default for EventBanks {
    fn default() -> Self {
        Self {
            kinds: Default::default(),
            damage: None,
            is_nominal: false,
            is_kept: false,
            status: Status::Ok,
        }
    }
}

impl EventBanks {
    /// Removes all banks and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.kinds.iter_mut().for_each(Kind::clear);
        (self.damage, self.is_nominal, self.is_kept, self.status) = (None, false, false, Status::Ok);
    }

    /// Returns whether the event has no bank.
    pub fn is_empty(&self) -> bool {
        self.kinds.iter().all(|kind| kind.banks.is_empty())
    }

    /// The banks of each kind.
    pub(super) fn by_kind(&self) -> impl Iterator<Item = &[RawBank]> {
        self.kinds.iter().map(|kind| &kind.banks[..])
    }

    /// Adds a bank.
    #[inline]
    pub fn push(&mut self, kind: BankKind, bank: RawBank) {
        let board = kind.board(bank.version, bank.source);
        let of = &mut self.kinds[kind as usize];
        of.rises &= of.last < Some(board);
        of.last = Some(board);
        of.banks.push(bank);
    }

    /// Moves the positions of all payloads by `words` words.
    pub fn move_by(&mut self, words: u32) {
        let banks = self.kinds.iter_mut().flat_map(|kind| &mut kind.banks);
        banks.for_each(|bank| bank.first += words);
    }

    /// Records that a bank of the event is damaged. The undamaged banks stay in the event, for
    /// [`BadBanks::Bank`](super::BadBanks::Bank). The status of the first damage becomes the status of the event.
    pub fn damage(&mut self, status: Status) {
        self.damage.get_or_insert(status);
    }

    /// Marks the event as simulated with the nominal detector.
    pub fn mark_nominal(&mut self) {
        self.is_nominal = true;
    }

    /// Returns the status of the event, after it was [closed](Self::close).
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns whether the [closed](Self::close) event has banks and is not marked as simulated with the nominal
    /// detector.
    pub fn lacks_nominal(&self) -> bool {
        !self.is_nominal && !self.is_empty()
    }

    /// Ends the event: sorts its banks, and drops all banks of any board that sent several. Drops all banks of the
    /// event unless `status` is `Ok` or `Partial`. Returns the status of the event.
    pub fn close(&mut self, mut status: Status) -> Status {
        let lacks_some = status == Status::Partial;
        if lacks_some {
            status = Status::Ok;
        }
        for kind in BankKind::ALL {
            let of = &mut self.kinds[kind as usize];
            if !of.rises && of.sort(kind) {
                self.damage.get_or_insert(Status::DuplicateBank);
            }
        }
        // Damage is worse than missing banks: an earlier damage remains the status.
        if lacks_some {
            self.damage(Status::Partial);
        }
        self.is_kept = status == Status::Ok && self.damage.is_some();
        if status != Status::Ok {
            self.kinds.iter_mut().for_each(Kind::clear);
        }
        self.status = if self.is_kept { self.damage.unwrap_or(status) } else { status };
        self.status
    }
}

impl Kind {
    fn clear(&mut self) {
        self.banks.clear();
        (self.last, self.rises) = (None, true);
    }

    /// Sorts the banks, and removes all banks of a board that sent several, because the correct one is not known.
    /// Returns whether any were removed.
    fn sort(&mut self, kind: BankKind) -> bool {
        let board = |bank: &RawBank| kind.board(bank.version, bank.source);
        self.banks.sort_unstable_by_key(|bank| (board(bank), bank.first));
        let before = self.banks.len();
        let mut kept = 0;
        let mut from = 0;
        while from < self.banks.len() {
            let key = board(&self.banks[from]);
            let end = from + self.banks[from..].partition_point(|other| board(other) == key);
            if end == from + 1 {
                self.banks[kept] = self.banks[from];
                kept += 1;
            }
            from = end;
        }
        self.banks.truncate(kept);
        kept < before
    }
}
