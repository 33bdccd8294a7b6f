//! Ends jobs early: on a signal, or when the program that reads the output has closed it. A second signal, more than a
//! second after the first, ends the program at once.

use crate::console;
use peloton::{Error, Result};
use peloton_io::output::remove_unfinished;
use peloton_job::Cancel;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Signals within this time after the first signal are ignored: `timeout` sends its signal both to the program and to
/// the program's process group, and a terminal may send Ctrl-C as well.
const SAME_WISH: Duration = Duration::from_secs(1);
/// Time limit for writing the program's last message: the program that reads standard error may hang.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The request to end early, shared by all jobs of this process.
pub static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::default);

/// Number of the first signal received; 0 before any signal.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Time at which the first signal was received.
static HEARD: Mutex<Option<Instant>> = Mutex::new(None);

/// Description of the partial results of an interrupted job.
static KEPT: Mutex<Option<String>> = Mutex::new(None);

/// Stores a description of the partial results of an interrupted job.
pub fn keep(what: String) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
}

/// Returns the description of the partial results of an interrupted job.
pub fn kept() -> String {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
    kept.unwrap_or_else(|| "partial results follow".into())
}

/// Returns the number of the signal that asked the program to end, if any.
pub fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Returns the exit code after a signal, by the convention of shells: 128 plus the signal's number.
pub fn exit_code(signal: i32) -> u8 {
    128 + (signal & 0x7F) as u8
}

/// Handles a signal: notes the first, ignores a repeat, ends the program at a late second one.
fn hear(signal: i32) {
    let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
    match *heard {
        None => {
            *heard = Some(Instant::now());
            SIGNAL.store(signal, Ordering::Relaxed);
            CANCEL.request();
        }
        Some(first) if first.elapsed() < SAME_WISH => {}
        Some(_) => end_at_once(signal),
    }
}

/// Ends the program and leaves no incomplete file.
fn end_at_once(signal: i32) {
    remove_unfinished();
    let (said, is_said) = channel();
    // A separate thread writes the message, since the write blocks if the reader of standard error hangs.
    std::thread::spawn(move || {
        let message = format!("ended at once by a second signal {signal}: incomplete outputs were removed");
        console::warning(&message);
        // After the time limit the receiver is gone.
        let _ = said.send(());
    });
    let _ = is_said.recv_timeout(LAST_WORDS);
    std::process::exit(i32::from(exit_code(signal)));
}

/// Starts to listen for signals.
#[cfg(unix)]
pub fn listen() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    let mut wanted = vec![SIGINT, SIGTERM];
    // A program that was started with `nohup` must continue without a terminal.
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let failed = |e| Error::System(format!("cannot listen for signals: {e}"));
    // With a handler for SIGXFSZ, a write beyond the file size limit returns an error that names the file.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(failed)?;
    let mut signals = signal_hook::iterator::Signals::new(wanted).map_err(failed)?;
    let listener = std::thread::Builder::new().name("peloton-signals".into());
    listener.spawn(move || signals.forever().for_each(hear)).map(drop).map_err(failed)
}

/// Whether the program was started with this signal ignored, if the system reports it.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Starts to listen for Ctrl-C.
#[cfg(not(unix))]
pub fn listen() -> Result<()> {
    // Systems other than Unix have Ctrl-C alone; 2 is its number on Unix.
    ctrlc::set_handler(|| hear(2)).map_err(|e| Error::System(format!("cannot listen for Ctrl-C: {e}")))
}
