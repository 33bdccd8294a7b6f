//! [`HalfHits`]: the hits of the lower or upper half of the SciFi, input of all steps of the search.

use crate::scifi::index::{Index, Layer};

/// The hits of one half of the detector.
#[derive(Clone, Copy)]
pub(in crate::scifi) struct HalfHits<'a> {
    pub(super) index: &'a Index,
    /// x of all places in the index, mm.
    pub(super) x: &'a [f32],
    pub(super) half: usize,
}

impl<'a> HalfHits<'a> {
    /// Returns the hits of a half, from an index and the x of its event's hits.
    #[inline(always)]
    pub(in crate::scifi) fn new(index: &'a Index, event_x: &'a [f32], half: usize) -> Self {
        Self { index, x: index.x(event_x), half }
    }

    /// Returns a layer of this half.
    #[inline(always)]
    pub(super) fn layer(&self, layer: usize) -> Layer<'a> {
        self.index.layer(self.x, self.half, layer)
    }
}
