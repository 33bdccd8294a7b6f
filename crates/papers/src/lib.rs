//! Reproduces tables and figures of five papers: [`papers`] lists them, [`reproduce`] makes one table or figure.
//!
//! The papers are data: `papers/*.toml` of this crate has their numbers, our configurations, and the columns of each
//! table. One driver runs the same checks and measurements as the other commands, on simulated or given events,
//! and puts the results next to the paper's numbers in a [`Table`]. Text, JSON and pictures are made from this table.
#![deny(unsafe_code, missing_docs)]

mod build;
mod driver;
mod facts;
mod job;
mod layouts;
mod paper;
mod picture;
mod pixels;
mod quantity;
mod report;
mod table;

pub use job::Reproduction;
pub use paper::{Entry, Making, Paper, Run, entries, list_text, papers};
pub use picture::picture;
pub use report::{Asked, Report};
pub use table::{Cell, Column, Origin, Plot, Table};

use job::Job;
use peloton::{Error, Result};
use peloton_job::{Config, Host};

/// Checks, before any measurement, that the table or figure `name` has a drawing.
///
/// # Errors
/// [`Error::Config`] when the entry has no drawing; the message lists the entries with a drawing.
pub fn check_drawing(name: &str) -> Result<()> {
    if entries().any(|entry| entry.name == name && entry.is_run() && !entry.is_drawn()) {
        let drawn: Vec<_> =
            entries().filter(|entry| entry.is_drawn()).map(|entry| entry.name.as_str()).collect();
        let message = format!("--svg: {name} is a table without a drawing; choose {}", drawn.join(", "));
        return Err(Error::Config(message));
    }
    Ok(())
}

/// Makes the table or figure with this name.
///
/// # Errors
/// [`Error::Config`] for an unknown name (the message lists the known names), [`Error::Unsupported`] for an entry that
/// this program cannot make (the message gives the reason), and errors of the measurements.
pub fn reproduce(name: &str, options: &Reproduction, host: Host<'_>) -> Result<Report> {
    let all = papers().iter().flat_map(|paper| paper.entries.iter().map(move |entry| (paper, entry)));
    let (paper, entry) = all.into_iter().find(|(_, entry)| entry.name == name).ok_or_else(|| {
        let names: Vec<_> =
            entries().filter(|entry| entry.is_run()).map(|entry| entry.name.as_str()).collect();
        Error::Config(format!(
            "unknown table or figure `{name}`: choose one of {}; `peloton reproduce list` describes all of them",
            names.join(", ")
        ))
    })?;
    let reason = entry.reason().unwrap_or_default();
    let no = |words: &str| Err(Error::Unsupported(format!("{name}: {words}{reason}")));
    let report = match &entry.made {
        Making::Run(run) => run.make(&Job { options, host })?,
        Making::Device(_) => return no("needs a GPU, and is made by this command: "),
        Making::Impossible(_) => return no("cannot be made here: "),
    };
    Ok(Report {
        name: &entry.name,
        of: format!("{}, {}", paper.title, entry.of),
        what: &entry.what,
        quick: options.quick,
        ..report
    })
}

impl Run {
    /// Measures all parts, and builds the tables and checks from them.
    fn make(&'static self, job: &Job<'_>) -> Result<Report> {
        let mut report = Report { paper_machine: &self.paper_machine, ..Report::default() };
        let mut parts = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let made = driver::make(part, job)?;
            if number == 0 {
                report.machine = job::machine(&made.config.unwrap_or_else(Config::default))?;
                report.input = made.inputs;
            }
            report.hashes.extend(made.hashes);
            parts.push(made.facts);
        }
        if !self.machine.is_empty() {
            report.machine = format!("{}, {}", report.machine, self.machine);
        }
        let mut is_few = false;
        if let Some(enough) = &self.enough {
            is_few = quantity::find(&parts[0][0], &enough.value)?.as_u64() < Some(enough.least);
        }
        let facts = build::Facts { parts: &parts, is_few, is_simulated: job.is_simulated() };
        for table in &self.tables {
            report.tables.extend(build::tables(table, &facts)?);
        }
        for check in self.checks.iter().filter(|_| !is_few) {
            report.asked.extend(check.ask(&parts, job.options.quick)?);
        }
        let few = self.enough.iter().flat_map(|enough| &enough.note).filter(|_| is_few);
        report.notes = few.chain(&self.notes).map(|note| paper::text(note).to_string()).collect();
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton_job::{Cancel, Silent};

    #[test]
    fn every_configuration_of_the_papers_is_one() {
        let (options, cancel) = (Reproduction::default(), Cancel::default());
        let job = Job { options: &options, host: Host { progress: &Silent, cancel: &cancel } };
        for entry in entries() {
            let Making::Run(run) = &entry.made else { continue };
            for part in &run.parts {
                let variants = driver::variants(part, &job).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
                assert!(variants.iter().all(|one| one.config.validate().is_ok()), "{}", entry.name);
            }
        }
    }
}
