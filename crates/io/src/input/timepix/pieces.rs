//! [`PixelDecoder`]: hits from bytes that somebody else reads, in pieces cut anywhere.

use super::tpx3::Tpx3;
use super::{Decode, Output, PixelCounts};
use peloton::event::{Layout, PixelBlock};

/// Decodes one stream of bytes, which may be cut anywhere, inside a word as well.
pub struct PixelDecoder {
    decoder: Tpx3,
    layout: Layout,
    counts: PixelCounts,
    /// The beginning of a word whose end has not come yet.
    rest: Vec<u8>,
}

impl PixelDecoder {
    /// Of the raw words of Timepix3, for hits on `layout`.
    pub fn tpx3(layout: Layout) -> Self {
        Self { decoder: Tpx3::default(), layout, counts: PixelCounts::default(), rest: Vec::new() }
    }

    /// Appends the hits and triggers of the next piece to `block`.
    pub fn push(&mut self, bytes: &[u8], block: &mut PixelBlock) {
        let mut to = Output { block, counts: &mut self.counts, layout: &self.layout };
        if self.rest.is_empty() {
            let used = self.decoder.decode(bytes, &mut to);
            self.rest.extend_from_slice(&bytes[used..]);
            return;
        }
        self.rest.extend_from_slice(bytes);
        let used = self.decoder.decode(&self.rest, &mut to);
        self.rest.drain(..used);
    }

    /// Appends what was held back. The next piece begins another stream, with a clock of its own.
    pub fn finish(&mut self, block: &mut PixelBlock) {
        let mut to = Output { block, counts: &mut self.counts, layout: &self.layout };
        self.decoder.finish(&self.rest, &mut to);
        self.rest.clear();
        self.decoder = Tpx3::default();
    }

    /// What the streams held so far.
    pub fn counts(&self) -> &PixelCounts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PixelFormat, PixelOptions, PixelReader, ReadEnd, write_tpx3};
    use super::*;
    use peloton::event::PixelHits;
    use std::io::Cursor;

    #[test]
    fn pieces_give_what_the_reader_gives() {
        let mut hits = PixelHits::default();
        (0..5000i64)
            .for_each(|i| hits.push(100 * i, (i * 7 % 256) as u16, (i % 256) as u16, (i % 90) as u16));
        let layout = PixelFormat::Tpx3.default_layout().unwrap();
        let mut bytes = Vec::new();
        write_tpx3(&hits, &mut bytes).unwrap();
        bytes.truncate(bytes.len() - 3);
        let options = PixelOptions { format: PixelFormat::Tpx3, ..PixelOptions::default() };
        let mut reader = PixelReader::from_stream("test", Cursor::new(bytes.clone()), options).unwrap();
        let mut expected = PixelBlock::default();
        while reader.read(usize::MAX, &mut expected).unwrap() != ReadEnd::EndOfSource {}
        assert!(reader.counts().hits > 4000 && reader.counts().malformed == 1);
        for piece in [1, 7, 64, 4096, usize::MAX] {
            let (mut decoder, mut block) = (PixelDecoder::tpx3(layout.clone()), PixelBlock::default());
            for stream in 1..3 {
                block.clear();
                bytes.chunks(piece.min(bytes.len())).for_each(|piece| decoder.push(piece, &mut block));
                decoder.finish(&mut block);
                assert_eq!(block, expected, "stream {stream} in pieces of {piece}");
            }
            assert_eq!(decoder.counts().hits, 2 * reader.counts().hits);
        }
    }
}
