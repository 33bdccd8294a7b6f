//! Writes hits as burda text, frames, records of 16 bytes, or `.tpx3` words.

use super::PixelFormat;
use peloton::event::{PixelHits, TICKS_PER_CLOCK};
use peloton::{Error, Result};
use std::io::{self, Write};
use std::ops::Range;

/// Number of hits that are written at once; also of one `.tpx3` chunk, whose size in bytes is 16 bits wide.
const CHUNK: usize = 8000;

/// Writes hits of one chip in `format`: burda, frames, hits16, or tpx3 (see [`write_tpx3`]).
///
/// # Errors
/// [`Error::Config`] for a format that cannot be written, [`Error::Io`] when `to` cannot be written.
pub fn write_hits(hits: &PixelHits, format: PixelFormat, to: &mut dyn Write) -> Result<()> {
    let encode = match format {
        PixelFormat::Burda => burda,
        PixelFormat::Frames => frames,
        PixelFormat::Hits16 => records,
        PixelFormat::Tpx3 => tpx3,
        other => {
            return Err(Error::Config(format!(
                "{other} cannot be written: use burda, frames, hits16 or tpx3"
            )));
        }
    };
    write_chunks(hits, encode, to).map_err(|e| Error::io("output", e))
}

/// A function that appends hits in one format.
type Encode = fn(&PixelHits, Range<usize>, &mut Vec<u8>) -> io::Result<()>;

fn write_chunks(hits: &PixelHits, encode: Encode, to: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    for start in (0..hits.len()).step_by(CHUNK) {
        bytes.clear();
        encode(hits, start..hits.len().min(start + CHUNK), &mut bytes)?;
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// Coarse clocks of 25 ns and the fine count that is subtracted from them.
fn clocks(time: i64) -> (i64, i64) {
    let clocks = (time + TICKS_PER_CLOCK - 1).div_euclid(TICKS_PER_CLOCK);
    (clocks, clocks * TICKS_PER_CLOCK - time)
}

fn burda(hits: &PixelHits, range: Range<usize>, to: &mut Vec<u8>) -> io::Result<()> {
    for i in range {
        let (time, x, y, tot) = hits.get(i);
        let (toa, fine) = clocks(time);
        writeln!(to, "{}\t{toa}\t{fine}\t{tot}", u32::from(y) * 256 + u32::from(x))?;
    }
    Ok(())
}

/// Appends hits as lines of frames: times are numbers of frames.
fn frames(hits: &PixelHits, range: Range<usize>, to: &mut Vec<u8>) -> io::Result<()> {
    for i in range {
        let (frame, x, y, value) = hits.get(i);
        writeln!(to, "{frame} {x} {y} {value}")?;
    }
    Ok(())
}

fn records(hits: &PixelHits, range: Range<usize>, to: &mut Vec<u8>) -> io::Result<()> {
    for i in range {
        let (time, x, y, tot) = hits.get(i);
        let mut record = [0; 16];
        record[..8].copy_from_slice(&time.to_le_bytes());
        for (place, value) in record[8..].chunks_exact_mut(2).zip([x, y, tot]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        to.extend(record);
    }
    Ok(())
}

/// Writes hits of chip 0 as `.tpx3` words. Every chunk begins with a heartbeat at the time of the chunk's first hit.
///
/// # Errors
/// Errors of `to`.
pub fn write_tpx3(hits: &PixelHits, to: &mut dyn Write) -> io::Result<()> {
    write_chunks(hits, tpx3, to)
}

/// Appends one chunk.
fn tpx3(hits: &PixelHits, range: Range<usize>, to: &mut Vec<u8>) -> io::Result<()> {
    let now = clocks(hits.time[range.start]).0 as u64;
    let header = 0x3358_5054 | (8 * (range.len() as u64 + 2)) << 48;
    let heartbeat = [0x44 << 56 | (now & 0xFFFF_FFFF) << 16, 0x45 << 56 | (now >> 32 & 0xFFFF) << 16];
    [header].iter().chain(&heartbeat).for_each(|word: &u64| to.extend(word.to_le_bytes()));
    for i in range {
        let (time, x, y, tot) = hits.get(i);
        let ((toa, fine), x, y) = (clocks(time), u64::from(x), u64::from(y));
        let address = (x >> 1) << 9 | (y >> 2) << 3 | (x & 1) << 2 | y & 3;
        let (spidr, toa) = (toa as u64 >> 14 & 0xFFFF, toa as u64 & 0x3FFF);
        let tot = u64::from(tot.min(0x3FF));
        let word = 0xB << 60 | address << 44 | toa << 30 | tot << 20 | (fine as u64) << 16 | spidr;
        to.extend(word.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{PixelOptions, PixelReader, ReadEnd};
    use super::*;
    use peloton::event::{Layout, PixelBlock};

    #[test]
    fn what_is_written_is_read_back() {
        let mut hits = PixelHits::default();
        for i in 0..20_000u32 {
            hits.push(
                1_000_000_000_000 + i64::from(i) * 3217,
                (i * 7 % 256) as u16,
                (i * 31 % 256) as u16,
                (i % 1024) as u16,
            );
        }
        for format in [PixelFormat::Burda, PixelFormat::Frames, PixelFormat::Hits16, PixelFormat::Tpx3] {
            let mut bytes = Vec::new();
            write_hits(&hits, format, &mut bytes).unwrap();
            let layout = Some(Layout::single(256, 256).unwrap());
            let options = PixelOptions { format, layout, ..PixelOptions::default() };
            let mut reader = PixelReader::from_stream("test", io::Cursor::new(bytes), options).unwrap();
            let mut block = PixelBlock::default();
            while reader.read(block.hits.len() + 777, &mut block).unwrap() != ReadEnd::EndOfSource {}
            assert!(block.hits == hits, "{format}");
            assert_eq!(reader.read(1, &mut block).unwrap(), ReadEnd::End);
        }
        assert!(write_hits(&hits, PixelFormat::Npy, &mut Vec::new()).is_err());
    }
}
