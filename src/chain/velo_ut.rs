//! [`VeloUt`]: the algorithm that extends Velo tracks by hits in the UT and measures their momenta.

use crate::Result;
use crate::engine::{Algorithm, AlgorithmInfo, Handle, Sequence, Slice, Stage};
use crate::event::{BadBanks, Outcome, Product, UtBatch, UtCellHits, VeloUtTracks};
use crate::simd::Level;
use crate::ut::{
    UT_CELLS, UT_HITS, UtCells, UtConfig, UtFindInput, UtFindWorkspace, UtGeometry, UtHits, UtHitsIn,
    UtLayout, UtTables, find,
};
use crate::velo::{VELO_TRACKS, Velo};
use std::marker::PhantomData;
use std::sync::Arc;

/// Handle of the product with the Velo tracks that were extended by hits in the UT.
pub const VELO_UT_TRACKS: Handle = Handle::of::<VeloUtTracks>("velo_ut_tracks");

/// Data about the UT that a sequence needs: the geometry of the UT, and the magnetic field before the UT.
#[derive(Debug, Clone, PartialEq)]
pub struct UtDetector {
    /// Geometry of the sectors and readout boards.
    pub geometry: Arc<UtGeometry>,
    /// Tables of the magnetic field before the UT.
    pub tables: UtTables,
    /// Polarity of the magnet: -1 for down, 1 for up.
    pub polarity: f32,
}

impl UtDetector {
    /// Returns the decoder that sorts UT hits by group of sectors.
    pub fn hits(&self, level: Level, bad_banks: BadBanks) -> UtHits {
        UtHits::new(level, self.geometry.clone()).with_bad_banks(bad_banks)
    }

    /// Returns the decoder that sorts UT hits by cell, for a search that starts from Velo states at z = `end_z`, mm.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if `end_z` is not before the UT.
    pub fn cells(&self, level: Level, bad_banks: BadBanks, end_z: f32) -> Result<UtCells> {
        Ok(UtCells::new(level, self.geometry.clone(), self.layout(end_z)?).with_bad_banks(bad_banks))
    }

    fn layout(&self, end_z: f32) -> Result<UtLayout> {
        UtLayout::new(&self.geometry, self.tables.clone(), self.polarity, end_z)
    }
}

/// A table of UT hits, sorted in an order that the search for tracks accepts.
pub trait UtHitOrder: Product {
    /// Handle of the product that holds the hits.
    const HITS: Handle;

    /// Returns the hits as input of the search for tracks.
    fn as_input(&self) -> UtHitsIn<'_>;
}

impl UtHitOrder for UtBatch {
    const HITS: Handle = UT_HITS;

    fn as_input(&self) -> UtHitsIn<'_> {
        UtHitsIn::Groups(self)
    }
}

impl UtHitOrder for UtCellHits {
    const HITS: Handle = UT_CELLS;

    fn as_input(&self) -> UtHitsIn<'_> {
        UtHitsIn::Cells(self)
    }
}

/// Extends Velo tracks by hits in the UT and measures their momenta. `H` is the table of UT hits; its default,
/// [`UtBatch`], sorts them by group of sectors.
#[derive(Debug, Clone)]
pub struct VeloUt<H = UtBatch> {
    level: Level,
    layout: UtLayout,
    config: UtConfig,
    hits: PhantomData<fn(H)>,
}

/// [`VeloUt`] for UT hits sorted by cell.
pub type VeloUtByCell = VeloUt<UtCellHits>;

impl VeloUt {
    /// Creates an algorithm that extends the tracks of `velo`.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if `config` is invalid, or Velo tracks do not end before the UT.
    pub fn new(velo: &Velo, ut: &UtDetector, config: UtConfig) -> Result<Self> {
        config.validate()?;
        let (level, layout) = (Algorithm::level(velo), ut.layout(velo.config().fit.end_z)?);
        Ok(Self { level, layout, config, hits: PhantomData })
    }

    /// Converts the algorithm to an algorithm that reads UT hits sorted by cell. It is needed if
    /// [`UtConfig::reads_cells`] returns true.
    pub fn by_cell(self) -> VeloUtByCell {
        let Self { level, layout, config, .. } = self;
        VeloUt { level, layout, config, hits: PhantomData }
    }

    /// Returns the sequence `velo-ut`, which starts from raw banks of Velo and UT.
    ///
    /// # Errors
    /// Returns the errors of [`VeloUt::new`].
    pub fn sequence(velo: Velo, ut: &UtDetector, config: UtConfig) -> Result<Sequence> {
        let (level, bad_banks, end_z) = (Algorithm::level(&velo), velo.bad_banks(), velo.config().fit.end_z);
        let (by_cell, algorithm) = (config.reads_cells(), Self::new(&velo, ut, config)?);
        let sequence = Sequence::new("velo-ut", velo)?;
        if by_cell {
            sequence.with(ut.cells(level, bad_banks, end_z)?)?.with(algorithm.by_cell())
        } else {
            sequence.with(ut.hits(level, bad_banks))?.with(algorithm)
        }
    }
}

const STAGES: &[Stage] = &[
    Stage { name: "ut decode", input: "raw banks", output: "hits by plane, row and x", parts: &[] },
    Stage {
        name: "ut windows",
        input: "Velo tracks that fly into the UT",
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

impl<H: UtHitOrder> Algorithm for VeloUt<H> {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "ut",
        reads: &[VELO_TRACKS, H::HITS],
        makes: VELO_UT_TRACKS,
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = VeloUtTracks;
    type Scratch = UtFindWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut UtFindWorkspace, out: &mut Outcome<VeloUtTracks>) {
        let hits: &H = slice.product(1);
        let input = UtFindInput { velo: slice.product(0), hits: hits.as_input() };
        find(self.level, &self.config, &self.layout, input, scratch, out);
    }
}
