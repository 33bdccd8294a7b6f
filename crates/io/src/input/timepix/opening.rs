//! Examines the beginning of a source, before its first hit: names and types of columns, units, chips.

use super::hit_columns::TimeUnit;
use super::npy::roles;
use super::reader::is_idle;
use super::{PixelFormat, npy_header, t3pa};
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Longest first line of a text for which the reader waits, bytes.
const MAX_LINE: usize = 4096;

/// Information that is known before the first hit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Beginning {
    /// Whether the source has the chip of each hit, which is optional in the format.
    pub has_chips: bool,
    /// A message about an assumption, such as the unit of times.
    pub doubt: Option<String>,
}

/// Examines the beginning of a source; none while more bytes are needed. With `is_all`, no more bytes follow.
///
/// # Errors
/// A message, for columns and types that are not understood.
pub(super) fn beginning(
    format: PixelFormat,
    head: &[u8],
    is_all: bool,
    unit: Option<TimeUnit>,
) -> Result<Option<Beginning>, String> {
    match format {
        PixelFormat::T3pa => match t3pa::refusal(head, is_all || head.len() > MAX_LINE) {
            Some(judged) => judged.map(|()| Some(Beginning::default())),
            None => Ok(None),
        },
        PixelFormat::Npy => {
            let Some((_, header)) = npy_header::read(head) else { return Ok(None) };
            let header = header?;
            let roles = roles(&header, unit)?;
            let doubt = roles.doubt(&header.columns);
            Ok(Some(Beginning { has_chips: roles.chip.is_some(), doubt }))
        }
        _ => Ok(Some(Beginning::default())),
    }
}

/// Copies a stream to a temporary file without a name, for formats that are not read from the beginning.
pub(super) fn spooled(head: &[u8], stream: &mut dyn Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(head)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => file.write_all(&buffer[..read])?,
            Err(e) if is_idle(&e) => {}
            Err(e) => return Err(e),
        }
    }
    file.rewind()?;
    Ok(file)
}
