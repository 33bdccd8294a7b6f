//! [`SciFiHits`]: the algorithm that decodes raw banks of the SciFi to hits.

use super::decode::{SciFiScratch, decode};
use super::geometry::SciFiGeometry;
use crate::Result;
use crate::engine::{Algorithm, AlgorithmInfo, Events, Handle, Sequence, Slice, detector_stages};
use crate::event::{BadBanks, BankKind, Outcome, RawEvent, SciFiBatch};
use crate::lhcb::banks::{self, mark_partial};
use crate::simd::Level;
use std::sync::Arc;

/// Handle of the SciFi hits that `SciFiHits` produces.
pub const SCIFI_HITS: Handle = Handle::of::<SciFiBatch>("scifi_hits");

/// Decodes raw banks of the SciFi to hits.
#[derive(Debug, Clone)]
pub struct SciFiHits {
    level: Level,
    geometry: Arc<SciFiGeometry>,
    bad_banks: BadBanks,
}

impl SciFiHits {
    /// Creates an algorithm that runs on `level`, for a detector with this geometry.
    pub fn new(level: Level, geometry: Arc<SciFiGeometry>) -> Self {
        Self { level, geometry, bad_banks: BadBanks::Event }
    }

    /// Sets how events with damaged raw banks are treated.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }
}

detector_stages! {
    "scifi":
    "decode", "raw banks" => "hits sorted by zone and x";
}

impl From<SciFiHits> for Sequence {
    fn from(algorithm: SciFiHits) -> Self {
        Self::of_one("scifi-hits", algorithm)
    }
}

impl Algorithm for SciFiHits {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "scifi",
        reads: &[],
        makes: SCIFI_HITS,
        stages: STAGES,
        stages_in_chain: STAGES_IN_CHAIN,
    };

    type Output = SciFiBatch;
    type Scratch = SciFiScratch;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        events.banks().map(drop)
    }

    fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        Some(events.banks().ok()?.bank_bytes(|_| BankKind::SciFi))
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut SciFiScratch, out: &mut Outcome<SciFiBatch>) {
        let Events::Banks(events) = slice.events() else { unreachable!("`accept` allows raw banks alone") };
        let (range, events) = (slice.range(), events.with_bad_banks(self.bad_banks));
        decode(self.level, &self.geometry, events, range.clone(), scratch, out);
        let is_partial = |event: RawEvent<'_>, number| {
            banks::is_partial(&event, number, &scratch.salvage, (BankKind::SciFi, self.geometry.boards()))
        };
        mark_partial(out, range, |number| is_partial(events.event(number), number));
    }
}
