//! [`Sliced`]: the results of a batch, one piece per slice, in the order of the events.

use super::{Handle, Products};
use crate::event::{Columns, Counters, Product};

/// The results of a batch of events, one piece per slice, in the order of the events. A `Sliced` that is reused
/// allocates memory only for a batch larger than all earlier batches.
#[derive(Debug, Default)]
pub struct Sliced {
    slots: Vec<Products>,
    used: usize,
}

impl Sliced {
    /// Removes all results, then returns `slices` empty slots for these products.
    pub fn prepare(&mut self, slices: usize, products: &[Handle]) -> &mut [Products] {
        if self.slots.first().is_some_and(|slot| !slot.is_of(products)) {
            self.slots.clear();
        }
        if self.slots.len() < slices {
            self.slots.resize_with(slices, || Products::new(products));
        }
        self.used = slices;
        self.slots[..slices].iter_mut().for_each(Products::clear);
        &mut self.slots[..slices]
    }

    /// Adds an empty slot for these products and returns the slot.
    pub fn add(&mut self, products: &[Handle]) -> &mut Products {
        if self.slots.len() == self.used {
            self.slots.push(Products::new(products));
        }
        self.used += 1;
        let slot = &mut self.slots[self.used - 1];
        slot.clear();
        slot
    }

    /// Returns the sums of the counts over all slices.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.slots[..self.used].iter().for_each(|slot| sum.merge(&slot.counters));
        sum
    }

    /// Returns the first of the products of each slice, in the order of the events.
    pub fn slices(&self) -> impl Iterator<Item = &Columns> + Clone {
        self.pieces().iter().map(Products::first)
    }

    /// Returns all products of each slice, in the order of the events.
    pub fn pieces(&self) -> &[Products] {
        &self.slots[..self.used]
    }

    /// Returns the first of the products of each slice, as type `P`, in the order of the events.
    ///
    /// # Panics
    /// Panics if the first product is not of type `P`.
    pub fn products<P: Product>(&self) -> impl Iterator<Item = &P> + Clone {
        self.slices().map(|slice| slice.get().expect("the first product is of type P"))
    }

    /// Returns, for each event in order, the first of the products of its slice, and the index of the event in it.
    pub fn events(&self) -> impl Iterator<Item = (&Columns, usize)> + Clone {
        self.slices().flat_map(|piece| (0..piece.items(0)).map(move |event| (piece, event)))
    }

    /// Returns, for each event in order, the first product of its slice, as type `P`, and the index of the event in it.
    ///
    /// # Panics
    /// Panics if the first product is not of type `P`.
    pub fn events_of<P: Product>(&self) -> impl Iterator<Item = (&P, usize)> + Clone {
        self.products::<P>().flat_map(|piece| (0..piece.items(0)).map(move |event| (piece, event)))
    }

    /// Number of tracks of all events.
    pub fn tracks(&self) -> usize {
        self.slices().map(|slice| slice.tracks()).sum()
    }
}
