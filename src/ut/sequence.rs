//! [`UtHits`]: the sequence from raw banks to hits.

use super::decode::{UtScratch, decode};
use super::geometry::UtGeometry;
use crate::engine::{Sequence, Stage};
use crate::event::{BankKind, Outcome, RawBatch, RawEvents, UtBatch};
use crate::simd::Level;
use std::ops::Range;
use std::sync::Arc;

/// Raw banks of the UT to hits.
#[derive(Debug, Clone)]
pub struct UtHits {
    level: Level,
    geometry: Arc<UtGeometry>,
}

impl UtHits {
    /// A sequence for this detector.
    pub fn new(level: Level, geometry: Arc<UtGeometry>) -> Self {
        Self { level, geometry }
    }
}

impl Sequence for UtHits {
    const NAME: &'static str = "ut";
    const STAGES: &'static [Stage] =
        &[Stage { name: "decode", input: "raw banks", output: "hits by group and y", parts: &[] }];

    type Input<'a> = RawEvents<'a>;
    type Batch = RawBatch;
    type Output = UtBatch;
    type Workspace = UtScratch;

    fn level(&self) -> Level {
        self.level
    }

    fn view(batch: &RawBatch) -> RawEvents<'_> {
        batch.view()
    }

    fn bank_bytes(&self, events: RawEvents<'_>) -> Option<u64> {
        Some(events.bank_bytes(|_| BankKind::Ut))
    }

    fn run_range(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        workspace: &mut UtScratch,
        out: &mut Outcome<UtBatch>,
    ) {
        decode(self.level, &self.geometry, events, range, workspace, out);
    }
}
