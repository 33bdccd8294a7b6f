//! Records: cuts a stream into events, and finds the next one after a damaged header.

use crate::input::source::{PutBack, Stream};
use std::io::{BufRead, Read};

/// Bytes of a record's header without the sub-header.
pub(super) const HEAD: usize = 20;
/// Bytes of the sub-header of version 3.
const SUB_HEADER: usize = 28;
/// Header version 3, sub-header of seven words.
const HEADER_BYTE: u8 = 0x37;
/// The record holds raw banks.
const DATA_BANKS: u8 = 1;
/// Longest record, bytes.
const MAX_RECORD: usize = super::MAX_BODY;

/// What a record says about its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordHeader {
    /// Which triggers accepted the event.
    pub trigger_mask: [u32; 4],
    /// Number of the run.
    pub run: u32,
    /// Turn of the beam.
    pub orbit: u32,
    /// Crossing in the turn.
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

/// Jenkins' one-at-a-time hash of the bytes behind the checksum, bytes taken as signed. A record whose
/// checksum is 0 has none.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut hash = 0u32;
    for &byte in bytes {
        hash = hash.wrapping_add(byte as i8 as u32);
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// The header and body of a record of banks, plain.
pub(super) fn head(size: u32, checksum: u32, compression: u8) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    for (four, word) in head.as_chunks_mut::<4>().0.iter_mut().zip([size, size, size, checksum]) {
        *four = word.to_le_bytes();
    }
    head[16..].copy_from_slice(&[compression, HEADER_BYTE, DATA_BANKS, 0]);
    head
}

/// Bytes of a record before its body.
pub(super) const BEFORE_BODY: usize = HEAD + SUB_HEADER;
/// Where the bytes begin that the checksum covers.
pub(super) const CHECKED: usize = 16;

/// The size of a record, when these bytes can be its beginning.
pub(super) fn size_of(head: &[u8; HEAD]) -> Option<usize> {
    let size = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let same = size(0) == size(4) && size(0) == size(8);
    let plain = head[17] == HEADER_BYTE && head[18] == DATA_BANKS;
    let range = BEFORE_BODY..=MAX_RECORD;
    Some(size(0) as usize).filter(|size| same && plain && range.contains(size))
}

/// Whether a file that begins so may be an MDF file.
pub(in crate::input) fn looks_like_record(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|head| size_of(head).is_some())
}

/// How many of these bytes, from the first on, are whole records: a stream that comes in pieces goes on behind them. All
/// of the bytes where one of the headers is damaged, since only a reader of records can tell what follows.
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

/// One record, as it was cut from the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A whole record.
    Event {
        /// What it says about its event.
        header: RecordHeader,
        /// The body, packed when `compressed` says so.
        body: &'a [u8],
        /// Whether the body is packed.
        compressed: bool,
        /// Whether the checksum, if there is one, is right.
        intact: bool,
    },
    /// The stream ends inside a record.
    Truncated,
    /// So many bytes are no record; the next one may follow.
    Garbage(u64),
    /// In the whole stream there is no record.
    NotMdf,
}

/// A stream of records.
pub(in crate::input) struct Records {
    stream: PutBack,
    record: Vec<u8>,
    /// Whether the beginning of any record was found.
    found: bool,
    ended: bool,
}

impl Records {
    pub fn new(stream: Stream) -> Self {
        Self { stream: PutBack::new(stream), record: Vec::new(), found: false, ended: false }
    }

    /// The rest of a stream that had records before.
    pub fn inside(stream: Stream) -> Self {
        Self { found: true, ..Self::new(stream) }
    }

    /// Whether the stream may be one of records, by its beginning, which stays to be read.
    pub fn begins(&mut self) -> bool {
        looks_like_record(&self.stream.peek(HEAD))
    }

    /// The next record; none at the end, or after an error.
    pub fn next(&mut self) -> std::io::Result<Option<Record<'_>>> {
        if self.ended {
            return Ok(None);
        }
        self.record.clear();
        self.fill(HEAD)?;
        let Some(head) = self.record.first_chunk::<HEAD>() else {
            self.ended = true;
            let rest = if self.found { Record::Truncated } else { Record::NotMdf };
            return Ok((!self.record.is_empty()).then_some(rest));
        };
        let Some(size) = size_of(head) else {
            let skipped = self.find_record()?;
            return Ok(Some(if self.found { Record::Garbage(skipped) } else { Record::NotMdf }));
        };
        self.found = true;
        self.fill(size)?;
        if self.record.len() < size {
            self.ended = true;
            return Ok(Some(Record::Truncated));
        }
        let sum = u32::from_le_bytes(*self.record[12..].first_chunk().expect("a whole header"));
        let sub_header = self.record[HEAD..].first_chunk().expect("a whole header");
        Ok(Some(Record::Event {
            header: RecordHeader::from_bytes(sub_header),
            compressed: self.record[16] != 0,
            intact: sum == 0 || sum == checksum(&self.record[CHECKED..]),
            body: &self.record[BEFORE_BODY..],
        }))
    }

    /// Reads on until the record is `len` bytes long, or the stream ends.
    fn fill(&mut self, len: usize) -> std::io::Result<()> {
        let want = len.saturating_sub(self.record.len());
        let read = self.stream.by_ref().take(want as u64).read_to_end(&mut self.record);
        self.ended |= read.is_err();
        read.map(drop)
    }

    /// Passes over bytes until a header begins, which is put back; says how many.
    fn find_record(&mut self) -> std::io::Result<u64> {
        let mut window: [u8; HEAD] = self.record[..].try_into().expect("a header was read");
        let mut skipped = 0;
        loop {
            let chunk = match self.stream.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.ended = true;
                    return Err(e);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::mdf::write_record;

    fn file(bodies: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (i, body) in bodies.iter().enumerate() {
            let header = RecordHeader { run: i as u32, ..RecordHeader::default() };
            write_record(&mut bytes, &header, body, None).unwrap();
        }
        bytes
    }

    /// What comes out, in words.
    fn read(bytes: &[u8]) -> Vec<String> {
        let mut records = Records::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
        let mut found = Vec::new();
        while let Some(record) = records.next().unwrap() {
            found.push(match record {
                Record::Event { header, body, intact, .. } => {
                    format!("{} {} {intact}", header.run, body.len())
                }
                other => format!("{other:?}"),
            });
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

    #[test]
    fn the_checksum_takes_bytes_as_signed() {
        // Worked out by hand from the definition.
        assert_eq!(checksum(&[]), 0);
        let one = |byte: u32| {
            let hash = byte.wrapping_add(byte << 10);
            let hash = hash ^ hash >> 6;
            let hash = hash.wrapping_add(hash << 3);
            let hash = hash ^ hash >> 11;
            hash.wrapping_add(hash << 15)
        };
        assert_eq!(checksum(&[1]), one(1));
        assert_eq!(checksum(&[0xFF]), one(0xFFFF_FFFF));
    }
}
