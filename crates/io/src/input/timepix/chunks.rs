//! Finds chunks in streams of SERVAL, SPIDR and Timepix4 readouts: words after a header with name, chip and size.
//!
//! A chunk is complete if the next header, or the end of the stream, is at the position that its size gives. Otherwise
//! the name of the next header is searched for at any byte. A name at a word boundary within the chunk ends the chunk
//! early. A name at another byte within the chunk shows that bytes were lost: then all words of the chunk are dropped.

use super::PixelCounts;

/// Bytes of a word and of a header.
const WORD: usize = 8;

/// The next item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// The words of a chunk, and its number of bytes including the header.
    Chunk { chip: u8, words: &'a [u8], taken: usize },
    /// This many bytes belong to no chunk, or to a damaged chunk; they are counted.
    Passed(usize),
    /// More bytes are needed.
    More,
}

/// Reads the next item from `bytes`, which should begin with a header; with `end`, no bytes follow.
pub(super) fn next<'a>(bytes: &'a [u8], name: [u8; 4], end: bool, counts: &mut PixelCounts) -> Next<'a> {
    if bytes.len() < WORD {
        if end && !bytes.is_empty() {
            counts.malformed += 1;
            return Next::Passed(bytes.len());
        }
        return Next::More;
    }
    if bytes[..4] != name {
        return pass(bytes, name, end, counts);
    }
    let size = usize::from(u16::from_le_bytes([bytes[6], bytes[7]]));
    let (chip, stop) = (bytes[4], WORD + size / WORD * WORD);
    if bytes.len() < stop + name.len() && !end {
        return Next::More;
    }
    let is_whole = bytes.get(stop..stop + name.len()).map_or(bytes.len() == stop, |after| after == name);
    counts.malformed += u64::from(!size.is_multiple_of(WORD));
    let mut stop = stop.min(bytes.len() / WORD * WORD);
    if !is_whole {
        let reach = bytes.len().min(stop + name.len() - 1);
        let inner = find(&bytes[WORD..reach.max(WORD)], name).map(|place| place + WORD);
        match inner {
            Some(place) if place.is_multiple_of(WORD) => stop = place,
            Some(place) => {
                counts.control += 1;
                counts.malformed += 1;
                counts.damaged += (place / WORD - 1) as u64;
                return Next::Passed(place);
            }
            None => {}
        }
        let is_cut_off = inner.is_none() && stop < WORD + size / WORD * WORD;
        counts.malformed += u64::from(inner.is_some() || is_cut_off);
        if is_cut_off {
            counts.control += 1;
            return Next::Chunk { chip, words: &bytes[WORD..stop], taken: bytes.len() };
        }
    }
    counts.control += 1;
    Next::Chunk { chip, words: &bytes[WORD..stop], taken: stop }
}

/// Skips bytes outside of all chunks.
#[cold]
fn pass<'a>(bytes: &[u8], name: [u8; 4], end: bool, counts: &mut PixelCounts) -> Next<'a> {
    let passed = match find(bytes, name) {
        Some(place) => place,
        None if end => bytes.len(),
        // Skips only whole words, so that they are counted as words; a name may begin in the last bytes.
        None => (bytes.len() - name.len()) / WORD * WORD,
    };
    if passed == 0 {
        return Next::More;
    }
    counts.unknown += (passed / WORD) as u64;
    counts.malformed += u64::from(!passed.is_multiple_of(WORD));
    Next::Passed(passed)
}

fn find(bytes: &[u8], name: [u8; 4]) -> Option<usize> {
    bytes.windows(name.len()).position(|window| window == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: [u8; 4] = *b"TPX3";

    /// Description, bytes, the chunks found, and the counts malformed, damaged and unknown.
    type Case = (&'static str, Vec<u8>, &'static [(u8, usize)], [u64; 3]);

    /// A chunk of `words` equal words, whose header gives `size` bytes.
    fn chunk(chip: u8, size: u16, words: usize) -> Vec<u8> {
        [&NAME[..], &[chip, 0], &size.to_le_bytes(), &vec![0xB0; 8 * words]].concat()
    }

    /// Reads `bytes` in pieces. Returns the chip and number of words of each chunk, and the counts.
    fn read(bytes: &[u8], piece: usize) -> (Vec<(u8, usize)>, PixelCounts) {
        let (mut found, mut counts, mut rest) = (Vec::new(), PixelCounts::default(), Vec::new());
        let mut pieces = bytes.chunks(piece).peekable();
        while let Some(piece) = pieces.next() {
            rest.extend_from_slice(piece);
            loop {
                let taken = match next(&rest, NAME, pieces.peek().is_none(), &mut counts) {
                    Next::Chunk { chip, words, taken } => {
                        found.push((chip, words.len() / WORD));
                        taken
                    }
                    Next::Passed(passed) => passed,
                    Next::More => break,
                };
                rest.drain(..taken);
            }
        }
        assert!(rest.is_empty());
        (found, counts)
    }

    #[test]
    fn the_next_name_ends_a_damaged_chunk() {
        let whole = chunk(1, 32, 4);
        let cases: [Case; 7] = [
            ("whole", [chunk(0, 24, 3), whole.clone()].concat(), &[(0, 3), (1, 4)], [0, 0, 0]),
            ("a word short", [chunk(0, 24, 2), whole.clone()].concat(), &[(0, 2), (1, 4)], [1, 0, 0]),
            ("three bytes short", [&chunk(0, 24, 3)[..29], &whole].concat(), &[(1, 4)], [1, 2, 0]),
            ("words between", [chunk(0, 24, 5), whole.clone()].concat(), &[(0, 3), (1, 4)], [0, 0, 2]),
            ("size of no words", [chunk(0, 27, 3), whole.clone()].concat(), &[(0, 3), (1, 4)], [1, 0, 0]),
            ("cut off", chunk(0, 24, 3)[..29].to_vec(), &[(0, 2)], [1, 0, 0]),
            ("no header", [&[7; 19][..], &whole].concat(), &[(1, 4)], [1, 0, 2]),
        ];
        for (what, bytes, chunks, [malformed, damaged, unknown]) in cases {
            for piece in [1, 3, 8, 1000] {
                let (found, counts) = read(&bytes, piece);
                assert_eq!(found, chunks, "{what}");
                let expected = PixelCounts {
                    malformed,
                    damaged,
                    unknown,
                    control: counts.control,
                    ..Default::default()
                };
                assert_eq!(counts, expected, "{what} in pieces of {piece}");
            }
        }
    }
}
