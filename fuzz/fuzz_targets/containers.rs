//! Bank containers: an error, or banks that give the same bytes when they are written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peloton_io::input::{read_container, write_container};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(banks) = read_container("fuzz", bytes) {
        // Banks of odd lengths are padded when they are written.
        if banks.iter().all(|(_, payload)| payload.len() % 4 == 0) {
            let mut again = Vec::new();
            write_container("fuzz", &banks, &mut again).expect("content that was read can be written");
            assert_eq!(again, bytes);
        }
    }
});
