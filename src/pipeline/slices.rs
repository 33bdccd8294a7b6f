//! [`Sliced`]: the results of a batch, one piece per slice, in the order of the events.

use crate::event::{Counters, Results, VeloTracks};

/// Results of one slice.
#[derive(Debug, Default)]
pub(super) struct Slot<R> {
    pub(super) results: R,
    pub(super) counters: Counters,
}

/// The results of a batch of events as one piece per slice, in the order of the events. Reused from batch to batch,
/// it allocates only while it still grows.
#[derive(Debug, Default)]
pub struct Sliced<R> {
    slots: Vec<Slot<R>>,
    used: usize,
}

/// Velo tracks of a batch.
pub type SlicedTracks = Sliced<VeloTracks>;

impl<R: Results> Sliced<R> {
    /// Empties everything and makes room for `slices` slices.
    pub(super) fn prepare(&mut self, slices: usize) -> &mut [Slot<R>] {
        if self.slots.len() < slices {
            self.slots.resize_with(slices, Slot::default);
        }
        self.used = slices;
        for slot in &mut self.slots[..slices] {
            slot.results.clear();
            slot.counters = Counters::default();
        }
        &mut self.slots[..slices]
    }

    /// The sums over all slices.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.slots[..self.used].iter().for_each(|slot| sum.merge(&slot.counters));
        sum
    }

    /// The slices in the order of the events.
    pub fn slices(&self) -> impl Iterator<Item = &R> + Clone {
        self.slots[..self.used].iter().map(|slot| &slot.results)
    }

    /// The events in order, each as its slice and its place in the slice.
    pub fn events(&self) -> impl Iterator<Item = (&R, usize)> + Clone {
        self.slices().flat_map(|piece| (0..piece.statuses().len()).map(move |event| (piece, event)))
    }

    /// Number of tracks of all events.
    pub fn tracks(&self) -> usize {
        self.slices().map(R::tracks).sum()
    }
}
