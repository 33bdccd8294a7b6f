//! Hostile Parquet files of hits.
#![no_main]

use peloton::event::PixelBlock;
use peloton_io::input::Source;
use peloton_io::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd, TimeUnit};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A panic in the Parquet library is caught and becomes an error; an uncaught panic still ends the run.
    std::panic::set_hook(Box::new(|_| ()));
    // This format can only be read from files.
    let path = std::env::temp_dir().join(format!("peloton-fuzz-{}.parquet", std::process::id()));
    std::fs::write(&path, bytes).expect("a temporary file");
    // Times with a unit, and times without.
    let options =
        |time_unit| PixelOptions { format: PixelFormat::Parquet, time_unit, ..PixelOptions::default() };
    let open = |time_unit| PixelReader::open(&[Source::Path(path.clone())], options(time_unit));
    let Ok(mut reader) = open(None).or_else(|_| open(Some(TimeUnit::TICK))) else { return };
    let mut block = PixelBlock::default();
    loop {
        match reader.read(block.hits.len() + 100, &mut block) {
            Ok(ReadEnd::More) => {}
            Ok(_) => break,
            Err(_) => return,
        }
    }
    assert_eq!(block.hits.len() as u64, reader.counts().hits);
});
