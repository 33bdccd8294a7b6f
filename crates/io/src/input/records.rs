//! Cuts a stream into the texts of single events, with only one text in memory at a time.

use super::Format;
use super::source::{PutBack, Stream};
use memchr::memchr;
use std::io::{BufRead, Read};

/// Rule for the end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// A text ends with its line.
    Lines,
    /// A text ends with the brace that closes its first brace.
    Objects,
}

/// Result of cutting a text.
#[derive(Debug)]
pub(super) enum Cut {
    /// The stream has ended.
    End,
    /// A text that begins in this line.
    Record { line: u64 },
    /// A text longer than the limit, which was skipped.
    TooLong { line: u64 },
    /// The stream cannot be decompressed any further.
    Broken { line: u64, message: String },
}

/// A stream of texts.
pub(super) struct Records {
    stream: PutBack,
    framing: Framing,
    compressed: bool,
    limit: usize,
    /// Number of the next line, from 1.
    line: u64,
    /// Error of a compressed stream that broke off while its beginning was examined.
    broken: Option<String>,
}

impl Records {
    /// Opens a stream; its beginning shows whether events are lines or objects, if `format` does not.
    pub fn new(stream: Stream, compressed: bool, format: Format, limit: usize) -> std::io::Result<Self> {
        let stream = PutBack::new(stream);
        let mut records = Self { stream, framing: Framing::Lines, compressed, limit, line: 1, broken: None };
        records.framing = match format {
            Format::VeloNdjson => Framing::Lines,
            Format::VeloJson => Framing::Objects,
            // Raw banks have another reader; a text with this format is treated like any other text.
            _ => records.find_framing()?,
        };
        Ok(records)
    }

