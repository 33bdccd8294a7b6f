//! The pixel kernels on the emulated device: the clusters of the CPU's chain, whatever the order of lanes.
#![cfg(feature = "cuda")]

use peloton::Error;
use peloton::event::{Layout, PixelClusters, PixelHits};
use peloton::gpu::timepix::{PixelRunner, PixelSlices, PixelStream};
use peloton::gpu::{Emulated, Order};
use peloton::simd::Level;
use peloton::timepix::{Calibration, Chain, Definition, FindConfig, TimepixConfig, reference};
use peloton_sim::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use proptest::prelude::*;
use std::sync::Arc;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(5)];

fn on_cpu(config: &TimepixConfig, hits: &PixelHits) -> (PixelClusters, u64) {
    let level = Level::choose(None, None).unwrap();
    let mut chain = Chain::new(config, level, &Layout::single(256, 256).unwrap()).unwrap();
    let clusters = chain.push(hits, true).clone();
    (clusters, chain.counts().late)
}

/// In slices of `room` hits, handed over in pieces of another size.
fn on_device(order: Order, config: &TimepixConfig, hits: &PixelHits, room: usize) -> (PixelClusters, u64) {
    let layout = Layout::single(256, 256).unwrap();
    let of_folder = |folder| Arc::new(Calibration::from_folder(&layout, folder).unwrap());
    let calibration = config.calibration.as_deref().map(of_folder);
    let device = Emulated::new(order).expect("a C++ compiler");
    let mut slices = PixelSlices::new(device, config, calibration, room).unwrap();
    let (mut clusters, mut piece) = (PixelClusters::default(), PixelHits::default());
    let step = room / 3 + 1;
    for from in (0..hits.len().max(1)).step_by(step) {
        let to = hits.len().min(from + step);
        piece.clear();
        piece.extend_from(hits, from..to, 0);
        slices.push(&piece, to == hits.len(), &mut clusters).unwrap();
    }
    let [late, forced] = slices.dropped();
    assert_eq!(forced, 0);
    (clusters, late)
}

/// Hits not more than `disorder` older than the latest one before them.
fn in_time(disorder: i64, hits: &PixelHits) -> PixelHits {
    let (mut kept, mut latest) = (PixelHits::default(), i64::MIN);
    for (time, x, y, tot) in (0..hits.len()).map(|i| hits.get(i)) {
        if time >= latest.saturating_sub(disorder) {
            kept.push(time, x, y, tot);
            latest = latest.max(time);
        }
    }
    kept
}

#[test]
fn simulated_streams() {
    let mut sizes = Vec::new();
    for (name, preset) in PixelPreset::NAMES {
        let spec = PixelSimSpec { preset, hits: 20_000, delay_us: 20.0, ..PixelSimSpec::default() };
        let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
        while sim.read(hits.len() + 1000, &mut hits) {}
        let config = TimepixConfig { disorder_us: Some(sim.disorder_us()), ..TimepixConfig::default() };
        let expected = on_cpu(&config, &hits);
        sizes.push(expected.0.len());
        // In one piece, and in slices of which the smallest have to grow.
        for (order, room) in ORDERS.into_iter().zip([1 << 15, 3000, 64]) {
            assert!(on_device(order, &config, &hits, room) == expected, "{name}, {order:?}");
        }
    }
    // From many small clusters to a few with thousands of hits.
    assert!(
        sizes.iter().any(|clusters| *clusters > 2000) && sizes.iter().any(|clusters| *clusters < 20),
        "{sizes:?}"
    );
}

/// The hits of each cluster.
fn rows(clusters: &PixelClusters) -> Vec<Vec<(i64, u16, u16, u16)>> {
    let of = |cluster| clusters.of_cluster(cluster).map(|hit| clusters.hits.get(hit)).collect();
    (0..clusters.len()).map(of).collect()
}

fn by_the_reference(config: &TimepixConfig, hits: &PixelHits) -> Vec<Vec<(i64, u16, u16, u16)>> {
    let kept = in_time(config.disorder_ticks(), hits);
    let mut order: Vec<_> = (0..kept.len()).collect();
    order.sort_by_key(|&i| (kept.time[i], kept.x[i], kept.y[i], i));
    let mut sorted = PixelHits::default();
    order.into_iter().map(|i| kept.get(i)).for_each(|(time, x, y, tot)| sorted.push(time, x, y, tot));
    let labels = reference::cluster(&config.find, &sorted);
    let mut rows = vec![Vec::new(); labels.iter().max().map_or(0, |last| *last as usize + 1)];
    labels.iter().enumerate().for_each(|(i, label)| rows[*label as usize].push(sorted.get(i)));
    rows
}

