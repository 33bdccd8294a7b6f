//! Asking for an early end: a signal (the second one ends at once), or nobody reads the output any more.

use peloton::{Error, Result};
use peloton_io::output::remove_unfinished;
use peloton_job::Cancel;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock};

/// The wish to end, shared by all jobs of this process.
pub static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::default);

/// The signal that came first; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The signal that asked for the end, if one did.
pub fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// The exit code of a program that ends because of a signal, as shells have it.
pub fn exit_code(signal: i32) -> u8 {
    128 + (signal & 0x7F) as u8
}

/// Notes a signal, or ends the program at the second one.
fn hear(signal: i32) {
    if SIGNAL.swap(signal, Ordering::Relaxed) != 0 {
        remove_unfinished();
        std::process::exit(i32::from(exit_code(signal)));
    }
    CANCEL.request();
}

/// Starts to listen.
#[cfg(unix)]
pub fn listen() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    let mut wanted = vec![SIGINT, SIGTERM];
    // Who started the program with `nohup` wants it to go on without a terminal.
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let failed = |e| Error::System(format!("cannot listen for signals: {e}"));
    // A file that may not grow is an error of the write, which names the file, and no reason to be killed.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(failed)?;
    let mut signals = signal_hook::iterator::Signals::new(wanted).map_err(failed)?;
    let listener = std::thread::Builder::new().name("peloton-signals".into());
    listener.spawn(move || signals.forever().for_each(hear)).map(drop).map_err(failed)
}

/// Whether the program was started with this signal ignored, where the system tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Starts to listen.
#[cfg(not(unix))]
pub fn listen() -> Result<()> {
    // Ctrl-C is the one that there is; 2 is its number elsewhere.
    ctrlc::set_handler(|| hear(2)).map_err(|e| Error::System(format!("cannot listen for Ctrl-C: {e}")))
}
