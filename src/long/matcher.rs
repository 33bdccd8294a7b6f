//! Matching: combines Velo tracks, SciFi tracks and, for `long-ut`, UT hits into long tracks, one event after another.

use super::choose::Choice;
use super::config::LongConfig;
use super::judge::Judge;
use super::pairs::Pairs;
use super::parts::Parts;
use super::select::Selected;
use super::write::{Turns, append};
use crate::event::{LongTracks, Outcome, StageClock, Truncation};
use crate::lhcb::Bending;
use crate::lhcb::material::Scattering;
use crate::scifi::SciFi;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, Level};
use crate::ut::{Attached, Bent, UtLayout};
use std::ops::Range;

/// Parameters of the matching.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    pub(super) scifi: SciFi,
    pub(super) config: LongConfig,
    pub(super) bending: Bending,
    /// The UT, if tracks get hits in it.
    pub(super) layout: Option<UtLayout>,
    /// Variance of the scattering angle in the material before the SciFi, at 1 GeV/c.
    pub(super) scattering: f32,
}

/// Memory of the matching.
#[derive(Debug, Default)]
pub(super) struct Matching {
    selected: Selected,
    pub(super) pairs: Pairs,
    pub(super) judge: Judge,
    bent: Bent,
    pub(super) attached: Attached,
    pub(super) choice: Choice,
    pub(super) turns: Turns,
}

impl Matcher {
    pub(super) fn new(
        scifi: SciFi,
        config: LongConfig,
        bending: Bending,
        layout: Option<UtLayout>,
    ) -> crate::Result<Self> {
        config.validate()?;
        let scattering = Scattering::new().before_scifi as f32;
        Ok(Self { scifi, config, bending, layout, scattering })
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
        crate::simd::kernels!(dispatch_wide!(level, g => self.run(g, parts, range, matching, out)));
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
            let stage = &mut out.counters.stages[0];
            stage.items_in += parts.scifi.of_event(event).len() as u64;
            if status.is_reconstructed() {
                match_room(g, self, parts, event, matching, &mut out.results);
                let attached = parts.ut.map_or([0; 2], |_| matching.attached.lanes);
                stage.lanes_active += matching.pairs.lanes[0] + attached[0];
                stage.lanes_total += matching.pairs.lanes[1] + attached[1];
                stage.items_out += matching.choice.velo.len() as u64;
                let lost = parts.ut.map_or(0, |_| matching.attached.lost);
                out.counters.count_truncated(Truncation::CandidatesInWindow, lost);
                out.results.status.push(status);
                out.counters.count_event(status);
            } else {
                out.push_failed(status);
            }
            clock.lap(&mut out.counters.stages[0]);
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
            let is_judged = of.config.least(with_ut.is_some()) > 0.0;
            if is_judged {
                let Matching { selected, pairs, judge, .. } = matching;
                judge.sift(g, &of.config, selected, parts, pairs);
            }
            if let Some((ut, layout)) = with_ut {
                let Matching { pairs, bent, attached, .. } = matching;
                bent.take(g, of, parts, pairs);
                attached.fill(g, layout, ut, event);
                attached.attach(g, layout, bent);
            }
            let Matching { pairs, judge, attached, choice, .. } = matching;
            if is_judged {
                judge.rank(g, &of.config, pairs, with_ut.map(|_| &*attached));
            }
            choice.choose(g, &of.config, pairs, velo_range, scifi_range);
            append(g, of, parts, event, matching, out);
            out.track_start.push(out.hit_start.len() as u32 - 1);
        },
    );
}

impl Bent {
    /// Fills the columns with the pairs as tracks.
    #[inline(always)]
    fn take<G: Gang>(&mut self, g: G, of: &Matcher, Parts { velo, scifi, .. }: Parts<'_>, pairs: &Pairs) {
        self.line.set_len(pairs.len);
        self.bend.set_len(pairs.len);
        let end = &velo.end;
        for (line, &track) in self.line.iter_mut().zip(pairs.velo.padded()) {
            let track = track as usize;
            *line = [end.x[track], end.y[track], end.tx[track], end.ty[track]];
        }
        for at in (0..pairs.len).step_by(G::LANES) {
            let (lanes, none) = (Mask::first(g, pairs.len - at), U32::splat(g, 0));
            let track = lanes.select_u(U32::load(g, &pairs.velo.padded()[at..]), none);
            let other = lanes.select_u(U32::load(g, &pairs.scifi.padded()[at..]), none);
            let [tx, ty] = F32::gather_columns([&end.tx, &end.ty], track);
            let behind = F32::gather(&scifi.searched.tx, other);
            let bend = of.bending.qop_of_lanes(g, [tx, ty], behind).abs();
            let bend = behind.lt(tx).select_f(-bend, bend);
            bend.store(&mut self.bend.padded_mut()[at..]);
        }
    }
}
