//! [`HalfHits`]: what each step of the search reads.

use crate::scifi::index::Index;

/// The hits of one half of the detector.
#[derive(Clone, Copy)]
pub(in crate::scifi) struct HalfHits<'a> {
    pub(in crate::scifi) index: &'a Index,
    pub(in crate::scifi) half: usize,
}
