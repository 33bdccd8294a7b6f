//! Finds the byte positions of the events of an MDF file by reading the headers of its records.

use super::record::{Cut, HEAD, Records, size_of};
use crate::input::source::{Stream, is_zstd};
use peloton::event::RawBatch;
use peloton::{Error, Result};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes read at once; few, because headers are far apart.
const BUFFER: usize = 4 << 10;

/// Calls `visit` with the byte at which each event of an MDF file begins, and returns the number of events. Damaged
/// events are included, as in a reader. Only headers are read. Returns none for a compressed file, in which events have
/// no byte position.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, [`Error::Format`] for a file in another format than MDF.
pub fn event_starts(path: &Path, mut visit: impl FnMut(u64)) -> Result<Option<u64>> {
    let failed = |e| Error::io(path, e);
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let mut stream = BufReader::with_capacity(BUFFER, file);
    let (mut at, mut events) = (0, 0);
    while at < bytes {
        let mut head = [0; HEAD];
        let read = match stream.read_exact(&mut head) {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            read => Some(read.map_err(failed)?),
        };
        if at == 0 && is_zstd(&head[..4]) {
            return Ok(None);
        }
        let size = read.and_then(|()| size_of(&head)).filter(|size| *size as u64 <= bytes - at);
        let length = match size {
            Some(size) => size as u64,
            None => damaged(path, at, events > 0)?.unwrap_or(bytes - at),
        };
        visit(at);
        events += 1;
        at += length;
        // Seeks relative to the end of the last header, which is not known if the file ended within it.
        match size {
            Some(size) => stream.seek_relative((size - HEAD) as i64).map_err(failed)?,
            None => stream.seek(SeekFrom::Start(at)).map(drop).map_err(failed)?,
        }
    }
    Ok(Some(events))
}

/// Number of bytes from this position on that a reader counts as one damaged event; none for all remaining bytes.
fn damaged(path: &Path, at: u64, is_inside: bool) -> Result<Option<u64>> {
    let failed = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(at)).map_err(failed)?;
    let stream: Stream = Box::new(BufReader::new(file));
    let mut records = if is_inside { Records::inside(stream) } else { Records::new(stream) };
    match records.next(&mut RawBatch::default()).map_err(failed)? {
        Some(Cut::NotMdf) => {
            Err(Error::format(path.display().to_string(), "not an MDF file, or none of its events is whole"))
        }
        Some(Cut::Garbage(skipped)) => Ok(Some(skipped)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::mdf::{RecordHeader, write_record};
    use crate::input::{RawReader, ReadOptions, Source, Start};

    /// Records of bodies without banks, of growing lengths.
    fn file(events: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for run in 1..=events {
            let header = RecordHeader { run, ..RecordHeader::default() };
            write_record(&mut bytes, &header, &vec![0; 1000 * run as usize], None).unwrap();
        }
        bytes
    }

    /// The runs and statuses of the events that are read from this start.
    fn read(path: &Path, start: Start) -> Vec<String> {
        let options = ReadOptions { start, ..ReadOptions::default() };
        let mut reader = RawReader::open(&[Source::Path(path.into())], options).unwrap();
        let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
        while reader.read(2, &mut batch, &mut notes).unwrap() > 0 {}
        let statuses = (0..notes.len()).map(|event| batch.view().event(event).status);
        let rows = batch.event_ids().iter().zip(&notes).zip(statuses);
        rows.map(|((id, note), status)| format!("{id} {:?} {status:?}", note.run)).collect()
    }

    #[test]
    fn reading_from_a_start_gives_the_events_from_there_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mdf");
        let whole = file(5);
        let mut flipped = whole.clone();
        // Damages the header of the second record, then of the last, and puts garbage before the first.
        flipped[1048] ^= 1;
        let mut last = whole.clone();
        let at = last.len() - 5048;
        last[at] ^= 1;
        let cut = whole[..whole.len() - 1].to_vec();
        let short = [&whole[..], &[1; 7]].concat();
        let rubbish = [&[9; 33][..], &whole].concat();
        for bytes in [whole, flipped, last, cut, short, rubbish] {
            std::fs::write(&path, &bytes).unwrap();
            let mut starts = Vec::new();
            let count = event_starts(&path, |start| starts.push(start)).unwrap();
            let all = read(&path, Start::default());
            assert_eq!((count, starts.len()), (Some(all.len() as u64), all.len()));
            for (event, &byte) in starts.iter().enumerate() {
                assert_eq!(read(&path, Start { byte, event }), all[event..], "{event} at {byte}");
            }
            let reader = RawReader::open(&[Source::Path(path.clone())], ReadOptions::default()).unwrap();
            assert_eq!(reader.count().unwrap(), all.len() as u64);
        }
    }

    #[test]
    fn what_has_no_starts_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mdf");
        let starts = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            event_starts(&path, |_| ())
        };
        assert_eq!(starts(&zstd::encode_all(&file(2)[..], 1).unwrap()).unwrap(), None);
        assert_eq!(starts(&[]).unwrap(), Some(0));
        assert!(matches!(starts(&[7; 100]), Err(Error::Format { .. })));
        assert!(matches!(starts(b"{}"), Err(Error::Format { .. })));
    }
}
