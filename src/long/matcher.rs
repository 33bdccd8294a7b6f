//! Matching: tracks of Velo and SciFi, and hits of the UT where there are any, to long tracks; one event after another.

use super::choose::Choice;
use super::config::LongConfig;
use super::pairs::Pairs;
use super::select::Selected;
use crate::Status;
use crate::event::{LongTracks, Outcome, SciFiTracks, StageClock, States, Truncation, UtBatch, VeloTracks};
use crate::lhcb::Bending;
use crate::lhcb::material::Scattering;
use crate::scifi::SciFi;
use crate::simd::{Gang, Level};
use crate::ut::{Attached, Bent, UtLayout};
use std::ops::Range;

/// What matching needs to know, of the SciFi and behind it.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    pub(super) scifi: SciFi,
    pub(super) config: LongConfig,
    pub(super) bending: Bending,
    /// The UT, where tracks are given hits in it.
    pub(super) layout: Option<UtLayout>,
    /// The stage of the sequence that this is.
    pub(super) stage: usize,
    /// Variance of the angle by what is before the magnet, at 1 GeV/c.
    scattering: f32,
}

/// Memory of the matching.
#[derive(Debug, Default)]
pub(super) struct Matching {
    selected: Selected,
    pairs: Pairs,
    bent: Bent,
    attached: Attached,
    choice: Choice,
}

/// What the detectors saw.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) velo: &'a VeloTracks,
    pub(super) scifi: &'a SciFiTracks,
    pub(super) ut: Option<&'a UtBatch>,
}

impl Parts<'_> {
    /// What became of an event: the first detector along the beam that failed says it.
    fn status(&self, event: usize) -> Status {
        let all = [
            Some(self.velo.status[event]),
            self.ut.map(|ut| ut.status[event]),
            Some(self.scifi.status[event]),
        ];
        all.into_iter().flatten().find(|status| *status != Status::Ok).unwrap_or(Status::Ok)
    }
}

impl Matcher {
    pub(super) fn new(
        scifi: SciFi,
        config: LongConfig,
        bending: Bending,
        layout: Option<UtLayout>,
        stage: usize,
    ) -> crate::Result<Self> {
        config.validate()?;
        let scattering = Scattering::new().before_scifi as f32;
        Ok(Self { scifi, config, bending, layout, stage, scattering })
    }

    /// Matches the tracks of the events of `range` and appends them to `out`.
    pub(super) fn run_on(
        &self,
        level: Level,
        parts: Parts<'_>,
        range: Range<usize>,
        matching: &mut Matching,
        out: &mut Outcome<LongTracks>,
    ) {
        crate::simd::kernels!(dispatch!(level, g => self.run(g, parts, range, matching, out)));
    }

    #[inline(always)]
    fn run<G: Gang>(
        &self,
        g: G,
        parts: Parts<'_>,
        range: Range<usize>,
        matching: &mut Matching,
        out: &mut Outcome<LongTracks>,
    ) {
        let mut clock = StageClock::start();
        for event in range {
            let status = parts.status(event);
            let stage = &mut out.counters.stages[self.stage];
            stage.items_in += parts.scifi.of_event(event).len() as u64;
            if status == Status::Ok {
                match_room(g, self, parts, event, matching, &mut out.results);
                let attached = parts.ut.map_or([0; 2], |_| matching.attached.lanes);
                stage.lanes_active += matching.pairs.lanes[0] + attached[0];
                stage.lanes_total += matching.pairs.lanes[1] + attached[1];
                stage.items_out += matching.choice.tracks.len() as u64;
                let lost = parts.ut.map_or(0, |_| matching.attached.lost);
                out.counters.count_truncated(Truncation::CandidatesInWindow, lost);
                out.results.status.push(status);
                out.counters.count_event(status);
            } else {
                out.push_failed(status);
            }
            clock.lap(&mut out.counters.stages[self.stage]);
        }
    }
}

#[inline(never)]
fn match_room<G: Gang>(
    g: G,
    of: &Matcher,
    parts: Parts<'_>,
    event: usize,
    matching: &mut Matching,
    out: &mut LongTracks,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let Parts { velo, scifi, ut } = parts;
            let (velo_range, scifi_range) = (velo.of_event(event), scifi.of_event(event));
            let Matching { selected, pairs, .. } = matching;
            selected.select(g, &of.config, velo, velo_range.clone());
            pairs.list(g, &of.config, selected, scifi, scifi_range.clone());
            let with_ut = ut.zip(of.layout.as_ref());
            if let Some((ut, layout)) = with_ut {
                let Matching { selected, pairs, bent, attached, .. } = matching;
                pairs.keep_likely(g, &of.config, selected, parts);
                bent.take(of, parts, pairs);
                attached.fill(g, layout, ut, event);
                attached.attach(g, layout, bent);
            }
            let Matching { selected, pairs, attached, choice, .. } = matching;
            pairs.rank(g, &of.config, selected, parts, with_ut.map(|_| &*attached));
            choice.choose(&of.config, pairs, velo_range, scifi_range);
            for &(_, _, pair) in &matching.choice.tracks {
                append(of, parts, event, matching, pair as usize, out);
                out.chi2.push(matching.pairs.chi2.padded()[pair as usize]);
            }
            out.track_start.push(out.hit_start.len() as u32 - 1);
        },
    );
}

impl Bent {
    /// Takes the pairs as tracks.
    #[inline(always)]
    fn take(&mut self, of: &Matcher, Parts { velo, scifi, .. }: Parts<'_>, pairs: &Pairs) {
        self.line.set_len(pairs.len);
        self.bend.set_len(pairs.len);
        let end = &velo.end;
        for pair in 0..pairs.len {
            let [track, other] = [&pairs.velo, &pairs.scifi].map(|column| column.padded()[pair] as usize);
            let (tx, ty, behind) = (end.tx[track], end.ty[track], scifi.searched.tx[other]);
            self.line[pair] = [end.x[track], end.y[track], tx, ty];
            let bend = of.bending.qop([tx, ty], behind).abs();
            self.bend[pair] = if behind < tx { -bend } else { bend };
        }
    }
}

/// Writes a track, given its pair, but its chi2.
#[inline(always)]
fn append(
    of: &Matcher,
    Parts { velo, scifi, ut }: Parts<'_>,
    event: usize,
    matching: &Matching,
    pair: usize,
    out: &mut LongTracks,
) {
    let [velo_track, scifi_track] =
        [&matching.pairs.velo, &matching.pairs.scifi].map(|column| column.padded()[pair] as usize);
    // Velo tracks list their hits from the largest z down.
    velo.hits_of(velo_track).iter().rev().for_each(|&hit| out.hits.push(hit));
    if let Some(ut) = ut {
        let first = ut.of_event(event).start;
        matching.attached.hits_of(pair).for_each(|hit| out.hits.push(ut.id[first + hit as usize]));
    }
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
