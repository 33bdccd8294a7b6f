//! Functions for names of inputs; all systems use these functions.

use crate::Request;
use peloton::{Error, Result};
use peloton_io::input::{
    ByteCount, NOMINAL, ReadOptions, Source as InputSource, Start, is_pipe, standard_input,
};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Rejects a job without inputs, and a pattern that the shell did not expand because no file matches.
///
/// # Errors
/// Returns [`Error::Config`] for a job without inputs, and [`Error::Io`] for a pattern such as `*.mdf`.
pub fn check(inputs: &[String]) -> Result<()> {
    if inputs.is_empty() {
        let message = "no input: give files, a folder, `-` for standard input, or a simulation such as sim:velo,events=1000,seed=1 (a shell may remove a pattern that matches no file)";
        return Err(Error::Config(message.into()));
    }
    let is_pattern = |input: &&String| {
        let is_named = !["sim:", "tcp://", "udp://"].iter().any(|start| input.starts_with(start));
        is_named && input.contains(['*', '?', '[']) && !Path::new(input).exists()
    };
    match inputs.iter().find(is_pattern) {
        Some(pattern) => {
            let message = "no file matches this pattern: give the names of files or of a folder";
            Err(Error::io(pattern, std::io::Error::new(ErrorKind::NotFound, message)))
        }
        None => Ok(()),
    }
}

/// Returns the input that begins with one of the prefixes `starts`, if any.
///
/// # Errors
/// Returns [`Error::Config`] when the request has other inputs, too.
pub fn special<'a>(inputs: &'a [String], starts: &[&str]) -> Result<Option<&'a str>> {
    let is_special = |input: &&String| starts.iter().any(|start| input.starts_with(start));
    match inputs.iter().find(is_special) {
        Some(special) if inputs.len() > 1 => Err(Error::Config(format!("{special} must be the only input"))),
        special => Ok(special.map(String::as_str)),
    }
}

/// Converts the names of inputs to files, folders or standard input.
pub fn sources(inputs: &[String]) -> Vec<InputSource> {
    let source = |input: &String| {
        if input == "-" { InputSource::Stdin } else { InputSource::Path(input.into()) }
    };
    inputs.iter().map(source).collect()
}

/// Minimum number of events, even large events, that are cut at once for each thread: two default slices.
const EVENTS_PER_THREAD: usize = 8;

/// Returns the options for readers of events.
pub fn options(request: &Request, truth: bool) -> ReadOptions {
    ReadOptions {
        format: request.format,
        first: request.events.first,
        count: request.events.count,
        strict: request.strict,
        only_nominal: request.geometry.as_deref() == Some(Path::new(NOMINAL)),
        truth,
        start: request.part.map_or(Start::default(), |part| part.start),
        checksum: request.checksum,
        least: EVENTS_PER_THREAD * request.config.thread_count(),
        bytes: ByteCount::default(),
    }
}

/// Whether an input is a pipe and the job ends at the first fault in an event, see
/// [`Source::waits_for_faults`](crate::Source::waits_for_faults).
pub fn waits_for_faults(request: &Request) -> bool {
    let ReadOptions { strict, only_nominal, .. } = options(request, false);
    (strict || only_nominal) && request.inputs.iter().any(|name| is_piped(name))
}

/// Whether an input is a pipe or socket, which can be read only once.
pub fn is_piped(name: &str) -> bool {
    name == "-" || name.starts_with("tcp://") || name.starts_with("udp://") || is_pipe(Path::new(name))
}

/// Opens standard input or a named pipe; returns none for a file or a folder.
///
/// # Errors
/// Returns [`Error::Io`] when the pipe cannot be opened.
pub fn open_pipe(name: &str) -> Result<Option<Box<dyn Read + Send>>> {
    if name == "-" {
        return Ok(Some(Box::new(standard_input())));
    }
    if !is_pipe(Path::new(name)) {
        return Ok(None);
    }
    File::open(name).map(|file| Some(Box::new(file) as Box<_>)).map_err(|e| Error::io(name, e))
}
