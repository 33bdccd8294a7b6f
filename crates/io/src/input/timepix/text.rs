//! Decodes text formats with one hit per line: `.t3pa` of the Pixet programs, IEAP's burda format, and frames.

use super::t3pa::{Columns, Meaning, Row, is_header};
use super::usual_lines::{NUMBERS, Next, UsualLines};
use super::{Decode, Output};
use memchr::memchr;
use peloton::event::TICKS_PER_CLOCK;

/// Longest line, bytes; a longer line contains no hit.
const MAX_LINE: usize = 4096;
/// Largest time in clocks of 25 ns that still fits in ticks: a thousand years.
const MAX_CLOCKS: u64 = 1 << 58;

/// Meaning of the numbers of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    T3pa,
    Burda,
    Frames,
}

pub(super) struct Text {
    kind: Kind,
    /// Whether the decoder is within a line that is too long.
    skips: bool,
    /// Order of the values in a line of a t3pa file.
    columns: Columns,
    /// Last index seen in a t3pa file; it restarts where measurements were appended.
    index: u64,
    /// Number of the last line, from 1.
    number: u64,
    /// Number and text of the first line that is not a hit.
    fault: Option<(u64, String)>,
    /// Memory for marks of lines; taken while lines are read.
    usual: Option<Box<UsualLines>>,
}

/// Characters of a line that messages quote.
const QUOTED: usize = 40;

impl Text {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            skips: false,
            columns: Columns::default(),
            index: 0,
            number: 0,
            fault: None,
            usual: None,
        }
    }
}

impl Decode for Text {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        let (mut used, mut numbers, mut usual) = (0, [0; NUMBERS], self.usual.take().unwrap_or_default());
        'blocks: loop {
            let block = used;
            let text = &bytes[block..];
            usual.begin(text);
            loop {
                let next =
                    if self.skips { Next::Other } else { usual.next_line(text, used - block, &mut numbers) };
                if let Next::Line(count, length) = next {
                    self.number += 1;
                    self.values(&numbers[..count], &bytes[used..used + length], to);
                    used += length;
                    continue;
                }
                if next == Next::NoEnd && used > block {
                    break;
                }
                let Some(length) = memchr(b'\n', &bytes[used..]) else { break 'blocks };
                let line = &bytes[used..used + length];
                used += length + 1;
                if !std::mem::take(&mut self.skips) {
                    self.line(line, to);
                }
                if !usual.reaches(used - block) {
                    break;
                }
                usual.pass(used - block);
            }
        }
        self.usual = Some(usual);
        if bytes.len() - used > MAX_LINE {
            if !std::mem::replace(&mut self.skips, true) {
                self.number += 1;
                self.fault(&bytes[used..], to);
            }
            used = bytes.len();
        }
        used
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        if !self.skips && !rest.is_empty() {
            self.line(rest, to);
        }
    }

    fn first_fault(&self) -> Option<String> {
        self.fault.as_ref().map(|(number, line)| format!("line {number}: `{line}`"))
    }
}

impl Text {
    fn line(&mut self, line: &[u8], to: &mut Output<'_>) {
        self.number += 1;
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        match line.first() {
            None => {}
            Some(_) if self.kind == Kind::T3pa && is_header(line) => self.header(line, to),
            Some(b'#' | b'I') => to.counts.control += 1,
            Some(_) => match numbers(line) {
                Some((numbers, count)) => self.values(&numbers[..count], line, to),
                None => self.fault(line, to),
            },
        }
    }

    /// Processes the numbers of a line.
    fn values(&mut self, numbers: &[u64], line: &[u8], to: &mut Output<'_>) {
        let understood = match self.kind {
            Kind::T3pa => self.columns.row(numbers).and_then(|row| self.t3pa(&row, to)),
            Kind::Burda => burda(numbers, to),
            Kind::Frames => frames(numbers, to),
        };
        if understood.is_none() {
            self.fault(line.trim_ascii(), to);
        }
    }

    /// Counts a line that is not a hit.
    fn fault(&mut self, line: &[u8], to: &mut Output<'_>) {
        to.counts.malformed += 1;
        let number = self.number;
        self.fault.get_or_insert_with(|| {
            let text = String::from_utf8_lossy(&line[..line.len().min(4 * QUOTED)]);
            (number, text.chars().take(QUOTED).collect::<String>().escape_debug().to_string())
        });
    }

    /// Processes a header; appended measurements have their own headers.
    fn header(&mut self, line: &[u8], to: &mut Output<'_>) {
        match Columns::of_header(line) {
            Ok(columns) => {
                to.counts.control += 1;
                self.columns = columns;
            }
            Err(_) => {
                self.columns = Columns::Refused;
                self.fault(line, to);
            }
        }
    }

