//! Hostile streams of pixel hits: never a panic, never an endless loop, every hit accounted for, and the same
//! result for any pieces of the bytes.

use crate::common::data;
use peloton::event::{Layout, PixelBlock};
use peloton::simd::Level;
use peloton::timepix::{Chain, TimepixConfig};
use peloton_io::input::Source;
use peloton_io::input::timepix::{PixelCounts, PixelFormat, PixelOptions, PixelReader, ReadEnd, write_hits};
use peloton_sim::timepix::{PixelSim, PixelSimSpec};
use proptest::prelude::*;
use std::io::{Error, ErrorKind, Read};

/// A stream that arrives in pieces with pauses between them, like data from a socket.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
    pauses: bool,
}

impl Read for Pieces {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.pauses = !self.pauses;
        if self.pauses && self.at.is_multiple_of(3) && self.at > 16 {
            return Err(Error::from(ErrorKind::WouldBlock));
        }
        let length = to.len().min(self.piece).min(self.bytes.len() - self.at);
        to[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// All hits and counts of a stream; none if it is refused as a whole.
fn read(bytes: &[u8], format: PixelFormat, piece: usize) -> Option<(PixelBlock, PixelCounts)> {
    let stream = Pieces { bytes: bytes.to_vec(), at: 0, piece, pauses: true };
    let options = PixelOptions { format, ..PixelOptions::default() };
    let mut reader = PixelReader::from_stream("test", stream, options).ok()?;
    let mut block = PixelBlock::default();
    // Each call reads something, pauses, or ends.
    for _ in 0..10 * bytes.len() + 100 {
        match reader.read(block.hits.len() + 50, &mut block) {
            Ok(ReadEnd::More) => {}
            Ok(_) => {
                assert_eq!(block.hits.len() as u64, reader.counts().hits);
                assert_eq!(block.triggers.len() as u64, reader.counts().triggers);
                return Some((block, *reader.counts()));
            }
            Err(_) => return None,
        }
    }
    panic!("reading does not end");
}

const FORMATS: [PixelFormat; 9] = [
    PixelFormat::T3pa,
    PixelFormat::Burda,
    PixelFormat::Tpx3,
    PixelFormat::Tpx4,
    PixelFormat::Katherine,
    PixelFormat::Hits16,
    PixelFormat::Npy,
    PixelFormat::Frames,
    PixelFormat::Pmf,
];

/// Runs a stream's hits with any times through the chain.
fn cluster(block: &PixelBlock, layout: &Layout) {
    let config = TimepixConfig { disorder_us: Some(1e6), ..TimepixConfig::default() };
    let mut chain = Chain::new(&config, Level::choose(None, None).unwrap(), layout).unwrap();
    chain.push(&block.hits, true);
    let counts = chain.counts();
    assert_eq!((counts.hits_in, chain.waiting()), (counts.hits_out + counts.late, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        format in prop::sample::select(FORMATS.to_vec()),
        piece in 1usize..300,
    ) {
        let whole = read(&bytes, format, usize::MAX);
        prop_assert_eq!(&read(&bytes, format, piece), &whole);
        if let Some((block, _)) = whole {
            cluster(&block, &format.default_layout().unwrap());
        }
    }

    #[test]
    fn random_text(
        text in "[0-9 \t\n#I.-]{0,2000}",
        format in prop::sample::select(vec![PixelFormat::T3pa, PixelFormat::Burda, PixelFormat::Frames, PixelFormat::Pmf]),
        piece in 1usize..300,
    ) {
        let whole = read(text.as_bytes(), format, usize::MAX);
        prop_assert_eq!(read(text.as_bytes(), format, piece), whole);
    }

    #[test]
    fn damaged_streams(
        seed in 0u64..1000,
        format in prop::sample::select(vec![PixelFormat::Burda, PixelFormat::Tpx3, PixelFormat::Hits16]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        end in any::<prop::sample::Index>(),
        piece in 1usize..5000,
    ) {
        let mut sim = PixelSim::new(PixelSimSpec { hits: 300, seed, ..PixelSimSpec::default() });
        let mut block = PixelBlock::default();
        while sim.read(1000, &mut block.hits) {}
        let mut bytes = Vec::new();
        write_hits(&block.hits, format, &mut bytes).unwrap();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        let whole = read(&bytes, format, usize::MAX);
        prop_assert_eq!(&read(&bytes, format, piece), &whole);
        if let Some((block, _)) = whole {
            cluster(&block, &format.default_layout().unwrap());
        }
    }
}

#[test]
fn npy_records_of_every_kind() {
    let header =
        "{'descr': [('x', '<u2'), ('y', '<u2'), ('t', '<i8'), ('tot', '<u2')], 'fortran_order': False, }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for i in 0..1000i64 {
        bytes.extend((i as u16 % 300).to_le_bytes());
        bytes.extend(7u16.to_le_bytes());
        bytes.extend((i * 1000).to_le_bytes());
        bytes.extend(9u16.to_le_bytes());
    }
    let (block, counts) = read(&bytes, PixelFormat::Auto, 77).unwrap();
    assert_eq!((counts.hits, counts.outside), (256 * 3 + 1000 - 900, 1000 - 868));
    assert_eq!(block.hits.get(1), (1000, 1, 7, 9));
}

/// The beginning of a real file gives the same hits as the whole file, up to the cut.
#[test]
fn real_files_in_pieces_and_cut_off() {
    let Some(data) = data() else { return };
    for file in ["nsls2_tpx3/raw_test_data_serval_4_3_0.tpx3", "jcmartin76_t3pa/testb.t3pa"] {
        let bytes = std::fs::read(data.join("timepix").join(file)).unwrap();
        let (whole, counts) = read(&bytes, PixelFormat::Auto, usize::MAX).unwrap();
        assert_eq!((counts.malformed, counts.outside), (0, 0), "{file}");
        assert!(read(&bytes, PixelFormat::Auto, 61) == Some((whole.clone(), counts)), "{file}");
        for cut in [bytes.len() / 3, bytes.len() - 1] {
            let (part, _) = read(&bytes[..cut], PixelFormat::Auto, 4096).unwrap();
            assert!(part.hits.len() <= whole.hits.len());
            assert_eq!(part.hits.x[..], whole.hits.x[..part.hits.len()], "{file}");
        }
    }
}

#[test]
fn sources_that_hold_no_hits_are_refused_or_empty() {
    let options = PixelOptions::default;
    for (bytes, words) in
        [(&b"PK\x03\x04 an archive"[..], "unknown format"), (b"{\"a\": 1}\n", "unknown format")]
    {
        let error = PixelReader::from_stream("test", bytes, options()).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(PixelReader::open(&[], options()).is_err());
    assert!(PixelReader::open(&[Source::Path("no/such/file".into())], options()).is_err());
    assert_eq!(read(b"", PixelFormat::Auto, 10).unwrap().0.hits.len(), 0);
}
