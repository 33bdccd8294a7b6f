//! [`SlicedTracks`]: the tracks of a batch, one piece per slice, in the order of the events.

use crate::event::{Counters, VeloTracks};

/// Results of one slice.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) tracks: VeloTracks,
    pub(crate) counters: Counters,
}

/// The tracks of a batch of events as one [`VeloTracks`] per slice, in the order of the events. Reused from
/// batch to batch, it allocates only while it still grows.
#[derive(Debug, Default)]
pub struct SlicedTracks {
    slots: Vec<Slot>,
    used: usize,
}

impl SlicedTracks {
    /// Empties everything and makes room for `slices` slices.
    pub(crate) fn prepare(&mut self, slices: usize) -> &mut [Slot] {
        if self.slots.len() < slices {
            self.slots.resize_with(slices, Slot::default);
        }
        self.used = slices;
        for slot in &mut self.slots[..slices] {
            slot.tracks.clear();
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
    pub fn slices(&self) -> impl Iterator<Item = &VeloTracks> + Clone {
        self.slots[..self.used].iter().map(|slot| &slot.tracks)
    }

    /// The events in order, each as its slice and its place in the slice.
    pub fn events(&self) -> impl Iterator<Item = (&VeloTracks, usize)> + Clone {
        self.slices().flat_map(|tracks| (0..tracks.events()).map(move |event| (tracks, event)))
    }

    /// Number of tracks of all events.
    pub fn tracks(&self) -> usize {
        self.slices().map(VeloTracks::tracks).sum()
    }
}
