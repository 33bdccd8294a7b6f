//! The tables and figures of the five papers, made again: [`ENTRIES`] lists all of them, [`reproduce`] makes one.
//!
//! An entry runs the same checks and measurements as the other commands do, on simulated events or given ones, and puts what
//! comes out beside the paper's numbers in a [`Table`]. Text, JSON and pictures are made of that.

mod agreement;
mod compass;
mod entry;
mod figures;
mod layouts;
mod list;
mod machines;
mod matriplex;
mod picture;
mod pixel_clusters;
mod pixels;
mod report;
mod scifi;
mod scifi_memory;
mod splitting;
mod table;
mod triplet;

pub use entry::{Entry, Job, Making, Paper, Reproduction};
pub use list::{ENTRIES, list_text};
pub use picture::picture;
pub use report::{Asked, Report};
pub use table::{Cell, Column, Origin, Plot, Table};

use crate::Host;
use peloton::{Error, Result};

/// Refuses to draw what has no drawing, which is better known before the work than after it.
///
/// # Errors
/// [`Error::Config`] that names what has a drawing.
pub fn check_drawing(name: &str) -> Result<()> {
    if ENTRIES
        .iter()
        .any(|entry| entry.name == name && !entry.is_drawn && matches!(entry.making, Making::Run(_)))
    {
        let drawn: Vec<_> = ENTRIES.iter().filter(|entry| entry.is_drawn).map(|entry| entry.name).collect();
        let message = format!("--svg: {name} is a table without a drawing; drawn are {}", drawn.join(", "));
        return Err(Error::Config(message));
    }
    Ok(())
}

/// Makes a table or figure by its name.
///
/// # Errors
/// [`Error::Config`] for an unknown name, [`Error::Unsupported`] for what cannot be made here, which say what can; and those
/// of the job.
pub fn reproduce(name: &str, options: &Reproduction, host: Host<'_>) -> Result<Report> {
    let entry = ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let runs = ENTRIES.iter().filter(|entry| matches!(entry.making, Making::Run(_)));
        let names: Vec<_> = runs.map(|entry| entry.name).collect();
        Error::Config(format!(
            "unknown table or figure `{name}`: choose one of {}; `peloton reproduce list` names all and says what each shows",
            names.join(", ")
        ))
    })?;
    let no = |words: String| Err(Error::Unsupported(format!("{name}: {words}")));
    let report = match entry.making {
        Making::Run(run) => run(&Job { options, host })?,
        Making::Device(command) => {
            return no(format!("it needs a GPU, and another command makes it: {command}"));
        }
        Making::Impossible(reason) => return no(format!("cannot be made here: {reason}")),
    };
    Ok(Report {
        name: entry.name,
        of: format!("{}, {}", entry.paper.title(), entry.of),
        what: entry.what,
        quick: options.quick,
        ..report
    })
}
