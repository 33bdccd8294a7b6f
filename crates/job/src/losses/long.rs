//! [`LongLosses`]: where the sequences `long` and `long-ut` lost particles.

use super::scifi::{self, SciFiLosses};
use super::{FindLosses, VeloPart, finds};
use peloton::chain::UtDetector;
use peloton::engine::Algorithm;
use peloton::event::{LongTracks, Outcome, RawEvents, SciFiTracks, TruthEvent, UtBatch, VeloTracks};
use peloton::long::{Long, LongConfig, LongUt, LongUtInput, LongWorkspace};
use peloton::simd::Level;
use peloton::ut::{UtScratch, decode};
use peloton::velo::Velo;
use peloton::{Result, Status};
use peloton_truth::{Rules, TrackMatcher};

/// The steps: those of the SciFi stand behind the first two.
const STEPS: [&str; 10] = [
    "event not reconstructed",
    "no Velo track",
    "no seed: fewer hits than a track needs",
    "no seed: windows and tolerances",
    "no seed: classifier",
    "no seed: hits of others",
    "no seed: other tracks",
    "matching: windows",
    "matching: classifier",
    "matching: other tracks",
];
const FAILED: usize = 0;
const NO_VELO: usize = 1;
const MATCHING: usize = NO_VELO + scifi::STEPS.len();

/// The last stage of either sequence.
pub enum Matching {
    /// Without the UT.
    Long(Box<Long>, Box<LongWorkspace>),
    /// With hits in the UT.
    LongUt(Box<LongUt>, Box<LongWorkspace>),
}

/// Runs the matching on single particles.
pub struct LongLosses {
    level: Level,
    velo: VeloPart,
    scifi: SciFiLosses,
    /// The UT of `long-ut`, and the event's hits in it.
    ut: Option<UtDetector>,
    scratch: UtScratch,
    hits: Outcome<UtBatch>,
    /// With the classifier off, and as configured.
    matching: [Matching; 2],
    matcher: TrackMatcher,
    found: Outcome<LongTracks>,
    own_velo: VeloTracks,
    own_scifi: SciFiTracks,
}

impl Matching {
    fn run(
        &mut self,
        (velo, scifi, ut): (&VeloTracks, &SciFiTracks, &UtBatch),
        out: &mut Outcome<LongTracks>,
    ) {
        out.clear();
        match self {
            Self::Long(long, workspace) => long.match_tracks(velo, scifi, 0..1, workspace, out),
            Self::LongUt(long, workspace) => {
                long.match_tracks(LongUtInput { velo, ut, scifi }, 0..1, workspace, out);
            }
        }
    }
}

impl LongLosses {
    /// For the sequence of these parts; `make` makes its last stage of a configuration.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new(
        velo: Velo,
        scifi: SciFiLosses,
        ut: Option<UtDetector>,
        config: &LongConfig,
        make: impl Fn(LongConfig) -> Result<Matching>,
    ) -> Result<Self> {
        let open = LongConfig { min_response: 0.0, min_response_ut: 0.0, ..config.clone() };
        let matching = [make(open)?, make(config.clone())?];
        let (scratch, hits, found, own_velo, own_scifi) = Default::default();
        Ok(Self {
            level: Algorithm::level(&velo),
            velo: VeloPart::new(velo),
            scifi,
            ut,
            scratch,
            hits,
            matching,
            matcher: TrackMatcher::new(Rules::LhcbLong),
            found,
            own_velo,
            own_scifi,
        })
    }
}

impl FindLosses for LongLosses {
    fn steps(&self) -> &'static [&'static str] {
        &STEPS
    }

    fn categories(&self) -> &'static [&'static str] {
        &["01_long", "02_long_P>5GeV"]
    }

    fn take(&mut self, banks: RawEvents<'_>, event: usize, truth: &TruthEvent) {
        self.velo.take(banks, event, truth);
        self.scifi.take(banks, event, truth);
        self.hits.clear();
        if let Some(ut) = &self.ut {
            let range = event..event + 1;
            decode(self.level, &ut.geometry, banks, range, &mut self.scratch, &mut self.hits);
        }
        self.matcher.index(truth);
    }

    fn lost_at(&mut self, truth: &TruthEvent, particle: usize) -> usize {
        let is_bad = |status: Option<&Status>| status.is_some_and(|status| !status.is_reconstructed());
        let statuses = [self.velo.tracks.results.status.first(), self.hits.results.status.first()];
        if statuses.into_iter().any(is_bad) || !self.scifi.is_ok() {
            return FAILED;
        }
        self.own_velo.clear();
        if !self.velo.append_own(particle, &mut self.own_velo) {
            return NO_VELO;
        }
        self.own_scifi.clear();
        if !self.scifi.append_own(particle, &mut self.own_scifi) {
            return NO_VELO + self.scifi.lost_at(truth, particle);
        }
        let parts = (&self.own_velo, &self.own_scifi, &self.hits.results);
        let is_lost = |matching: &mut Matching| {
            matching.run(parts, &mut self.found);
            !finds(&mut self.matcher, truth, particle, self.found.results.hit_lists(0))
        };
        MATCHING + self.matching.iter_mut().position(is_lost).unwrap_or(2)
    }
}
