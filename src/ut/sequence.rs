//! [`UtHits`]: the sequence from raw banks to hits.

use super::decode::{UtScratch, decode};
use super::geometry::UtGeometry;
use crate::engine::{Sequence, Stage};
use crate::event::{BadBanks, BankKind, Outcome, RawBatch, RawEvent, RawEvents, UtBatch};
use crate::lhcb::banks::{self, mark_partial};
use crate::simd::Level;
use std::ops::Range;
use std::sync::Arc;

/// Raw banks of the UT to hits.
#[derive(Debug, Clone)]
pub struct UtHits {
    level: Level,
    geometry: Arc<UtGeometry>,
    bad_banks: BadBanks,
}

impl UtHits {
    /// A sequence for this detector.
    pub fn new(level: Level, geometry: Arc<UtGeometry>) -> Self {
        Self { level, geometry, bad_banks: BadBanks::Event }
    }

    /// The same with another policy for events with damaged raw banks.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }
}

/// Whether an event, which was decoded last with this memory, lacks banks of the UT.
pub(crate) fn is_partial(
    geometry: &UtGeometry,
    number: usize,
    event: &RawEvent<'_>,
    scratch: &UtScratch,
) -> bool {
    banks::is_partial(event, number, &scratch.salvage, (BankKind::Ut, geometry.boards()))
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
        let events = events.with_bad_banks(self.bad_banks);
        decode(self.level, &self.geometry, events, range.clone(), workspace, out);
        mark_partial(out, range, |number| {
            is_partial(&self.geometry, number, &events.event(number), workspace)
        });
    }
}
