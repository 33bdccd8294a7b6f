//! `peloton simulate --detector timepix,...`: writes simulated hits.

use crate::cli::options::ReportArgs;
use crate::cli::sink::ByteSink;
use crate::cli::{console, interrupt};
use crate::event::PixelHits;
use crate::input::timepix::{PixelFormat, write_hits};
use crate::output::is_standard_output;
use crate::truth::simulate::timepix::{PixelSim, PixelSimSpec};
use crate::{Error, Result};
use std::path::Path;
use std::process::ExitCode;

/// Hits that are simulated at once.
const BATCH: usize = 1 << 16;

/// Does it. The name of `output` says the format: .tpx3, .bin (records of 16 bytes), else burda text.
pub fn simulate(spec: &PixelSimSpec, output: &Path, report: &ReportArgs) -> Result<ExitCode> {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let format = match name.trim_end_matches(".zst").rsplit_once('.') {
        Some((_, "tpx3")) => PixelFormat::Tpx3,
        Some((_, "bin")) => PixelFormat::Hits16,
        Some((_, "txt")) => PixelFormat::Burda,
        None if name == "-" => PixelFormat::Burda,
        _ => {
            let message = format!("--output {name}: the name must end in .tpx3, .bin or .txt, or be -");
            return Err(Error::Config(message));
        }
    };
    let mut sink = ByteSink::create(output)?;
    let (mut sim, mut hits, mut written) = (PixelSim::new(*spec), PixelHits::default(), 0);
    let progress = console::progress(Some(spec.hits), report.quiet);
    loop {
        let is_more = sim.read(BATCH, &mut hits);
        write_hits(&hits, format, &mut sink)?;
        written += hits.len();
        progress.inc(hits.len() as u64);
        hits.clear();
        if !is_more || interrupt::requested() {
            break;
        }
    }
    sink.finish()?.finish()?;
    progress.finish_and_clear();
    let clusters = sim.clusters();
    let json = serde_json::json!({
        "detector": "timepix", "spec": spec.to_string(), "hits": written, "clusters": clusters, "output": output,
    });
    let text = format!("{written} hits, {clusters} clusters: {}\n", output.display());
    let mut report = report.clone();
    report.quiet |= is_standard_output(output);
    report.report(&text, &json)?;
    Ok(ExitCode::SUCCESS)
}
