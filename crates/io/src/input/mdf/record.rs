//! Cuts a stream into MDF records, one per event, and finds the next record after a damaged header.

use crate::input::source::{PutBack, Stream};
use peloton::event::RawBatch;
use peloton::lhcb::checksum::Span;
use std::io::{self, BufRead, ErrorKind, Read};

/// Bytes of a record's header without the sub-header.
pub(super) const HEAD: usize = 20;
/// Bytes of the sub-header of version 3.
const SUB_HEADER: usize = 28;
/// Header version 3, sub-header of seven words.
const HEADER_BYTE: u8 = 0x37;
/// Data type of a record that holds raw banks.
const DATA_BANKS: u8 = 1;
/// Longest record, bytes.
const MAX_RECORD: usize = super::MAX_BODY;

/// The part of a record's header that describes the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordHeader {
    /// Mask of the triggers that accepted the event.
    pub trigger_mask: [u32; 4],
    /// Number of the run.
    pub run: u32,
    /// Number of the beam's turn around the ring.
    pub orbit: u32,
    /// Number of the bunch crossing in the turn.
    pub bunch: u32,
}

impl RecordHeader {
    pub(super) fn to_bytes(self) -> [u8; SUB_HEADER] {
        let [a, b, c, d] = self.trigger_mask;
        let mut bytes = [0; SUB_HEADER];
        let words = [a, b, c, d, self.run, self.orbit, self.bunch];
        for (four, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *four = word.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; SUB_HEADER]) -> Self {
        let mut words = [0; 7];
        for (word, &four) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(four);
        }
        let [a, b, c, d, run, orbit, bunch] = words;
        Self { trigger_mask: [a, b, c, d], run, orbit, bunch }
    }
}

/// The header of a record of banks, up to the sub-header.
pub(super) fn head(size: u32, checksum: u32, compression: u8) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    for (four, word) in head.as_chunks_mut::<4>().0.iter_mut().zip([size, size, size, checksum]) {
        *four = word.to_le_bytes();
    }
    head[16..].copy_from_slice(&[compression, HEADER_BYTE, DATA_BANKS, 0]);
    head
}

/// Bytes of a record before its body.
pub(in crate::input) const BEFORE_BODY: usize = HEAD + SUB_HEADER;
/// Position of the first byte that the checksum covers.
pub(super) const CHECKED: usize = 16;

/// The size of a record that begins with these bytes; none if no record can.
pub(super) fn size_of(head: &[u8; HEAD]) -> Option<usize> {
    let size = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let same = size(0) == size(4) && size(0) == size(8);
    let plain = head[17] == HEADER_BYTE && head[18] == DATA_BANKS;
    let range = BEFORE_BODY..=MAX_RECORD;
    Some(size(0) as usize).filter(|size| same && plain && range.contains(size))
}

/// Whether a file with this beginning may be an MDF file.
pub(in crate::input) fn looks_like_record(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|head| size_of(head).is_some())
}

/// Number of bytes of the complete records at the beginning of `bytes`; the remaining bytes are the beginning of the
/// next record. If a header is damaged, the number of all bytes, since a reader then searches for the next record.
pub fn whole_records(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(head) = bytes[at..].first_chunk() {
        match size_of(head) {
            None => return bytes.len(),
            Some(size) if size <= bytes.len() - at => at += size,
            Some(_) => break,
        }
    }
    at
}

/// The next item that is cut from a stream of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A whole record, whose bytes are in the words of a batch.
    Record {
        /// Index of the record's first word in the batch.
        first: u32,
        /// Length of the record, bytes.
        bytes: u32,
    },
    /// The stream ends inside a record.
    Truncated,
    /// This many bytes belong to no record; a record may follow.
    Garbage(u64),
    /// The whole stream contains no record.
    NotMdf,
}

/// A whole record.
#[derive(Debug, Clone, Copy)]
pub(in crate::input) struct Record<'a>(pub &'a [u8]);

impl<'a> Record<'a> {
    pub fn header(self) -> RecordHeader {
        RecordHeader::from_bytes(self.0[HEAD..].first_chunk().expect("a whole header"))
    }

