//! [`in_order`]: makes events on several threads and passes them on in order.

use crossbeam_channel::{Receiver, bounded};
use peloton::simd::set_default_float_mode;
use peloton::{Error, Result};
use std::ops::Range;
use std::thread;

/// Number of events that each thread makes ahead.
const AHEAD: usize = 8;

/// Calls `make` with the number of each event on `threads` threads, and calls `take` on the calling thread with each
/// result, in the order of the events, until `take` returns false. Each thread has separate scratch memory.
///
/// # Errors
/// [`Error::System`] when a thread cannot start, [`Error::Internal`] when a thread panicked.
pub fn in_order<S: Default, T: Send>(
    events: Range<u64>,
    threads: usize,
    make: impl Fn(&mut S, u64) -> T + Sync,
    mut take: impl FnMut(T) -> bool,
) -> Result<()> {
    let threads = threads.min(usize::try_from(events.end.saturating_sub(events.start)).unwrap_or(usize::MAX));
    if threads <= 1 {
        let mut scratch = S::default();
        for number in events {
            if !take(make(&mut scratch, number)) {
                break;
            }
        }
        return Ok(());
    }
    thread::scope(|scope| {
        let mut made: Vec<Receiver<T>> = Vec::new();
        let mut workers = Vec::new();
        for first in 0..threads {
            let (sender, receiver) = bounded(AHEAD);
            let (make, numbers) = (&make, events.clone().skip(first).step_by(threads));
            let work = move || {
                set_default_float_mode();
                let mut scratch = S::default();
                for number in numbers {
                    // The work ends when the receiver has ended.
                    if sender.send(make(&mut scratch, number)).is_err() {
                        break;
                    }
                }
            };
            let worker = thread::Builder::new().name(format!("simulate-{first}")).spawn_scoped(scope, work);
            workers.push(worker.map_err(|e| Error::System(format!("cannot start a thread: {e}")))?);
            made.push(receiver);
        }
        // A thread that ended early has panicked; joining it gives the error.
        for (_, receiver) in events.zip((0..threads).cycle()) {
            if !made[receiver].recv().is_ok_and(&mut take) {
                break;
            }
        }
        drop(made);
        let failed = |_| Error::Internal("a simulating thread panicked".into());
        workers.into_iter().try_for_each(|worker| worker.join().map_err(failed))
    })
}

/// Takes up to `max` events from the front.
pub(super) fn take_events(events: &mut Range<u64>, max: usize) -> Range<u64> {
    let middle = events.start.saturating_add(max as u64).min(events.end).max(events.start);
    let taken = events.start..middle;
    events.start = middle;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The squares of some numbers, up to the first one above `last`.
    fn squares(numbers: Range<u64>, threads: usize, last: u64) -> Vec<u64> {
        let mut taken = Vec::new();
        let make = |calls: &mut u64, number: u64| {
            *calls += 1;
            // Later numbers are finished first.
            thread::sleep(std::time::Duration::from_micros(10 * (7 - number % 7)));
            (*calls, number * number)
        };
        let take = |(calls, square)| {
            assert!(calls > 0);
            taken.push(square);
            square <= last
        };
        in_order(numbers, threads, make, take).unwrap();
        taken
    }

    #[test]
    fn what_is_made_comes_in_order() {
        for threads in [0, 1, 2, 3, 7, 100] {
            let all: Vec<u64> = (5..90).map(|number| number * number).collect();
            assert_eq!(squares(5..90, threads, u64::MAX), all, "{threads}");
            assert_eq!(squares(5..90, threads, 100), [25, 36, 49, 64, 81, 100, 121], "{threads}");
            assert!(squares(5..5, threads, 0).is_empty());
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let make = |_: &mut (), number: u64| assert_ne!(number, 11, "meant to fail");
        let mut taken = 0;
        let count = |()| {
            taken += 1;
            true
        };
        let made = in_order(0..100, 3, make, count);
        assert!(matches!(made, Err(Error::Internal(_))), "{made:?}");
        assert_eq!(taken, 11);
    }
}
