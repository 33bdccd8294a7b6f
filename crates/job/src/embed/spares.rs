//! [`Spares`]: memory of results that nobody reads any more, for the next ones.

use peloton::event::{ColumnInfo, Results, Values, ValuesMut};
use std::any::Any;
use std::sync::{Arc, Mutex};

/// So many results at most are kept.
const KEPT: usize = 2;

/// Memory of results that nobody reads any more: what fresh memory costs is a good part of what fast kernels cost. Nobody
/// waits for it: when another thread is at it, there is none.
#[derive(Clone, Default)]
pub struct Spares(Arc<Mutex<Vec<Box<dyn Any + Send>>>>);

impl Spares {
    /// Memory for results of this type, if there is any.
    pub(super) fn take<R: Results>(&self) -> Option<R> {
        let spare = self.0.try_lock().ok()?.pop()?;
        spare.downcast().ok().map(|results| *results)
    }

    fn give_back<R: Results>(&self, results: R) {
        if let Ok(mut kept) = self.0.try_lock()
            && kept.len() < KEPT
        {
            kept.push(Box::new(results));
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
        for _ in 0..5 {
            spares.give_back(VeloTracks::default());
        }
        assert!(
            (0..KEPT).all(|_| spares.take::<VeloTracks>().is_some()) && spares.take::<VeloTracks>().is_none()
        );
    }
}
