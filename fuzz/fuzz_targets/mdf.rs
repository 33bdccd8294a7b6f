//! MDF streams: any bytes give events with a status, and reading ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peloton::event::RawBatch;
use peloton_io::input::{RawReader, ReadOptions};
use peloton_truth::{HitsOf, decode_mc};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { truth: bytes.len().is_multiple_of(2), ..ReadOptions::default() };
    let mut reader = RawReader::from_stream("fuzz", Cursor::new(bytes.to_vec()), options);
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while let Ok(1..) = reader.read(4, &mut batch, &mut notes) {}
    assert_eq!(batch.len(), notes.len());
    for truth in notes.iter().filter_map(|note| note.truth.as_ref()) {
        let _ = decode_mc(truth, HitsOf::All);
    }
});
