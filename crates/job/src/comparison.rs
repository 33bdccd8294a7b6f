//! [`Comparison`]: compares tracks with the truth, and makes the tables, warnings and files of every check of tracks.

use crate::against::Against;
use crate::summary::object;
use crate::{CheckOptions, Checked, Host, Request};
use peloton::event::TruthEvent;
use peloton::{Error, Result};
use peloton_io::input::EventId;
use peloton_plot::text;
use peloton_truth::{CheckReport, Checker, EventRows, Measured, Rules, TruthOutput};
use std::collections::HashSet;

/// Compares tracks with the truth, event by event.
pub struct Comparison {
    checker: Checker,
    known: KnownHits,
    /// Whether tables are shown as text.
    tables: bool,
    rows: Option<TruthOutput>,
    against: Option<Against>,
    /// Whether all events of the inputs are checked.
    is_whole: bool,
}

impl Comparison {
    /// Makes a comparison by these rules; events are added later.
    ///
    /// # Errors
    /// Fails when the requested tables cannot be written, or the file of other tracks cannot be read.
    pub fn new(request: &Request, rules: Rules, options: &CheckOptions) -> Result<Self> {
        Ok(Self {
            checker: Checker::new(rules),
            known: KnownHits::default(),
            tables: options.tables,
            rows: options.truth_tables(request)?,
            against: Against::open(options, rules)?,
            is_whole: request.events.count.is_none(),
        })
    }

    /// Adds an event: its truth, and its tracks, each with its hits and, if measured, its momentum.
    ///
    /// # Errors
    /// Returns errors of the files.
    pub fn event<'a, I>(&mut self, id: &EventId, truth: &TruthEvent, tracks: impl Fn() -> I) -> Result<()>
    where
        I: Iterator<Item = (&'a [u32], Option<Measured>)>,
    {
        self.known.event(truth, tracks().map(|(hits, _)| hits));
        self.checker.measured_event(truth, tracks());
        if let Some(against) = &mut self.against {
            against.event(id, truth, self.checker.found())?;
        }
        match &mut self.rows {
            Some(rows) => rows.add(EventRows::of_event(id, truth, &self.checker.last_event(truth))),
            None => Ok(()),
        }
    }

    /// Returns the checker, which holds the matches between tracks and particles of the last added event.
    pub fn checker(&self) -> &Checker {
        &self.checker
    }

    /// Returns the results of all events added so far.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if no event was added.
    pub fn report(&self) -> Result<CheckReport> {
        let report = self.checker.report();
        if report.events == 0 {
            return Err(Error::format("input", "there is no event to check"));
        }
        Ok(report)
    }

    /// Completes the files and returns the results. The function `add` adds results that only one kind of check has.
    ///
    /// # Errors
    /// Returns errors of the files, and [`Error::Format`] if no event was added.
    pub fn finish(mut self, host: Host<'_>, add: impl FnOnce(&mut Checked)) -> Result<Checked> {
        self.known.tell(host);
        self.rows.take().map_or(Ok(()), TruthOutput::finish)?;
        let report = self.report()?;
        let mut checked = Checked::new(report.to_string(), object(&report));
        if self.tables {
            checked.text.push_str(&text::tables(&report));
        }
        checked.text.push_str(&report.momentum.as_ref().map(text::momenta).unwrap_or_default());
        add(&mut checked);
        self.against.map_or(Ok(()), |against| against.finish(host, self.is_whole, &mut checked))?;
        Ok(checked)
    }
}

/// Counts the hits of tracks that belong to a true particle: by all rules, a track without such hits is a ghost.
#[derive(Debug, Default)]
struct KnownHits {
    names: HashSet<u32>,
    hits: u64,
    true_hits: u64,
}

impl KnownHits {
    /// Adds the tracks of one event.
    fn event<'a>(&mut self, truth: &TruthEvent, tracks: impl Iterator<Item = &'a [u32]>) {
        // One hit of a true particle is enough: then no warning is needed.
        if self.true_hits > 0 {
            return;
        }
        self.names.clear();
        self.names.extend(truth.particles.iter().flat_map(|particle| &particle.hits));
        for hit in tracks.flatten() {
            self.hits += 1;
            self.true_hits += u64::from(self.names.contains(hit));
        }
    }

    /// Warns when no hit of any track belongs to a true particle.
    fn tell(&self, host: Host<'_>) {
        if self.hits > 0 && self.true_hits == 0 {
            host.warn(
                "no hit of any track is among the hits of the true particles, so that every track is a ghost: check that the tracks belong to these events and that the truth's hits are of this kind (--velo-banks, --events)",
            );
        }
    }
}
