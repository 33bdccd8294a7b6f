//! Raw words of the Katherine readout, 6 bytes each, little-endian; the kind is in bits 44 to 47.

use super::{Decode, Output};
use peloton::event::TICKS_PER_CLOCK;

const WORD: usize = 6;

/// Particulars of a Katherine readout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KatherineOptions {
    /// Clocks of 25 ns in one unit of the timestamp offset: 16384 by libkatherine, 4096 by clusterer_lite.
    pub offset_unit: i64,
}

impl Default for KatherineOptions {
    fn default() -> Self {
        Self { offset_unit: 1 << 14 }
    }
}

pub(super) struct Katherine {
    options: KatherineOptions,
    /// Clocks of 25 ns that the hits' time counts from.
    offset: i64,
}

impl Katherine {
    pub fn new(options: KatherineOptions) -> Self {
        Self { options, offset: 0 }
    }
}

impl Decode for Katherine {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        for [a, b, c, d, e, f] in bytes.as_chunks::<WORD>().0 {
            let word = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, 0, 0]);
            match word >> 44 {
                0x4 => {
                    let clocks = self.offset.wrapping_add((word >> 14 & 0x3FFF) as i64);
                    let time = clocks.wrapping_mul(TICKS_PER_CLOCK).wrapping_sub((word & 0xF) as i64);
                    let (x, y) = ((word >> 28 & 0xFF) as u32, (word >> 36 & 0xFF) as u32);
                    to.hit(0, x, y, time, (word >> 4 & 0x3FF) as u16);
                }
                0x5 => {
                    self.offset = ((word & 0xFFFF_FFFF) as i64).wrapping_mul(self.options.offset_unit);
                    to.counts.control += 1;
                }
                0xD => {
                    let lost = &mut to.counts.lost_by_device;
                    *lost = lost.saturating_add(word & 0xFFF_FFFF_FFFF);
                    to.counts.control += 1;
                }
                0x7..=0xC | 0xE => to.counts.control += 1,
                _ => to.counts.unknown += 1,
            }
        }
        bytes.len() / WORD * WORD
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        to.counts.malformed += u64::from(!rest.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::super::PixelCounts;
    use super::*;
    use peloton::event::{Layout, PixelBlock};

    #[test]
    fn the_offset_moves_the_hits_that_follow() {
        let layout = Layout::single(256, 256).unwrap();
        let hit: u64 = 4 << 44 | 17 << 36 | 9 << 28 | 100 << 14 | 33 << 4 | 2;
        let stream = [hit, 5 << 44 | 3, hit, 0xD << 44 | 12, 0x1 << 44];
        let bytes: Vec<u8> = stream.iter().flat_map(|word: &u64| word.to_le_bytes()[..6].to_vec()).collect();
        for unit in [4096, 16384] {
            let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
            let mut to = Output { block: &mut block, counts: &mut counts, layout: &layout };
            let mut decoder = Katherine::new(KatherineOptions { offset_unit: unit });
            assert_eq!(decoder.decode(&bytes[..bytes.len() - 1], &mut to), 24);
            assert_eq!(decoder.decode(&bytes[24..], &mut to), 6);
            assert_eq!(block.hits.get(0), (1598, 9, 17, 33));
            assert_eq!(block.hits.get(1), (1598 + 3 * unit * 16, 9, 17, 33));
            assert_eq!((counts.hits, counts.control, counts.unknown, counts.lost_by_device), (2, 2, 1, 12));
        }
    }
}
