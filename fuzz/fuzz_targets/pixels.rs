//! The code that all fuzz targets for formats of pixel hits share.

use peloton::event::{Layout, PixelBlock};
use peloton::simd::{Isa, Level};
use peloton::timepix::{Algorithm, Chain, FindConfig, TimepixConfig};
use peloton_io::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd};
use std::cell::RefCell;
use std::io::Cursor;

/// Reads the bytes in one format and finds clusters in two ways: counts must add up, and clusters must be equal.
pub fn run(format: PixelFormat, bytes: &[u8]) {
    let options = PixelOptions { format, ..PixelOptions::default() };
    let Ok(mut reader) = PixelReader::from_stream("fuzz", Cursor::new(bytes.to_vec()), options) else {
        return;
    };
    let mut block = PixelBlock::default();
    loop {
        match reader.read(block.hits.len() + 100, &mut block) {
            Ok(ReadEnd::More) => {}
            Ok(_) => break,
            Err(_) => return,
        }
    }
    assert_eq!(block.hits.len() as u64, reader.counts().hits);
    CHAINS.with_borrow_mut(|chains| {
        let chains =
            chains.get_or_insert_with(|| ALGORITHMS.map(|algorithm| chain(algorithm, reader.layout())));
        let [left, right] = chains.each_mut().map(|chain| {
            chain.push(&block.hits, true);
            let counts = chain.counts();
            assert_eq!((counts.hits_in, chain.waiting()), (counts.hits_out + counts.late, 0));
            chain.clusters()
        });
        assert!(left == right);
    });
}

const ALGORITHMS: [Algorithm; 2] = [Algorithm::Fast, Algorithm::Open];

thread_local! {
    /// Made once, since a target has one format and therefore one sensor.
    static CHAINS: RefCell<Option<[Chain; 2]>> = const { RefCell::new(None) };
}

fn chain(algorithm: Algorithm, layout: &Layout) -> Chain {
    let find = FindConfig { algorithm, ..FindConfig::default() };
    let config = TimepixConfig { find, disorder_us: Some(1e6), ..TimepixConfig::default() };
    Chain::new(&config, Level::new(Isa::Scalar, 1).expect("scalar code"), layout).expect("a chain")
}
