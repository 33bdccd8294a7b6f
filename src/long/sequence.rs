//! [`Long`] and [`LongUt`]: the algorithms that match tracks in Velo and SciFi to long tracks.

use super::config::LongConfig;
use super::matcher::{Matcher, Matching};
use super::parts::Parts;
use crate::Result;
use crate::chain::UtDetector;
use crate::engine::{Algorithm, AlgorithmInfo, Handle, Sequence, Slice, Stage};
use crate::event::{LongTracks, Outcome, SciFiTracks, UtBatch, VeloTracks};
use crate::lhcb::Bending;
use crate::scifi::{SCIFI_TRACKS, SciFi};
use crate::simd::Level;
use crate::ut::{UT_HITS, UtLayout};
use crate::velo::{VELO_TRACKS, Velo};
use std::ops::Range;

/// Handle of the long tracks that `Long` and `LongUt` produce.
pub const LONG_TRACKS: Handle = Handle::of::<LongTracks>("long_tracks");

/// Combines Velo tracks and SciFi tracks into long tracks.
#[derive(Debug, Clone)]
pub struct Long {
    level: Level,
    matcher: Matcher,
}

/// Combines Velo tracks and SciFi tracks into long tracks, and adds hits in the UT, which are inputs of a network.
#[derive(Debug, Clone)]
pub struct LongUt {
    level: Level,
    matcher: Matcher,
}

/// Memory of [`Long`] and [`LongUt`] that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct LongWorkspace(Matching);

impl LongWorkspace {
    /// Returns the number of pairs (a Velo and a SciFi track) in the last event, which is an input of the networks.
    pub fn crowd(&self) -> usize {
        self.0.pairs.crowd
    }

    /// For all later events, the networks get `pairs` as the event's number of pairs instead of the true number, so
    /// that one pair of a larger event can be judged alone.
    pub fn set_crowd(&mut self, pairs: usize) {
        self.0.judge.crowd = Some(pairs);
    }
}

/// Input of `LongUt`: tracks and hits of the same events.
#[derive(Debug, Clone, Copy)]
pub struct LongUtInput<'a> {
    /// Tracks in the Velo.
    pub velo: &'a VeloTracks,
    /// Hits in the UT.
    pub ut: &'a UtBatch,
    /// Tracks in the SciFi.
    pub scifi: &'a SciFiTracks,
}

impl Long {
    /// Creates an algorithm that combines Velo tracks with the SciFi tracks that `scifi` finds.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if `config` is invalid.
    pub fn new(scifi: SciFi, config: LongConfig, bending: Bending) -> Result<Self> {
        Ok(Self { level: Algorithm::level(&scifi), matcher: Matcher::new(scifi, config, bending, None)? })
    }

    /// Returns the sequence `long`, which starts from raw banks of Velo and SciFi.
    ///
    /// # Errors
    /// Returns the errors of [`Long::new`], and [`Error::Config`](crate::Error::Config) if `velo` and `scifi` have
    /// different levels.
    pub fn sequence(velo: Velo, scifi: SciFi, config: LongConfig, bending: Bending) -> Result<Sequence> {
        let long = Self::new(scifi.clone(), config, bending)?;
        Sequence::new("long", velo)?.with(scifi.hits())?.with(scifi)?.with(long)
    }

    /// Combines Velo and SciFi tracks of the events in `range`, and appends the long tracks to `out`, event by event.
    ///
    /// # Panics
    /// Panics if `range` is not within the events.
    pub fn match_tracks(
        &self,
        velo: &VeloTracks,
        scifi: &SciFiTracks,
        range: Range<usize>,
        workspace: &mut LongWorkspace,
        out: &mut Outcome<LongTracks>,
    ) {
        self.matcher.run_on(self.level, Parts { velo, scifi, ut: None }, range, &mut workspace.0, out);
    }
}

impl LongUt {
    /// Creates an algorithm that combines the tracks that `velo` and `scifi` find with hits in the UT.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if `config` is invalid.
    pub fn new(
        velo: &Velo,
        ut: &UtDetector,
        scifi: SciFi,
        config: LongConfig,
        bending: Bending,
    ) -> Result<Self> {
        let end_z = velo.config().fit.end_z;
        let layout = UtLayout::new(&ut.geometry, ut.tables.clone(), ut.polarity, end_z)?;
        let level = Algorithm::level(&scifi);
        Ok(Self { level, matcher: Matcher::new(scifi, config, bending, Some(layout))? })
    }

    /// Returns the sequence `long-ut`, which starts from raw banks of Velo, UT and SciFi.
    ///
    /// # Errors
    /// Returns the errors of [`LongUt::new`], and [`Error::Config`](crate::Error::Config) if `velo` and `scifi` have
    /// different levels.
    pub fn sequence(
        velo: Velo,
        ut: &UtDetector,
        scifi: SciFi,
        config: LongConfig,
        bending: Bending,
    ) -> Result<Sequence> {
        let long = Self::new(&velo, ut, scifi.clone(), config, bending)?;
        let hits = ut.hits(Algorithm::level(&velo), velo.bad_banks());
        Sequence::new("long-ut", velo)?.with(hits)?.with(scifi.hits())?.with(scifi)?.with(long)
    }

    /// Combines Velo and SciFi tracks of the events in `range`, and appends the long tracks, with hits in the UT, to
    /// `out`.
    ///
    /// # Panics
    /// Panics if `range` is not within the events.
    pub fn match_tracks(
        &self,
        LongUtInput { velo, ut, scifi }: LongUtInput<'_>,
        range: Range<usize>,
        workspace: &mut LongWorkspace,
        out: &mut Outcome<LongTracks>,
    ) {
        self.matcher.run_on(self.level, Parts { velo, scifi, ut: Some(ut) }, range, &mut workspace.0, out);
    }
}

const STAGES: &[Stage] =
    &[Stage { name: "match", input: "Velo and SciFi tracks", output: "long tracks", parts: &[] }];
const UT_STAGES: &[Stage] =
    &[Stage { name: "match", input: "Velo and SciFi tracks, UT hits", output: "long tracks", parts: &[] }];

impl Algorithm for Long {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "",
        reads: &[VELO_TRACKS, SCIFI_TRACKS],
        makes: LONG_TRACKS,
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = LongTracks;
    type Scratch = LongWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut LongWorkspace, out: &mut Outcome<LongTracks>) {
        self.match_tracks(slice.product(0), slice.product(1), 0..slice.range().len(), scratch, out);
    }
}

impl Algorithm for LongUt {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "",
        reads: &[VELO_TRACKS, UT_HITS, SCIFI_TRACKS],
        makes: LONG_TRACKS,
        stages: UT_STAGES,
        stages_in_chain: UT_STAGES,
    };

    type Output = LongTracks;
    type Scratch = LongWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut LongWorkspace, out: &mut Outcome<LongTracks>) {
        let input = LongUtInput { velo: slice.product(0), ut: slice.product(1), scifi: slice.product(2) };
        self.match_tracks(input, 0..slice.range().len(), scratch, out);
    }
}
