//! [`display`]: pictures of what was reconstructed, as a page for the browser.

mod page;

use crate::sink::is_no_file;
use crate::system::{open, warn_of_problems};
use crate::systems::TimepixSystem;
use crate::{Host, Request, SequenceName, System};
use page::PixelDisplay;
use peloton::engine::{Batch, Sliced};
use peloton::simd::with_default_float_mode;
use peloton::timepix::PixelBatch;
use peloton::{Error, Result};
use peloton_io::output::write_whole;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Its number, from 0.
    pub number: u64,
    /// How long frames are, us.
    pub us: f64,
}

/// What was drawn.
#[derive(Debug, Clone, Serialize)]
pub struct Displayed {
    /// What was reconstructed.
    pub sequence: SequenceName,
    /// Number of the frame.
    pub event: u64,
    /// The page.
    pub output: PathBuf,
    /// Hits in the frame.
    pub frame_hits: u64,
    /// Clusters in the frame.
    pub frame_clusters: u64,
    /// Hits that went in.
    pub hits: u64,
    /// Clusters that were found.
    pub clusters: u64,
    /// Reasons and counts of what was lost.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// Draws a frame of pixel hits, and how times, energies and sizes are distributed, as one HTML file.
///
/// # Errors
/// [`Error::Config`] for other sequences, and those of the inputs and the output.
pub fn display(request: &Request, frame: Frame, output: &Path, host: Host<'_>) -> Result<Displayed> {
    with_default_float_mode(|| displayed(request, frame, output, host))
}

fn displayed(request: &Request, frame: Frame, output: &Path, host: Host<'_>) -> Result<Displayed> {
    if request.config.sequence != SequenceName::Timepix {
        return Err(Error::Config("display draws pixel hits: add --sequence timepix".into()));
    }
    if !(frame.us > 0.0 && frame.us <= 1e12) {
        return Err(Error::Config("--frame-us must be more than 0 and at most 1e12".into()));
    }
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    if !(name.ends_with(".html") || name.ends_with(".htm") || is_no_file(output)) {
        let message = "the page is HTML: the name must end in .html, or be - for standard output";
        return Err(Error::Config(format!("--output {}: {message}", output.display())));
    }
    let mut opened = open::<TimepixSystem>(request, false, host)?;
    let mut runs = TimepixSystem::executor(request, &request.config, &opened.context)?;
    let layout = &opened.context.layout;
    let mut page = PixelDisplay::new([layout.width(), layout.height()], frame.number, frame.us);
    let (mut batch, mut results) = (PixelBatch::default(), Sliced::default());
    let (mut counters, mut hits, mut clusters) = <(peloton::event::Counters, u64, u64)>::default();
    host.progress.begin(None);
    loop {
        batch.clear();
        let read = opened.source.read(request.config.timepix.block_hits, &mut batch, &mut Vec::new())?;
        let is_over = read == 0 && batch.is_empty() || host.is_cancelled();
        batch.end |= is_over;
        counters.merge(&runs.run(&batch, &mut results)?);
        for found in results.slices() {
            page.add(found);
            clusters += found.len() as u64;
        }
        hits += read as u64;
        host.progress.advance(read as u64);
        if is_over {
            break;
        }
    }
    host.progress.end();
    warn_of_problems(&*opened.source, host);
    if page.is_empty() {
        return Err(Error::format("input", "there is no hit to display"));
    }
    let title = request.inputs.first().map_or("simulated hits", String::as_str);
    write_whole(output, page.html(&format!("peloton: {title}"))?.as_bytes())?;
    let [frame_hits, frame_clusters] = page.frame();
    let mut dropped: BTreeMap<_, _> = counters.dropped().collect();
    dropped.extend(opened.source.dropped().into_iter().filter(|(_, count)| *count > 0));
    Ok(Displayed {
        sequence: request.config.sequence,
        event: frame.number,
        output: output.into(),
        frame_hits,
        frame_clusters,
        hits,
        clusters,
        dropped,
    })
}
