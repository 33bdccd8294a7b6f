//! [`Against`]: compares the checked tracks with a second set of tracks, particle by particle.

use crate::{CheckOptions, Checked, Host};
use peloton::Result;
use peloton::event::TruthEvent;
use peloton_io::input::EventId;
use peloton_plot::text;
use peloton_truth::{PairedChecker, Rules, TrackFile};
use serde_json::json;
use std::path::PathBuf;

/// Compares the checked tracks with a second set of tracks, read from a file.
pub struct Against {
    path: PathBuf,
    file: TrackFile,
    checker: PairedChecker,
}

impl Against {
    /// Opens the file of the second set of tracks, if `options` name one.
    ///
    /// # Errors
    /// Returns errors of the file.
    pub fn open(options: &CheckOptions, rules: Rules) -> Result<Option<Self>> {
        let Some(path) = &options.against else { return Ok(None) };
        let (file, checker) = (TrackFile::open(path)?, PairedChecker::new(rules));
        Ok(Some(Self { path: path.clone(), file, checker }))
    }

    /// Adds an event; `found` are the event's particles that the checked tracks found.
    ///
    /// # Errors
    /// Returns errors of the file.
    pub fn event(
        &mut self,
        id: &EventId,
        truth: &TruthEvent,
        found: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let tracks = self.file.tracks_of(id)?;
        self.checker.event(truth, found, tracks.iter().map(|(hits, _)| hits.as_slice()));
        Ok(())
    }

    /// Adds the comparison to the summary of a check. If `is_whole` is true, all events were checked: then lines of the
    /// file that belong to no event cause a warning.
    ///
    /// # Errors
    /// Returns errors of the file.
    pub fn finish(mut self, host: Host<'_>, is_whole: bool, checked: &mut Checked) -> Result<()> {
        let name = self.path.display().to_string();
        if is_whole {
            warn_of_rest(&mut self.file, &name, host)?;
        }
        let categories = self.checker.report();
        let value = json!({ "against": name, "categories": categories });
        checked.add("paired", &text::paired(&name, &categories), value);
        Ok(())
    }
}

/// Warns of lines in a file of tracks that belong to no event of the input, unless the job was ended early.
///
/// # Errors
/// Returns errors of the file.
pub fn warn_of_rest(file: &mut TrackFile, name: &str, host: Host<'_>) -> Result<()> {
    if host.is_cancelled() {
        return Ok(());
    }
    let rest = file.rest()?;
    if rest > 0 {
        let lines = text::count(rest, "line");
        host.warn(&format!("{name}: {lines} for events that are not in the input"));
    }
    Ok(())
}