    fn t3pa(&mut self, row: &Row, to: &mut Output<'_>) -> Option<()> {
        let chip = match row.meaning() {
            Meaning::Hit(chip) => chip,
            Meaning::LossBegins => {
                // The number of lost hits is not known: at least one.
                to.counts.lost_by_device += 1;
                to.counts.control += 1;
                return Some(());
            }
            Meaning::LossEnds => {
                to.counts.control += 1;
                return Some(());
            }
            Meaning::Unknown => return None,
        };
        let ticks = ticks(row.toa, row.fine, 31)?;
        if let Some(index) = row.index {
            // A wrong index without an earlier time is not a restart.
            if index < self.index && ticks <= to.clock.newest() {
                to.restart();
            }
            self.index = index;
        }
        let pixel = (row.matrix & 0xFFFF) as u32;
        to.hit(chip as usize, pixel & 0xFF, pixel >> 8, ticks, saturate(row.tot));
        Some(())
    }
}

fn burda(values: &[u64], to: &mut Output<'_>) -> Option<()> {
    let &[pixel, toa, fine, tot] = values else { return None };
    let pixel = u32::try_from(pixel).ok()?;
    to.hit(0, pixel & 0xFF, pixel >> 8, ticks(toa, fine, 15)?, saturate(tot));
    Some(())
}

/// Processes a hit of a frame; the number of the frame replaces the time.
fn frames(values: &[u64], to: &mut Output<'_>) -> Option<()> {
    let &[frame, x, y, value] = values else { return None };
    let frame = i64::try_from(frame).ok().filter(|frame| frame >> 62 == 0)?;
    let pixel = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    to.hit(0, pixel(x), pixel(y), frame, saturate(value));
    Some(())
}

fn ticks(toa: u64, fine: u64, max_fine: u64) -> Option<i64> {
    (toa < MAX_CLOCKS && fine <= max_fine).then(|| toa as i64 * TICKS_PER_CLOCK - fine as i64)
}

fn saturate(tot: u64) -> u16 {
    tot.min(u64::from(u16::MAX)) as u16
}

/// The whole numbers of a line; none when the line contains anything else.
pub(super) fn numbers(line: &[u8]) -> Option<([u64; NUMBERS], usize)> {
    let (mut numbers, mut count) = ([0u64; NUMBERS], 0);
    for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        let value = numbers.get_mut(count)?;
        for digit in word {
            let digit = digit.wrapping_sub(b'0');
            *value =
                if digit < 10 { value.checked_mul(10)?.checked_add(u64::from(digit))? } else { return None };
        }
        count += 1;
    }
    Some((numbers, count))
}

#[cfg(test)]
mod tests {
    use super::super::clock::PAUSE;
    use super::super::{PixelCounts, PixelFormat, PixelOptions, decoded};
    use super::*;
    use peloton::event::{Layout, PixelBlock, PixelHits};

    fn decode(kind: Kind, text: &[u8], piece: usize) -> (PixelHits, PixelCounts) {
        let layout = Layout::apart(4, 256, 256).unwrap();
        let format = match kind {
            Kind::T3pa => PixelFormat::T3pa,
            Kind::Burda => PixelFormat::Burda,
            Kind::Frames => PixelFormat::Frames,
        };
        let clock = format.clock(&PixelOptions::default());
        let (block, counts) = decoded(&mut Text::new(kind), clock, &layout, text, piece);
        (block.hits, counts)
    }

    #[test]
    fn burda_lines() {
        let text =
            b"\xEF\xBB\xBF# pixel ToA\n258 100 3 7\r\n\n 0\t1 0 2000 \n1 2 3\n-1 2 3 4\n65536 1 0 1\n5 9 0 1";
        for piece in [1, 5, 1000] {
            let (hits, counts) = decode(Kind::Burda, text, piece);
            assert_eq!(hits.get(0), (1597, 2, 1, 7));
            assert_eq!(hits.get(1), (16, 0, 0, 2000));
            assert_eq!(hits.get(2), (144, 5, 0, 1));
            assert_eq!((hits.len(), counts.hits, counts.malformed, counts.outside), (3, 3, 2, 1));
        }
    }

    #[test]
    fn lines_of_frames() {
        let text = b"# frame x y value\n0 3 4 70000\n7 255 0 1\n7 256 0 1\n4611686018427387904 0 0 1\n1 2 3\n-1 0 0 1\n";
        let (hits, counts) = decode(Kind::Frames, text, 7);
        assert_eq!(hits.get(0), (0, 3, 4, u16::MAX));
        assert_eq!(hits.get(1), (7, 255, 0, 1));
        assert_eq!((counts.hits, counts.outside, counts.malformed, counts.control), (2, 1, 3, 1));
    }

    #[test]
    fn t3pa_rows_of_three_and_of_six_values() {
        let text = b"Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n\
            0\t258\t100\t7\t3\t0\n1\t116\t5\t0\t0\t1\n2\t65794\t100\t7\t31\t1\n0\t258\t50\t7\t0\t0\n258\t9\t8\n";
        let (hits, counts) = decode(Kind::T3pa, text, 11);
        assert_eq!(hits.get(0), (1597, 2, 1, 7));
        assert_eq!(hits.get(1), (1569, 260, 1, 7));
        assert_eq!(hits.get(2), (1597 + PAUSE + 800, 2, 1, 7));
        assert_eq!(hits.get(3), (144 + 1597 + PAUSE, 2, 1, 8));
        assert_eq!((counts.hits, counts.control, counts.malformed), (4, 2, 0));
        assert_eq!(counts.lost_by_device, 1);
    }

