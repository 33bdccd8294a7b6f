//! [`PixelMask`]: pixels whose hits are dropped.

use crate::event::PixelHits;
use std::ops::Range;

/// Pixels whose hits are dropped, such as noisy ones.
#[derive(Debug)]
pub(crate) struct PixelMask {
    width: usize,
    /// Whether a pixel is masked, row by row, up to the last masked pixel; empty for none.
    masked: Vec<bool>,
}

impl PixelMask {
    /// Creates a mask without pixels, for a sensor whose rows have `width` pixels.
    pub fn new(width: usize) -> Self {
        Self { width, masked: Vec::new() }
    }

    /// Drops the hits of a pixel from now on.
    pub fn insert(&mut self, x: u16, y: u16) {
        let index = self.index(x, y);
        if self.masked.len() <= index {
            self.masked.resize(index + 1, false);
        }
        self.masked[index] = true;
    }

    /// Returns whether no pixel is masked.
    pub fn is_empty(&self) -> bool {
        self.masked.is_empty()
    }

    /// Copies hits whose pixels are not masked. Returns the number of masked hits.
    pub fn copy_unmasked(&self, from: &PixelHits, part: Range<usize>, to: &mut PixelHits) -> u64 {
        to.clear();
        let hits = part.len();
        if self.is_empty() {
            to.extend_from(from, part, 0);
            return 0;
        }
        for i in part {
            let (time, x, y, tot) = from.get(i);
            if !self.masked.get(self.index(x, y)).copied().unwrap_or(false) {
                to.push(time, x, y, tot);
            }
        }
        (hits - to.len()) as u64
    }

    fn index(&self, x: u16, y: u16) -> usize {
        usize::from(y) * self.width + usize::from(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hits_of_masked_pixels_are_dropped() {
        let (mut hits, mut kept) = (PixelHits::default(), PixelHits::default());
        for i in 0..12 {
            hits.push(i64::from(i), i % 4, i / 4, i);
        }
        let mut mask = PixelMask::new(4);
        assert_eq!((mask.copy_unmasked(&hits, 0..hits.len(), &mut kept), kept.len()), (0, 12));
        mask.insert(1, 2);
        mask.insert(3, 0);
        assert_eq!(mask.copy_unmasked(&hits, 0..hits.len(), &mut kept), 2);
        assert_eq!(kept.tot[..], [0, 1, 2, 4, 5, 6, 7, 8, 10, 11]);
    }
}
