//! Counts the SIMD lanes of a search that do useful work.

use crate::event::StageCounter;
use crate::simd::Gang;
use crate::simd::varying::Mask;

/// Number of lanes that did useful work, and of all lanes.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::scifi) struct Occupancy {
    active: u64,
    total: u64,
}

impl Occupancy {
    #[inline(always)]
    pub(super) fn add<G: Gang>(&mut self, _: G, lanes: Mask<G>) {
        self.active += lanes.count() as u64;
        self.total += G::LANES as u64;
    }

    /// Adds lanes of several steps.
    #[inline(always)]
    pub(in crate::scifi) fn add_all(&mut self, active: usize, total: usize) {
        self.active += active as u64;
        self.total += total as u64;
    }

    /// Adds the counts to a stage.
    pub(in crate::scifi) fn add_to(self, stage: &mut StageCounter) {
        stage.lanes_active += self.active;
        stage.lanes_total += self.total;
    }
}
