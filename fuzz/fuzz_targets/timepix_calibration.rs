//! Calibration files: the energy of a cluster is the sum of the calibrated energies of its hits.
#![no_main]

use peloton::event::{Layout, PixelHits};
use peloton::simd::Level;
use peloton::timepix::{Calibration, Chain, TimepixConfig};

/// Side of the sensor.
const SIDE: u16 = 2;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("peloton-fuzz-calibration-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mut texts = bytes.split(|byte| *byte == b';');
    for name in ["a.txt", "b.txt", "c.txt", "t.txt"] {
        std::fs::write(folder.join(name), texts.next().unwrap_or_default()).expect("a temporary file");
    }
    let layout = Layout::single(SIDE.into(), SIDE.into()).expect("a sensor");
    let Ok(calibration) = Calibration::from_folder(&layout, &folder) else { return };
    let time_walk = Some([29.73, 1.778, 1.21, -0.5325]);
    let config = TimepixConfig { calibration: Some(folder), time_walk, ..TimepixConfig::default() };
    let level = Level::choose(None, None).expect("a level");
    let mut chain = Chain::new(&config, level, &layout).expect("a chain");
    let mut hits = PixelHits::default();
    for tot in (0..40).chain([1022, u16::MAX]) {
        (0..SIDE * SIDE).for_each(|i| hits.push(i64::from(tot) * 50_000, i % SIDE, i / SIDE, tot));
    }
    let clusters = chain.push(&hits, true);
    assert_eq!(clusters.hits.len(), hits.len());
    for cluster in 0..clusters.len() {
        let energies = clusters.of_cluster(cluster).map(|i| {
            let (_, x, y, tot) = clusters.hits.get(i);
            u64::from(calibration.energy(x, y, tot))
        });
        assert_eq!(clusters.features.energy[cluster], energies.sum::<u64>());
    }
});
