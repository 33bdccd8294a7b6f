//! [`Spares`]: memory of results that nobody reads any more, for the next ones.

use peloton::Status;
use peloton::event::{ColumnInfo, Results, Values, ValuesMut};
use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// So many results at most are kept for each user: while one is being made its user may hold the one before.
const KEPT: usize = 2;

/// Memory of results that nobody reads any more: what fresh memory costs is a good part of what fast kernels cost. Nobody
/// waits for it: when another thread is at it, there is none.
#[derive(Clone, Default)]
pub struct Spares(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kept: Mutex<Vec<Box<dyn Any + Send>>>,
    users: AtomicUsize,
}

impl Spares {
    /// One more thread makes results beside the others, until what comes back is dropped.
    pub fn add_user(&self) -> SpareUser {
        self.0.users.fetch_add(1, Ordering::Relaxed);
        SpareUser(self.clone())
    }

    /// How many results are kept at most; somebody uses them, whether told of or not.
    fn most(&self) -> usize {
        KEPT * self.0.users.load(Ordering::Relaxed).max(1)
    }

    /// Memory for results of this type, if there is any.
    pub(super) fn take<R: Results>(&self) -> Option<R> {
        let spare = self.0.kept.try_lock().ok()?.pop()?;
        spare.downcast().ok().map(|results| *results)
    }

    fn give_back<R: Results>(&self, results: R) {
        if let Ok(mut kept) = self.0.kept.try_lock()
            && kept.len() < self.most()
        {
            kept.push(Box::new(results));
        }
    }
}

/// One thread that makes results. Without it less memory is kept.
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

/// Results whose memory goes back when the last reader is gone.
#[derive(Default)]
pub(super) struct Lent<R: Results> {
    results: R,
    home: Spares,
}

impl<R: Results> Lent<R> {
    pub fn new(results: R, home: &Spares) -> Self {
        Self { results, home: home.clone() }
    }
}

impl<R: Results> std::fmt::Debug for Lent<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.results.fmt(f)
    }
}

impl<R: Results> Drop for Lent<R> {
    fn drop(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        results.clear();
        self.home.give_back(results);
    }
}

impl<R: Results> Results for Lent<R> {
    const LEVELS: &'static [&'static str] = R::LEVELS;
    const COLUMNS: &'static [ColumnInfo] = R::COLUMNS;

    fn for_each_column<'a>(&'a self, visit: &mut dyn FnMut(&'static ColumnInfo, Values<'a>)) {
        self.results.for_each_column(visit);
    }

    fn for_each_column_mut(&mut self, visit: &mut dyn FnMut(&'static ColumnInfo, ValuesMut<'_>)) {
        self.results.for_each_column_mut(visit);
    }

    fn statuses(&self) -> &[Status] {
        self.results.statuses()
    }

    fn items(&self, depth: usize) -> usize {
        self.results.items(depth)
    }

    fn truncate(&mut self, rows: usize) {
        self.results.truncate(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::VeloTracks;

    #[test]
    fn memory_comes_back_empty_when_the_last_reader_is_gone() {
        let spares = Spares::default();
        assert!(spares.take::<VeloTracks>().is_none());
        let mut tracks = VeloTracks::default();
        tracks.push_failed(peloton::Status::Corrupt);
        tracks.chi2.reserve_total(1000);
        let memory = tracks.chi2.padded().as_ptr();
        let lent = Arc::new(Lent::new(tracks, &spares));
        let reader = lent.clone();
        drop(lent);
        assert!(spares.take::<VeloTracks>().is_none() && reader.events() == 1);
        drop(reader);
        let again: VeloTracks = spares.take().expect("the memory");
        assert_eq!((again.events(), again.chi2.padded().as_ptr()), (0, memory));
        for (users, kept) in [(0, KEPT), (1, KEPT), (3, 3 * KEPT)] {
            let spares = Spares::default();
            let users: Vec<_> = (0..users).map(|_| spares.add_user()).collect();
            let fill = || (0..10).for_each(|_| spares.give_back(VeloTracks::default()));
            let taken = || (0..10).filter(|_| spares.take::<VeloTracks>().is_some()).count();
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
}
