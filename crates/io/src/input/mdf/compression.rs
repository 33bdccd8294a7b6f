//! Compressed bodies of MDF records, in ROOT's blocks of `two letters, u8 method, u24 compressed size, u24 decompressed
//! size, data`. The letters name the compression: zlib ("ZL"), lzma ("XZ") or lz4 ("L4").

use flate2::Compression as Level;
use std::io::{Read, Write};
use xxhash_rust::xxh64::xxh64;

/// Longest body, compressed or decompressed, bytes: hundreds of times the size of a real event.
pub const MAX_BODY: usize = 64 << 20;
/// Bytes of a block's header.
const HEADER: usize = 9;
/// Largest size of a decompressed block, bytes: the largest number in three bytes.
const BLOCK: usize = (1 << 24) - 1;
/// Bytes of the checksum before the data of an lz4 block.
const LZ4_CHECKSUM: usize = 8;

/// Compression of the body of an MDF record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// zlib.
    Zlib,
    /// lzma, as an xz stream.
    Lzma,
    /// lz4.
    Lz4,
}

impl Compression {
    const ALL: [Self; 3] = [Self::Zlib, Self::Lzma, Self::Lz4];

    fn tag(self) -> &'static [u8; 2] {
        match self {
            Self::Zlib => b"ZL",
            Self::Lzma => b"XZ",
            Self::Lz4 => b"L4",
        }
    }

    /// The byte after the tag, as ROOT sets it.
    fn method(self) -> u8 {
        match self {
            Self::Zlib => 8,
            Self::Lzma => 0,
            Self::Lz4 => 1,
        }
    }

    fn unpack(self, data: &[u8], plain: usize, to: &mut Vec<u8>) -> Result<(), String> {
        let start = to.len();
        let mut read = |stream: &mut dyn Read| {
            // Reads one byte more than promised, to detect a longer block.
            stream.take(plain as u64 + 1).read_to_end(to).map_err(|e| e.to_string())
        };
        match self {
            Self::Zlib => read(&mut flate2::read::ZlibDecoder::new(data))?,
            Self::Lzma => read(&mut liblzma::read::XzDecoder::new(data))?,
            Self::Lz4 => {
                let data = strip_lz4_checksum(data)?;
                to.resize(start + plain, 0);
                let len = lz4_flex::block::decompress_into(data, &mut to[start..]);
                let len = len.map_err(|e| e.to_string())?;
                to.truncate(start + len);
                len
            }
        };
        match to.len() - start {
            len if len == plain => Ok(()),
            len => Err(format!("the block holds {len} bytes or more, but its header claims {plain}")),
        }
    }

    fn pack(self, data: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Level::default());
                encoder.write_all(data)?;
                encoder.finish()
            }
            Self::Lzma => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 3);
                encoder.write_all(data)?;
                encoder.finish()
            }
            Self::Lz4 => {
                let packed = lz4_flex::block::compress(data);
                let mut out = xxh64(&packed, 0).to_be_bytes().to_vec();
                out.extend(packed);
                Ok(out)
            }
        }
    }
}

/// Removes the XXH64 that ROOT writes before the data. Blocks without it are returned unchanged.
fn strip_lz4_checksum(data: &[u8]) -> Result<&[u8], String> {
    match data.split_first_chunk::<LZ4_CHECKSUM>() {
        Some((sum, rest)) if u64::from_be_bytes(*sum) == xxh64(rest, 0) => Ok(rest),
        _ => Ok(data),
    }
}

/// Decompresses a body and appends it to `to`.
///
/// # Errors
/// A description of the fault: an unknown tag, a block that is truncated or has another length than its header claims,
/// or more than [`MAX_BODY`] bytes in all.
pub fn decompress(body: &[u8], to: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = body;
    let start = to.len();
    while !rest.is_empty() {
        let at = body.len() - rest.len();
        let header = rest.first_chunk::<HEADER>().ok_or(format!("cut short in the block at byte {at}"))?;
        let size = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
        let (packed, plain) = (size(3), size(6));
        let tag = &header[..2];
        let method = Compression::ALL.into_iter().find(|method| method.tag() == tag);
        let method = method.ok_or(format!("unknown compression {tag:?} at byte {at}"))?;
        let data = rest.get(HEADER..HEADER + packed).ok_or(format!("cut short in the block at byte {at}"))?;
        if to.len() - start + plain > MAX_BODY {
            return Err(format!("more than {MAX_BODY} bytes"));
        }
        method.unpack(data, plain, to).map_err(|e| format!("block at byte {at}: {e}"))?;
        rest = &rest[HEADER + packed..];
    }
    Ok(())
}

/// Length of a body after decompression, bytes: the sum of the sizes in its blocks' headers, at most [`MAX_BODY`].
pub fn unpacked_size(body: &[u8]) -> usize {
    let (mut rest, mut all) = (body, 0);
    while let Some(header) = rest.first_chunk::<HEADER>() {
        let size = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
        all += size(6);
        rest = rest.get(HEADER + size(3)..).unwrap_or_default();
    }
    all.min(MAX_BODY)
}

/// Compresses a body.
///
/// # Errors
/// Errors of the compression libraries; none are expected for data in memory.
pub fn compress(body: &[u8], method: Compression) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    // Uses half the largest size, so that data that do not compress well still fit.
    for block in body.chunks(BLOCK / 2) {
        let packed = method.pack(block)?;
        out.extend(method.tag());
        out.push(method.method());
        out.extend(&(packed.len() as u32).to_le_bytes()[..3]);
        out.extend(&(block.len() as u32).to_le_bytes()[..3]);
        out.extend(packed);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Vec<u8> {
        (0..100_000u32).flat_map(|i| (i * i % 1009).to_le_bytes()).collect()
    }

    #[test]
    fn every_method_gives_back_what_it_got() {
        for method in Compression::ALL {
            let packed = compress(&body(), method).unwrap();
            assert!(packed.len() < body().len(), "{method:?}");
            let mut plain = vec![1, 2, 3];
            decompress(&packed, &mut plain).unwrap();
            assert!(plain[3..] == body(), "{method:?}");
        }
    }

    #[test]
    fn lz4_blocks_without_a_checksum_are_read() {
        let packed = lz4_flex::block::compress(&body());
        let mut block = b"L4\x01".to_vec();
        block.extend(&(packed.len() as u32).to_le_bytes()[..3]);
        block.extend(&(body().len() as u32).to_le_bytes()[..3]);
        block.extend(packed);
        let mut plain = Vec::new();
        decompress(&block, &mut plain).unwrap();
        assert!(plain == body());
    }

    #[test]
    fn damage_is_told() {
        for method in Compression::ALL {
            let packed = compress(&body(), method).unwrap();
            for cut in [3, 20, packed.len() - 1] {
                assert!(decompress(&packed[..cut], &mut Vec::new()).is_err(), "{method:?} {cut}");
            }
            for (at, to) in [(0, b'?'), (6, packed[6] ^ 1), (8, 0xFF)] {
                let mut bad = packed.clone();
                bad[at] = to;
                assert!(decompress(&bad, &mut Vec::new()).is_err(), "{method:?} byte {at}");
            }
        }
        // Ten blocks of 16 MB each from a few bytes.
        let bomb = compress(&vec![0; BLOCK / 2], Compression::Lzma).unwrap().repeat(10);
        assert!(decompress(&bomb, &mut Vec::new()).unwrap_err().contains("more than"));
    }
}
