//! [`Stream`]: results of a job while it runs, piece by piece.

use crate::background::{Heard, lock};
use crate::errors::{exception, fault, named, warn};
use crate::request::Asked;
use crate::results::Results;
use peloton::{Error, Result};
use peloton_job::embed::{self, SharedResults};
use peloton_job::{Cancel, Host, Request, Summary};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Largest number of pieces that wait to be taken.
const WAITING: usize = 2;
/// Time between looks at signals.
const POLL: Duration = Duration::from_millis(20);

/// Message of the job's thread.
enum Sent {
    Piece(SharedResults),
    End(Option<Result<Box<Summary>>>),
}

/// Results of a job, in order. The job waits while earlier results have not been taken.
#[pyclass(frozen, module = "peloton._native")]
pub struct Stream {
    request: Arc<Request>,
    cancel: Cancel,
    heard: Arc<Heard>,
    /// None after the end of the job, or after `close`.
    receive: Mutex<Option<Receiver<Sent>>>,
    summary: Mutex<Option<String>>,
}

fn job(request: &Request, heard: &Heard, cancel: &Cancel, send: &SyncSender<Sent>) {
    let host = Host { progress: heard, cancel };
    let take = |results| {
        let gone = |_| Error::Internal("the receiver of the results is gone".into());
        send.send(Sent::Piece(results)).map_err(gone)
    };
    let done = catch_unwind(AssertUnwindSafe(|| embed::each(request, host, take).map(Box::new))).ok();
    // After `close` there is no receiver for the end.
    let _ = send.send(Sent::End(done));
}

#[pymethods]
impl Stream {
    #[new]
    fn new(asked: Asked) -> PyResult<Self> {
        let request = Arc::new(asked.request()?);
        let (cancel, heard) = (Cancel::default(), Arc::new(Heard::default()));
        let (send, receive) = sync_channel(WAITING);
        let (of, telling, ending) = (request.clone(), heard.clone(), cancel.clone());
        let spawned = thread::Builder::new().name("peloton-job".into());
        let spawned = spawned.spawn(move || job(&of, &telling, &ending, &send));
        spawned.map_err(|e| exception(Error::System(format!("cannot start a thread: {e}"))))?;
        Ok(Self { request, cancel, heard, receive: Mutex::new(Some(receive)), summary: Mutex::default() })
    }

    /// Returns the next results; none at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Results>> {
        loop {
            let received = py.detach(|| {
                let receive = lock(&self.receive);
                receive.as_ref().map(|receive| receive.recv_timeout(POLL))
            });
            match received {
                None => return Ok(None),
                Some(Ok(Sent::Piece(results))) => {
                    return Results::of(results, self.request.clone()).map(Some);
                }
                Some(Ok(Sent::End(done))) => {
                    self.close(py);
                    let summary = done.ok_or_else(|| fault("a job panicked"))?.map_err(exception)?;
                    let json = serde_json::to_string(&summary).map_err(|e| fault(&e.to_string()))?;
                    *lock(&self.summary) = Some(json);
                    warn(py, self.heard.take_warnings())?;
                    // A job that came to its end may have failed as a whole.
                    return summary.failure.map_or(Ok(None), |failure| Err(named("FormatError", &failure)));
                }
                Some(Err(RecvTimeoutError::Disconnected)) => return Err(fault("the job has no result")),
                Some(Err(RecvTimeoutError::Timeout)) => {}
            }
            if let Err(interrupt) = py.check_signals() {
                self.close(py);
                return Err(interrupt);
            }
        }
    }

    /// Ends the job early, and closes its sockets and files.
    fn close(&self, py: Python<'_>) {
        self.cancel.request();
        let receive = py.detach(|| lock(&self.receive).take());
        drop(receive);
    }

    /// Returns the summary as JSON; none before the end of the job.
    #[getter]
    fn summary(&self) -> Option<String> {
        lock(&self.summary).clone()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel.request();
    }
}
