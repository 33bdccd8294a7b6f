//! [`Block`]: what an event builder has, which holds data by source and not by event.

use super::EventBatch;
use peloton::Status;
use peloton::{Error, Result};

/// The banks of one source in consecutive events: payload i is `sizes[i]` bytes, of type `types[i]`.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Number of the readout board.
    pub source: u16,
    /// Version of the encoding.
    pub version: u8,
    /// Payload i begins at the next multiple of 2 to this power of bytes behind payload i - 1.
    pub align_log2: u8,
    /// Type of each bank, as in raw bank headers.
    pub types: &'a [u8],
    /// Length of each payload, bytes.
    pub sizes: &'a [u16],
    /// The payloads.
    pub payloads: &'a [u8],
}

/// Alignment of payloads at most: 2 to this power of bytes.
const MAX_ALIGN_LOG2: u8 = 16;

impl Block<'_> {
    /// Where a payload begins that comes behind `end` bytes.
    fn start(&self, end: usize) -> usize {
        end.next_multiple_of(1 << self.align_log2)
    }

    /// Whether all payloads lie in the bytes that there are; checked before any of them is read.
    fn adds_up(&self) -> bool {
        self.sizes.iter().fold(0, |end, &size| self.start(end) + usize::from(size)) <= self.payloads.len()
    }
}

impl EventBatch {
    /// Appends a slice of an event builder: `event_ids.len()` events, and of each source one block with a bank of every
    /// event. A block whose sizes do not add up gives every event the status `truncated_bank`. Says how many such blocks
    /// there are. An event that is being put together is dropped.
    ///
    /// # Errors
    /// [`Error::Columns`] for a block with another number of events, or an alignment that cannot be; nothing is appended then.
    pub fn blocks(&mut self, blocks: &[Block<'_>], event_ids: &[u64]) -> Result<usize> {
        let events = event_ids.len();
        for (number, block) in blocks.iter().enumerate() {
            let Block { types, sizes, align_log2, source, .. } = block;
            if types.len() != events || sizes.len() != events || *align_log2 > MAX_ALIGN_LOG2 {
                let what = format!("{} types, {} sizes, align_log2 {align_log2}", types.len(), sizes.len());
                let words =
                    format!("{events} of each, and an align_log2 of {MAX_ALIGN_LOG2} at most, are wanted");
                return Err(Error::Columns(format!("block {number} (source {source}) has {what}: {words}")));
            }
        }
        self.drop_open();
        let faulty = blocks.iter().filter(|block| !block.adds_up()).count();
        if faulty > 0 {
            for id in event_ids {
                self.close(*id, Status::TruncatedBank);
            }
            return Ok(faulty);
        }
        let mut ends = std::mem::take(&mut self.offsets);
        ends.clear();
        ends.resize(blocks.len(), 0);
        for (event, id) in event_ids.iter().enumerate() {
            for (block, end) in blocks.iter().zip(&mut ends) {
                let start = block.start(*end);
                *end = start + usize::from(block.sizes[event]);
                self.bank(block.types[event], block.version, block.source, &block.payloads[start..*end]);
            }
            self.close(*id, Status::Ok);
        }
        self.offsets = ends;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::BankKind;

    #[test]
    fn slices_are_transposed_and_checked() {
        let types = [66, 66, 91];
        let block = |source, payloads| Block {
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
        assert_eq!(batch.blocks(&[block(7, &bytes), block(2, &bytes)], &[5, 6, 7]).unwrap(), 0);
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
        assert!(batch.blocks(&[Block { align_log2: 17, ..block(7, &bytes) }], &[5, 6, 7]).is_err());
        assert_eq!((batch.ids().len(), batch.raw().len()), (6, 6));
    }
}
