//! [`SciFiHits`]: the sequence from raw banks to hits.

use super::decode::{SciFiScratch, decode};
use super::geometry::SciFiGeometry;
use crate::engine::{Sequence, Stage};
use crate::event::{BadBanks, BankKind, Outcome, RawBatch, RawEvent, RawEvents, SciFiBatch};
use crate::lhcb::banks::{self, mark_partial};
use crate::simd::Level;
use std::ops::Range;
use std::sync::Arc;

/// Raw banks of the SciFi to hits.
#[derive(Debug, Clone)]
pub struct SciFiHits {
    level: Level,
    geometry: Arc<SciFiGeometry>,
    bad_banks: BadBanks,
}

impl SciFiHits {
    /// A sequence for this detector.
    pub fn new(level: Level, geometry: Arc<SciFiGeometry>) -> Self {
        Self { level, geometry, bad_banks: BadBanks::Event }
    }

    /// The same with another policy for events with damaged raw banks.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }
}

/// Whether an event, which was decoded last with this memory, lacks banks of the SciFi.
pub(super) fn is_partial(
    geometry: &SciFiGeometry,
    number: usize,
    event: &RawEvent<'_>,
    scratch: &SciFiScratch,
) -> bool {
    banks::is_partial(event, number, &scratch.salvage, (BankKind::SciFi, geometry.boards()))
}

impl Sequence for SciFiHits {
    const NAME: &'static str = "scifi-hits";
    const STAGES: &'static [Stage] =
        &[Stage { name: "decode", input: "raw banks", output: "hits by zone and x", parts: &[] }];

    type Input<'a> = RawEvents<'a>;
    type Batch = RawBatch;
    type Output = SciFiBatch;
    type Workspace = SciFiScratch;

    fn level(&self) -> Level {
        self.level
    }

    fn view(batch: &RawBatch) -> RawEvents<'_> {
        batch.view()
    }

    fn bank_bytes(&self, events: RawEvents<'_>) -> Option<u64> {
        Some(events.bank_bytes(|_| BankKind::SciFi))
    }

    fn run_range(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        workspace: &mut SciFiScratch,
        out: &mut Outcome<SciFiBatch>,
    ) {
        let events = events.with_bad_banks(self.bad_banks);
        decode(self.level, &self.geometry, events, range.clone(), workspace, out);
        mark_partial(out, range, |number| {
            is_partial(&self.geometry, number, &events.event(number), workspace)
        });
    }
}