    /// The checksum in the record's header; 0 if the record has no checksum.
    pub fn sum(self) -> u32 {
        u32::from_le_bytes(*self.0[12..].first_chunk().expect("a whole header"))
    }

    pub fn is_compressed(self) -> bool {
        self.0[16] != 0
    }

    pub fn body(self) -> &'a [u8] {
        &self.0[BEFORE_BODY..]
    }
}

/// The bytes of a record that its checksum covers.
pub(in crate::input) fn checked(first: u32, bytes: u32) -> Span {
    Span { first: first + CHECKED as u32 / 4, bytes: bytes - CHECKED as u32 }
}

/// A stream of records.
pub(in crate::input) struct Records {
    stream: PutBack,
    /// Bytes of the next header that were read.
    head: [u8; HEAD],
    /// Number of bytes in `head`.
    read: usize,
    /// Whether the beginning of any record was found.
    found: bool,
    ended: bool,
}

impl Records {
    pub fn new(stream: Stream) -> Self {
        Self { stream: PutBack::new(stream), head: [0; HEAD], read: 0, found: false, ended: false }
    }

    /// Makes a reader for the rest of a stream, after earlier records: it counts as MDF even if no record follows.
    pub fn inside(stream: Stream) -> Self {
        Self { found: true, ..Self::new(stream) }
    }

    /// Whether the stream begins like a record; does not consume the examined bytes.
    pub fn begins(&mut self) -> bool {
        looks_like_record(&self.stream.peek(HEAD))
    }

    /// The next item of the stream; none at the end, or after an error. The bytes of a record go to the words of
    /// `batch`. The same read also fetches the next record's header, if it is available.
    pub fn next(&mut self, batch: &mut RawBatch) -> io::Result<Option<Cut>> {
        if self.ended {
            return Ok(None);
        }
        let read = self.cut(batch);
        self.ended |= read.is_err();
        read
    }

    fn cut(&mut self, batch: &mut RawBatch) -> io::Result<Option<Cut>> {
        self.read += fill(&mut self.stream, &mut self.head[self.read..], HEAD - self.read)?;
        if self.read < HEAD {
            self.ended = true;
            let rest = if self.found { Cut::Truncated } else { Cut::NotMdf };
            return Ok((self.read > 0).then_some(rest));
        }
        self.read = 0;
        let Some(size) = size_of(&self.head) else {
            let skipped = self.find_record()?;
            return Ok(Some(if self.found { Cut::Garbage(skipped) } else { Cut::NotMdf }));
        };
        self.found = true;
        let too_many = || io::Error::new(ErrorKind::OutOfMemory, "too many bytes of events in one batch");
        let (first, room) = batch.room(size + HEAD).ok_or_else(too_many)?;
        let (head, rest) = room.split_at_mut(HEAD);
        head.copy_from_slice(&self.head);
        let read = fill(&mut self.stream, rest, size - HEAD)?;
        let behind = read.saturating_sub(size - HEAD);
        self.head[..behind].copy_from_slice(&rest[size - HEAD..][..behind]);
        self.read = behind;
        if read < size - HEAD {
            batch.leave_room(first);
            self.ended = true;
            return Ok(Some(Cut::Truncated));
        }
        batch.leave_room(first + size.div_ceil(4) as u32);
        Ok(Some(Cut::Record { first, bytes: size as u32 }))
    }

    /// Skips bytes up to the next header, which is put back. Returns the number of skipped bytes.
    fn find_record(&mut self) -> io::Result<u64> {
        let mut window = self.head;
        let mut skipped = 0;
        loop {
            let chunk = match self.stream.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if chunk.is_empty() {
                self.ended = true;
                return Ok(skipped + HEAD as u64);
            }
            let mut found = false;
            let mut used = 0;
            while used < chunk.len() && !found {
                window.rotate_left(1);
                window[HEAD - 1] = chunk[used];
                used += 1;
                found = size_of(&window).is_some();
            }
            self.stream.consume(used);
            skipped += used as u64;
            if found {
                self.found = true;
                self.stream.put_back(&window);
                return Ok(skipped);
            }
        }
    }
}

