//! True particles and vertices: an error, or no more particles and vertices than the bytes can hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peloton_io::input::{McBanks, McFormat};
use peloton_truth::{HitsOf, decode_mc, decode_vertices};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let format = if first < 128 { McFormat::Bank(first) } else { McFormat::File };
    let place = "fuzz".to_string();
    let banks = McBanks { tracks: rest.to_vec(), format, vertices: rest.to_vec(), states: Vec::new(), place };
    if let Ok(event) = decode_mc(&banks, HitsOf::All) {
        let hits: usize = event.particles.iter().map(|particle| particle.hits.len()).sum();
        assert!(4 * hits + 80 * event.particles.len() <= rest.len());
    }
    if let Ok(vertices) = decode_vertices(&banks) {
        assert!(28 * vertices.len() <= rest.len());
    }
});
