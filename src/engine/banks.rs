//! Raw banks as input of a sequence.

use super::{Batch, Input};
use crate::event::{RawBatch, RawEvents};

impl Input for RawEvents<'_> {
    fn events(&self) -> usize {
        self.len()
    }
}

impl Batch for RawBatch {
    fn clear(&mut self) {
        RawBatch::clear(self);
    }

    fn event_ids(&self) -> &[u64] {
        RawBatch::event_ids(self)
    }

    fn hits(&self) -> Option<u64> {
        None
    }

    fn memory_items(&self) -> u64 {
        self.words() as u64
    }
}
