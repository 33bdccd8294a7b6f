//! The steps of the search before and after `tracklets`, run on the CPU if a GPU finds the tracklets. The steps run on
//! one lane of the scalar level, since all levels give the same bits.

use super::tracklets::{Best, NONE};
use super::{Search, TRACKLETS, UtFindWorkspace, WINDOWS, fill_store, fit_tracklets, select};
use crate::Status;
use crate::event::{Outcome, Truncation, UT_PLANES, UtBatch, VeloTracks, VeloUtTracks};
use crate::simd::one_lane;
use crate::ut::grid::Stored;
use crate::ut::{UtConfig, UtLayout};

/// Velo tracks and hits of the same events, in the order of groups.
#[derive(Clone, Copy)]
pub(crate) struct Halves<'a> {
    pub(crate) config: &'a UtConfig,
    pub(crate) layout: &'a UtLayout,
    pub(crate) velo: &'a VeloTracks,
    pub(crate) hits: &'a UtBatch,
}

/// Results of a device for the tracks of an event, in the form of [`Doublets`](super::tracklets::Doublets) with `room`
/// places for each track.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// Whether a track has hits in three planes, the number of hits left out, and the best tracklet.
    pub(crate) kept: &'a [u32],
    pub(crate) lost: &'a [u32],
    pub(crate) best: &'a [Best],
    pub(crate) backward: &'a [u32],
    pub(crate) hits: [&'a [u32]; UT_PLANES],
    pub(crate) kick: &'a [f32],
    pub(crate) room: usize,
}

impl<'a> Halves<'a> {
    /// Returns the status of an event before the search.
    pub(crate) fn status(&self, event: usize) -> Status {
        self.velo.status[event].and(self.hits.status[event])
    }

    /// Sorts the hits of an event and selects its tracks.
    pub(crate) fn before(&self, event: usize, workspace: &mut UtFindWorkspace) {
        let (search, tracks) = (self.search(), &mut workspace.tracks);
        one_lane!(g => select::select(g, search.velo, event, &mut tracks.number, &mut tracks.line));
        one_lane!(g => fill_store(g, &search, (self.hits, event), workspace));
    }

    /// Returns the hits of an event and the lines of its tracks, after [`Halves::before`].
    pub(crate) fn ready<'w>(&self, workspace: &'w UtFindWorkspace) -> (Stored<'w>, &'w [[f32; 4]]) {
        let stored = workspace.store.view(self.layout);
        let hits = &stored.hits[..stored.weight.len()];
        (Stored { hits, ..stored }, &workspace.tracks.line)
    }

    /// Fits the tracklets of an event and appends its tracks; `workspace` comes from [`Halves::before`].
    pub(crate) fn behind(
        &self,
        event: usize,
        found: &Found<'_>,
        workspace: &mut UtFindWorkspace,
        out: &mut Outcome<VeloUtTracks>,
    ) {
        let UtFindWorkspace { tracks, doublets, chosen, .. } = &mut *workspace;
        let view = doublets.view(found.best.len());
        chosen.clear();
        for (track, best) in found.best.iter().enumerate() {
            if found.kept[track] == 0 || best.doublet == NONE {
                continue;
            }
            let (from, to) = (found.room * track + best.doublet as usize, chosen.len());
            view.row[to] = track as u32;
            view.backward[to] = found.backward[from];
            view.kick[to] = found.kick[from];
            for role in 0..UT_PLANES {
                view.hits[role][to] = found.hits[role][from];
            }
            chosen.push(to as u32);
        }
        let kept = found.kept.iter().map(|&kept| u64::from(kept)).sum::<u64>();
        let lost = found.lost.iter().map(|&lost| u64::from(lost)).sum();
        out.counters.count_truncated(Truncation::CandidatesInWindow, lost);
        let stages = &mut out.counters.stages;
        stages[WINDOWS].items_in += tracks.number.len() as u64;
        stages[WINDOWS].items_out += kept;
        stages[TRACKLETS].items_in += kept;
        let search = self.search();
        one_lane!(g => fit_tracklets(g, &search, (self.hits, event), workspace, out));
        self.count(event, out);
    }

    /// Appends an event that failed before, without tracks.
    pub(crate) fn pass(&self, event: usize, out: &mut Outcome<VeloUtTracks>) {
        out.results.track_start.push(out.results.tracks() as u32);
        self.count(event, out);
    }

    fn count(&self, event: usize, out: &mut Outcome<VeloUtTracks>) {
        let status = self.status(event);
        out.results.status.push(status);
        out.counters.count_event(status);
    }

    fn search(&self) -> Search<'a> {
        let Self { config, layout, velo, .. } = *self;
        Search { config, layout, velo }
    }
}
