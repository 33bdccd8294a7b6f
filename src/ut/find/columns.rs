//! Memory of the search with the choices `kick` and `compass`, reused from event to event.

use super::tracklets::{Best, Doublets, SLOT_BITS, Tracks};
use crate::event::{Column, UT_PLANES};

/// The tracks of an event that may have hits in the UT, see [`Tracks`].
#[derive(Debug, Default)]
pub(super) struct TrackColumns {
    /// Number of each track in the event.
    pub(super) number: Column<u32>,
    pub(super) line: Column<[f32; 4]>,
    slots: Column<u32>,
    counts: Column<u32>,
    /// Tracks with hits in three planes.
    pub(super) rows: Column<u32>,
    best: Column<Best>,
}

impl TrackColumns {
    /// Returns the columns, with room for all tracks.
    #[inline(always)]
    pub(super) fn view(&mut self) -> Tracks<'_> {
        self.view_with_best().0
    }

    /// Returns the columns, and the best tracklet of each track.
    #[inline(always)]
    pub(super) fn view_with_best(&mut self) -> (Tracks<'_>, &mut [Best]) {
        let Self { line, slots, counts, rows, best, .. } = self;
        let (len, kept) = (line.len(), rows.len());
        slots.set_len((len * UT_PLANES) << SLOT_BITS);
        counts.set_len(len * UT_PLANES);
        rows.reserve_total(len);
        best.set_len(len);
        let (line, rows) = (line.padded(), rows.padded_mut());
        (Tracks { len, line, slots, counts, rows, kept }, best)
    }
}

/// Pairs of hits, see [`Doublets`].
#[derive(Debug, Default)]
pub(super) struct DoubletColumns {
    pub(super) row: Column<u32>,
    pub(super) backward: Column<u32>,
    pub(super) hits: [Column<u32>; UT_PLANES],
    count: Column<u32>,
    chi2: Column<f32>,
    pub(super) kick: Column<f32>,
}

impl DoubletColumns {
    /// Returns the columns, with room for `most` doublets.
    #[inline(always)]
    pub(super) fn view(&mut self, most: usize) -> Doublets<'_> {
        let Self { row, backward, hits, count, chi2, kick } = self;
        for column in [&mut *row, backward, count].into_iter().chain(&mut *hits) {
            column.reserve_total(most);
        }
        for column in [&mut *chi2, kick] {
            column.reserve_total(most);
        }
        Doublets {
            row: row.padded_mut(),
            backward: backward.padded_mut(),
            hits: hits.each_mut().map(Column::padded_mut),
            count: count.padded_mut(),
            chi2: chi2.padded_mut(),
            kick: kick.padded_mut(),
            len: 0,
        }
    }
}
