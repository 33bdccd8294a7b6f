//! [`Sliced`]: the results of a batch, one piece per slice, in the order of the events.

use crate::event::{Counters, Outcome, Results};

/// The results of a batch of events as one piece per slice, in the order of the events. Reused from batch to batch,
/// it allocates only while it still grows.
#[derive(Debug)]
pub struct Sliced<R> {
    slots: Vec<Outcome<R>>,
    used: usize,
}

impl<R> Default for Sliced<R> {
    fn default() -> Self {
        Self { slots: Vec::new(), used: 0 }
    }
}

impl<R: Results> Sliced<R> {
    /// Empties everything and gives `slices` empty slots.
    pub fn prepare(&mut self, slices: usize) -> &mut [Outcome<R>] {
        if self.slots.len() < slices {
            self.slots.resize_with(slices, Outcome::default);
        }
        self.used = slices;
        self.slots[..slices].iter_mut().for_each(Outcome::clear);
        &mut self.slots[..slices]
    }

    /// Adds one more, empty slot.
    pub fn add(&mut self) -> &mut Outcome<R> {
        if self.slots.len() == self.used {
            self.slots.push(Outcome::default());
        }
        self.used += 1;
        let slot = &mut self.slots[self.used - 1];
        slot.clear();
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
