//! [`Sliced`]: the results of a batch, one piece per slice, in the order of the events.

use crate::event::{Counters, Results};

/// Results of one slice.
#[derive(Debug, Default)]
pub struct Slot<R> {
    /// One entry for each event of the slice.
    pub results: R,
    /// What happened to them.
    pub counters: Counters,
}

/// The results of a batch of events as one piece per slice, in the order of the events. Reused from batch to batch,
/// it allocates only while it still grows.
#[derive(Debug)]
pub struct Sliced<R> {
    slots: Vec<Slot<R>>,
    used: usize,
}

impl<R> Default for Sliced<R> {
    fn default() -> Self {
        Self { slots: Vec::new(), used: 0 }
    }
}

impl<R: Results> Sliced<R> {
    /// Empties everything and gives `slices` empty slots.
    pub fn prepare(&mut self, slices: usize) -> &mut [Slot<R>] {
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

    /// Adds one more, empty slot.
    pub fn add(&mut self) -> &mut Slot<R> {
        if self.slots.len() == self.used {
            self.slots.push(Slot::default());
        }
        self.used += 1;
        let slot = &mut self.slots[self.used - 1];
        slot.results.clear();
        slot.counters = Counters::default();
        slot
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

    /// The events in order, each as its slice and its number in the slice.
    pub fn events(&self) -> impl Iterator<Item = (&R, usize)> + Clone {
        self.slices().flat_map(|piece| (0..piece.items(0)).map(move |event| (piece, event)))
    }

    /// Number of tracks of all events.
    pub fn tracks(&self) -> usize {
        self.slices().map(R::tracks).sum()
    }
}
