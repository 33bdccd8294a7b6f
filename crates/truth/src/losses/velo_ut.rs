//! [`VeloUtLosses`]: the steps at which the sequence `velo-ut` lost particles.

use super::kept::append_kept;
use super::{Alone, FindLosses, VeloPart, finds, step_alone};
use crate::{Rules, TrackMatcher};
use peloton::Result;
use peloton::chain::UtDetector;
use peloton::engine::Algorithm;
use peloton::event::{
    Outcome, RawEvents, TruthEvent, UT_PLANES, UtBatch, UtCellHits, VeloTracks, VeloUtTracks,
};
use peloton::simd::Level;
use peloton::ut::{
    UtConfig, UtFindInput, UtFindWorkspace, UtHitsIn, UtLayout, UtScratch, decode, decode_by_cell, find,
};
use peloton::velo::Velo;

/// The steps; the last four are the ways of [`Alone`], and other tracks.
const STEPS: [&str; 7] = [
    "event not reconstructed",
    "hits in fewer than three planes of the UT",
    "no Velo track",
    "windows and tolerances",
    "cuts on momentum, pT and quality",
    "hits of other particles",
    "other tracks",
];
const FAILED: usize = 0;
const FEW_HITS: usize = 1;
const NO_VELO: usize = 2;
const ALONE: usize = 3;

/// Planes of the UT that a tracklet needs.
const MIN_PLANES: usize = 3;

/// Finds the steps at which particles were lost by running the UT search on single particles.
pub struct VeloUtLosses {
    velo: VeloPart,
    ut: UtDetector,
    scratch: UtScratch,
    hits: Hits,
    /// Hits of one particle alone.
    own_hits: Hits,
    search: Search,
}

/// The hits of an event, in the order of groups or of cells, as the configuration requires.
#[derive(Default)]
struct Hits {
    groups: Outcome<UtBatch>,
    cells: Outcome<UtCellHits>,
}

impl Hits {
    /// Returns the hits as the search takes them.
    fn view(&self, config: &UtConfig) -> UtHitsIn<'_> {
        match config.reads_cells() {
            true => UtHitsIn::Cells(&self.cells.results),
            false => UtHitsIn::Groups(&self.groups.results),
        }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.cells.clear();
    }
}

/// The search in the UT for one Velo track.
struct Search {
    level: Level,
    layout: UtLayout,
    /// The configuration of the sequence, and one with all cuts after the windows open.
    config: UtConfig,
    open: UtConfig,
    workspace: UtFindWorkspace,
    velo: VeloTracks,
    matcher: TrackMatcher,
    found: Outcome<VeloUtTracks>,
}

impl VeloUtLosses {
    /// Creates the losses of the sequence `velo-ut` with these stages.
    ///
    /// # Errors
    /// An error when the configuration is not valid or does not fit the detector.
    pub fn new(velo: Velo, ut: UtDetector, config: UtConfig) -> Result<Self> {
        config.validate()?;
        let (level, velo_z) = (Algorithm::level(&velo), velo.config().fit.end_z);
        let layout = UtLayout::new(&ut.geometry, ut.tables.clone(), ut.polarity, velo_z)?;
        let mut open = UtConfig {
            final_momentum: 0.0,
            final_pt: 0.0,
            discriminant: f32::NEG_INFINITY,
            fiducial: false,
            ..config.clone()
        };
        open.line.max_cost = f32::INFINITY;
        let matcher = TrackMatcher::new(Rules::LhcbUt);
        let (workspace, velo_track, found) = Default::default();
        let search = Search { level, layout, config, open, workspace, velo: velo_track, matcher, found };
        let (scratch, hits, own_hits) = Default::default();
        Ok(Self { velo: VeloPart::new(velo), ut, scratch, hits, own_hits, search })
    }

    /// Returns the number of planes in which the particle has hits.
    fn planes(&self) -> usize {
        let (starts, ends) = match self.own_hits.view(&self.search.config) {
            UtHitsIn::Cells(hits) => (&hits.cell_start, self.search.layout.plane_cells()),
            UtHitsIn::Groups(hits) => (&hits.group_start, self.ut.geometry.plane_groups),
        };
        (0..UT_PLANES).filter(|&plane| starts[ends[plane]] < starts[ends[plane + 1]]).count()
    }
}

impl Search {
    /// Returns whether the search in `hits` gives the Velo track the particle's hits in the UT.
    fn finds(&mut self, truth: &TruthEvent, particle: usize, hits: &Hits, is_open: bool) -> bool {
        let config = if is_open { &self.open } else { &self.config };
        self.found.clear();
        let input = UtFindInput { velo: &self.velo, hits: hits.view(config) };
        find(self.level, config, &self.layout, input, &mut self.workspace, &mut self.found);
        finds(&mut self.matcher, truth, particle, self.found.results.hit_lists(0))
    }
}

impl FindLosses for VeloUtLosses {
    fn steps(&self) -> &'static [&'static str] {
        &STEPS
    }

    fn categories(&self) -> &'static [&'static str] {
        &["03_velo+UT_P>5GeV", "07_long", "08_long_P>5GeV", "long+UT_P>5GeV_Pt>1GeV"]
    }

    fn take(&mut self, banks: RawEvents<'_>, event: usize, truth: &TruthEvent) {
        self.velo.take(banks, event, truth);
        self.hits.clear();
        let (level, range) = (self.search.level, event..event + 1);
        let Hits { groups, cells } = &mut self.hits;
        if self.search.config.reads_cells() {
            let detector = (&*self.ut.geometry, &self.search.layout);
            decode_by_cell(level, detector, banks, range, &mut self.scratch, cells);
        } else {
            decode(level, &self.ut.geometry, banks, range, &mut self.scratch, groups);
        }
        self.search.matcher.index(truth);
    }

    fn lost_at(&mut self, truth: &TruthEvent, particle: usize) -> usize {
        let of_hits = match self.hits.view(&self.search.config) {
            UtHitsIn::Cells(hits) => hits.status[0],
            UtHitsIn::Groups(hits) => hits.status[0],
        };
        if !of_hits.and(self.velo.tracks.results.status[0]).is_reconstructed() {
            return FAILED;
        }
        self.own_hits.clear();
        let ids = &truth.particles[particle].hits;
        let Hits { groups, cells } = &mut self.own_hits;
        match self.hits.view(&self.search.config) {
            UtHitsIn::Cells(hits) => append_kept(&mut cells.results, hits, |hit| ids.contains(&hits.id[hit])),
            UtHitsIn::Groups(hits) => {
                append_kept(&mut groups.results, hits, |hit| ids.contains(&hits.id[hit]))
            }
        }
        if self.planes() < MIN_PLANES {
            return FEW_HITS;
        }
        self.search.velo.clear();
        if !self.velo.append_own(particle, &mut self.search.velo) {
            return NO_VELO;
        }
        let Self { search, own_hits, hits, .. } = self;
        ALONE
            + step_alone(|alone| match alone {
                Alone::Open => search.finds(truth, particle, own_hits, true),
                Alone::OwnHits => search.finds(truth, particle, own_hits, false),
                Alone::AllHits => search.finds(truth, particle, hits, false),
            })
    }
}
