//! Sources of events of raw banks: files, streams and the simulation.

use super::bank_notes::{BankNotes, RawCut, banks_of};
use super::event_source::EventSource;
use super::inputs;
use crate::{Host, Request};
use peloton::event::RawBatch;
use peloton::{Error, Result};
use peloton_io::input::mdf::{HitsOf, decode_mc};
use peloton_io::input::{
    ByteCount, Format, Geometry, RawReader, ReadOptions, Source as InputSource, find_raw, is_named_mdf,
    is_pipe, is_raw_stream, look_ahead,
};
use peloton_sim::{LhcbDetector, LhcbReader, SimDetector, SimSpec};
use std::io::{Cursor, Read};

/// Number of bytes at the start of a stream that suffice to identify its format.
const HEAD: usize = 64;

/// Content of the inputs of a request, except for simulated hits.
pub enum Found {
    /// Raw banks.
    Raw(EventSource, Geometry),
    /// Another format, from a pipe whose first bytes were read.
    OtherPipe(String, Box<dyn Read + Send>),
    /// Files of another format.
    OtherFiles(Vec<InputSource>),
}

/// Returns the geometry for raw banks: the geometry that a request names, or for simulated events the nominal geometry.
///
/// # Errors
/// Returns [`Error::Config`] if events are not simulated and no geometry is named.
pub fn geometry(request: &Request, is_simulated: bool) -> Result<Geometry> {
    match &request.geometry {
        Some(folder) => Geometry::named(folder),
        None if is_simulated => Ok(Geometry::Nominal),
        None => {
            let missing = "raw banks need --geometry DIR, the folder of the detector's geometry files";
            Err(Error::Config(missing.into()))
        }
    }
}

/// Makes the source of the simulated events that `spec` describes.
///
/// # Errors
/// Returns errors of the geometry.
pub fn simulated(request: &Request, spec: SimSpec, truth: bool) -> Result<(EventSource, Geometry)> {
    let geometry = geometry(request, true)?;
    let (first, count) = (request.events.first as u64, request.events.count.map(|count| count as u64));
    let mut reader = LhcbReader::new(spec, first, count).with_threads(request.config.thread_count());
    let (ut, scifi, polarity) = (geometry.ut()?, geometry.scifi()?, geometry.polarity()?);
    let banks = BankNotes::new(request, geometry.clone(), truth, false);
    let notes_to = banks.clone();
    let source = EventSource::simulated(no_banks, reader.left(), move |events, batch, beside| {
        let (detector, batch) = (LhcbDetector { ut: &ut, scifi: &scifi, polarity }, banks_of(batch)?);
        let (first, mut notes) = (batch.len(), Vec::new());
        let read = reader.read(events, &detector, batch, &mut notes);
        notes_to.note((batch, first), &notes, beside)?;
        read
    });
    let waits_for_faults = inputs::waits_for_faults(request);
    Ok((EventSource { banks: Some(banks), waits_for_faults, ..source }, geometry))
}

fn no_banks() -> Box<dyn peloton::engine::Batch> {
    Box::new(RawBatch::default())
}

/// Makes the source of the events that a reader reads.
fn read(request: &Request, reader: RawReader, bytes: ByteCount, truth: bool) -> Result<Found> {
    let mut reader = reader.judging_truth(|mc| decode_mc(mc, HitsOf::All).map(drop));
    let (geometry, problems) = (geometry(request, false)?, reader.problems().clone());
    let banks = BankNotes::new(request, geometry.clone(), truth, true);
    let (notes_to, log) = (banks.clone(), problems.clone());
    let source = EventSource::files(no_banks, bytes, problems, move |events, batch, beside| {
        let cut = beside.unparsed(|| RawCut::new(notes_to.clone(), log.clone()));
        reader.cut(events, banks_of(batch)?, &mut cut.events)
    });
    let waits_for_faults = inputs::waits_for_faults(request);
    Ok(Found::Raw(EventSource { banks: Some(banks), waits_for_faults, ..source }, geometry))
}

/// Determines the content of the inputs of a request.
///
/// # Errors
/// Returns errors of the readers and of the geometry.
pub fn find(request: &Request, options: ReadOptions) -> Result<Found> {
    let (names, bytes, truth) = (&request.inputs[..], options.bytes.clone(), options.truth);
    if let [name] = names
        && let Some(mut stream) = inputs::open_pipe(name)?
    {
        // The bytes that were read ahead are put in front of the other bytes, since a pipe can be read only once.
        let mut kept = Vec::new();
        let head = look_ahead(&mut stream, HEAD, &mut kept).map_err(|e| Error::io(name, e))?;
        let is_raw = request.format == Format::Mdf || request.format == Format::Auto && is_raw_stream(&head);
        let stream = Cursor::new(kept).chain(stream);
        let name = if name == "-" { "standard input" } else { name };
        if is_raw {
            return read(request, RawReader::from_stream(name, stream, options), bytes, truth);
        }
        return Ok(Found::OtherPipe(name.into(), Box::new(stream)));
    }
    let sources = inputs::sources(names);
    if !is_raw(&options, &sources)? {
        return Ok(Found::OtherFiles(sources));
    }
    read(request, RawReader::open(&sources, options)?, bytes, truth)
}

/// Opens inputs that must be raw banks.
///
/// # Errors
/// Returns [`Error::Config`] for other inputs, and errors of the readers and of the geometry.
pub fn open(
    request: &Request,
    sequence: &str,
    truth: bool,
    host: Host<'_>,
) -> Result<(EventSource, Geometry)> {
    let wrong = || {
        let message = "takes raw banks: MDF, bank containers or sim:lhcb, not hits";
        Error::Config(format!("sequence {sequence} {message}"))
    };
    if let Some(spec) = inputs::special(&request.inputs, &["sim:"])? {
        warn_of_format(request, host);
        let spec: SimSpec = spec.parse()?;
        if spec.detector != SimDetector::Lhcb {
            return Err(wrong());
        }
        return simulated(request, spec, truth);
    }
    match find(request, inputs::options(request, truth))? {
        Found::Raw(source, geometry) => Ok((source, geometry)),
        Found::OtherPipe(..) | Found::OtherFiles(_) => Err(wrong()),
    }
}

/// Warns if a format is given for simulated events, since it has no effect.
pub fn warn_of_format(request: &Request, host: Host<'_>) {
    if request.format != Format::Auto {
        host.warn("--format has no effect: the events are simulated");
    }
}

/// Whether the first file contains raw banks; the other files must be of the same kind.
fn is_raw(options: &ReadOptions, sources: &[InputSource]) -> Result<bool> {
    match (options.format, sources.first()) {
        (Format::Auto, Some(InputSource::Path(path))) if is_pipe(path) => Err(Error::Config(format!(
            "{} is a pipe, which can be read only once: with other inputs it needs --format",
            path.display()
        ))),
        (Format::Auto, Some(InputSource::Path(path))) => Ok(find_raw(path)?.is_some() || is_named_mdf(path)),
        (format, _) => Ok(format.is_raw()),
    }
}
