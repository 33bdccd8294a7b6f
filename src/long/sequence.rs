//! [`Long`]: the sequence from raw banks to long tracks.

use super::choose::Choice;
use super::config::LongConfig;
use super::pairs::Pairs;
use super::select::Selected;
use crate::engine::{Sequence, Stage};
use crate::event::{LongTracks, Outcome, RawBatch, RawEvents, SciFiTracks, StageClock, States, VeloTracks};
use crate::lhcb::Bending;
use crate::lhcb::material::Scattering;
use crate::scifi::{STAGES_IN_CHAIN as SCIFI_STAGES, SciFi, SciFiWorkspace};
use crate::simd::{Gang, Level};
use crate::velo::{STAGES_IN_CHAIN as VELO_STAGES, Velo, VeloInput, VeloSequenceWorkspace};
use crate::{Result, Status};
use std::ops::Range;

/// First stage of the SciFi, and the stage in which tracks are matched.
const SCIFI: usize = VELO_STAGES.len();
const MATCH: usize = SCIFI + SCIFI_STAGES.len();

/// Raw banks of Velo and SciFi to long tracks.
#[derive(Debug, Clone)]
pub struct Long {
    velo: Velo,
    scifi: SciFi,
    config: LongConfig,
    bending: Bending,
    /// Variance of the angle by what is before the magnet, at 1 GeV/c.
    scattering: f32,
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

/// Memory of the matching.
#[derive(Debug, Default)]
struct Matching {
    selected: Selected,
    pairs: Pairs,
    choice: Choice,
}

/// The tracks of both detectors.
#[derive(Clone, Copy)]
struct Parts<'a> {
    velo: &'a VeloTracks,
    scifi: &'a SciFiTracks,
}

impl Long {
    /// A sequence of these two; the level is that of the Velo's.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for a configuration that cannot be used.
    pub fn new(velo: Velo, scifi: SciFi, config: LongConfig, bending: Bending) -> Result<Self> {
        config.validate()?;
        let scattering = Scattering::new().before_scifi as f32;
        Ok(Self { velo, scifi, config, bending, scattering })
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
        let matching = &mut workspace.matching;
        let parts = Parts { velo, scifi };
        crate::simd::kernels!(dispatch!(self.level(), g => run(g, self, parts, range, matching, out)));
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
        Stage { name: "match", input: "Velo and SciFi tracks", output: "long tracks" },
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
        Some(velo + self.scifi.bank_bytes(events)?)
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
        let count = range.len();
        self.velo.run_range(events.into(), range.clone(), velo, velo_tracks);
        self.scifi.run_range(events, range, scifi, scifi_tracks);
        out.counters.add_part(&velo_tracks.counters, 0);
        out.counters.add_part(&scifi_tracks.counters, SCIFI);
        let parts = Parts { velo: &velo_tracks.results, scifi: &scifi_tracks.results };
        crate::simd::kernels!(dispatch!(self.level(), g => run(g, self, parts, 0..count, matching, out)));
    }
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    of: &Long,
    parts: Parts<'_>,
    range: Range<usize>,
    matching: &mut Matching,
    out: &mut Outcome<LongTracks>,
) {
    let mut clock = StageClock::start();
    for event in range {
        let status = match parts.velo.status[event] {
            Status::Ok => parts.scifi.status[event],
            status => status,
        };
        let stage = &mut out.counters.stages[MATCH];
        stage.items_in += parts.scifi.of_event(event).len() as u64;
        if status == Status::Ok {
            match_room(g, of, parts, event, matching, &mut out.results);
            stage.lanes_active += matching.pairs.lanes[0];
            stage.lanes_total += matching.pairs.lanes[1];
            stage.items_out += matching.choice.tracks.len() as u64;
            out.results.status.push(status);
            out.counters.count_event(status);
        } else {
            out.push_failed(status);
        }
        clock.lap(&mut out.counters.stages[MATCH]);
    }
}

#[inline(never)]
fn match_room<G: Gang>(
    g: G,
    of: &Long,
    parts: Parts<'_>,
    event: usize,
    matching: &mut Matching,
    out: &mut LongTracks,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let (Matching { selected, pairs, choice }, Parts { velo, scifi }) = (matching, parts);
            let (velo_range, scifi_range) = (velo.of_event(event), scifi.of_event(event));
            selected.select(g, &of.config, velo, velo_range.clone());
            pairs.list(g, &of.config, selected, scifi, scifi_range.clone());
            choice.choose(&of.config, pairs, velo_range, scifi_range);
            for &(velo_track, scifi_track, chi2) in &choice.tracks {
                append(of, parts, velo_track as usize, scifi_track as usize, out);
                out.chi2.push(f32::from_bits(chi2));
            }
            out.track_start.push(out.hit_start.len() as u32 - 1);
        },
    );
}

/// Writes a track but its chi2.
#[inline(always)]
fn append(
    of: &Long,
    Parts { velo, scifi }: Parts<'_>,
    velo_track: usize,
    scifi_track: usize,
    out: &mut LongTracks,
) {
    // Velo tracks list their hits from the largest z down.
    velo.hits_of(velo_track).iter().rev().for_each(|&hit| out.hits.push(hit));
    out.hits.extend_from_slice(scifi.hits_of(scifi_track));
    out.hit_start.push(out.hits.len() as u32);
    copy_state(&velo.beam, velo_track, &mut out.beam);
    let (velo_tx, velo_ty) = (velo.end.tx[velo_track], velo.end.ty[velo_track]);
    let mut state = scifi.state.get(scifi_track);
    // The formula was made for slopes as the search has them.
    let behind = scifi.searched.tx[scifi_track];
    let change = behind - velo_tx;
    state.qop = of.bending.qop([velo_tx, velo_ty], behind);
    out.scifi.push(&state);
    // The momentum goes with the change of slope, whose relative error is the momentum's: slopes before and behind as they
    // are measured, and what scatters in between and turns slopes as the field does.
    let [by_hits, by_scattering] = of.scifi.turn(scifi.hits_of(scifi_track));
    let scattering = (of.scattering + by_scattering) * (state.qop * state.qop);
    let of_slopes = (velo.end.cov_tt[velo_track] + by_hits + scattering) / (change * change);
    let error = of.config.momentum_error;
    let relative = error.mul_add(error, of_slopes);
    // Beyond 100 % the sign is not known, either.
    let relative = if relative < 1.0 { relative } else { 1.0 };
    out.var_qop.push(state.qop * state.qop * relative);
}

#[inline(always)]
fn copy_state(from: &States, track: usize, to: &mut States) {
    to.x.push(from.x[track]);
    to.y.push(from.y[track]);
    to.z.push(from.z[track]);
    to.tx.push(from.tx[track]);
    to.ty.push(from.ty[track]);
    to.cov_xx.push(from.cov_xx[track]);
    to.cov_xt.push(from.cov_xt[track]);
    to.cov_tt.push(from.cov_tt[track]);
}
