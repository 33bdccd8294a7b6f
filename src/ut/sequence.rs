//! [`UtHits`] and [`UtCells`]: the algorithms that decode raw banks to hits sorted by group of sectors or by cell.

use super::decode::{UtScratch, decode, decode_by_cell};
use super::geometry::UtGeometry;
use super::layout::UtLayout;
use crate::Result;
use crate::engine::{Algorithm, AlgorithmInfo, Events, Handle, Sequence, Slice, detector_stages};
use crate::event::{BadBanks, BankKind, Outcome, Product, RawEvents, UtBatch, UtCellHits};
use crate::lhcb::banks::{self, mark_partial};
use crate::simd::Level;
use std::ops::Range;
use std::sync::Arc;

/// Handle of the UT hits that `UtHits` produces, sorted by group of sectors.
pub const UT_HITS: Handle = Handle::of::<UtBatch>("ut_hits");

/// Decodes raw banks of the UT to hits sorted by group of sectors.
#[derive(Debug, Clone)]
pub struct UtHits {
    level: Level,
    geometry: Arc<UtGeometry>,
    bad_banks: BadBanks,
}

impl UtHits {
    /// Creates an algorithm that runs on `level`, for a detector with this geometry.
    pub fn new(level: Level, geometry: Arc<UtGeometry>) -> Self {
        Self { level, geometry, bad_banks: BadBanks::Event }
    }

    /// Sets how events with damaged raw banks are treated.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }
}

detector_stages! {
    "ut":
    "decode", "raw banks" => "hits sorted by group of sectors and y";
}

impl From<UtHits> for Sequence {
    fn from(algorithm: UtHits) -> Self {
        Self::of_one("ut", algorithm)
    }
}

impl Algorithm for UtHits {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "ut",
        reads: &[],
        makes: UT_HITS,
        stages: STAGES,
        stages_in_chain: STAGES_IN_CHAIN,
    };

    type Output = UtBatch;
    type Scratch = UtScratch;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        events.banks().map(drop)
    }

    fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        Some(events.banks().ok()?.bank_bytes(|_| BankKind::Ut))
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut UtScratch, out: &mut Outcome<UtBatch>) {
        let Events::Banks(events) = slice.events() else { unreachable!("only accepted hits") };
        let (range, events) = (slice.range(), events.with_bad_banks(self.bad_banks));
        decode(self.level, &self.geometry, events, range.clone(), scratch, out);
        mark(&self.geometry, events, range, scratch, out);
    }
}

/// Marks the events of the last decoded slice that lack banks.
fn mark<P: Product>(
    geometry: &UtGeometry,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &UtScratch,
    out: &mut Outcome<P>,
) {
    mark_partial(out, range, |number| {
        banks::is_partial(&events.event(number), number, &scratch.salvage, (BankKind::Ut, geometry.boards()))
    });
}

/// Handle of the UT hits that `UtCells` produces, sorted by cell (a quarter of a sector).
pub const UT_CELLS: Handle = Handle::of::<UtCellHits>("ut_cells");

/// Decodes raw banks of the UT to hits sorted by cell, for the search by pairs.
#[derive(Debug, Clone)]
pub struct UtCells {
    level: Level,
    geometry: Arc<UtGeometry>,
    layout: UtLayout,
    bad_banks: BadBanks,
}

impl UtCells {
    /// Creates an algorithm that runs on `level`, for a detector and its layout.
    pub fn new(level: Level, geometry: Arc<UtGeometry>, layout: UtLayout) -> Self {
        Self { level, geometry, layout, bad_banks: BadBanks::Event }
    }

    /// Sets how events with damaged raw banks are treated.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }
}

impl Algorithm for UtCells {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "ut",
        reads: &[],
        makes: UT_CELLS,
        stages: STAGES,
        stages_in_chain: STAGES_IN_CHAIN,
    };

    type Output = UtCellHits;
    type Scratch = UtScratch;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        events.banks().map(drop)
    }

    fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        Some(events.banks().ok()?.bank_bytes(|_| BankKind::Ut))
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut UtScratch, out: &mut Outcome<UtCellHits>) {
        let Events::Banks(events) = slice.events() else { unreachable!("`accept` allows raw banks alone") };
        let (range, events) = (slice.range(), events.with_bad_banks(self.bad_banks));
        decode_by_cell(self.level, (&self.geometry, &self.layout), events, range.clone(), scratch, out);
        mark(&self.geometry, events, range, scratch, out);
    }
}
