//! `peloton simulate --detector cylinder,...`: writes toy files.

use super::source::Events;
use crate::cli::interrupt;
use crate::cli::options::ReportArgs;
use crate::cli::sink::ByteSink;
use crate::input::write_cylinder;
use crate::output::is_standard_output;
use crate::truth::simulate::{CylinderSim, CylinderSpec};
use crate::{Error, Result};
use std::path::Path;
use std::process::ExitCode;

/// Does it.
pub fn simulate(spec: CylinderSpec, output: &Path, report: &ReportArgs) -> Result<ExitCode> {
    let mut sink = ByteSink::create(output)?;
    let mut events = Events::default();
    // The format begins with the number of events.
    let mut sim = CylinderSim::new(spec, 0, None);
    while !interrupt::requested() && sim.read(1, &mut events.hits, &mut events.truth) > 0 {}
    write_cylinder(&events.hits, &events.truth, &mut sink).map_err(|e| Error::io(output, e))?;
    sink.finish()?.finish()?;
    let (count, hits) = (events.hits.len(), events.hits.x.len());
    let json = serde_json::json!({
        "detector": "cylinder", "spec": spec.to_string(), "events": count, "hits": hits, "output": output,
    });
    let mut report = report.clone();
    report.quiet |= is_standard_output(output);
    report.report(&format!("{count} events, {hits} hits: {}\n", output.display()), &json)?;
    Ok(ExitCode::SUCCESS)
}
