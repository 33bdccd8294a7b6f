//! [`VeloUtLosses`]: where the sequence `velo-ut` lost particles.

use super::kept::append_kept;
use super::{Alone, FindLosses, VeloPart, finds, step_alone};
use peloton::Result;
use peloton::chain::UtDetector;
use peloton::engine::Algorithm;
use peloton::event::{Outcome, RawEvents, TruthEvent, UT_PLANES, UtBatch, VeloTracks, VeloUtTracks};
use peloton::simd::Level;
use peloton::ut::{UtConfig, UtFindInput, UtFindWorkspace, UtLayout, UtScratch, decode, find};
use peloton::velo::Velo;
use peloton_truth::{Rules, TrackMatcher};

/// The steps; the last four are those of [`Alone`].
const STEPS: [&str; 7] = [
    "event not reconstructed",
    "hits in fewer than three planes of the UT",
    "no Velo track",
    "windows and tolerances",
    "cuts on momentum, pT and quality",
    "hits of others",
    "other tracks",
];
const FAILED: usize = 0;
const FEW_HITS: usize = 1;
const NO_VELO: usize = 2;
const ALONE: usize = 3;

/// Planes of the UT that a tracklet needs.
const MIN_PLANES: usize = 3;

/// Runs the search in the UT on single particles.
pub struct VeloUtLosses {
    velo: VeloPart,
    ut: UtDetector,
    scratch: UtScratch,
    hits: Outcome<UtBatch>,
    own_hits: UtBatch,
    search: Search,
}

/// The search in the UT for one Velo track.
struct Search {
    level: Level,
    layout: UtLayout,
    /// As configured, and with the cuts behind the windows open.
    config: UtConfig,
    open: UtConfig,
    workspace: UtFindWorkspace,
    velo: VeloTracks,
    matcher: TrackMatcher,
    found: Outcome<VeloUtTracks>,
}

impl VeloUtLosses {
    /// For the sequence of these parts.
    ///
    /// # Errors
    /// Those of the detector and the configuration.
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

    /// Planes in which the particle has hits.
    fn planes(&self) -> usize {
        let groups = &self.ut.geometry.plane_groups;
        let is_hit = |group: usize| !self.own_hits.of_group(0, group).is_empty();
        (0..UT_PLANES).filter(|&plane| (groups[plane]..groups[plane + 1]).any(is_hit)).count()
    }
}

impl Search {
    /// Whether the Velo track is given the particle's hits in the UT, among these.
    fn finds(&mut self, truth: &TruthEvent, particle: usize, hits: &UtBatch, is_open: bool) -> bool {
        let config = if is_open { &self.open } else { &self.config };
        self.found.clear();
        let input = UtFindInput { velo: &self.velo, hits };
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
        decode(level, &self.ut.geometry, banks, range, &mut self.scratch, &mut self.hits);
        self.search.matcher.index(truth);
    }

    fn lost_at(&mut self, truth: &TruthEvent, particle: usize) -> usize {
        let hits = &self.hits.results;
        if !hits.status[0].and(self.velo.tracks.results.status[0]).is_reconstructed() {
            return FAILED;
        }
        self.own_hits.clear();
        let ids = &truth.particles[particle].hits;
        append_kept(&mut self.own_hits, hits, |hit| ids.contains(&hits.id[hit]));
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
                Alone::AllHits => search.finds(truth, particle, &hits.results, false),
            })
    }
}
