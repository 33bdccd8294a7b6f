//! [`Columns`]: owner of results of any type.

use super::{Product, Results};
use std::ops::{Deref, DerefMut};

/// Owns the results of one product of any type, and has the methods of [`Results`]. Code that hashes, compares or
/// writes results uses this type, so that the code is compiled once.
///
/// ```
/// use peloton::Status;
/// use peloton::event::{Columns, VeloTracks};
///
/// let mut columns = Columns::of::<VeloTracks>();
/// columns.push_failed(Status::Corrupt);
/// assert_eq!((columns.events(), columns.schema().levels[1]), (1, "track"));
/// let tracks: &VeloTracks = columns.get().expect("Velo tracks");
/// assert_eq!(tracks.status, [Status::Corrupt]);
/// ```
#[derive(Debug)]
pub struct Columns(Box<dyn Results>);

impl Columns {
    /// Makes empty results of the product `P`.
    pub fn of<P: Product>() -> Self {
        Self(Box::new(P::default()))
    }

    /// Moves the results out and leaves empty results of the same product.
    pub fn take(&mut self) -> Self {
        let empty = self.0.empty();
        std::mem::replace(self, empty)
    }
}

impl<P: Product> From<P> for Columns {
    fn from(results: P) -> Self {
        Self(Box::new(results))
    }
}

impl Deref for Columns {
    type Target = dyn Results;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Columns {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}
