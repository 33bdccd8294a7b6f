//! [`Report`]: a reproduced table or figure with its conditions.

use super::table::{Origin, Table};
use serde::Serialize;

/// The result of a check of measured numbers against a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// Origin of the limit: the paper, or this project.
    pub limit: Origin,
    /// Description of the checked quantity.
    pub what: String,
    /// The measured value, as text.
    pub found: String,
    /// Whether the limit is met.
    pub holds: bool,
}

/// A reproduced table or figure of a paper.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Name of the entry.
    pub name: &'static str,
    /// Citation of the paper, and number of the table or figure.
    pub of: String,
    /// Content of the table or figure.
    pub what: &'static str,
    /// Inputs of this run.
    pub input: Vec<String>,
    /// Conditions of this run: CPU, instruction set, threads.
    pub machine: String,
    /// Program and machine that gave the paper's numbers.
    pub paper_machine: &'static str,
    /// The tables.
    pub tables: Vec<Table>,
    /// Results of checks of the numbers against limits.
    pub asked: Vec<Asked>,
    /// Notes on the numbers.
    pub notes: Vec<String>,
    /// Hashes of the results that must be reproducible.
    pub hashes: Vec<String>,
    /// Whether few events and short times were used, so that the numbers are only rough.
    pub quick: bool,
}

impl Report {
    /// Returns the report as text for people.
    pub fn text(&self) -> String {
        let Self { name, of, what, machine, paper_machine, .. } = self;
        let mut text = format!("{name}: {of}\n{what}\n\n");
        for input in &self.input {
            text.push_str(&format!("input:  {input}\n"));
        }
        text.push_str(&format!("here:   {machine}\npaper:  {paper_machine}\n"));
        for table in &self.tables {
            text.push_str(&format!("\n{}", table.text()));
        }
        for (whose, title) in [
            (Origin::Here, "Checks (limits set by this project)"),
            (Origin::Paper, "Checks (limits stated in the paper)"),
        ] {
            let asked: Vec<_> = self.asked.iter().filter(|one| one.limit == whose).collect();
            if !asked.is_empty() {
                text.push_str(&format!("\n{title}\n"));
            }
            for Asked { what, found, holds, .. } in asked {
                text.push_str(&format!("  {} {what}: {found}\n", if *holds { "holds " } else { "MISSED" }));
            }
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("- {note}\n"));
        }
        if self.quick {
            text.push_str("- --quick: few events and short times, so the numbers are only rough\n");
        }
        text
    }
}