    /// The next `want` bytes, or fewer if the stream ends, without consuming them.
    pub fn peek(&mut self, want: usize) -> std::io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let read = self.stream.by_ref().take(want as u64).read_to_end(&mut head);
        self.stream.put_back(&head);
        self.keep_break(read.map(|_| ()))?;
        Ok(head)
    }

    /// Keeps the error of a compressed stream that broke off; [`Self::next`] reports it at that position.
    fn keep_break(&mut self, read: std::io::Result<()>) -> std::io::Result<()> {
        match read {
            Err(e) if self.compressed => self.broken = Some(e.to_string()),
            read => return read,
        }
        Ok(())
    }

    /// Lines, if the second line begins an object (a first line without an object is then corrupt) or the first
    /// line is a complete object; otherwise objects.
    fn find_framing(&mut self) -> std::io::Result<Framing> {
        let mut head = Vec::new();
        let read = self.read_first_line(&mut head);
        let next = self.skip_blank_lines(&mut head);
        let end = balance(&head);
        let alone = end.is_some_and(|end| head[end..].trim_ascii().is_empty());
        self.stream.put_back(&head);
        self.keep_break(read)?;
        Ok(match next {
            Some(b'{') => Framing::Lines,
            Some(_) if !alone => Framing::Objects,
            None if end.is_some() && !alone => Framing::Objects,
            _ => Framing::Lines,
        })
    }

    /// Reads up to the end of the first line that is not blank.
    fn read_first_line(&mut self, head: &mut Vec<u8>) -> std::io::Result<()> {
        loop {
            let start = head.len();
            let room = (self.limit - start.min(self.limit)) as u64;
            self.stream.by_ref().take(room).read_until(b'\n', head)?;
            if start == head.len() || !head[start..].trim_ascii().is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads blank lines and returns the byte that follows them.
    fn skip_blank_lines(&mut self, head: &mut Vec<u8>) -> Option<u8> {
        loop {
            // An error will occur again when the line is read.
            match fill(&mut self.stream).ok()?.first() {
                Some(&c @ (b'\n' | b'\r')) if head.len() < self.limit => head.push(c),
                next => return next.copied(),
            }
            self.stream.consume(1);
        }
    }

    /// Appends the next event's text to `text`. Blank lines are skipped, and an incomplete text is discarded.
    pub fn next(&mut self, text: &mut Vec<u8>) -> std::io::Result<Cut> {
        let begin = text.len();
        let found = match self.framing {
            Framing::Lines => self.next_line(text),
            Framing::Objects => self.next_object(text),
        };
        if !matches!(found, Ok(Cut::Record { .. })) {
            text.truncate(begin);
        }
        // The text is lost with the rest of the stream: one event with one message.
        let message = match (&found, &self.broken) {
            (Err(e), _) if self.compressed => e.to_string(),
            (Ok(Cut::End), Some(message)) => message.clone(),
            _ => return found,
        };
        Ok(Cut::Broken { line: self.line, message })
    }

    fn next_line(&mut self, text: &mut Vec<u8>) -> std::io::Result<Cut> {
        let begin = text.len();
        loop {
            text.truncate(begin);
            let line = self.line;
            let mut kept = true;
            let mut ended = false;
            while !ended {
                let chunk = fill(&mut self.stream)?;
                if chunk.is_empty() {
                    break;
                }
                let newline = memchr(b'\n', chunk);
                let used = newline.map_or(chunk.len(), |at| at + 1);
                kept &= text.len() - begin + used <= self.limit;
                if kept {
                    text.extend_from_slice(&chunk[..used]);
                }
                ended = newline.is_some();
                self.stream.consume(used);
            }
            self.line += 1;
            if !kept {
                return Ok(Cut::TooLong { line });
            }
            if !text[begin..].trim_ascii().is_empty() {
                return Ok(Cut::Record { line });
            }
            if !ended {
                return Ok(Cut::End);
            }
        }
    }

    fn next_object(&mut self, text: &mut Vec<u8>) -> std::io::Result<Cut> {
        let (mut braces, begin) = (Braces::default(), text.len());
        let mut kept = true;
        let mut first_line = None;
        loop {
            let chunk = fill(&mut self.stream)?;
            if chunk.is_empty() {
                return Ok(match first_line {
                    None => Cut::End,
                    Some(line) if kept => Cut::Record { line },
                    Some(line) => Cut::TooLong { line },
                });
            }
            let mut used = 0;
            let mut from = 0;
            let mut done = false;
            for &c in chunk {
                used += 1;
                if first_line.is_none() && !c.is_ascii_whitespace() {
                    first_line = Some(self.line);
                    from = used - 1;
                }
                self.line += u64::from(c == b'\n');
                if first_line.is_some() && braces.ends_after(c) {
                    done = true;
                    break;
                }
            }
            if first_line.is_some() {
                kept &= text.len() - begin + used - from <= self.limit;
                if kept {
                    text.extend_from_slice(&chunk[from..used]);
                }
            }
            self.stream.consume(used);
            if let (true, Some(line)) = (done, first_line) {
                return Ok(if kept { Cut::Record { line } } else { Cut::TooLong { line } });
            }
        }
    }
}

/// Counts open braces outside of strings.
#[derive(Default)]
struct Braces {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Braces {
    /// Whether the text ends after this byte: with its last brace, or with its line if no brace is open (so
    /// ends garbage between objects).
    fn ends_after(&mut self, c: u8) -> bool {
        if self.in_string {
            (self.in_string, self.escaped) = match c {
                _ if self.escaped => (true, false),
                b'"' => (false, false),
                _ => (true, c == b'\\'),
            };
            return false;
        }
        match c {
            b'{' => self.depth += 1,
            b'"' if self.depth > 0 => self.in_string = true,
            b'}' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            b'\n' => return self.depth == 0,
            _ => {}
        }
        false
    }
}

/// Position of the end of the first object of `text`, if it ends.
fn balance(text: &[u8]) -> Option<usize> {
    let start = text.iter().position(|&c| c == b'{')?;
    let mut braces = Braces::default();
    text[start..].iter().position(|&c| braces.ends_after(c)).map(|at| start + at + 1)
}

/// Calls `fill_buf` again when a signal interrupts it.
fn fill(stream: &mut PutBack) -> std::io::Result<&[u8]> {
    // The first call fills the buffer, the second only borrows it: the borrow checker rejects a loop that
    // returns the result of the first call.
    loop {
        match stream.fill_buf() {
            Ok(_) => break,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    stream.fill_buf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn cut(text: &str, format: Format, limit: usize) -> Vec<(String, u64)> {
        // With a small buffer, texts cross its end.
        let stream = std::io::BufReader::with_capacity(3, Cursor::new(text.as_bytes().to_vec()));
        let mut records = Records::new(Box::new(stream), false, format, limit).unwrap();
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        loop {
            buffer.clear();
            match records.next(&mut buffer).unwrap() {
                Cut::End => return found,
                Cut::Record { line } => {
                    found.push((String::from_utf8_lossy(buffer.trim_ascii()).into_owned(), line));
                }
                Cut::TooLong { line } => found.push(("too long".into(), line)),
                Cut::Broken { .. } => unreachable!("not compressed"),
            }
        }
    }

    fn owned(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
        pairs.iter().map(|(text, line)| ((*text).to_string(), *line)).collect()
    }

    #[test]
    fn lines_survive_a_corrupt_one() {
        for first in ["{\"a\":[1,2", "{\"a\":1}", "{\"a\":\"}\"}", "{ {"] {
            let text = format!("\n{first}\n\n{{\"b\":2}}\n{{\"c\":3}}");
            let found = cut(&text, Format::Auto, 99);
            assert_eq!(found, owned(&[(first, 2), ("{\"b\":2}", 4), ("{\"c\":3}", 5)]), "{first}");
        }
    }

    #[test]
    fn objects_may_span_lines_or_share_one() {
        let pretty = "{\n \"a\": {\"b\": \"}\\\"{\"}\n}\n{}{\"c\":\n1}";
        let found = cut(pretty, Format::Auto, 99);
        assert_eq!(found, owned(&[("{\n \"a\": {\"b\": \"}\\\"{\"}\n}", 1), ("{}", 4), ("{\"c\":\n1}", 4)]));
        assert_eq!(cut("{} {}", Format::VeloJson, 99), owned(&[("{}", 1), ("{}", 1)]));
        assert_eq!(cut("{}\nxx\n{}", Format::VeloJson, 99), owned(&[("{}", 1), ("xx", 2), ("{}", 3)]));
    }

    #[test]
    fn an_endless_text_is_not_kept() {
        let long = "x".repeat(50);
        let text = format!("{{}}\n{{{long}}}\n{{}}\n");
        for format in [Format::VeloNdjson, Format::VeloJson, Format::Auto] {
            let found = cut(&text, format, 20);
            assert_eq!(found, owned(&[("{}", 1), ("too long", 2), ("{}", 3)]), "{format}");
        }
        assert_eq!(cut("{{{{{{{{{", Format::VeloJson, 5), owned(&[("too long", 1)]));
    }

    #[test]
    fn nothing_is_nothing() {
        for text in ["", "\n", " \n \n"] {
            for format in [Format::VeloNdjson, Format::VeloJson, Format::Auto] {
                assert!(cut(text, format, 9).is_empty(), "{text:?} {format}");
            }
        }
    }
}
