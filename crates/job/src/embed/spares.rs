//! [`Spares`]: recycled memory of dropped results, for the next results.

use peloton::event::{Columns, Schema};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum number of results of a product that are kept for each user: a user may read one result and make the next.
const KEPT: usize = 2;

/// Recycled memory of dropped results, because fresh memory would take a large part of the time of fast kernels. No
/// call blocks: while another thread uses this store, a caller gets no memory.
#[derive(Clone, Default)]
pub struct Spares(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kept: Mutex<Vec<Columns>>,
    users: AtomicUsize,
}

impl Spares {
    /// Registers a thread that makes results, until the return value is dropped.
    pub fn add_user(&self) -> SpareUser {
        self.0.users.fetch_add(1, Ordering::Relaxed);
        SpareUser(self.clone())
    }

    /// Returns the maximum number of kept results of a product: `KEPT` for each user, and at least `KEPT`.
    fn most(&self) -> usize {
        KEPT * self.0.users.load(Ordering::Relaxed).max(1)
    }

    /// Returns recycled memory for results with this schema, if there is any.
    pub(super) fn take(&self, schema: &'static Schema) -> Option<Columns> {
        let mut kept = self.0.kept.try_lock().ok()?;
        let last = kept.iter().rposition(|spare| spare.schema().is(schema))?;
        Some(kept.swap_remove(last))
    }

    pub(super) fn give_back(&self, results: Columns) {
        if let Ok(mut kept) = self.0.kept.try_lock() {
            self.keep(results, &mut kept);
        }
    }

    fn keep(&self, results: Columns, kept: &mut Vec<Columns>) {
        let same = kept.iter().filter(|spare| spare.schema().is(results.schema()));
        if same.count() < self.most() {
            kept.push(results);
        }
    }
}

/// One registered thread that makes results. Dropping it ends the registration: less memory is kept.
#[must_use]
pub struct SpareUser(Spares);

impl Drop for SpareUser {
    fn drop(&mut self) {
        self.0.0.users.fetch_sub(1, Ordering::Relaxed);
        if let Ok(mut kept) = self.0.0.kept.try_lock() {
            std::mem::take(&mut *kept).into_iter().for_each(|spare| self.0.keep(spare, &mut kept));
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
            let fill = || {
                for _ in 0..10 {
                    spares.give_back(Columns::of::<VeloTracks>());
                    spares.give_back(Columns::of::<PixelClusters>());
                }
            };
            let taken = || {
                let count = |schema| (0..10).filter(|_| spares.take(schema).is_some()).count();
                let counts = [VeloTracks::SCHEMA, PixelClusters::SCHEMA].map(count);
                assert_eq!(counts[0], counts[1], "of each product");
                counts[0]
            };
            fill();
            assert_eq!(taken(), kept, "{} users", users.len());
            // When all users are gone, as much memory is kept as for one user.
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
