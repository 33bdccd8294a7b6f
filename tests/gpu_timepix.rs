//! The pixel kernels on the emulated device: the clusters of the CPU's chain, whatever the order of lanes.
#![cfg(feature = "cuda")]

use peloton::Error;
use peloton::event::{Layout, PixelClusters, PixelHits};
use peloton::gpu::timepix::{PixelStream, in_time};
use peloton::gpu::{Emulated, Order};
use peloton::simd::Level;
use peloton::timepix::{Chain, Definition, FindConfig, TimepixConfig, reference};
use peloton::truth::simulate::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use proptest::prelude::*;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(5)];

fn on_cpu(config: &TimepixConfig, hits: &PixelHits) -> (PixelClusters, u64) {
    let level = Level::choose(None, None).unwrap();
    let mut chain = Chain::new(config, level, &Layout::single(256, 256).unwrap()).unwrap();
    let clusters = chain.push(hits, true).clone();
    (clusters, chain.counts().late)
}

fn on_device(order: Order, config: &TimepixConfig, hits: &PixelHits) -> (PixelClusters, u64) {
    let device = Emulated::new(order).expect("a C++ compiler");
    let mut stream = PixelStream::open(&device, &config.find, hits.len()).unwrap();
    let (mut kept, mut clusters) = (PixelHits::default(), PixelClusters::default());
    let late = in_time(config.disorder_ticks(), hits, &mut kept);
    stream.run(&kept, &mut clusters).unwrap();
    (clusters, late)
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
        for order in ORDERS {
            assert!(on_device(order, &config, &hits) == expected, "{name}, {order:?}");
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
    let mut kept = PixelHits::default();
    in_time(config.disorder_ticks(), hits, &mut kept);
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
    fn any_stretch(hits in stretch(), delta in 0u32..40, disorder in 0i64..4000, order in 0usize..3) {
        let find = FindConfig { delta, ..FindConfig::default() };
        let disorder_us = Some(disorder as f64 / 640.0);
        let config = TimepixConfig { find, disorder_us, ..TimepixConfig::default() };
        let (clusters, late) = on_device(ORDERS[order], &config, &hits);
        prop_assert_eq!(rows(&clusters), by_the_reference(&config, &hits));
        // The CPU's chain wants room for delta before the first time there is.
        if hits.time.iter().all(|time| *time > i64::MIN + 10_000) {
            prop_assert!((clusters, late) == on_cpu(&config, &hits));
        }
    }
}

#[test]
fn what_a_device_cannot_do_is_an_error() {
    let device = Emulated::new(Order::Forward).unwrap();
    let global = FindConfig { definition: Definition::Global, ..FindConfig::default() };
    assert!(matches!(PixelStream::open(&device, &global, 10), Err(Error::Unsupported(_))));
    let mut stream = PixelStream::open(&device, &FindConfig::default(), 10).unwrap();
    let (mut hits, mut clusters) = (PixelHits::default(), PixelClusters::default());
    (0..11).for_each(|i| hits.push(i, 0, 0, 1));
    assert!(matches!(stream.run(&hits, &mut clusters), Err(Error::Device(_))));
    // More hits at once than the search works through, none of them neighbours of another chunk's.
    let mut stream = PixelStream::open(&device, &FindConfig::default(), 70_000).unwrap();
    hits.clear();
    (0..70_000).for_each(|i| hits.push(0, 2 * (i % 256) as u16, 2 * (i / 256) as u16, 1));
    assert!(matches!(stream.run(&hits, &mut clusters), Err(Error::Device(_))));
}