/// Reads at least `least` bytes into `to`, unless the stream ends before, and more if they are available. Returns their number.
fn fill(stream: &mut PutBack, to: &mut [u8], least: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < least {
        match stream.read(&mut to[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::mdf::write_record;
    use peloton::lhcb::checksum::checksum;

    fn file(bodies: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (i, body) in bodies.iter().enumerate() {
            let header = RecordHeader { run: i as u32, ..RecordHeader::default() };
            write_record(&mut bytes, &header, body, None).unwrap();
        }
        bytes
    }

    /// The items of a stream, in words.
    fn read(bytes: &[u8]) -> Vec<String> {
        let whole: Stream = Box::new(io::Cursor::new(bytes.to_vec()));
        // With a small buffer, records and headers cross its end.
        let in_pieces: Stream = Box::new(io::BufReader::with_capacity(7, Pieces(bytes.to_vec().into())));
        let [found, again] = [whole, in_pieces].map(|stream| read_from(Records::new(stream)));
        assert_eq!(found, again);
        found
    }

    /// A stream that gives three bytes at a time.
    struct Pieces(std::collections::VecDeque<u8>);

    impl Read for Pieces {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let length = to.len().min(3);
            self.0.read(&mut to[..length])
        }
    }

    fn read_from(mut records: Records) -> Vec<String> {
        let (mut batch, mut found) = (RawBatch::default(), Vec::new());
        while let Some(cut) = records.next(&mut batch).unwrap() {
            let Cut::Record { first, bytes } = cut else {
                found.push(format!("{cut:?}"));
                continue;
            };
            let all: &[u8] = bytemuck::cast_slice(batch.all_words());
            let record = Record(&all[4 * first as usize..][..bytes as usize]);
            let is_intact = record.sum() == checksum(&record.0[CHECKED..]);
            found.push(format!("{} {} {is_intact}", record.header().run, record.body().len()));
        }
        found
    }

    #[test]
    fn records_are_cut_and_checked() {
        let bytes = file(&[&[1; 8], &[], &[2; 100]]);
        assert_eq!(read(&bytes), ["0 8 true", "1 0 true", "2 100 true"]);
        assert_eq!(read(&[]), Vec::<String>::new());
        let mut flipped = bytes.clone();
        flipped[50] ^= 4;
        assert_eq!(read(&flipped), ["0 8 false", "1 0 true", "2 100 true"]);
        assert_eq!(read(&bytes[..bytes.len() - 1]), ["0 8 true", "1 0 true", "Truncated"]);
        assert_eq!(read(&bytes[..60]), ["0 8 true", "Truncated"]);
    }

    #[test]
    fn whole_records_end_where_the_next_one_begins() {
        let bytes = file(&[&[1; 8], &[2; 100]]);
        let first = BEFORE_BODY + 8;
        for (len, whole) in
            [(0, 0), (first - 1, 0), (first, first), (first + 19, first), (bytes.len(), bytes.len())]
        {
            assert_eq!(whole_records(&bytes[..len]), whole, "{len} bytes");
        }
        let mut damaged = bytes.clone();
        damaged[first] ^= 1;
        assert_eq!(whole_records(&damaged), damaged.len());
    }

    #[test]
    fn reading_goes_on_after_a_damaged_header() {
        let mut bytes = file(&[&[1; 8], &[3; 16], &[2; 100]]);
        bytes[56] ^= 1;
        assert_eq!(read(&bytes), ["0 8 true", "Garbage(64)", "2 100 true"]);
        bytes[130] ^= 1;
        assert_eq!(read(&bytes), ["0 8 true", "Garbage(212)"]);
        assert_eq!(read(&[7; 100]), ["NotMdf"]);
        assert_eq!(read(&[7; 9]), ["NotMdf"]);
        assert_eq!(read(&[&[7; 9][..], &file(&[&[1; 8]])].concat()), ["Garbage(9)", "0 8 true"]);
    }
}
