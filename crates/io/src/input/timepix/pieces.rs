//! Takes hits that another program has read: [`PixelDecoder`] decodes bytes in pieces, [`PixelColumns`] takes columns.

use super::clock::{Payload, Sample, Sink, Timeline};
use super::tpx3::Tpx3;
use super::{Decode, Output, PixelCounts, PixelFormat, PixelOptions, is_time};
use peloton::event::{Layout, PixelBlock};
use peloton::{Error, Result};

/// Decodes one stream of bytes, in pieces that may end anywhere, even inside a word.
pub struct PixelDecoder {
    decoder: Tpx3,
    clock: Timeline,
    options: PixelOptions,
    layout: Layout,
    counts: PixelCounts,
    /// The beginning of a chunk whose end has not arrived yet.
    rest: Vec<u8>,
}

impl PixelDecoder {
    /// A decoder of raw words of Timepix3 for hits on `layout`. `disorder_us` is the largest time by which a hit may
    /// come after a later hit, us; none for the usual disorder.
    pub fn tpx3(layout: Layout, disorder_us: Option<f64>) -> Self {
        let options = PixelOptions { disorder_us, ..PixelOptions::default() };
        let clock = PixelFormat::Tpx3.clock(&options);
        let (decoder, counts) = (Tpx3::default(), PixelCounts::default());
        Self { decoder, clock, options, layout, counts, rest: Vec::new() }
    }

    /// Appends the hits and triggers of the next piece to `block`.
    pub fn push(&mut self, bytes: &[u8], block: &mut PixelBlock) {
        let Self { layout, counts, clock, .. } = self;
        let mut to = Output { block, counts, layout, clock };
        if self.rest.is_empty() {
            let used = self.decoder.decode(bytes, &mut to);
            self.rest.extend_from_slice(&bytes[used..]);
            return;
        }
        self.rest.extend_from_slice(bytes);
        let used = self.decoder.decode(&self.rest, &mut to);
        self.rest.drain(..used);
    }

    /// Ends the stream: appends the waiting hits to `block`. The next piece begins another stream, with its own clock.
    pub fn finish(&mut self, block: &mut PixelBlock) {
        let Self { layout, counts, clock, .. } = self;
        let mut to = Output { block, counts, layout, clock };
        self.decoder.finish(&self.rest, &mut to);
        to.finish();
        self.rest.clear();
        self.decoder = Tpx3::default();
        self.clock = PixelFormat::Tpx3.clock(&self.options);
    }

    /// Counts over all streams so far.
    pub fn counts(&self) -> &PixelCounts {
        &self.counts
    }
}

/// Checks the times of hits in columns, in the same way as the times of hits in a file.
pub struct PixelColumns {
    clock: Timeline,
    options: PixelOptions,
    layout: Layout,
    counts: PixelCounts,
}

impl PixelColumns {
    /// Checks hits on `layout`. Hits may follow later hits by at most `disorder_us` us; none for the usual disorder.
    pub fn new(layout: Layout, disorder_us: Option<f64>) -> Self {
        let options = PixelOptions { disorder_us, ..PixelOptions::default() };
        let clock = PixelFormat::Hits16.clock(&options);
        Self { clock, options, layout, counts: PixelCounts::default() }
    }

    /// Appends accepted hits to `block`, and counts all hits. `time` is in ticks (1.5625 ns), `tot` in clocks (25 ns).
    ///
    /// # Errors
    /// [`Error::Columns`] for columns of different lengths.
    pub fn push(&mut self, time: &[i64], [x, y, tot]: [&[u16]; 3], block: &mut PixelBlock) -> Result<()> {
        if [x.len(), y.len(), tot.len()] != [time.len(); 3] {
            return Err(Error::Columns("time, x, y and tot must have one length".into()));
        }
        let Self { layout, counts, clock, .. } = self;
        for (i, &time) in time.iter().enumerate() {
            let inside = usize::from(x[i]) < layout.width() && usize::from(y[i]) < layout.height();
            if !is_time(time) {
                counts.malformed += 1;
            } else if inside {
                let payload = Payload::Hit([x[i], y[i], tot[i]]);
                clock.take(Sample { time, group: 0, payload }, &mut Sink { block, counts });
            } else {
                counts.outside += 1;
            }
        }
        Ok(())
    }

    /// Ends the stream: appends the waiting hits to `block`. The next hits begin another stream, with its own clock.
    pub fn finish(&mut self, block: &mut PixelBlock) {
        self.clock.finish(&mut Sink { block, counts: &mut self.counts });
        self.clock = PixelFormat::Hits16.clock(&self.options);
    }

    /// Counts over all streams so far.
    pub fn counts(&self) -> &PixelCounts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PixelReader, ReadEnd, write_tpx3};
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
            let (mut decoder, mut block) = (PixelDecoder::tpx3(layout.clone(), None), PixelBlock::default());
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
