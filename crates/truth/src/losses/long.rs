//! [`LongLosses`]: the steps at which the sequences `long` and `long-ut` lost particles.

use super::scifi::{self, SciFiLosses};
use super::{FindLosses, VeloPart, finds};
use crate::{Rules, TrackMatcher};
use peloton::chain::UtDetector;
use peloton::engine::Algorithm;
use peloton::event::{LongTracks, Outcome, RawEvents, SciFiTracks, TruthEvent, UtBatch, VeloTracks};
use peloton::long::{Long, LongConfig, LongUt, LongUtInput, LongWorkspace};
use peloton::simd::Level;
use peloton::ut::{UtScratch, decode};
use peloton::velo::Velo;
use peloton::{Result, Status};

/// The steps: two common ones, the steps of the SciFi, and the steps of the matching.
const STEPS: [&str; 12] = [
    "event not reconstructed",
    "no Velo track",
    "no seed: fewer hits than a track needs",
    "no seed: windows and tolerances",
    "no seed: classifier",
    "no seed: hits of other particles",
    "no seed: other tracks",
    "matching: windows",
    "matching: refused even alone",
    "matching: beaten to the seed",
    "matching: beaten to the Velo track",
    "matching: refused, both tracks left over",
];
const FAILED: usize = 0;
const NO_VELO: usize = 1;
const WINDOWS: usize = NO_VELO + scifi::STEPS.len();
const ALONE: usize = WINDOWS + 1;
const BEATEN_TO_SEED: usize = ALONE + 1;
const BEATEN_TO_VELO: usize = BEATEN_TO_SEED + 1;
const LEFT_OVER: usize = BEATEN_TO_VELO + 1;

/// The matching of Velo and SciFi tracks, the last stage of both sequences.
pub enum Matching {
    /// The matching of `long`, without the UT.
    Long(Box<Long>, Box<LongWorkspace>),
    /// The matching of `long-ut`, with hits in the UT.
    LongUt(Box<LongUt>, Box<LongWorkspace>),
}

/// Finds the steps at which particles were lost by running the matching on single particles.
pub struct LongLosses {
    level: Level,
    velo: VeloPart,
    scifi: SciFiLosses,
    /// The UT of `long-ut`, and the event's hits in it.
    ut: Option<UtDetector>,
    scratch: UtScratch,
    hits: Outcome<UtBatch>,
    /// The matching with the classifiers off.
    open: Matching,
    /// The matching as configured, for a particle alone and for the event.
    alone: Matching,
    matching: Matching,
    /// The event's long tracks.
    tracks: Outcome<LongTracks>,
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

    fn workspace(&mut self) -> &mut LongWorkspace {
        match self {
            Self::Long(_, workspace) | Self::LongUt(_, workspace) => workspace,
        }
    }
}

/// Returns whether each track of `own` is part of one of the event's long tracks: `is_part` compares their hits.
fn are_taken<'a>(
    mut own: impl Iterator<Item = &'a [u32]>,
    long: &LongTracks,
    is_part: impl Fn(&[u32], &[u32]) -> bool,
) -> bool {
    own.all(|hits| long.hit_lists(0).any(|of| is_part(of, hits)))
}

impl LongLosses {
    /// Creates the losses of a sequence with these stages; `make` creates the matching from a configuration.
    ///
    /// # Errors
    /// The error of `make`, if `make` fails.
    pub fn new(
        velo: Velo,
        scifi: SciFiLosses,
        ut: Option<UtDetector>,
        config: &LongConfig,
        make: impl Fn(LongConfig) -> Result<Matching>,
    ) -> Result<Self> {
        let open = LongConfig { min_response: 0.0, min_response_ut: 0.0, ..config.clone() };
        let [open, alone, matching] = [make(open)?, make(config.clone())?, make(config.clone())?];
        let (scratch, hits, tracks, found, own_velo, own_scifi) = Default::default();
        Ok(Self {
            level: Algorithm::level(&velo),
            velo: VeloPart::new(velo),
            scifi,
            ut,
            scratch,
            hits,
            open,
            alone,
            matching,
            tracks,
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
        let parts = (&self.velo.tracks.results, self.scifi.tracks(), &self.hits.results);
        self.matching.run(parts, &mut self.tracks);
        // The classifiers require more in events with many pairs: a pair that is judged alone keeps the crowd of its event.
        let crowd = self.matching.workspace().crowd();
        self.alone.workspace().set_crowd(crowd);
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
        for (step, matching) in [(WINDOWS, &mut self.open), (ALONE, &mut self.alone)] {
            matching.run(parts, &mut self.found);
            if !finds(&mut self.matcher, truth, particle, self.found.results.hit_lists(0)) {
                return step;
            }
        }
        // Long tracks begin with the Velo hits, in the reverse order of the Velo track, and end with the SciFi hits.
        let long = &self.tracks.results;
        let is_seed = |of: &[u32], hits: &[u32]| of.ends_with(hits);
        let is_velo = |of: &[u32], hits: &[u32]| {
            of.len() > hits.len() && of.iter().zip(hits.iter().rev()).all(|(a, b)| a == b)
        };
        if are_taken(self.own_scifi.hit_lists(0), long, is_seed) {
            BEATEN_TO_SEED
        } else if are_taken(self.own_velo.hit_lists(0), long, is_velo) {
            BEATEN_TO_VELO
        } else {
            LEFT_OVER
        }
    }
}
