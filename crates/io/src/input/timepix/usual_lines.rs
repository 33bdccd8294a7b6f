//! [`UsualLines`]: parses lines in the usual form, which are decimal numbers with one tab or space between them.
//!
//! First all bytes of a block that are not digits are marked, 64 bytes at a time. A number is the text between two
//! marks. So the CPU can parse several numbers at once.

use crate::input::digits::{WORD, others, values, whole_number};

/// Largest number of values of a line.
pub(super) const NUMBERS: usize = 8;
/// Number of bytes that are searched at once.
const BLOCK: usize = 4096;
/// Number of bytes that one mask covers.
const CHUNK: usize = 64;
/// Number of marks of a chunk that are always written.
const USUAL_MARKS: usize = 16;
/// Largest number of digits of a number.
const DIGITS: usize = 15;

/// The marks of a block; those before `next` were already used.
#[derive(Debug)]
pub(super) struct UsualLines {
    marks: [u16; BLOCK + CHUNK],
    next: usize,
    count: usize,
    /// Number of bytes of the block.
    length: usize,
}

/// The next line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A line with this many numbers, and this many bytes including its end.
    Line(usize, usize),
    /// Any other line, or a line whose numbers cannot be read sixteen bytes at a time because the text ends.
    Other,
    /// A line whose end is not in the block.
    NoEnd,
}

impl Default for UsualLines {
    fn default() -> Self {
        Self { marks: [0; BLOCK + CHUNK], next: 0, count: 0, length: 0 }
    }
}

impl UsualLines {
    /// Marks the bytes in the first block of `text` that are not digits.
    pub fn begin(&mut self, text: &[u8]) {
        let block = &text[..text.len().min(BLOCK)];
        (self.next, self.count, self.length) = (0, 0, block.len());
        let (chunks, rest) = block.as_chunks::<CHUNK>();
        for (start, chunk) in (0..).step_by(CHUNK).zip(chunks) {
            self.mark(start, chunk);
        }
        // The last chunk is padded with digits, which get no marks.
        let mut last = [b'0'; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        self.mark((block.len() - rest.len()) as u16, &last);
    }

    #[inline(always)]
    fn mark(&mut self, start: u16, chunk: &[u8; CHUNK]) {
        let mut mask = mask_of_others(chunk);
        let count = mask.count_ones() as usize;
        let to = &mut self.marks[self.count..][..CHUNK];
        // In most chunks, no branch depends on the number of marks.
        for to in &mut to[..USUAL_MARKS] {
            *to = start + mask.trailing_zeros() as u16;
            mask &= mask.wrapping_sub(1);
        }
        for to in &mut to[USUAL_MARKS..count.max(USUAL_MARKS)] {
            *to = start + mask.trailing_zeros() as u16;
            mask &= mask.wrapping_sub(1);
        }
        self.count += count;
    }

    /// Whether the byte `at` of the text is in the block.
    pub fn reaches(&self, at: usize) -> bool {
        at < self.length
    }

    /// Skips the text before the byte `to`.
    pub fn pass(&mut self, to: usize) {
        let marks = &self.marks[self.next..self.count];
        self.next += marks.iter().take_while(|mark| usize::from(**mark) < to).count();
    }

    /// Parses the line that begins at byte `start` of the text, after all used marks; writes its numbers to `numbers`.
    #[inline(always)]
    pub fn next_line(&mut self, text: &[u8], start: usize, numbers: &mut [u64; NUMBERS]) -> Next {
        let marks = &self.marks[self.next..self.count];
        let mut begin = start;
        for (count, &mark) in marks.iter().enumerate() {
            let mark = usize::from(mark);
            let digits = mark.wrapping_sub(begin);
            if count == NUMBERS || digits.wrapping_sub(1) >= DIGITS {
                return Next::Other;
            }
            let Some(bytes) = text.get(begin..).and_then(<[u8]>::first_chunk) else { return Next::Other };
            numbers[count] = whole_number(bytes, digits);
            let (length, taken) = match (text[mark], text.get(mark + 1)) {
                (b'\t' | b' ', _) => {
                    begin = mark + 1;
                    continue;
                }
                (b'\n', _) => (mark + 1 - start, count + 1),
                (b'\r', Some(b'\n')) if marks.len() > count + 1 => (mark + 2 - start, count + 2),
                _ => return Next::Other,
            };
            self.next += taken;
            return Next::Line(count + 1, length);
        }
        Next::NoEnd
    }
}

/// A bit for each byte that is not a digit.
#[inline(always)]
fn mask_of_others(chunk: &[u8; CHUNK]) -> u64 {
    let words = chunk.as_chunks::<WORD>().0;
    let masks = words.iter().map(|word| {
        let others = others(values(u64::from_le_bytes(*word))) >> 7;
        // The product moves the bit of byte i to bit 56 + i.
        others.wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    masks.zip((0..).step_by(WORD)).fold(0, |all, (mask, at)| all | mask << at)
}

#[cfg(test)]
mod tests {
    use super::super::text::numbers;
    use super::*;

    /// Reads the first line; text follows it, as within a block.
    fn next(line: &str) -> (Next, [u64; NUMBERS]) {
        let text = [line.as_bytes(), &[b'7'; 16]].concat();
        let (mut lines, mut numbers) = (UsualLines::default(), [0; NUMBERS]);
        lines.begin(&text);
        (lines.next_line(&text, 0, &mut numbers), numbers)
    }

    #[test]
    fn usual_lines_are_read_as_all_lines_are() {
        for line in ["1 2 3 4\n", "1\t2\r\n", "0012\n", "12345678 123456789\n", "123456789012345 1\n"] {
            let (expected, count) = numbers(line.as_bytes().trim_ascii()).unwrap();
            let (found, mut numbers) = next(line);
            numbers[count..].fill(0);
            assert_eq!((found, numbers), (Next::Line(count, line.len()), expected), "{line:?}");
        }
        let others = ["\n", " 1\n", "1  2\n", "1 \n", "1,2\n", "1\r", "-1\n", "1 2 3 4 5 6 7 8 9\n", "#\n"];
        for other in others.into_iter().chain(["1234567890123456\n", "18446744073709551615 1\n"]) {
            assert_eq!(next(other).0, Next::Other, "{other:?}");
        }
        assert_eq!((next("").0, next("1").0, next("1 2").0), (Next::NoEnd, Next::NoEnd, Next::NoEnd));
    }

    #[test]
    fn every_byte_that_is_no_digit_has_a_mark() {
        for byte in 0..=u8::MAX {
            let mut chunk = [b'5'; CHUNK];
            (0..CHUNK).step_by(7).for_each(|at| chunk[at] = byte);
            let expected = (0..CHUNK).step_by(7).fold(0, |mask, at| mask | 1u64 << at);
            assert_eq!(mask_of_others(&chunk), if byte.is_ascii_digit() { 0 } else { expected });
        }
        let text = [b' '; 2 * BLOCK];
        let mut lines = UsualLines::default();
        for length in [0, 1, 63, 64, 65, BLOCK, BLOCK + 1] {
            lines.begin(&text[..length]);
            let marks = length.min(BLOCK);
            assert!(lines.marks[..lines.count].iter().copied().eq(0..marks as u16));
            assert!(lines.reaches(marks.wrapping_sub(1)) == (marks > 0) && !lines.reaches(marks));
        }
    }
}
