//! Hostile katherine streams.
#![no_main]

mod pixels;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pixels::run(
    peloton::input::timepix::PixelFormat::Katherine,
    bytes
));
