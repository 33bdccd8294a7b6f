//! [`Long`]: the sequence from raw banks to long tracks.

use super::config::LongConfig;
use super::matcher::{Matcher, Matching};
use super::parts::Parts;
use crate::Result;
use crate::engine::{Sequence, Stage};
use crate::event::{LongTracks, Outcome, RawBatch, RawEvents, SciFiTracks, VeloTracks};
use crate::lhcb::Bending;
use crate::lhcb::banks::mark_partial;
use crate::scifi::{STAGES_IN_CHAIN as SCIFI_STAGES, SciFi, SciFiWorkspace};
use crate::simd::Level;
use crate::velo::{STAGES_IN_CHAIN as VELO_STAGES, Velo, VeloInput, VeloSequenceWorkspace};
use std::ops::Range;

/// First stage of the SciFi, and the stage in which tracks are matched.
const SCIFI: usize = VELO_STAGES.len();
const MATCH: usize = SCIFI + SCIFI_STAGES.len();

/// Raw banks of Velo and SciFi to long tracks.
#[derive(Debug, Clone)]
pub struct Long {
    velo: Velo,
    matcher: Matcher,
}

/// Scratch memory of one thread.
#[derive(Debug, Default)]
pub struct LongWorkspace {
    velo: VeloSequenceWorkspace,
    scifi: SciFiWorkspace,
    velo_tracks: Outcome<VeloTracks>,
    scifi_tracks: Outcome<SciFiTracks>,
    matching: Matching,
}

impl Long {
    /// A sequence of these two; the level is that of the Velo's.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for a configuration that cannot be used.
    pub fn new(velo: Velo, scifi: SciFi, config: LongConfig, bending: Bending) -> Result<Self> {
        Ok(Self { velo, matcher: Matcher::new(scifi, config, bending, None, MATCH)? })
    }

    /// Matches the tracks of the events of `range`, which have tracks in both detectors, and appends them to `out`, in order.
    ///
    /// # Panics
    /// When `range` is not within the events.
    pub fn match_tracks(
        &self,
        velo: &VeloTracks,
        scifi: &SciFiTracks,
        range: Range<usize>,
        workspace: &mut LongWorkspace,
        out: &mut Outcome<LongTracks>,
    ) {
        let parts = Parts { velo, scifi, ut: None };
        self.matcher.run_on(self.level(), parts, range, &mut workspace.matching, out);
    }
}

impl Sequence for Long {
    const NAME: &'static str = "long";
    const STAGES: &'static [Stage] = &[
        VELO_STAGES[0],
        VELO_STAGES[1],
        VELO_STAGES[2],
        VELO_STAGES[3],
        SCIFI_STAGES[0],
        SCIFI_STAGES[1],
        SCIFI_STAGES[2],
        SCIFI_STAGES[3],
        Stage { name: "match", input: "Velo and SciFi tracks", output: "long tracks", parts: &[] },
    ];

    type Input<'a> = RawEvents<'a>;
    type Batch = RawBatch;
    type Output = LongTracks;
    type Workspace = LongWorkspace;

    fn level(&self) -> Level {
        self.velo.level()
    }

    fn view(batch: &RawBatch) -> RawEvents<'_> {
        batch.view()
    }

    fn accept(&self, events: RawEvents<'_>) -> Result<()> {
        self.velo.accept(events.into())
    }

    fn bank_bytes(&self, events: RawEvents<'_>) -> Option<u64> {
        let velo = self.velo.bank_bytes(VeloInput::Banks(events))?;
        Some(velo + self.matcher.scifi.bank_bytes(events)?)
    }

    fn run_range(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        workspace: &mut LongWorkspace,
        out: &mut Outcome<LongTracks>,
    ) {
        let LongWorkspace { velo, scifi, velo_tracks, scifi_tracks, matching } = workspace;
        velo_tracks.clear();
        scifi_tracks.clear();
        let (count, events) = (range.len(), events.with_bad_banks(self.velo.bad_banks()));
        self.velo.run_banks(events, range.clone(), velo, velo_tracks);
        self.matcher.scifi.run_banks(events, range.clone(), scifi, scifi_tracks);
        out.counters.add_part(&velo_tracks.counters, 0);
        out.counters.add_part(&scifi_tracks.counters, SCIFI);
        let parts = Parts { velo: &velo_tracks.results, scifi: &scifi_tracks.results, ut: None };
        self.matcher.run_on(self.level(), parts, 0..count, matching, out);
        mark_partial(out, range, |number| {
            let event = events.event(number);
            self.velo.is_partial(number, &event, &velo.decode)
                || self.matcher.scifi.is_partial(number, &event, scifi)
        });
    }
}
