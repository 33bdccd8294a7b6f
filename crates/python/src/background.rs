//! Runs work on a separate thread, while the calling thread checks for signals and reports progress.
//!
//! ```text
//! calling thread   waits without the interpreter's lock; every 20 ms: signals, progress
//! job's thread     works, counts in atomics, ends early when asked to
//! ```

use crate::errors;
use peloton::Result;
use peloton_job::{Cancel, Host, Progress, Work};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between looks at signals and progress.
const POLL: Duration = Duration::from_millis(20);
/// Time for an interrupted job to end, before the calling thread stops waiting for it.
const GRACE: Duration = Duration::from_millis(50);

/// The progress and warnings that a job has reported so far.
#[derive(Default)]
pub struct Heard {
    what: Mutex<&'static str>,
    done: AtomicU64,
    items: AtomicU64,
    warnings: Mutex<Vec<String>>,
}

/// Locks a mutex, even after a panic of another thread.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress for Heard {
    fn begin(&self, work: Work) {
        *lock(&self.what) = work.what;
        self.done.store(0, Ordering::Relaxed);
        self.items.store(work.items.unwrap_or(0), Ordering::Relaxed);
    }

    fn advance(&self, items: u64) {
        self.done.fetch_add(items, Ordering::Relaxed);
    }

    fn warn(&self, text: &str) {
        lock(&self.warnings).push(text.into());
    }
}

impl Heard {
    /// Takes the warnings that were added since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.warnings))
    }

    /// Calls `progress(what, done, items)`; items are `None` where their number is unknown.
    fn report(&self, progress: &Bound<'_, PyAny>) -> PyResult<()> {
        let (what, done) = (*lock(&self.what), self.done.load(Ordering::Relaxed));
        let items = Some(self.items.load(Ordering::Relaxed)).filter(|items| *items > 0);
        if what.is_empty() { Ok(()) } else { progress.call1((what, done, items)).map(drop) }
    }
}

/// Message of a thread at its end: the result, or none after a panic.
type Done<T> = Option<Result<T>>;

/// How a caller observes and stops the work.
#[derive(Default)]
pub struct Watch<'py> {
    /// Function that is called with the name of the current activity, its progress, and its total.
    pub progress: Option<Bound<'py, PyAny>>,
    /// Whether to wait for the end of an interrupted job, because the job may be renaming a file.
    pub until_end: bool,
    /// Flag that asks the work to end early.
    pub cancel: Cancel,
    /// Whether warnings are suppressed, because the result contains the losses.
    pub is_quiet: bool,
}

/// Runs `work` on another thread. An exception of a signal handler, such as `KeyboardInterrupt`, ends the work early.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    watch: Watch<'_>,
    work: impl FnOnce(Host<'_>) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (heard, cancel) = (Arc::new(Heard::default()), watch.cancel.clone());
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let telling = heard.clone();
    let job = move || {
        let host = Host { progress: &*telling, cancel: &cancel };
        let done = catch_unwind(AssertUnwindSafe(|| work(host))).ok();
        // The receiver is gone after an interruption.
        let _ = send.send(done);
    };
    let spawned = thread::Builder::new().name("peloton-job".into()).spawn(job);
    spawned.map_err(|e| errors::exception(peloton::Error::System(format!("cannot start a thread: {e}"))))?;
    let done = loop {
        match py.detach(|| lock(&receive).recv_timeout(POLL)) {
            Ok(done) => break done,
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let progress = || watch.progress.as_ref().map_or(Ok(()), |progress| heard.report(progress));
        if let Err(interrupt) = py.check_signals().and_then(|()| progress()) {
            watch.cancel.request();
            py.detach(|| wait(&lock(&receive), watch.until_end));
            return Err(interrupt);
        }
    };
    let result = done.ok_or_else(|| errors::fault("a job panicked"))?.map_err(errors::exception)?;
    if let Some(progress) = &watch.progress {
        heard.report(progress)?;
    }
    if !watch.is_quiet {
        errors::warn(py, heard.take_warnings())?;
    }
    Ok(result)
}

/// Waits for the end of a job that was asked to end.
fn wait<T>(receive: &Receiver<Done<T>>, until_end: bool) {
    let begin = Instant::now();
    while until_end || begin.elapsed() < GRACE {
        match receive.recv_timeout(POLL) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// Runs `work` on the calling thread, which signals cannot interrupt.
pub fn at_once<T: Send>(py: Python<'_>, work: impl FnOnce(Host<'_>) -> Result<T> + Send) -> PyResult<T> {
    let (heard, cancel) = (Heard::default(), Cancel::default());
    let host = Host { progress: &heard, cancel: &cancel };
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(host))));
    result.map_err(|_| errors::fault("a job panicked"))?.map_err(errors::exception)
}
