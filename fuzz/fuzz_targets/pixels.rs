//! What every target for a format of pixel hits does.

use peloton::event::PixelBlock;
use peloton::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd};
use peloton::simd::{Isa, Level};
use peloton::timepix::{Algorithm, Chain, FindConfig, TimepixConfig};
use std::io::Cursor;

/// Reads the bytes as one format and clusters what is in them in two ways; counts must add up, clusters agree.
pub fn run(format: PixelFormat, bytes: &[u8]) {
    let options = PixelOptions { format, ..PixelOptions::default() };
    let Ok(mut reader) = PixelReader::from_stream("fuzz", Cursor::new(bytes.to_vec()), options) else { return };
    let mut block = PixelBlock::default();
    loop {
        match reader.read(block.hits.len() + 100, &mut block) {
            Ok(ReadEnd::More) => {}
            Ok(_) => break,
            Err(_) => return,
        }
    }
    assert_eq!(block.hits.len() as u64, reader.counts().hits);
    let found = [Algorithm::Fast, Algorithm::Open].map(|algorithm| {
        let find = FindConfig { algorithm, ..FindConfig::default() };
        let config = TimepixConfig { find, disorder_us: Some(1e6), ..TimepixConfig::default() };
        let level = Level::new(Isa::Scalar, 1).expect("scalar code");
        let mut chain = Chain::new(&config, level, reader.layout()).expect("a chain");
        let clusters = chain.push(&block.hits, true).clone();
        let counts = chain.counts();
        assert_eq!((counts.hits_in, chain.waiting()), (counts.hits_out + counts.late, 0));
        clusters
    });
    assert!(found[0] == found[1]);
}
