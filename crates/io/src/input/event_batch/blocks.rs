//! Appends blocks of an event builder, which sorts the raw banks of several events by source instead of by event.

use super::EventBatch;
use crate::input::EventId;
use crate::input::mdf::{bank_type, is_nominal, odin_numbers};
use peloton::Status;
use peloton::event::{BankBlock, BankKind};
use peloton::{Error, Result};

/// Largest alignment of payloads, as a power of 2 in bytes.
const MAX_ALIGN_LOG2: u8 = 16;

/// Whether a block has only banks of one kind, or only banks that are neither detector data nor errors: all events can
/// then be appended at once.
fn is_plain(block: &BankBlock<'_>) -> bool {
    let is_passed_over = |&kind: &u8| BankKind::from_code(kind).is_none() && !bank_type::is_error(kind);
    block.kind().is_some() || block.types.iter().all(is_passed_over)
}

impl EventBatch {
    /// Appends `event_ids.len()` events from an event builder: for each source, one block with one bank per event. A
    /// block is damaged if its sizes do not add up to its length; then every event gets the status `truncated_bank`.
    /// Returns the number of damaged blocks.
    ///
    /// # Errors
    /// [`Error::Columns`] for a block with another number of events than `event_ids`, for an alignment above 2^16
    /// bytes, and while an event is open. Then nothing is appended.
    pub fn blocks(&mut self, blocks: &[BankBlock<'_>], event_ids: &[u64]) -> Result<usize> {
        let events = event_ids.len();
        for (number, block) in blocks.iter().enumerate() {
            let BankBlock { types, sizes, align_log2, source, .. } = block;
            if types.len() != events || sizes.len() != events || *align_log2 > MAX_ALIGN_LOG2 {
                let what = format!("{} types, {} sizes, align_log2 {align_log2}", types.len(), sizes.len());
                let words =
                    format!("{events} types, {events} sizes and align_log2 <= {MAX_ALIGN_LOG2} are required");
                return Err(Error::Columns(format!("block {number} (source {source}) has {what}: {words}")));
            }
        }
        self.refuse_open()?;
        let faulty = blocks.iter().filter(|block| !block.adds_up()).count();
        if faulty == 0 && blocks.iter().all(is_plain) && self.raw.push_blocks(blocks, event_ids) {
            let first = self.ids.len();
            self.ids.extend(event_ids.iter().map(|id| EventId { number: *id, run: None, event: None }));
            for block in blocks {
                if block.types.contains(&bank_type::ODIN) {
                    number(&mut self.ids[first..], block);
                }
                if block.types.contains(&bank_type::TEST) {
                    self.mark_nominal(first, block);
                }
            }
            return Ok(0);
        }
        // Appends event by event, because some events have a status or different boards, or a block is damaged.
        let mut ends = std::mem::take(&mut self.offsets);
        ends.clear();
        // A damaged block has no end, and is skipped.
        ends.extend(blocks.iter().map(|block| if block.adds_up() { 0 } else { usize::MAX }));
        for (event, id) in event_ids.iter().enumerate() {
            if faulty > 0 {
                self.raw.damage(Status::TruncatedBank);
            }
            for (block, end) in blocks.iter().zip(&mut ends).filter(|(_, end)| **end != usize::MAX) {
                let bytes = block.sizes[event];
                let place = block.place(*end, bytes);
                *end = place.end;
                let (kind, version, source) = (block.types[event], block.version, block.source);
                self.first_bytes(kind, version, source, &block.payloads[place.start..], bytes);
            }
            self.close(*id, Status::Ok);
        }
        self.offsets = ends;
        Ok(faulty)
    }
}

impl EventBatch {
    /// Marks the events, from event `first` on, whose bank in this block marks them as simulated with the nominal detector.
    fn mark_nominal(&mut self, first: usize, block: &BankBlock<'_>) {
        let mut end = 0;
        for (event, (&kind, &bytes)) in block.types.iter().zip(block.sizes).enumerate() {
            let place = block.place(end, bytes);
            end = place.end;
            if is_nominal(kind, block.version, &block.payloads[place]) {
                self.raw.set_nominal(first + event);
            }
        }
    }
}

/// Sets the numbers of the events from the ODIN banks of a block.
fn number(ids: &mut [EventId], block: &BankBlock<'_>) {
    let mut end = 0;
    for (event, id) in ids.iter_mut().enumerate() {
        let place = block.place(end, block.sizes[event]);
        end = place.end;
        if block.types[event] == bank_type::ODIN
            && let Some((run, number)) = odin_numbers(block.version, &block.payloads[place])
        {
            (id.run, id.event) = (Some(run), Some(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::BankKind;

    #[test]
    fn slices_are_transposed_and_checked() {
        let types = [66, 66, 91];
        let block = |source, payloads| BankBlock {
            source,
            version: 4,
            align_log2: 2,
            types: &types,
            sizes: &[3, 8, 1],
            payloads,
        };
        let bytes: Vec<u8> = (0..13).collect();
        let mut batch = EventBatch::default();
        batch.bank(66, 4, 9, &[1; 4]);
        assert!(batch.is_open());
        // Complete events after the banks of an open event would discard the open event.
        assert!(batch.blocks(&[block(7, &bytes)], &[5, 6, 7]).is_err() && batch.mdf(&[]).is_err());
        assert!(batch.is_open() && batch.raw().is_empty());
        batch.clear();
        assert_eq!(batch.blocks(&[block(7, &bytes), block(2, &bytes)], &[5, 6, 7]).unwrap(), 0);
        assert!(!batch.is_open());
        assert_eq!(batch.raw().statuses(), [Status::Ok, Status::Ok, Status::DaqError]);
        assert_eq!(batch.raw().event_ids(), [5, 6, 7]);
        let event = batch.raw().view().event(1);
        let banks = event.banks(BankKind::Ut);
        assert_eq!(banks.iter().map(|bank| bank.source).collect::<Vec<_>>(), [2, 7]);
        assert_eq!(event.bytes(&banks[0]), [4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(batch.blocks(&[block(7, &bytes), block(2, &bytes[..12])], &[5, 6, 7]).unwrap(), 1);
        assert_eq!(batch.raw().statuses()[3..], [Status::TruncatedBank; 3]);
        assert!(
            batch
                .blocks(&[block(7, &bytes)], &[5, 6])
                .unwrap_err()
                .to_string()
                .contains("block 0 (source 7)")
        );
        assert!(batch.blocks(&[BankBlock { align_log2: 17, ..block(7, &bytes) }], &[5, 6, 7]).is_err());
        assert_eq!((batch.ids().len(), batch.raw().len()), (6, 6));
    }

    #[test]
    fn events_have_the_numbers_of_their_odin_banks() {
        let odin = |event: usize| {
            let mut payload = [0_u8; 40];
            payload[0] = 9;
            payload[32] = 100 + event as u8;
            payload
        };
        let (events, version) = (20, 7);
        let ids: Vec<u64> = (0..events as u64).collect();
        let numbers: Vec<u8> = (0..events).flat_map(odin).collect();
        let hits: Vec<u8> = (0..4 * events).map(|byte| byte as u8).collect();
        let (of_odin, of_ut) = (vec![bank_type::ODIN; events], vec![66; events]);
        let (long, short) = (vec![40; events], vec![4; events]);
        let blocks = [
            BankBlock {
                source: 1,
                version,
                align_log2: 2,
                types: &of_odin,
                sizes: &long,
                payloads: &numbers,
            },
            BankBlock { source: 2, version, align_log2: 2, types: &of_ut, sizes: &short, payloads: &hits },
        ];
        let mut expected = EventBatch::default();
        for event in 0..events {
            expected.bank(bank_type::ODIN, version, 1, &odin(event));
            expected.bank(66, version, 2, &hits[4 * event..][..4]);
            expected.close(event as u64, Status::Ok);
        }
        assert!(
            expected.ids()[3].event == Some(103) && expected.ids()[3].run == Some(9),
            "{:?}",
            expected.ids()[3]
        );
        let mut together = EventBatch::default();
        assert_eq!(together.blocks(&blocks, &ids).unwrap(), 0);
        // One bank has another type, so events are appended one by one.
        let mut other = of_ut.clone();
        other[7] = 255;
        let mut apart = EventBatch::default();
        assert_eq!(apart.blocks(&[blocks[0], BankBlock { types: &other, ..blocks[1] }], &ids).unwrap(), 0);
        for batch in [&together, &apart] {
            assert_eq!((batch.ids(), batch.raw().event_ids()), (expected.ids(), expected.raw().event_ids()));
        }
        let banks = |batch: &EventBatch, event| batch.raw().view().event(event).banks(BankKind::Ut).len();
        assert_eq!([banks(&together, 7), banks(&apart, 7), banks(&apart, 8)], [1, 0, 1]);
    }
}