/// Hits on a few pixels with repeated times, far from order, at any time there is.
fn stretch() -> impl Strategy<Value = PixelHits> {
    let base = prop::sample::select(vec![0i64, -1_000_000, i64::MAX - 100_000, i64::MIN]);
    let rows = prop::collection::vec((0i64..3000, 0u16..9, 0u16..9, 0u16..40), 0..2600);
    (base, rows).prop_map(|(base, rows)| {
        let mut hits = PixelHits::default();
        rows.into_iter().for_each(|(time, x, y, tot)| hits.push(base + time, x, y, tot));
        hits
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stretch(hits in stretch(), delta in 0u32..40, disorder in 0i64..4000, order in 0usize..3, room in 1usize..3000) {
        let find = FindConfig { delta, ..FindConfig::default() };
        let disorder_us = Some(disorder as f64 / 640.0);
        let config = TimepixConfig { find, disorder_us, ..TimepixConfig::default() };
        let (clusters, late) = on_device(ORDERS[order], &config, &hits, room);
        prop_assert_eq!(rows(&clusters), by_the_reference(&config, &hits));
        // The CPU's chain wants room for delta before the first time there is.
        if hits.time.iter().all(|time| *time > i64::MIN + 10_000) {
            prop_assert!((clusters, late) == on_cpu(&config, &hits));
        }
    }
}

/// Energies and time walk are those of the CPU, wherever slices end.
#[test]
fn calibrated_streams() {
    let folder = std::env::temp_dir().join(format!("peloton-gpu-calibration-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, least, step) in [("a", 1.2, 1e-6), ("b", 20.0, 1e-4), ("c", 250.0, 1e-3), ("t", -1.5, 1e-5)] {
        // Some pixels have a calibration that makes no sense.
        let value = |i: i32| if i % 97 == 0 { 0.0 } else { least + step * f64::from(i % 1000) };
        let text: Vec<_> = (0..256 * 256).map(|i| value(i).to_string()).collect();
        std::fs::write(folder.join(format!("{name}.txt")), text.join(" ")).unwrap();
    }
    let spec = PixelSimSpec { hits: 8000, delay_us: 20.0, ..PixelSimSpec::default() };
    let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
    while sim.read(hits.len() + 1000, &mut hits) {}
    for time_walk in [None, Some([29.73, 1.778, 1.210, -0.5325])] {
        let disorder_us = Some(sim.disorder_us());
        let calibration = Some(folder.clone());
        let config = TimepixConfig { disorder_us, calibration, time_walk, ..TimepixConfig::default() };
        let expected = on_cpu(&config, &hits);
        assert!(expected.0.features.energy.iter().filter(|energy| **energy > 0).count() > 100);
        for (order, room) in ORDERS.into_iter().zip([1 << 13, 1000, 555]) {
            assert!(on_device(order, &config, &hits, room) == expected, "{order:?}, {time_walk:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Without end to the clusters no more hits wait than may: they are cut, and that is counted.
#[test]
fn memory_is_bounded() {
    let config = TimepixConfig { capacity: 500, disorder_us: Some(0.0), ..TimepixConfig::default() };
    let mut slices = PixelSlices::new(Emulated::new(Order::Forward).unwrap(), &config, None, 100).unwrap();
    let (mut hits, mut clusters) = (PixelHits::default(), PixelClusters::default());
    (0..5000).for_each(|i| hits.push(i, (i % 2) as u16, 0, 1));
    slices.push(&hits, true, &mut clusters).unwrap();
    let [late, forced] = slices.dropped();
    assert_eq!((late, clusters.hits.len()), (0, 5000));
    assert!(forced > 2 && clusters.len() == forced as usize + 1, "{forced}, {} clusters", clusters.len());
}

#[test]
fn what_a_device_cannot_do_is_an_error() {
    let device = Emulated::new(Order::Forward).unwrap();
    let global = FindConfig { definition: Definition::Global, ..FindConfig::default() };
    assert!(matches!(PixelStream::open(&device, &global, None, 10), Err(Error::Unsupported(_))));
    let mut stream = PixelStream::open(&device, &FindConfig::default(), None, 10).unwrap();
    let (mut hits, mut clusters) = (PixelHits::default(), PixelClusters::default());
    (0..11).for_each(|i| hits.push(i, 0, 0, 1));
    assert!(matches!(stream.run(&hits, &mut clusters), Err(Error::Device(_))));
    // More hits at once than the search works through, none of them neighbours of another chunk's.
    let mut stream = PixelStream::open(&device, &FindConfig::default(), None, 70_000).unwrap();
    hits.clear();
    (0..70_000).for_each(|i| hits.push(0, 2 * (i % 256) as u16, 2 * (i / 256) as u16, 1));
    assert!(matches!(stream.run(&hits, &mut clusters), Err(Error::Device(_))));
}
