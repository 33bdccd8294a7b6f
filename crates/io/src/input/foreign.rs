//! Recognises unsupported formats by their first bytes, so that an error message can name the format.

/// Nanoseconds since 1970 that may be the time of a measurement: the years 2009 to 2100.
const UNIX_TIMES: std::ops::Range<u64> = 1_230_768_000_000_000_000..4_102_444_800_000_000_000;

/// The format of a stream with this beginning, if it is recognised but cannot be read.
pub(super) fn known_but_not_read(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [b'S', b'P', b'D', b'R', ..] => {
            "raw data of a SPIDR readout (.dat: words without the chunk headers of .tpx3), which is not supported"
        }
        [0x1F, 0x8B, ..] => "gzip-compressed data: decompress it, or use zstd",
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => {
            "bzip2-compressed data: decompress it, or use zstd"
        }
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => "xz-compressed data: decompress it, or use zstd",
        [b'P', b'K', 3, 4, ..] => "a zip archive, such as an .npz file: extract the files in it",
        [0x89, b'H', b'D', b'F', ..] => "an HDF5 file, which is not supported",
        [b'r', b'o', b'o', b't', 0, ..] => "a ROOT file, which is not supported",
        _ if is_pymepix(head) => {
            "raw data of pymepix (.raw: words without the chunk headers of .tpx3 after a Unix time), which is not supported"
        }
        _ => return None,
    })
}

/// A time of 8 bytes, then the first word of a Timepix3 readout: a hit, a trigger, a heartbeat, or an answer to a command.
fn is_pymepix(head: &[u8]) -> bool {
    let Some(([time, word], _)) = head.as_chunks::<8>().0.split_first_chunk() else { return false };
    let kinds = [0x44, 0x45, 0x50, 0x5C, 0x5F, 0x6A, 0x6B, 0x6E, 0x6F, 0x71, 0x72];
    // The size in the header of a chunk of .tpx3, and text, may look like a time.
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if time.starts_with(b"TPX") || time.iter().all(is_text) {
        return false;
    }
    let kind = word[7];
    UNIX_TIMES.contains(&u64::from_le_bytes(*time)) && (kinds.contains(&kind) || kind >> 4 == 0xB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_are_not_read_are_named() {
        let time = 1_700_000_000_000_000_000u64.to_le_bytes();
        let word = |kind: u64| (kind << 56 | 77).to_le_bytes();
        for kind in [0xB3, 0x44, 0x6F] {
            let head = [time, word(kind)].concat();
            assert!(known_but_not_read(&head).is_some_and(|what| what.contains("pymepix")));
            assert_eq!(known_but_not_read(&head[..15]), None);
        }
        assert_eq!(known_but_not_read(&[time, word(0x13)].concat()), None);
        assert_eq!(known_but_not_read(&[[0; 8], word(0xB3)].concat()), None);
        for (head, words) in
            [(&b"SPDR@\0\0\0"[..], "SPIDR"), (b"\x1F\x8B\x08\0", "gzip"), (b"PK\x03\x04", ".npz")]
        {
            assert!(known_but_not_read(head).is_some_and(|what| what.contains(words)));
        }
        // A chunk of 4800 bytes, and a text whose eighth and sixteenth bytes would match.
        let chunk = [*b"TPX3\0\0\xC0\x12", word(0x44)].concat();
        let text = b"# hits 0 and none";
        for head in [&b"TPX3\0\0\0\0"[..], &chunk, text, b"12 4 5 6\n", b"Index\t", b"{", b""] {
            assert_eq!(known_but_not_read(head), None);
        }
    }
}
