//! `peloton display --sequence timepix`: distributions and a frame as a page for the browser.

use super::args::lanes;
use super::source::{PixelInput, open};
use crate::cli::interrupt;
use crate::cli::options::{ConfigArgs, InputArgs, ReportArgs};
use crate::event::{PixelBlock, PixelHits};
use crate::input::timepix::ReadEnd;
use crate::output::timepix::PixelDisplay;
use crate::output::{is_standard_output, write_whole};
use crate::pipeline::Config;
use crate::pipeline::timepix::{Lanes, PixelStream};
use crate::{Error, Result};
use std::path::Path;
use std::process::ExitCode;

/// Does it: frame number `frame` of those that last `frame_us`.
pub fn display(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
    (frame, frame_us): (u64, f64),
    output: &Path,
) -> Result<ExitCode> {
    let PixelInput { mut stream, layout, disorder_us, .. } = open(input, &flags.pixels, report)?;
    let mut timepix = config.timepix.clone();
    timepix.disorder_us.get_or_insert(disorder_us);
    let mut chain = Lanes::new(&timepix, config.level()?, &layout, lanes(config))?;
    let mut display = PixelDisplay::new([layout.width(), layout.height()], frame, frame_us);
    let mut block = PixelBlock::default();
    loop {
        block.clear();
        let end = stream.read(timepix.block_hits, &mut block)?;
        display.add(chain.push(&block.hits, end != ReadEnd::More));
        // Sources have clocks of their own, and only one can be looked at.
        if end != ReadEnd::More || interrupt::requested() {
            break;
        }
    }
    display.add(chain.push(&PixelHits::default(), true));
    if display.is_empty() {
        return Err(Error::format("input", "no hit to display"));
    }
    let title = input.inputs.first().map_or("simulated hits", String::as_str);
    let page = display.html(&format!("peloton: {title}"))?;
    write_whole(output, page.as_bytes())?;
    let ([hits, clusters], counts) = (display.frame(), chain.counts());
    let json = serde_json::json!({
        "sequence": config.sequence, "event": frame, "output": output, "frame_hits": hits, "frame_clusters": clusters,
        "hits": counts.hits_in, "clusters": counts.clusters,
        "dropped": counts.dropped().collect::<std::collections::BTreeMap<_, _>>(),
    });
    let text = format!("{}: frame {frame} with {hits} hits in {clusters} clusters\n", output.display());
    let mut report = report.clone();
    report.quiet |= is_standard_output(output);
    report.report(&text, &json)?;
    Ok(ExitCode::SUCCESS)
}
