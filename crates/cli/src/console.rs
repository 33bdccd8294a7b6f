//! Output for the user: results on standard output, everything else on standard error.

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use peloton::{Error, Result};
use peloton_io::output::{is_standard_output, write_whole};
use peloton_job::{Progress, Work};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writes to standard output. If the reader of the pipe has closed it, this is not an error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::io("standard output", e)),
        _ => Ok(()),
    }
}

/// Prints an error as one line on standard error.
pub fn error(message: &str) {
    note("error", &plainer(message));
}

/// Removes details that only developers of this program need: the kind of an error, and its system number.
fn plainer(message: &str) -> String {
    let message = message.strip_prefix("configuration: ").unwrap_or(message);
    match message.split_once(" (os error ") {
        Some((before, after)) => match after.split_once(')') {
            Some((_, rest)) => format!("{before}{rest}"),
            None => message.into(),
        },
        None => message.into(),
    }
}

/// Prints a warning as one line on standard error.
pub fn warning(message: &str) {
    note("warning", message);
}

/// Prints a note as one line on standard error.
pub fn inform(message: &str) {
    // A failure of standard error cannot be reported.
    let _ = writeln!(std::io::stderr(), "{message}");
}

fn note(kind: &str, message: &str) {
    let line: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // A failure of standard error cannot be reported.
    let _ = writeln!(std::io::stderr(), "{kind}: {}", line.join(" "));
}

/// Writes results as JSON to the path of `--json`: a file, or standard output for `-`.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| Error::io(path, e.into()))?;
    text.push('\n');
    if is_standard_output(path) {
        return print(&text);
    }
    write_whole(path, text.as_bytes())
}

/// Shows the progress of a job as a bar, if there is a terminal, and prints warnings. `--quiet` hides the bar.
pub struct Terminal {
    bar: ProgressBar,
    is_quiet: bool,
    /// Name of the current part of the job, followed by a colon; empty for a job without parts.
    stage: Mutex<String>,
    /// Text shown after the remaining time: the slowest stage and its share of the time; empty while unknown.
    busiest: Arc<Mutex<String>>,
}

impl Terminal {
    /// Makes the progress display of one job.
    pub fn new(is_quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { bar, is_quiet, stage: Mutex::default(), busiest: Arc::default() }
    }
}

fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A rate, rounded to its significant digits.
fn rate(per_second: f64) -> String {
    if per_second < 10.0 {
        return format!("{per_second:.1}/s");
    }
    format!("{}/s", HumanCount(per_second as u64))
}

impl Progress for Terminal {
    fn stage(&self, name: &str) {
        *lock(&self.stage) = format!("{name}: ");
    }

    fn begin(&self, work: Work) {
        if self.is_quiet {
            return;
        }
        let Work { what, of, items } = work;
        let template = match items {
            Some(_) => "{prefix} {wide_bar} {human_pos} of {human_len} {msg}, {rate}, {eta} left{busiest}",
            None => "{spinner} {prefix}: {human_pos} {msg}, {rate}, {elapsed}{busiest}",
        };
        let stage = lock(&self.stage);
        self.bar.set_prefix(format!("{stage}{what}"));
        self.bar.set_message(of);
        match items {
            Some(items) => self.bar.set_length(items),
            None => self.bar.unset_length(),
        }
        self.bar.reset();
        let style = ProgressStyle::with_template(template).expect("the template has only known keys");
        let style = style.with_key("rate", |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            // A failure to draw the bar is ignored.
            let _ = write!(to, "{}", rate(state.per_sec()));
        });
        lock(&self.busiest).clear();
        let busiest = self.busiest.clone();
        self.bar.set_style(style.with_key(
            "busiest",
            move |_: &ProgressState, to: &mut dyn std::fmt::Write| {
                // A failure to draw the bar is ignored.
                let _ = to.write_str(&lock(&busiest));
            },
        ));
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
    }

    fn advance(&self, items: u64) {
        self.bar.inc(items);
    }

    fn busiest(&self, part: &str, share: f64) {
        *lock(&self.busiest) = format!(", {part} for {:.0} %", 100.0 * share.min(1.0));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn note(&self, text: &str) {
        if !self.is_quiet {
            self.bar.suspend(|| inform(text));
        }
    }

    fn warn(&self, text: &str) {
        self.bar.suspend(|| warning(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_users_need() {
        for (message, expected) in [
            ("configuration: threads must be 1", "threads must be 1"),
            ("a.json: No such file or directory (os error 2)", "a.json: No such file or directory"),
            ("a (os error 2): b", "a: b"),
            ("a (os error", "a (os error"),
        ] {
            assert_eq!(plainer(message), expected);
        }
    }

    #[test]
    fn rates_have_no_digits_that_say_nothing() {
        assert_eq!([611.8778, 3.16789, 1234567.8, 0.0].map(rate), ["611/s", "3.2/s", "1,234,567/s", "0.0/s"]);
    }
}
