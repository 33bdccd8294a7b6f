//! Geometry files: an error, or a geometry. The first byte selects the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peloton::bytes::File;
use peloton::scifi::SciFiGeometry;
use peloton::ut::{UtGeometry, UtTables};
use peloton::velo::VeloSensors;

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, rest)) = bytes.split_first() else { return };
    let wrong = match which % 4 {
        0 => VeloSensors::parse("fuzz", rest).err(),
        1 => {
            let half = rest.len() / 2;
            UtGeometry::parse(File::new("fuzz", &rest[..half]), File::new("fuzz", &rest[half..])).err()
        }
        2 => UtTables::parse("fuzz", rest).err(),
        _ => SciFiGeometry::parse("fuzz", rest).err(),
    };
    if let Some(error) = wrong {
        assert!(error.to_string().starts_with("fuzz: "));
    }
});
