//! [`SciFiHits`]: the sequence from raw banks to hits.

use super::decode::{SciFiScratch, decode};
use super::geometry::SciFiGeometry;
use crate::engine::{Sequence, Stage};
use crate::event::{BankKind, Outcome, RawBatch, RawEvents, SciFiBatch};
use crate::simd::Level;
use std::ops::Range;
use std::sync::Arc;

/// Raw banks of the SciFi to hits.
#[derive(Debug, Clone)]
pub struct SciFiHits {
    level: Level,
    geometry: Arc<SciFiGeometry>,
}

impl SciFiHits {
    /// A sequence for this detector.
    pub fn new(level: Level, geometry: Arc<SciFiGeometry>) -> Self {
        Self { level, geometry }
    }
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
        decode(self.level, &self.geometry, events, range, workspace, out);
    }
}
