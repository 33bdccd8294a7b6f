//! [`VeloUt`]: the algorithm from Velo tracks and hits in the UT to tracks with momentum.

use crate::Result;
use crate::engine::{Algorithm, AlgorithmInfo, Events, Handle, Sequence, Slice, Stage};
use crate::event::{BadBanks, Outcome, VeloUtTracks};
use crate::simd::Level;
use crate::ut::{
    UT_HITS, UtConfig, UtFindInput, UtFindWorkspace, UtGeometry, UtHits, UtLayout, UtTables, find,
};
use crate::velo::{VELO_TRACKS, Velo};
use std::sync::Arc;

/// Velo tracks with hits in the UT, as a product.
pub const VELO_UT_TRACKS: Handle = Handle::of::<VeloUtTracks>("velo_ut_tracks");

/// What the UT is to a sequence: its sectors, and the magnet before it.
#[derive(Debug, Clone, PartialEq)]
pub struct UtDetector {
    /// Sectors and boards.
    pub geometry: Arc<UtGeometry>,
    /// Bending by the magnet.
    pub tables: UtTables,
    /// -1 with the magnet down, 1 up.
    pub polarity: f32,
}

impl UtDetector {
    /// What decodes the hits of the detector.
    pub fn hits(&self, level: Level, bad_banks: BadBanks) -> UtHits {
        UtHits::new(level, self.geometry.clone()).with_bad_banks(bad_banks)
    }
}

/// Velo tracks and hits in the UT to tracks with hits in both, and their momenta.
#[derive(Debug, Clone)]
pub struct VeloUt {
    level: Level,
    layout: UtLayout,
    config: UtConfig,
}

impl VeloUt {
    /// An algorithm that goes on from the tracks of `velo`.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for a configuration that cannot be used.
    pub fn new(velo: &Velo, ut: &UtDetector, config: UtConfig) -> Result<Self> {
        config.validate()?;
        let end_z = velo.config().fit.end_z;
        let layout = UtLayout::new(&ut.geometry, ut.tables.clone(), ut.polarity, end_z)?;
        Ok(Self { level: Algorithm::level(velo), layout, config })
    }

    /// The sequence `velo-ut`, from raw banks of Velo and UT.
    ///
    /// # Errors
    /// As [`VeloUt::new`].
    pub fn sequence(velo: Velo, ut: &UtDetector, config: UtConfig) -> Result<Sequence> {
        let hits = ut.hits(Algorithm::level(&velo), velo.bad_banks());
        let algorithm = Self::new(&velo, ut, config)?;
        Sequence::new("velo-ut", velo)?.with(hits)?.with(algorithm)
    }
}

const STAGES: &[Stage] = &[
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

impl Algorithm for VeloUt {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "ut",
        reads: &[VELO_TRACKS, UT_HITS],
        makes: VELO_UT_TRACKS,
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = VeloUtTracks;
    type Scratch = UtFindWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, _events: Events<'_>) -> Result<()> {
        Ok(())
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut UtFindWorkspace, out: &mut Outcome<VeloUtTracks>) {
        let input = UtFindInput { velo: slice.product(0), hits: slice.product(1) };
        find(self.level, &self.config, &self.layout, input, scratch, out);
    }
}
