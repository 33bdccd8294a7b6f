//! [`Spares`]: recycled memory of dropped results, for the next results.

use peloton::event::{Columns, Schema};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// So many results at most are kept for each user: while one is being made its user may hold the one before.
const KEPT: usize = 2;

/// Recycled memory of dropped results: fresh memory costs a large part of the time of fast kernels. It never blocks:
/// while another thread uses it, it returns nothing.
#[derive(Clone, Default)]
pub struct Spares(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kept: Mutex<Vec<Columns>>,
    users: AtomicUsize,
}

impl Spares {
    /// Adds a thread that makes results, until the return value is dropped.
    pub fn add_user(&self) -> SpareUser {
        self.0.users.fetch_add(1, Ordering::Relaxed);
        SpareUser(self.clone())
    }

    /// How many results are kept at most; somebody uses them, whether told of or not.
    fn most(&self) -> usize {
        KEPT * self.0.users.load(Ordering::Relaxed).max(1)
    }

    /// Memory for results with this schema, if there is any.
    pub(super) fn take(&self, schema: &'static Schema) -> Option<Columns> {
        let spare = self.0.kept.try_lock().ok()?.pop()?;
        spare.schema().is(schema).then_some(spare)
    }

    pub(super) fn give_back(&self, results: Columns) {
        if let Ok(mut kept) = self.0.kept.try_lock()
            && kept.len() < self.most()
        {
            kept.push(results);
        }
    }
}

/// One thread that makes results. When it is dropped, less memory is kept.
#[must_use]
pub struct SpareUser(Spares);

impl Drop for SpareUser {
    fn drop(&mut self) {
        self.0.0.users.fetch_sub(1, Ordering::Relaxed);
        if let Ok(mut kept) = self.0.0.kept.try_lock() {
            kept.truncate(self.0.most());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::{PixelClusters, Product, VeloTracks};

    #[test]
    fn so_much_memory_is_kept_for_each_user() {
        for (users, kept) in [(0, KEPT), (1, KEPT), (3, 3 * KEPT)] {
            let spares = Spares::default();
            let users: Vec<_> = (0..users).map(|_| spares.add_user()).collect();
            let fill = || (0..10).for_each(|_| spares.give_back(Columns::of::<VeloTracks>()));
            let taken = || (0..10).filter(|_| spares.take(VeloTracks::SCHEMA).is_some()).count();
            fill();
            assert_eq!(taken(), kept, "{} users", users.len());
            // Users that are gone leave no more than one user has, however many there were.
            fill();
            drop(users);
            assert_eq!(taken(), KEPT);
            fill();
            assert_eq!(taken(), KEPT);
        }
    }

    #[test]
    fn memory_of_another_product_is_of_no_use() {
        let spares = Spares::default();
        spares.give_back(Columns::of::<VeloTracks>());
        assert!(spares.take(PixelClusters::SCHEMA).is_none());
    }
}
