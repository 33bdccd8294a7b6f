//! [`VeloUt`]: the sequence from raw banks to Velo tracks with hits in the UT.

use crate::engine::{Sequence, Stage};
use crate::event::{BankKind, Outcome, RawBatch, RawEvents, UtBatch, UtCellHits, VeloTracks, VeloUtTracks};
use crate::lhcb::banks::mark_partial;
use crate::simd::Level;
use crate::ut::{
    UtConfig, UtFindInput, UtFindWorkspace, UtGeometry, UtHitsIn, UtLayout, UtScratch, UtTables, decode,
    decode_by_cell, find, is_partial,
};
use crate::velo::{STAGES_IN_CHAIN as VELO_STAGES, Velo, VeloInput, VeloSequenceWorkspace};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// What the UT is to a sequence: its sectors, and the magnet before it.
#[derive(Debug, Clone, PartialEq)]
pub struct UtDetector {
    /// Sectors and boards.
    pub geometry: UtGeometry,
    /// Bending by the magnet.
    pub tables: UtTables,
    /// -1 with the magnet down, 1 up.
    pub polarity: f32,
}

/// Raw banks of Velo and UT to Velo tracks with hits in the UT, and their momenta.
#[derive(Debug, Clone)]
pub struct VeloUt {
    velo: Velo,
    ut: Arc<UtDetector>,
    layout: UtLayout,
    config: UtConfig,
}

impl VeloUt {
    /// A sequence that goes on from the tracks of `velo`, which must have sensors.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be used.
    pub fn new(velo: Velo, ut: Arc<UtDetector>, config: UtConfig) -> Result<Self> {
        config.validate()?;
        let velo_z = velo.config().fit.end_z;
        let layout = UtLayout::new(&ut.geometry, ut.tables.clone(), ut.polarity, velo_z)?;
        Ok(Self { velo, ut, layout, config })
    }
}

/// Scratch memory of one thread.
#[derive(Debug, Default)]
pub struct VeloUtWorkspace {
    velo: VeloSequenceWorkspace,
    tracks: Outcome<VeloTracks>,
    decode: UtScratch,
    hits: Outcome<UtBatch>,
    cells: Outcome<UtCellHits>,
    find: UtFindWorkspace,
}

impl Sequence for VeloUt {
    const NAME: &'static str = "velo-ut";
    const STAGES: &'static [Stage] = &[
        VELO_STAGES[0],
        VELO_STAGES[1],
        VELO_STAGES[2],
        VELO_STAGES[3],
        Stage { name: "ut decode", input: "raw banks", output: "hits by plane, row and x", parts: &[] },
        Stage {
            name: "ut windows",
            input: "Velo tracks into the UT",
            output: "tracks with hits in three planes",
            parts: &[],
        },
        Stage {
            name: "ut tracklets",
            input: "tracks with hits in three planes",
            output: "tracks with momentum",
            parts: &[],
        },
    ];

    type Input<'a> = RawEvents<'a>;
    type Batch = RawBatch;
    type Output = VeloUtTracks;
    type Workspace = VeloUtWorkspace;

    fn level(&self) -> Level {
        self.velo.level()
    }

    fn view(batch: &RawBatch) -> RawEvents<'_> {
        batch.view()
    }

    fn accept(&self, events: RawEvents<'_>) -> Result<()> {
        self.velo.accept(VeloInput::Banks(events)).map_err(|error| match error {
            Error::Config(_) => {
                Error::Config("the sequence velo-ut needs the geometry of Velo and UT".into())
            }
            error => error,
        })
    }

    fn bank_bytes(&self, events: RawEvents<'_>) -> Option<u64> {
        let ut = events.bank_bytes(|_| BankKind::Ut);
        self.velo.bank_bytes(VeloInput::Banks(events)).map(|velo| velo + ut)
    }

    fn run_range(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        workspace: &mut VeloUtWorkspace,
        out: &mut Outcome<VeloUtTracks>,
    ) {
        let VeloUtWorkspace { velo, tracks, decode: scratch, hits, cells, find: search } = workspace;
        let level = self.level();
        let events = events.with_bad_banks(self.velo.bad_banks());
        tracks.clear();
        self.velo.run_banks(events, range.clone(), velo, tracks);
        out.counters.add_part(&tracks.counters, 0);
        let detector = &self.ut.geometry;
        let (hits, counters) = if self.config.reads_cells() {
            cells.clear();
            decode_by_cell(level, (detector, &self.layout), events, range.clone(), scratch, cells);
            (UtHitsIn::Cells(&cells.results), &cells.counters)
        } else {
            hits.clear();
            decode(level, detector, events, range.clone(), scratch, hits);
            (UtHitsIn::Groups(&hits.results), &hits.counters)
        };
        out.counters.add_part(counters, VELO_STAGES.len());
        let input = UtFindInput { velo: &tracks.results, hits };
        find(level, &self.config, &self.layout, input, search, out);
        mark_partial(out, range, |number| {
            let event = events.event(number);
            self.velo.is_partial(number, &event, &velo.decode)
                || is_partial(&self.ut.geometry, number, &event, scratch)
        });
    }
}
