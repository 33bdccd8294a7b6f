//! `peloton simulate --detector cylinder,...`: writes toy files.

use super::source::Events;
use crate::options::ReportArgs;
use crate::sink::ByteSink;
use peloton::{Error, Result};
use peloton_io::input::write_cylinder;
use peloton_sim::{CylinderSim, CylinderSpec};
use std::path::Path;
use std::process::ExitCode;

/// Does it.
pub fn simulate(spec: CylinderSpec, output: &Path, report: &ReportArgs) -> Result<ExitCode> {
    let mut sink = ByteSink::create(output)?;
    let mut events = Events::default();
    // The format begins with the number of events.
    let mut sim = CylinderSim::new(spec, 0, None);
    while sim.read(16, &mut events.hits, &mut events.truth) > 0 {}
    write_cylinder(&events.hits, &events.truth, &mut sink).map_err(|e| Error::io(output, e))?;
    sink.finish()?;
    let (count, hits) = (events.hits.len(), events.hits.x.len());
    let json = serde_json::json!({
        "detector": "cylinder", "spec": spec.to_string(), "events": count, "hits": hits, "output": output,
    });
    let mut report = report.clone();
    report.quiet |= output.as_os_str() == "-";
    report.report(&format!("{count} events, {hits} hits: {}\n", output.display()), &json)?;
    Ok(ExitCode::SUCCESS)
}
