//! Counts the work of the searches: hits compared, lanes used, and windows truncated.

use crate::event::{Counters, StageCounter, Truncation};
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};

/// Index of this stage in the counters.
pub(in crate::velo) const STAGE: usize = 2;

/// Counts of the work of the search loops, for the counters.
pub(in crate::velo) struct Tally<G: Gang> {
    /// Number of hits looked at, per lane.
    pub(super) active: U32<G>,
    /// Number of vectors of hits looked at.
    pub(super) vectors: u64,
    pub(super) cut_short: u64,
}

impl<G: Gang> Tally<G> {
    pub(super) fn new(g: G) -> Self {
        Self { active: U32::splat(g, 0), vectors: 0, cut_short: 0 }
    }

    /// Counts a search of `steps` vectors, with `count` hits per lane.
    #[inline(always)]
    pub(super) fn add(&mut self, count: U32<G>, steps: u32) {
        self.active = self.active + count;
        self.vectors += u64::from(steps);
    }

    #[inline(always)]
    pub(in crate::velo) fn add_to(&self, g: G, counts: &mut FindCounts) {
        counts.lanes_active += u64::from(self.active.reduce_add(Mask::first(g, G::LANES)));
        counts.lanes_total += self.vectors * G::LANES as u64;
        counts.cut_short += self.cut_short;
    }
}

/// Counts of the work of the searches in an event.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::velo) struct FindCounts {
    lanes_active: u64,
    lanes_total: u64,
    pub(super) cut_short: u64,
}

impl FindCounts {
    /// Adds the counts to the counters of the stage.
    pub(in crate::velo) fn add_to(self, counters: &mut Counters) {
        let stage: &mut StageCounter = &mut counters.stages[STAGE];
        stage.lanes_active += self.lanes_active;
        stage.lanes_total += self.lanes_total;
        if self.cut_short > 0 {
            counters.count_truncated(Truncation::CandidatesInWindow, self.cut_short);
        }
    }
}
