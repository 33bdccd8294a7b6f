//! Memory of the preset `paper`, reused from event to event, and the arguments of its steps.

use super::seed::SeedScratch;
use crate::event::Column;
use crate::velo::config::PaperConfig;

/// Memory of the preset.
#[derive(Debug, Default)]
pub(in crate::velo) struct PaperScratch {
    /// phi of the sorted hits, and phi of the hits in input order, rad.
    pub(super) phi: Column<f32>,
    pub(super) unsorted: Column<f32>,
    pub(super) seeds: SeedScratch,
    pub(super) active: Active,
    /// Tracks that the current step extends, and the new hit of each.
    pub(super) extended: Column<u32>,
    pub(super) extended_by: Column<u32>,
}

/// The tracks that are still followed, as columns: their last two hits, row, and pairs missed in a row.
#[derive(Debug, Default)]
pub(super) struct Active {
    pub(super) before: Column<u32>,
    pub(super) last: Column<u32>,
    pub(super) row: Column<u32>,
    pub(super) missed: Column<u32>,
}

impl Active {
    #[inline(always)]
    pub(super) fn set_len(&mut self, tracks: usize) {
        for column in [&mut self.before, &mut self.last, &mut self.row, &mut self.missed] {
            column.set_len(tracks);
        }
    }
}

/// Parameters, and the largest number of candidates in a search window.
pub(in crate::velo) struct Search<'a> {
    pub config: &'a PaperConfig,
    pub max_candidates: u32,
}

/// Parameters of the search at one pair of modules.
pub(super) struct Step<'a> {
    pub(super) config: &'a PaperConfig,
    pub(super) max_candidates: u32,
    pub(super) pair: usize,
}
