//! Hostile burda streams.
#![no_main]

mod pixels;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pixels::run(
    peloton_io::input::timepix::PixelFormat::Burda,
    bytes
));
