//! Examines the first bytes of streams that can be read only once.

use super::source::is_zstd;
use std::io::{self, Chain, Cursor, ErrorKind, Read, Stdin};
use std::sync::{Mutex, PoisonError};

/// Largest number of compressed bytes that are examined: more than a block of zstd.
const MOST_COMPRESSED: usize = 256 << 10;

/// Bytes of standard input that were examined and not yet passed to a reader.
static OF_STANDARD_INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Standard input from its first byte, including bytes that were already read to recognise the format.
pub fn standard_input() -> Chain<Cursor<Vec<u8>>, Stdin> {
    let mut kept = OF_STANDARD_INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    Cursor::new(std::mem::take(&mut *kept)).chain(io::stdin())
}

/// The first bytes of standard input, decompressed: `want` bytes, or fewer if it ends before. The next reader gets the
/// same bytes again.
///
/// # Errors
/// Errors of standard input.
pub(super) fn look_at_standard_input(want: usize) -> io::Result<Vec<u8>> {
    let mut kept = OF_STANDARD_INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    look_ahead(&mut io::stdin(), want, &mut kept)
}

/// Reads `stream` into `kept` until `want` bytes of content are known or the stream ends. Returns the content: `kept`,
/// decompressed if it is compressed.
///
/// # Errors
/// Errors of the stream.
pub fn look_ahead(stream: &mut dyn Read, want: usize, kept: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut buffer = [0; 4096];
    loop {
        let is_compressed = kept.get(..4).is_some_and(is_zstd);
        let held = if is_compressed { decompressed(kept, want) } else { kept.clone() };
        if held.len() >= want || is_compressed && kept.len() >= MOST_COMPRESSED {
            return Ok(held);
        }
        let room = if is_compressed { buffer.len() } else { buffer.len().min(want - kept.len()) };
        match stream.read(&mut buffer[..room]) {
            Ok(0) => return Ok(held),
            Ok(read) => kept.extend_from_slice(&buffer[..read]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Decompresses the beginning of compressed data: up to `want` bytes.
fn decompressed(bytes: &[u8], want: usize) -> Vec<u8> {
    let mut held = Vec::new();
    if let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(bytes) {
        // The data end in the middle: the error comes after the bytes that can be decompressed.
        let _ = decoder.take(want as u64).read_to_end(&mut held);
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that gives one byte at a time.
    struct Dripping<'a>(&'a [u8]);

    impl Read for Dripping<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let length = to.len().min(1);
            self.0.read(&mut to[..length])
        }
    }

    #[test]
    fn what_is_looked_at_is_kept_as_it_is() {
        let text: Vec<u8> =
            (0..100_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let packed = zstd::encode_all(&text[..], 1).unwrap();
        for (bytes, is_short) in [(&text, true), (&packed, false)] {
            for stream in [&mut Dripping(bytes) as &mut dyn Read, &mut &bytes[..]] {
                let mut kept = Vec::new();
                let held = look_ahead(stream, 64, &mut kept).unwrap();
                assert!(held == text[..64] && bytes.starts_with(&kept));
                assert_eq!(kept.len() == 64, is_short);
                // A later call may examine more.
                assert_eq!(look_ahead(stream, 256, &mut kept).unwrap(), text[..256]);
            }
        }
        for short in [&b"12"[..], b"", &packed[..20]] {
            let mut kept = Vec::new();
            let held = look_ahead(&mut &short[..], 64, &mut kept).unwrap();
            assert!(kept == short && held.len() < 64);
        }
    }
}
