//! [`LongUt`]: the sequence from raw banks to long tracks with their hits in the UT.

use super::config::LongConfig;
use super::matcher::{Matcher, Matching};
use super::parts::Parts;
use crate::chain::UtDetector;
use crate::engine::{Sequence, Stage};
use crate::event::{BankKind, LongTracks, Outcome, RawBatch, RawEvents, SciFiTracks, UtBatch, VeloTracks};
use crate::lhcb::Bending;
use crate::lhcb::banks::mark_partial;
use crate::scifi::{STAGES_IN_CHAIN as SCIFI_STAGES, SciFi, SciFiWorkspace};
use crate::simd::Level;
use crate::ut::{UtLayout, UtScratch, decode, is_partial};
use crate::velo::{STAGES_IN_CHAIN as VELO_STAGES, Velo, VeloInput, VeloSequenceWorkspace};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The stage of the UT, the first of the SciFi, and the stage in which tracks are matched.
const UT: usize = VELO_STAGES.len();
const SCIFI: usize = UT + 1;
const MATCH: usize = SCIFI + SCIFI_STAGES.len();

/// Raw banks of Velo, UT and SciFi to long tracks with their hits in the UT, by which the classifier judges, too.
#[derive(Debug, Clone)]
pub struct LongUt {
    velo: Velo,
    ut: Arc<UtDetector>,
    matcher: Matcher,
}

/// Events as far as they are reconstructed.
#[derive(Debug, Clone, Copy)]
pub struct LongUtInput<'a> {
    /// Tracks in the Velo.
    pub velo: &'a VeloTracks,
    /// Hits in the UT.
    pub ut: &'a UtBatch,
    /// Tracks in the SciFi.
    pub scifi: &'a SciFiTracks,
}

/// Scratch memory of one thread.
#[derive(Debug, Default)]
pub struct LongUtWorkspace {
    velo: VeloSequenceWorkspace,
    decode: UtScratch,
    scifi: SciFiWorkspace,
    velo_tracks: Outcome<VeloTracks>,
    hits: Outcome<UtBatch>,
    scifi_tracks: Outcome<SciFiTracks>,
    matching: Matching,
}

impl LongUt {
    /// A sequence of these three; the level is that of the Velo's.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be used.
    pub fn new(
        velo: Velo,
        ut: Arc<UtDetector>,
        scifi: SciFi,
        config: LongConfig,
        bending: Bending,
    ) -> Result<Self> {
        let end_z = velo.config().fit.end_z;
        let layout = UtLayout::new(&ut.geometry, ut.tables.clone(), ut.polarity, end_z)?;
        Ok(Self { velo, ut, matcher: Matcher::new(scifi, config, bending, Some(layout), MATCH)? })
    }

    /// Matches the tracks of the events of `range`, which have hits in the UT, too, and appends them to `out`, in order.
    ///
    /// # Panics
    /// When `range` is not within the events.
    pub fn match_tracks(
        &self,
        LongUtInput { velo, ut, scifi }: LongUtInput<'_>,
        range: Range<usize>,
        workspace: &mut LongUtWorkspace,
        out: &mut Outcome<LongTracks>,
    ) {
        let parts = Parts { velo, scifi, ut: Some(ut) };
        self.matcher.run_on(self.level(), parts, range, &mut workspace.matching, out);
    }
}

impl Sequence for LongUt {
    const NAME: &'static str = "long-ut";
    const STAGES: &'static [Stage] = &[
        VELO_STAGES[0],
        VELO_STAGES[1],
        VELO_STAGES[2],
        VELO_STAGES[3],
        Stage { name: "ut decode", input: "raw banks", output: "UT hits", parts: &[] },
        SCIFI_STAGES[0],
        SCIFI_STAGES[1],
        SCIFI_STAGES[2],
        SCIFI_STAGES[3],
        Stage { name: "match", input: "Velo and SciFi tracks, UT hits", output: "long tracks", parts: &[] },
    ];

    type Input<'a> = RawEvents<'a>;
    type Batch = RawBatch;
    type Output = LongTracks;
    type Workspace = LongUtWorkspace;

    fn level(&self) -> Level {
        self.velo.level()
    }

    fn view(batch: &RawBatch) -> RawEvents<'_> {
        batch.view()
    }

    fn accept(&self, events: RawEvents<'_>) -> Result<()> {
        self.velo.accept(events.into()).map_err(|error| match error {
            Error::Config(_) => {
                Error::Config("the sequence long-ut needs the geometry of Velo, UT and SciFi".into())
            }
            error => error,
        })
    }

    fn bank_bytes(&self, events: RawEvents<'_>) -> Option<u64> {
        let velo = self.velo.bank_bytes(VeloInput::Banks(events))?;
        let ut = events.bank_bytes(|_| BankKind::Ut);
        Some(velo + ut + self.matcher.scifi.bank_bytes(events)?)
    }

    fn run_range(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        workspace: &mut LongUtWorkspace,
        out: &mut Outcome<LongTracks>,
    ) {
        let LongUtWorkspace { velo, decode: scratch, scifi, velo_tracks, hits, scifi_tracks, matching } =
            workspace;
        velo_tracks.clear();
        hits.clear();
        scifi_tracks.clear();
        let (count, events) = (range.len(), events.with_bad_banks(self.velo.bad_banks()));
        self.velo.run_banks(events, range.clone(), velo, velo_tracks);
        decode(self.level(), &self.ut.geometry, events, range.clone(), scratch, hits);
        self.matcher.scifi.run_banks(events, range.clone(), scifi, scifi_tracks);
        out.counters.add_part(&velo_tracks.counters, 0);
        out.counters.add_part(&hits.counters, UT);
        out.counters.add_part(&scifi_tracks.counters, SCIFI);
        let parts =
            Parts { velo: &velo_tracks.results, scifi: &scifi_tracks.results, ut: Some(&hits.results) };
        self.matcher.run_on(self.level(), parts, 0..count, matching, out);
        mark_partial(out, range, |number| {
            let event = events.event(number);
            self.velo.is_partial(number, &event, &velo.decode)
                || is_partial(&self.ut.geometry, number, &event, scratch)
                || self.matcher.scifi.is_partial(number, &event, scifi)
        });
    }
}
