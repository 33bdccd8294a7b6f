//! What all systems do with the names of inputs.

use crate::Request;
use peloton::{Error, Result};
use peloton_io::input::{NOMINAL, ReadOptions, Source as InputSource, Start, is_pipe};
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

/// The inputs of a request; without any, `default`.
pub fn names(request: &Request, default: &str) -> Vec<String> {
    if request.inputs.is_empty() { vec![default.to_string()] } else { request.inputs.clone() }
}

/// The one input that begins in one of these ways.
///
/// # Errors
/// [`Error::Config`] when there are others beside it.
pub fn special<'a>(inputs: &'a [String], starts: &[&str]) -> Result<Option<&'a str>> {
    let is_special = |input: &&String| starts.iter().any(|start| input.starts_with(start));
    match inputs.iter().find(is_special) {
        Some(special) if inputs.len() > 1 => Err(Error::Config(format!("{special} must be the only input"))),
        special => Ok(special.map(String::as_str)),
    }
}

/// Files, folders and standard input.
pub fn sources(inputs: &[String]) -> Vec<InputSource> {
    let source = |input: &String| {
        if input == "-" { InputSource::Stdin } else { InputSource::Path(input.into()) }
    };
    inputs.iter().map(source).collect()
}

/// What readers of events are told.
pub fn options(request: &Request, truth: bool) -> ReadOptions {
    ReadOptions {
        format: request.format,
        first: request.events.first,
        count: request.events.count,
        strict: request.strict,
        only_nominal: request.geometry.as_deref() == Some(Path::new(NOMINAL)),
        truth,
        start: request.part.map_or(Start::default(), |part| part.start),
    }
}

/// Standard input or a named pipe; none for a file or a folder.
///
/// # Errors
/// [`Error::Io`] when the pipe cannot be opened.
pub fn open_pipe(name: &str) -> Result<Option<Box<dyn Read + Send>>> {
    if name == "-" {
        return Ok(Some(Box::new(stdin())));
    }
    if !is_pipe(Path::new(name)) {
        return Ok(None);
    }
    File::open(name).map(|file| Some(Box::new(file) as Box<_>)).map_err(|e| Error::io(name, e))
}
