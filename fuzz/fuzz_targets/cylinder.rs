//! Toy files of the cylinder detector: a file that is read is complete and keeps its hits when it is written and read again;
//! scalar code and the level of the CPU reconstruct it with the same bits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peloton::cylinder::{CylinderConfig, CylinderInput, CylinderWorkspace, SeedSource, reconstruct};
use peloton::event::{
    CYLINDER_LAYERS, CylinderBatch, CylinderTracks, CylinderTruth, Hasher, Hashes, Outcome, Product,
};
use peloton::simd::{Isa, Level};
use peloton_io::input::{CylinderReader, ReadOptions, write_cylinder};
use std::io::Cursor;

fn read(bytes: Vec<u8>, options: ReadOptions) -> (CylinderBatch, CylinderTruth) {
    let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    let mut reader = CylinderReader::from_stream("fuzz", Cursor::new(bytes), options);
    while let Ok(1..) = reader.read(3, &mut hits, &mut truth) {}
    (hits, truth)
}

fn hashes(level: Level, config: &CylinderConfig, hits: &CylinderBatch, truth: &CylinderTruth) -> Hashes {
    let (mut workspace, mut out) = (CylinderWorkspace::default(), Outcome::default());
    let input = CylinderInput { hits, seeds: &truth.particles };
    reconstruct(level, config, input, 0..hits.len(), &mut workspace, &mut out);
    let Outcome { results: out, counters } = out;
    assert_eq!((out.events(), counters.events()), (hits.len(), hits.len() as u64));
    let mut hasher = Hasher::new(CylinderTracks::SCHEMA);
    hasher.update(&out);
    hasher.finish()
}

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { truth: true, ..ReadOptions::default() };
    let (hits, truth) = read(bytes.to_vec(), options.clone());
    assert_eq!(hits.layer_start.len(), CYLINDER_LAYERS * hits.len() + 1);
    assert_eq!(truth.particle_of.len(), hits.x.len());
    assert_eq!(truth.particles.start.len(), hits.len() + 1);
    // A few thousand bytes can cause quadratic work: seeds from hits of all layers in one place.
    if hits.x.len() > 300 {
        return;
    }
    for seeds in [SeedSource::Truth, SeedSource::Hits] {
        let config = CylinderConfig { seeds, ..CylinderConfig::best() };
        let expected = hashes(Level::new(Isa::Scalar, 1).unwrap(), &config, &hits, &truth);
        assert_eq!(hashes(Level::choose(None, None).unwrap(), &config, &hits, &truth), expected);
    }
    let mut again = Vec::new();
    if write_cylinder(&hits, &truth, &mut again).is_ok() {
        let (same, _) = read(again, options);
        assert_eq!(same.x.len(), hits.x.len());
    }
});
