//! [`TrackCheck`]: the check of any sequence whose tracks are lists of LHCbIDs.

use crate::check::{KnownHits, object, report};
use crate::{Check, CheckOptions, Checked, Host, Summary, System, text};
use peloton::Result;
use peloton::engine::Sliced;
use peloton::event::TruthEvent;
use peloton_truth::{Checker, Measured, Rules};

/// The tracks of one event as a check wants them.
#[derive(Debug, Default)]
pub struct TrackRows {
    ids: Vec<u32>,
    /// Where each track's ids end, and what it says of its momentum.
    tracks: Vec<(usize, Option<Measured>)>,
}

impl TrackRows {
    /// Appends a track: the LHCbIDs of its hits, and its momentum where it has one.
    pub fn push(&mut self, ids: impl IntoIterator<Item = u32>, measured: Option<Measured>) {
        self.ids.extend(ids);
        self.tracks.push((self.ids.len(), measured));
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.tracks.clear();
    }

    fn iter(&self) -> impl Iterator<Item = (&[u32], Option<Measured>)> {
        let begins = std::iter::once(0).chain(self.tracks.iter().map(|(end, _)| *end));
        begins.zip(&self.tracks).map(|(begin, (end, measured))| (&self.ids[begin..*end], *measured))
    }
}

/// Compares the tracks of a sequence with the truth: efficiencies, ghosts, momenta. The sequence hands over its columns by
/// `rows`, which appends the tracks of one event.
pub struct TrackCheck<S: System> {
    checker: Checker,
    known: KnownHits,
    tables: bool,
    rows: fn(&S::Results, usize, &mut TrackRows),
    event: TrackRows,
}

impl<S: System> TrackCheck<S> {
    /// A check by these rules that has seen nothing.
    pub fn new(rules: Rules, options: &CheckOptions, rows: fn(&S::Results, usize, &mut TrackRows)) -> Self {
        let (checker, known) = (Checker::new(rules), KnownHits::default());
        Self { checker, known, tables: options.tables, rows, event: TrackRows::default() }
    }
}

impl<S: System> Check<S> for TrackCheck<S> {
    fn add(&mut self, _batch: &S::Batch, truth: &[TruthEvent], results: &Sliced<S::Results>) -> Result<()> {
        for ((tracks, event), truth) in results.events().zip(truth) {
            self.event.clear();
            (self.rows)(tracks, event, &mut self.event);
            self.known.event(truth, self.event.iter().map(|(ids, _)| ids));
            self.checker.measured_event(truth, self.event.iter());
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        self.known.tell(host);
        let report = report(self.checker)?;
        let mut text = report.to_string();
        if self.tables {
            text.push_str(&text::tables(&report));
        }
        text.push_str(&report.momentum.as_ref().map(text::momenta).unwrap_or_default());
        Ok(Checked { text, json: object(&report), is_right: true, failure: None })
    }
}
