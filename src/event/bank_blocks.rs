//! [`BankBlock`]: raw banks as an event builder sends them, sorted by source instead of by event, and their
//! conversion to a [`RawBatch`].

use super::raw_banks::copy_payload;
use super::{BankKind, RawBank, RawBatch};
use crate::Status;
use std::ops::Range;

/// The banks of one source in consecutive events. Bank i has the type `types[i]` and a payload of `sizes[i]` bytes.
#[derive(Debug, Clone, Copy)]
pub struct BankBlock<'a> {
    /// Number of the readout board (no unit).
    pub source: u16,
    /// Version of the encoding (no unit).
    pub version: u8,
    /// Alignment: payload i begins at the first multiple of `2^align_log2` bytes after payload i - 1 (no unit).
    pub align_log2: u8,
    /// Type of each bank, as in raw bank headers (no unit).
    pub types: &'a [u8],
    /// Length of each payload in bytes (no unit).
    pub sizes: &'a [u16],
    /// The payloads (no unit).
    pub payloads: &'a [u8],
}

impl BankBlock<'_> {
    /// Returns the byte range of a payload of `bytes` bytes if the previous payload ends at byte `end`. An empty
    /// payload begins at `end`, because there may be no padding before it. (`next_multiple_of` would need a division.)
    #[inline(always)]
    pub fn place(&self, end: usize, bytes: u16) -> Range<usize> {
        let below = if bytes == 0 { 0 } else { (1 << self.align_log2) - 1 };
        let start = (end + below) & !below;
        start..start + usize::from(bytes)
    }

    /// Returns whether all payloads lie within `payloads`. Callers must check this before they read a payload.
    pub fn adds_up(&self) -> bool {
        self.sizes.iter().fold(0, |end, &size| self.place(end, size).end) <= self.payloads.len()
    }

    /// Returns the kind of all banks; `None` if they have several types, or a type from which no hits are decoded.
    pub fn kind(&self) -> Option<BankKind> {
        let first = self.types.first()?;
        self.types.iter().all(|of| of == first).then(|| BankKind::from_code(*first))?
    }
}

/// Number of events that are assembled at once: the banks of one source are copied for all of them before the next source.
/// The number is small enough that the caches hold all positions written to.
const TILE: usize = 16;

