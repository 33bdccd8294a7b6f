//! Decodes frames that are text matrices, one after another (`.pmf` of the Pixet programs, `.txt` for one frame). A
//! line is a row of the chip and has one number per pixel, 0 for a pixel without a hit. All hits of frame k have the
//! time k ticks.

use super::{Decode, Output};

/// Longest line, bytes; a longer line is not a row.
const MAX_LINE: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Matrices {
    /// Frame and row of the next line.
    frame: i64,
    row: u32,
    /// Whether the decoder is within a line that is too long.
    skips: bool,
    values: Vec<u16>,
    /// Number of the last line, from 1; then the first line that is not a row.
    number: u64,
    fault: Option<u64>,
}

impl Decode for Matrices {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        let mut used = 0;
        while let Some(length) = bytes[used..].iter().position(|byte| *byte == b'\n') {
            let line = &bytes[used..used + length];
            used += length + 1;
            if !std::mem::take(&mut self.skips) {
                self.line(line, to);
            }
        }
        if bytes.len() - used > MAX_LINE {
            if !std::mem::replace(&mut self.skips, true) {
                self.line(b"too long", to);
            }
            used = bytes.len();
        }
        used
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        if !self.skips && !rest.is_empty() {
            self.line(rest, to);
        }
        // The last frame is cut off.
        if self.row > 0 {
            self.number += 1;
            self.fault(to);
        }
    }

    fn first_fault(&self) -> Option<String> {
        self.fault.map(|number| format!("line {number}: not a row of a matrix, or the last frame is cut off"))
    }
}

impl Matrices {
    fn line(&mut self, line: &[u8], to: &mut Output<'_>) {
        self.number += 1;
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        match line.first() {
            None => return,
            Some(b'#') => {
                to.counts.control += 1;
                return;
            }
            Some(_) => {}
        }
        let [width, height] = to.layout.chip_size();
        if self.read(line, width) {
            for (x, &value) in self.values.iter().enumerate().filter(|(_, value)| **value > 0) {
                to.hit(0, x as u32, self.row, self.frame, value);
            }
        } else {
            self.fault(to);
        }
        self.row += 1;
        if self.row as usize == height {
            (self.row, self.frame) = (0, self.frame + 1);
        }
    }

    /// Reads a row; false when the line is not a row.
    fn read(&mut self, line: &[u8], width: usize) -> bool {
        self.values.clear();
        for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let mut value = 0u16;
            for digit in word {
                let digit = digit.wrapping_sub(b'0');
                if digit > 9 || self.values.len() == width {
                    return false;
                }
                value = value.saturating_mul(10).saturating_add(digit.into());
            }
            self.values.push(value);
        }
        self.values.len() == width
    }

    fn fault(&mut self, to: &mut Output<'_>) {
        to.counts.malformed += 1;
        self.fault.get_or_insert(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Timeline;
    use super::super::{PixelCounts, decoded};
    use super::*;
    use peloton::event::{Layout, PixelHits};

    fn decode(text: &[u8], piece: usize) -> (PixelHits, PixelCounts, Option<String>) {
        let (layout, mut decoder) = (Layout::single(3, 2).unwrap(), Matrices::default());
        let (block, counts) = decoded(&mut decoder, Timeline::unchecked(), &layout, text, piece);
        (block.hits, counts, decoder.first_fault())
    }

    #[test]
    fn matrices_one_after_another() {
        let text = b"\xEF\xBB\xBF0 7 0\n0\t0 99999\r\n\n# second\n1 0 0\n0 0 2";
        for piece in [1, 4, 1000] {
            let (hits, counts, fault) = decode(text, piece);
            let rows: Vec<_> = (0..hits.len()).map(|i| hits.get(i)).collect();
            assert_eq!(rows, [(0, 1, 0, 7), (0, 2, 1, u16::MAX), (1, 0, 0, 1), (1, 2, 1, 2)]);
            assert_eq!((counts.hits, counts.malformed, counts.control, fault), (4, 0, 1, None));
        }
    }

    #[test]
    fn damaged_rows_are_counted_and_keep_their_place() {
        let long = vec![b'1'; 3 * MAX_LINE];
        let text = [&b"1 1\n1 0 0\n1 1 1 1\n0 x 0\n"[..], &long, b"\n0 0 5\n0 0 6\n"].concat();
        let (hits, counts, fault) = decode(&text, 1000);
        let rows: Vec<_> = (0..hits.len()).map(|i| hits.get(i)).collect();
        // Frame 2 lacks its first row, frame 3 its second.
        assert_eq!(rows, [(0, 0, 1, 1), (2, 2, 1, 5), (3, 2, 0, 6)]);
        assert_eq!((counts.malformed, fault.unwrap().starts_with("line 1:")), (5, true));
    }
}
