//! Events with missing raw banks: finds boards that sent no bank, and decodes events without their damaged banks.

use crate::Status;
use crate::event::{BadBanks, BankKind, Outcome, Product, RawBank, RawEvent, ValuesMut};
use std::ops::Range;

/// Returns the boards in `boards`, a list in rising order, that sent no bank of this kind in an event.
pub fn absent<'a>(event: &RawEvent<'a>, kind: BankKind, boards: &'a [u16]) -> impl Iterator<Item = u16> + 'a {
    let mut banks =
        event.banks(kind).iter().map(move |bank| kind.board(bank.version, bank.source)).peekable();
    boards.iter().copied().filter(move |&board| {
        while banks.next_if(|&bank| bank < board).is_some() {}
        banks.next_if_eq(&board).is_none()
    })
}

/// Returns whether an event of the last call of a decoder with `salvage` was decoded without some banks of this kind:
/// banks were damaged, or boards sent none.
pub(crate) fn is_partial(
    event: &RawEvent<'_>,
    number: usize,
    salvage: &Salvage,
    (kind, boards): (BankKind, &[u16]),
) -> bool {
    event.is_rest || salvage.has(number) || lacks_any(event, kind, boards)
}

/// Returns whether an event lacks a bank of one of these boards. Most events have one bank of each board, in order,
/// which is checked fast.
fn lacks_any(event: &RawEvent<'_>, kind: BankKind, boards: &[u16]) -> bool {
    let banks = event.banks(kind);
    let is_whole =
        banks.len() == boards.len() && banks.iter().zip(boards).all(|(bank, board)| bank.source == *board);
    !is_whole && absent(event, kind, boards).next().is_some()
}

/// Returns the version that all banks of an event must have, which is the version of most of them; `None` if banks of
/// one event may have different versions.
pub fn only_version(kind: BankKind, banks: &[RawBank]) -> Option<u8> {
    if kind != BankKind::VeloRetina {
        return None;
    }
    let count = |version: u8| banks.iter().filter(|bank| bank.version == version).count();
    banks.iter().map(|bank| bank.version).max_by_key(|version| (count(*version), *version))
}

/// Sets the status [`Status::Partial`] for the events of `range`, which are the last events of `out`, if they are
/// [`Status::Ok`] and lack banks according to `is_partial`.
pub(crate) fn mark_partial<P: Product>(
    out: &mut Outcome<P>,
    range: Range<usize>,
    is_partial: impl Fn(usize) -> bool,
) {
    let mut marked = 0;
    out.results.for_each_column_mut(&mut |_, values| {
        let ValuesMut::Status(statuses) = values else { return };
        let first = statuses.len() - range.len();
        for (status, event) in statuses[first..].iter_mut().zip(range.clone()) {
            if *status == Status::Ok && is_partial(event) {
                *status = Status::Partial;
                marked += 1;
            }
        }
    });
    out.counters.count_partial(marked);
}

/// Memory for events without their damaged banks.
#[derive(Debug, Default)]
pub(crate) struct Salvage {
    banks: Vec<RawBank>,
    bank_start: [u32; BankKind::ALL.len() + 1],
    /// Events of the last call of a decoder that were decoded without some of their banks.
    events: Vec<usize>,
    /// Number of banks that were left out.
    left_out: u64,
}

impl Salvage {
    /// Forgets the events of the last call.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.left_out = 0;
    }

    /// Returns the number of banks that were left out in the last call.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns whether an event of the last call was decoded without some of its banks.
    pub(crate) fn has(&self, event: usize) -> bool {
        self.events.contains(&event)
    }

    /// Decodes an event without the banks that cannot be decoded alone, if the event's policy allows this and `status`,
    /// the status of the whole event, means a damaged bank. Returns the new status.
    #[cold]
    #[inline(never)]
    pub(crate) fn decode(
        &mut self,
        number: usize,
        event: &RawEvent<'_>,
        (kind, status): (BankKind, Status),
        decode: &mut dyn FnMut(&RawEvent<'_>) -> Status,
    ) -> Status {
        let is_of_bank = matches!(status, Status::TruncatedBank | Status::BadBank | Status::OversizedBank);
        if event.bad_banks != BadBanks::Bank || !is_of_bank {
            return status;
        }
        let Self { banks, bank_start, events, left_out } = self;
        let all = event.banks(kind);
        let version = only_version(kind, all);
        banks.clear();
        for bank in all.iter().filter(|bank| version.is_none_or(|version| bank.version == version)) {
            if decode(&event.with_banks(kind, std::slice::from_ref(bank), bank_start)) == Status::Ok {
                banks.push(*bank);
            }
        }
        if banks.is_empty() || banks.len() == all.len() {
            return status;
        }
        let decoded = decode(&event.with_banks(kind, banks, bank_start));
        if decoded == Status::Ok {
            events.push(number);
            *left_out += (all.len() - banks.len()) as u64;
        }
        decoded
    }
}