impl RawBatch {
    /// Appends events. Each block with a [`kind`](BankBlock::kind) holds one bank of every event; blocks without a kind
    /// are skipped. Returns false and appends nothing if no block has a kind, if two blocks come from one board, if
    /// there are too many words for 32 bits, or if an event is under construction.
    ///
    /// # Panics
    /// Panics if a block has fewer sizes than there are events, or if its payloads extend beyond `payloads`.
    pub fn push_blocks(&mut self, blocks: &[BankBlock<'_>], event_ids: &[u64]) -> bool {
        let key = |(index, block): (usize, &BankBlock<'_>)| {
            Some(Sorted { key: block.kind()?.key(block.version, block.source), index, end: 0 })
        };
        let mut sorted = std::mem::take(&mut self.blocks);
        sorted.clear();
        sorted.extend(blocks.iter().enumerate().filter_map(key));
        sorted.sort_unstable_by_key(|of| of.key);
        let words = |of: &Sorted| blocks[of.index].sizes.iter().map(|size| words_of(*size)).sum::<usize>();
        let end = self.words.len() + sorted.iter().map(words).sum::<usize>();
        let fits = !sorted.is_empty() && u32::try_from(end).is_ok() && self.is_between_events();
        let fits = fits && sorted.windows(2).all(|pair| pair[0].key < pair[1].key);
        if fits {
            self.words.reserve_total(end);
            for (number, ids) in event_ids.chunks(TILE).enumerate() {
                self.push_tile(blocks, &mut sorted, number * TILE, ids);
            }
        }
        self.blocks = sorted;
        fits
    }

    /// Appends `ids.len()` events, beginning with event `first` of all blocks.
    fn push_tile(&mut self, blocks: &[BankBlock<'_>], sorted: &mut [Sorted], first: usize, ids: &[u64]) {
        // First word of the next payload of each event, and the end of the event's words.
        let (mut next, mut limit) = ([0; TILE], [0; TILE]);
        for of in &*sorted {
            let sizes = &blocks[of.index].sizes[first..first + ids.len()];
            limit.iter_mut().zip(sizes).for_each(|(words, size)| *words += words_of(*size));
        }
        let mut end = self.words.len();
        for (next, limit) in next.iter_mut().zip(&mut limit) {
            *next = end;
            end += *limit;
            *limit = end;
        }
        self.words.set_len(end);
        let (words, begin) = (self.words.padded_mut(), self.banks.len());
        self.banks
            .resize(begin + ids.len() * sorted.len(), RawBank { first: 0, bytes: 0, source: 0, version: 0 });
        let banks = &mut self.banks[begin..];
        let per_event = sorted.len();
        for (place, of) in sorted.iter_mut().enumerate() {
            let block = &blocks[of.index];
            let (source, version) = (block.source, block.version);
            for (event, bytes) in block.sizes[first..first + ids.len()].iter().copied().enumerate() {
                let payload = block.place(of.end, bytes);
                of.end = payload.end;
                let at = next[event];
                copy_payload(words, at, limit[event], &block.payloads[payload.start..], bytes.into());
                next[event] = at + words_of(bytes);
                banks[event * per_event + place] = RawBank { first: at as u32, bytes, source, version };
            }
        }
        let ends = BankKind::ALL.map(|kind| sorted.partition_point(|of| of.key >> 16 <= kind as u32));
        for (event, id) in ids.iter().enumerate() {
            self.bank_start.extend(ends.map(|end| (begin + event * per_event + end) as u32));
            self.event_id.push(*id);
            self.status.push(Status::Ok);
            self.is_kept.push(false);
            self.is_nominal.push(false);
        }
    }
}

/// A block with its key, by which blocks are sorted into the order of the banks within an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sorted {
    key: u32,
    index: usize,
    /// End of the last payload copied from the block.
    end: usize,
}

fn words_of(bytes: u16) -> usize {
    usize::from(bytes).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_the_events_that_their_banks_become() {
        let events = 2 * TILE + 5;
        let ids: Vec<u64> = (0..events as u64).map(|event| 3 * event).collect();
        let sources = [(66, 9, 3), (73, 4, 1), (64, 1, 4), (66, 2, 3), (99, 0, 1), (73, 5, 1)];
        let mut owned = Vec::new();
        for (number, (kind, _, align)) in sources.iter().enumerate() {
            let (mut sizes, mut payloads) = (Vec::new(), Vec::new());
            for event in 0..events {
                payloads.resize(payloads.len().next_multiple_of(1 << align), 0xFF_u8);
                let bytes = (event * (7 + 12 * number)) % 150;
                sizes.push(bytes as u16);
                payloads.extend((0..bytes).map(|byte| (byte + event * number) as u8 | 1));
            }
            owned.push((vec![*kind; events], sizes, payloads));
        }
        let blocks: Vec<_> = owned
            .iter()
            .zip(sources)
            .map(|((types, sizes, payloads), (_, source, align_log2))| BankBlock {
                source,
                version: 3,
                align_log2,
                types,
                sizes,
                payloads,
            })
            .collect();
        assert!(blocks.iter().all(BankBlock::adds_up));
        let (mut found, mut expected) = (RawBatch::default(), RawBatch::default());
        for _ in 0..2 {
            assert!(found.push_blocks(&blocks, &ids));
            for (event, id) in ids.iter().enumerate() {
                for block in &blocks {
                    let before = block.sizes[..event].iter().fold(0, |end, size| block.place(end, *size).end);
                    let payload = &block.payloads[block.place(before, block.sizes[event])];
                    let Some(kind) = block.kind() else { continue };
                    expected.push_bank(kind, block.source, block.version, payload).unwrap();
                }
                assert_eq!(expected.close_event(*id, Status::Ok), Status::Ok);
            }
            assert_eq!((found.statuses(), found.event_ids()), (expected.statuses(), expected.event_ids()));
            assert_eq!(found.words(), expected.words());
            for event in 0..found.len() {
                let (found, expected) = (found.view().event(event), expected.view().event(event));
                for kind in BankKind::ALL {
                    assert_eq!(found.banks(kind).len(), expected.banks(kind).len());
                    for (found_bank, bank) in found.banks(kind).iter().zip(expected.banks(kind)) {
                        assert_eq!((found_bank.source, found_bank.version), (bank.source, bank.version));
                        assert_eq!(found.bytes(found_bank), expected.bytes(bank));
                        assert_eq!(found.words(found_bank), expected.words(bank));
                    }
                }
            }
        }
        // An empty payload needs no alignment, so no byte is missing.
        let (types, sizes) = ([66; 2], [3, 0]);
        let short =
            BankBlock { align_log2: 2, types: &types, sizes: &sizes, payloads: &[1, 2, 3], ..blocks[0] };
        assert!(short.adds_up() && !BankBlock { sizes: &[3, 1], ..short }.adds_up());
        assert!(found.push_blocks(&[short], &[7, 8]));
        let before = found.len();
        assert!(!found.push_blocks(&[blocks[0], blocks[1], blocks[0]], &ids), "one board twice");
        assert!(!found.push_blocks(&blocks[4..5], &ids), "no bank of a detector");
        let mixed = [[66; 1], [73; 1]].concat();
        assert_eq!(BankBlock { types: &mixed, ..blocks[0] }.kind(), None);
        assert_eq!(found.len(), before);
    }
}