    #[test]
    fn headers_may_come_again_and_say_other_columns() {
        let text = b"Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n0\t258\t100\t7\t3\t0\n\
            Index\tToA\tMatrix Index\tToT\n1\t200\t259\t8\nIndex\tEvent\n2\t3\n4\t5\n\
            Matrix\tToA\tToT\n260\t300\t9\n";
        for piece in [1, 13, 1000] {
            let (hits, counts) = decode(Kind::T3pa, text, piece);
            let rows: Vec<_> = (0..hits.len()).map(|i| hits.get(i)).collect();
            assert_eq!(rows, [(1597, 2, 1, 7), (3200, 3, 1, 8), (4800, 4, 1, 9)]);
            // The header that is not understood, and the rows below it.
            assert_eq!((counts.control, counts.malformed), (3, 3));
        }
    }

    #[test]
    fn chips_are_known_with_a_column_overflow_of_zeros() {
        let text = b"Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n0\t2570\t100\t20\t3\t0\n\
            1\t68106\t100\t20\t3\t0\n2\t133642\t100\t20\t3\t2\n3\t5\t100\t20\t3\t1\n";
        let (hits, counts) = decode(Kind::T3pa, text, 1000);
        assert_eq!((&hits.x[..], counts.hits, counts.malformed), (&[10, 268, 10][..], 3, 1));
    }

    /// Lines of a t3pa file; some are unusual, wrong, too long or headers.
    fn many_lines(lines: usize) -> String {
        let mut text = "Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n".to_string();
        for i in 0..lines {
            let line = match i % 101 {
                7 => format!("{i} {} {i} 1 2 0\n", i % 65_536),
                11 => format!("  {i}\t5\t{i}\t1\t2\t0 \r\n"),
                13 => "-1 2 3\n\n\n".into(),
                17 => format!("{i}\t{}\t{}\t{}\t{}\t0\r\n", i * 7919 % 65_536, 100 + i / 3, i % 900, i % 32),
                50 => format!("{}\n", "1".repeat(MAX_LINE + i % 3)),
                90 if i % 2 == 0 => "Index\tToA\tMatrix Index\tToT\n".into(),
                90 => "Index\tMatrix Index\tToA\tToT\tFToA\tOverflow\n".into(),
                _ => format!("{i}\t{}\t{}\t{}\t{}\t0\n", i * 7919 % 65_536, 100 + i / 3, i % 900, i % 32),
            };
            text.push_str(&line);
        }
        text
    }

    #[test]
    fn lines_in_blocks_are_read_as_one_by_one() {
        let text = many_lines(3000);
        let layout = Layout::apart(4, 256, 256).unwrap();
        let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
        let (mut one_by_one, mut clock) =
            (Text::new(Kind::T3pa), PixelFormat::T3pa.clock(&PixelOptions::default()));
        let mut to = Output { block: &mut block, counts: &mut counts, layout: &layout, clock: &mut clock };
        text.lines().for_each(|line| one_by_one.line(line.as_bytes(), &mut to));
        to.finish();
        assert!(block.hits.len() > 1000 && counts.malformed > 20 && counts.control > 20);
        for piece in [text.len(), 50_000, 5000, 777] {
            let mut decoder = Text::new(Kind::T3pa);
            let clock = PixelFormat::T3pa.clock(&PixelOptions::default());
            let (in_blocks, found) = decoded(&mut decoder, clock, &layout, text.as_bytes(), piece);
            assert!(in_blocks.hits == block.hits && found == counts, "pieces of {piece} bytes");
            assert_eq!(decoder.first_fault(), one_by_one.first_fault());
        }
    }

    #[test]
    fn absurd_lines_are_counted_and_memory_stays_bounded() {
        let mut text = vec![b'1'; 3 * MAX_LINE];
        text.extend_from_slice(
            b"\n99999999999999999999 1 1 1\n1 288230376151711744 0 1\n1 1 16 1\n1 1 0 1 1 1 1 1 1\n1 1 1 1",
        );
        let (hits, counts) = decode(Kind::Burda, &text, 1000);
        assert_eq!((hits.len(), counts.malformed), (1, 5));
    }

    #[test]
    fn restarts_at_absurd_times_do_not_overflow() {
        let row = |index: u32| format!("{index}\t5\t288230376151711743\t1\t0\t0\n");
        let (hits, counts) = decode(Kind::T3pa, [row(1), row(0), row(1), row(0)].concat().as_bytes(), 1000);
        assert_eq!((hits.len(), counts.malformed, counts.restarts), (4, 0, 2));
        assert!(hits.time.iter().all(|time| *time > 0));
    }
}
